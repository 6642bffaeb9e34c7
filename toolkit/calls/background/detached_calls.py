"""
Starting a call in the background.

The call runs through the same pipeline as every other call, in a task of its own. The caller waits for the task. Once
the call is allowed to run, and asks for the background, the task becomes a job of the session, and the caller gets the
name of the job. A call that is refused, or that waits for a person, gets its result as usual.

    check → before-hooks → verdict → the job starts, and the caller gets its name → around-hooks → attempts → ...
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from contextvars import ContextVar
from typing import Any

from ...concurrency.futures import retrieve_exception, set_outcome
from ...context import Progress
from ...errors import ToolError
from ...functions.background_parameter import BACKGROUND
from ...hooks.base import Run, ShownCall
from ...policies.redaction import Redaction
from ...results import ToolCall, ToolResult
from ...values.rendering import describe_value
from ..call_frame import CallFrame
from ..error_results import log_masked_error
from ..pipeline import run_call
from ..plan import CallPlan
from ..settings import Settings
from .jobs import CallJob, jobs_of, may_have_jobs

__all__ = ["BACKGROUND_HOOK", "run_or_detach", "settings_for_background"]

_MAX_TITLE_CHARS = 200

_log = logging.getLogger("toolkit")

_current_call: ContextVar[_DetachableCall | None] = ContextVar("toolkit_detachable_call", default=None)


class _BackgroundHook:
    """The outermost around-hook of a tool that may run in the background. It turns the call into a job."""

    async def around(self, call: ShownCall, run: Run) -> ToolResult:
        """Start the job if the call asks for that, and run the tool."""
        detachable = _current_call.get()
        if detachable is not None and call.actual_arguments.get(BACKGROUND) is True:
            try:
                detachable.detach(call)
            except ToolError as error:
                return ToolResult.failure("failed", str(error), cause=error)
        del detachable  # since Python 3.12 the traceback of an error of the call holds this frame
        return await run()


BACKGROUND_HOOK = _BackgroundHook()


def settings_for_background(settings: Settings) -> Settings:
    """Return *settings* for a tool that may run in the background."""
    return settings.for_jobs(BACKGROUND_HOOK, _record_progress, _is_in_job)


def _is_in_job() -> bool:
    detachable = _current_call.get()
    return detachable is not None and detachable.is_job


def _record_progress(progress: Progress) -> None:
    detachable = _current_call.get()
    if detachable is not None:
        detachable.record_progress(progress)


async def run_or_detach(frame: CallFrame, settings: Settings, *, may_detach: bool = True) -> ToolResult:
    """
    Run the call of *frame*, and return its result, or the name of the job that it becomes if it asks for that.

    *settings* are those of the dispatcher. Its listener is told when a job ends. Without *may_detach* the call runs to
    its end, whatever it asks for; a call around it that may become a job is not taken for it.
    """
    return await _DetachableCall(frame.plan, settings, may_detach=may_detach).run(frame)


class _DetachableCall:
    """One call that may become a job while it runs."""

    def __init__(self, plan: CallPlan, settings: Settings, *, may_detach: bool) -> None:
        self._plan = plan
        self._settings = settings
        self._may_detach = may_detach
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[ToolResult] = self._loop.create_future()
        self._task: asyncio.Task[None] | None = None
        self._job: CallJob | None = None
        self._call_id = ""
        self._redaction = settings.redaction

    async def run(self, frame: CallFrame) -> ToolResult:
        """Return the result of the call, or the name of the job that it has become."""
        token = _current_call.set(self)
        try:  # the task copies the context, so only the call itself sees this object
            self._task = asyncio.ensure_future(self._run_to_end(frame))
        finally:
            _current_call.reset(token)
        self._task.add_done_callback(self._note_end)
        self._task.add_done_callback(retrieve_exception)
        answer = self._answer
        try:
            return await asyncio.shield(answer)
        except (asyncio.CancelledError, GeneratorExit) as error:
            if self._job is None:
                await self._leave(answer, frame.requested, error)
            raise
        finally:
            # The future holds the error, and the traceback of the error holds this frame, and the context of the call,
            # which holds this object.
            if answer.done():
                self._answer = self._loop.create_future()
            del answer

    async def _run_to_end(self, frame: CallFrame) -> None:
        self._task = asyncio.current_task()  # a loop with eager tasks runs this before `run` knows the task
        result: ToolResult | None = None
        failure: BaseException | None = None
        try:
            result = await run_call(frame)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 -- the caller raises it; in a task, an exit would end the loop
            failure = error
        try:
            if self._job is None:
                set_outcome(self._answer, result, failure)
            else:
                self._end_job(result, failure)
        finally:
            del result, failure, self, frame  # the traceback of the error holds this frame

    def detach(self, call: ShownCall) -> None:
        """
        Make the call a job of its session if it may be one, and answer the caller.

        A call whose session ends with it runs to its end.

        Raises:
            ToolError: The call has no session, or too many jobs run already.
        """
        if not self._may_detach or self._job is not None:
            return  # a job is there already if the tool was interrupted, and runs again
        if call.session is None:
            raise ToolError("a background job needs a session, and this call has none; pass `session=` with it")
        if not may_have_jobs(call.session):
            return
        task = self._task
        if task is None:
            raise RuntimeError("the call has not begun")
        self._redaction = self._build_redaction(call)
        title, self._call_id = self._build_title(call), call.id
        job = jobs_of(call.session).start(lambda name: CallJob(name, title, task, self._loop, principal=call.principal))
        self._job = job
        self._settings.background_jobs.add(job)
        text = f"started {job.id}; `job_output` shows what it reports and its result, `job_stop` ends it"
        receipt = ToolResult(text, text, metadata={"job": job.id}, tool=self._plan.name, call_id=call.id, attempts=1)
        receipt.alias = self._plan.alias
        set_outcome(self._answer, receipt)

    @property
    def is_job(self) -> bool:
        """Whether the call has become a job."""
        return self._job is not None

    def record_progress(self, progress: Progress) -> None:
        """Keep *progress* for `job_output`, if the call is a job."""
        if self._job is not None:
            self._job.record_progress(progress)

    def _build_title(self, call: ShownCall) -> str:
        arguments = {name: value for name, value in call.arguments.items() if name != BACKGROUND}
        text = f"{self._plan.name} {json.dumps(arguments, ensure_ascii=False, default=repr)}"
        masked = self._redaction.mask_text(text)
        return masked if len(masked) <= _MAX_TITLE_CHARS else f"{masked[: _MAX_TITLE_CHARS - 3]}..."

    def _build_redaction(self, call: ShownCall) -> Redaction:
        """Return the redaction that masks the secrets of *call*, as they were sent and as the tool gets them."""
        decoded: Any = None
        if self._plan.tool.signature.secrets:
            with contextlib.suppress(Exception):  # the codec of a type may be the user's; the call was checked before
                decoded = self._plan.checker.check(call.actual_arguments)
        return self._plan.redaction(call.actual_arguments, decoded)

    async def _leave(self, answer: asyncio.Future[ToolResult], call: ToolCall | None, error: BaseException) -> None:
        """Cancel the call, whose caller *error* has ended. Wait until it has cleaned up, if the caller may wait."""
        task = self._task
        if task is not None and not answer.done():
            task.cancel()
            while not task.done() and not isinstance(error, GeneratorExit):
                # The caller may be cancelled again meanwhile. The cleanup of a call has a time limit of its own.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task})
        if answer.done() and not answer.cancelled() and answer.exception() is None:
            from ..approval.claim import withdraw_undelivered  # not loaded above, because few calls end like this

            await withdraw_undelivered(answer.result(), call, self._settings, error)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """Record the end of a call that was cancelled. The end of any other call is recorded already."""
        self._task = None
        if task.cancelled():
            self._answer.cancel()
            self._end_job(None, None)

    def _end_job(self, result: ToolResult | None, error: BaseException | None) -> None:
        job = self._job
        if job is None or job.is_over:
            return
        job.record_end(result, "" if error is None else self._redaction.mask_text(describe_value(error)))
        self._settings.background_jobs.discard(job)
        if error is not None:
            log_masked_error(f"{job.id} (`{self._plan.name}`) raised an exception", error, self._redaction)
        self._report_end(job)

    def _report_end(self, job: CallJob) -> None:
        """Tell the listener of the dispatcher that the job has ended."""
        listener = self._settings.on_progress
        if listener is None:
            return
        try:
            listener(Progress(call_id=self._call_id, tool=self._plan.name, message=f"{job.id}: {job.state()}"))
        except Exception:  # noqa: BLE001 -- the listener is user code, and must not change how the job ended
            _log.exception("a listener to progress failed")
