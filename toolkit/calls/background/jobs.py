"""
The jobs of a conversation, which run in the background: calls here, and commands in `builtin/commands/jobs.py`.

They are kept in the session, and `job_output` and `job_stop` find them there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ..._plumbing.forks import unlock_in_children
from ...context import Progress
from ...errors import ToolError, find_nearest
from ...results import ToolResult
from ...session import Session

__all__ = [
    "CallJob",
    "Job",
    "SessionJobs",
    "build_unknown_job_error",
    "end_jobs",
    "end_session_jobs",
    "find_jobs",
    "jobs_of",
    "keep_no_jobs",
    "may_have_jobs",
]

_MAX_RUNNING = 20
_MAX_JOBS = 50
_MAX_OUTPUT_CHARS = 200_000
_MAX_JOB_SECONDS = 24 * 3600.0
_STATE_KEY = "toolkit.jobs"
_LOCK = unlock_in_children(threading.Lock())


class Job(Protocol):
    """Work in the background: a call, or a command of `bash`."""

    @property
    def id(self) -> str:
        """The name by which a caller refers to the job."""

    @property
    def title(self) -> str:
        """What was called, in a line."""

    @property
    def principal(self) -> str | None:
        """On whose behalf the job was started. Calls on behalf of others do not see it."""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""

    def state(self) -> str:
        """Return the state of the job in a few words."""

    def read(self) -> str:
        """Return what came since the last `read`."""

    def stop(self) -> None:
        """Ask the job to end. Any thread may call this."""

    def wait(self, seconds: float) -> bool:
        """Wait until the job has ended, at most *seconds*, and return whether it has."""


J = TypeVar("J", bound=Job)


class CallJob:
    """
    One call in the background.

    Attributes:
        id: The name by which a caller refers to the job.
        title: The tool and the arguments, in a line, with secrets masked.
        principal: On whose behalf the call was made.
        result: The result of the call; None while it runs, and if it was stopped.
    """

    def __init__(
        self,
        name: str,
        title: str,
        task: asyncio.Task[Any],
        loop: asyncio.AbstractEventLoop,
        *,
        principal: str | None = None,
    ) -> None:
        self.id = name
        self.title = title
        self.principal = principal
        self.result: ToolResult | None = None
        self._started_at = time.monotonic()
        self._task: asyncio.Task[Any] | None = task
        self._loop = loop
        self._lines: deque[str] = deque()
        self._chars = 0
        self._lost_lines = 0
        self._failure = ""
        self._lock = unlock_in_children(threading.Lock())
        self._end = threading.Event()
        self._pid = os.getpid()
        self._timer = loop.call_later(_MAX_JOB_SECONDS, self._stop_late)

    # What the call does.

    def record_progress(self, progress: Progress) -> None:
        """Keep a report of the running call, or a value that it yielded, until it is read."""
        self._add_output(_describe_progress(progress))

    def record_end(self, result: ToolResult | None, failure: str) -> None:
        """
        Record the outcome: a *result*, or without one the *failure* in words, with secrets masked.

        Without either, the call was stopped.
        """
        if result is not None:
            self._add_output(result.text)
        elif failure:
            self._failure = failure
        self.result = result
        self._timer.cancel()
        self._task = None  # its frames hold the session, and the session holds this job
        self._end.set()

    def _add_output(self, text: str) -> None:
        with self._lock:
            self._lines.append(text[-_MAX_OUTPUT_CHARS:])
            self._chars += len(self._lines[-1]) + 1  # the line break counts, so that empty reports do
            while self._chars > _MAX_OUTPUT_CHARS and len(self._lines) > 1:
                self._chars -= len(self._lines.popleft()) + 1
                self._lost_lines += 1

    def _stop_late(self) -> None:
        self._failure = "stopped: it took longer than a day"
        self.stop()

    # What others do with it.

    @property
    def is_over(self) -> bool:
        """Whether the call has ended. A call also ends with its event loop, and does not go on in a forked child."""
        return self._end.is_set() or self._loop.is_closed() or self._pid != os.getpid()

    def state(self) -> str:
        """Return the state of the call in a few words."""
        if not self.is_over:
            return f"running for {time.monotonic() - self._started_at:.0f} s"
        if self.result is None:
            return self._failure or "stopped"
        if self.result.kind == "waiting":
            request = self.result.request
            return "waits for a person" + ("" if request is None else f", who has to answer request {request.id}")
        return "done" if self.result.kind == "ok" else self.result.kind

    def read(self) -> str:
        """Return the reports and values that came since the last `read`, and the result once it is there."""
        with self._lock:
            lines, lost = list(self._lines), self._lost_lines
            self._lines.clear()
            self._chars = self._lost_lines = 0
        note = [f"[... {lost:,} earlier reports left out ...]"] if lost else []
        return "\n".join(note + lines)

    def stop(self) -> None:
        """Cancel the call. An async tool is cancelled; a sync tool sees `context.cancelled`, and is left behind."""
        task = self._task
        if task is not None and not self.is_over:
            try:
                self._loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop was closed meanwhile, and the call has ended with it
                return

    def wait(self, seconds: float) -> bool:
        """Wait until the call has ended, at most *seconds*, and return whether it has."""
        return self._end.wait(0 if self._runs_here() else seconds) or self.is_over

    def _runs_here(self) -> bool:
        """Return whether the loop of the call is that of this thread, so that the call cannot end while it waits."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False


class SessionJobs(Generic[J]):
    """
    The jobs of one conversation, in the order in which they were started. Of those that have ended, the last are kept.

    Args:
        name_source: The jobs of the same conversation that name these too. By default the jobs are numbered from 1.

    Attributes:
        last_number: The number of the job that was started last.
        lost_number: The number of the last job of an earlier process, which went on with the conversation before.
    """

    def __init__(self, name_source: SessionJobs[Any] | None = None) -> None:
        self.last_number = self.lost_number = 0
        self._name_source = name_source
        self._numbers = itertools.count(1)
        self._jobs: dict[str, J] = {}
        self._lock = unlock_in_children(threading.Lock())
        self._is_closed = False

    def take_name(self) -> str:
        """Return the name of the next job, which no other job of the conversation has."""
        if self._name_source is not None:
            return self._name_source.take_name()
        self.last_number = number = next(self._numbers)
        return f"job_{number}"

    def continue_after(self, number: int) -> None:
        """Give no name again that a job of an earlier process had. The last one had *number*."""
        if number > self.last_number:
            self.last_number = self.lost_number = number
            self._numbers = itertools.count(number + 1)

    def start(self, build: Callable[[str], J]) -> J:
        """
        Add the job that *build* makes for a name.

        Raises:
            ToolError: Too many jobs run already, or the jobs of the conversation were ended.
        """
        with self._lock:
            if self._is_closed:
                raise ToolError("the conversation has ended, and its jobs with it")
            running = [name for name, job in self._jobs.items() if not job.is_over]
            if len(running) >= _MAX_RUNNING:
                raise ToolError(f"{len(running)} jobs run already ({', '.join(running)}); stop one")
            job = build(self.take_name())
            self._jobs[job.id] = job
            ended = [name for name, other in self._jobs.items() if other.is_over]
            for name in ended[: max(0, len(self._jobs) - _MAX_JOBS)]:
                del self._jobs[name]
            return job

    def all(self) -> list[J]:
        """Return the jobs that run, and those that ended recently."""
        with self._lock:
            return list(self._jobs.values())

    def end(self, *, wait_seconds: float = 3.0) -> None:
        """Stop all jobs, and wait at most *wait_seconds* until they have ended. No job can be started afterwards."""
        with self._lock:
            self._is_closed = True
            jobs = list(self._jobs.values())
        end_jobs(jobs, wait_seconds)


def end_jobs(jobs: Sequence[Job], wait_seconds: float) -> None:
    """Stop *jobs*, and wait at most *wait_seconds* until they have ended."""
    for job in jobs:
        job.stop()
    until = time.monotonic() + wait_seconds
    for job in jobs:
        job.wait(max(0.0, until - time.monotonic()))


def jobs_of(session: Session) -> SessionJobs[CallJob]:
    """Return the calls of *session* in the background, and make the record if there is none."""
    with _LOCK:
        jobs = find_jobs(session)
        if jobs is None:
            jobs = session.state[_STATE_KEY] = SessionJobs()
        return jobs


def find_jobs(session: Session | None) -> SessionJobs[CallJob] | None:
    """Return the calls of *session* in the background, or None if it has none yet."""
    jobs = None if session is None else session.state.get(_STATE_KEY)
    return jobs if isinstance(jobs, SessionJobs) else None


def keep_no_jobs(session: Session) -> None:
    """Let no call of *session* go into the background, because no later call will have the session."""
    session.state[_STATE_KEY] = None


def may_have_jobs(session: Session) -> bool:
    """Return whether a later call could find a job of *session*."""
    return session.state.get(_STATE_KEY, "") is not None


def end_session_jobs(session: Session) -> None:
    """Stop the calls of *session* that run in the background. Jobs that are started later are not affected."""
    with _LOCK:
        jobs = find_jobs(session)
        session.state.pop(_STATE_KEY, None)
    if jobs is not None:
        jobs.end()


def build_unknown_job_error(name: str, names: list[str], jobs: SessionJobs[CallJob] | None = None) -> ToolError:
    """Return the error for a job that does not exist, or not any more. The message suggests the nearest of *names*."""
    lost_number = 0 if jobs is None else jobs.lost_number
    if lost_number and name in (f"job_{number}" for number in range(1, lost_number + 1)):
        return ToolError(
            f"{name} ended with its process, and what it printed was not kept; start it again if it is still needed"
        )
    hint = ", ".join(find_nearest(name, names) or names[-3:])
    return ToolError(f"there is no job {name[:40]!r}; {f'known are: {hint}' if hint else 'none was started'}")


def _describe_progress(progress: Progress) -> str:
    """Return a report, or a value that a streaming tool yielded, as text."""
    parts = []
    if progress.progress is not None:
        parts.append(f"{progress.progress:g}" + ("" if progress.total is None else f"/{progress.total:g}"))
    if progress.message is not None:
        parts.append(progress.message)
    if parts:
        return " ".join(parts)
    value = progress.value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
