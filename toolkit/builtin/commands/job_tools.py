"""The tools `job_output` and `job_stop`, for the jobs of a session: commands of `bash`, and calls in the background."""

from __future__ import annotations

import time

from ...calls.background.jobs import CallJob, Job, build_unknown_job_error, find_jobs
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError
from ...results import ToolCall, ToolResult
from ...spec import Tool
from ...workspace.space import Workspace
from .jobs import BackgroundJob
from .outputs import OutputText, make_readable
from .shell_state import find_shell

__all__ = ["job_output_for", "job_stop_for", "list_jobs"]

_MAX_TITLE_CHARS = 200
_MAX_WAIT_SECONDS = 600.0
_LOOK_SECONDS = 0.2


def job_output_for(workspace: Workspace | None = None) -> Tool:
    """
    Return the tool that lists and reads the jobs of a session.

    The jobs are the calls in the background and, with *workspace*, the commands that `bash` started there.
    """

    @tool(
        catalog=None,
        read_only=True,
        idempotent=False,
        concurrency_safe=False,
        group="shell",
        search_hint="background jobs list read log output running server watcher",
    )
    def job_output(*, job: str | None = None, wait_seconds: float = 0, context: Context) -> str | ToolResult:
        """Show what a background job printed since this was last asked, and whether it still runs.

        Args:
            job: Its name, as it was returned at the start; without one, all jobs are listed.
            wait_seconds: How long to wait for the end of the job first; at most 600.
        """
        if not 0 <= wait_seconds <= _MAX_WAIT_SECONDS:
            message = f"has to be from 0 to {_MAX_WAIT_SECONDS:g}, got {wait_seconds:g}"
            raise BadArgs([Problem(message, ["wait_seconds"])])
        if job is None:
            return "\n".join(map(_describe_job, list_jobs(context.call, workspace))) or "(no jobs)"
        background_job = _find_job(job, context.call, workspace)
        _wait(background_job, wait_seconds, context)
        # Read the state before the output. Otherwise the last output of a job that ends in between would be missed.
        state = background_job.state()
        if isinstance(background_job, BackgroundJob):
            output = background_job.take_output()
        else:
            output = OutputText(make_readable(background_job.read()))
        text = _render_output(output.text, background_job, state)
        full_text = None if output.full_text is None else _render_output(output.full_text, background_job, state)
        result = background_job.result if isinstance(background_job, CallJob) else None
        parts = () if result is None else result.parts
        return ToolResult(text, text, parts=parts, full_text=full_text) if parts or full_text is not None else text

    return Tool.of(job_output)


def job_stop_for(workspace: Workspace | None = None, *, patience_seconds: float = 15.0) -> Tool:
    """
    Return the tool that ends the jobs of a session.

    The jobs are the calls in the background and, with *workspace*, the commands that `bash` started there.

    Args:
        patience_seconds: How long the tool waits for a job to end. If the job still runs then, the tool raises
            `ToolError`.
    """

    @tool(catalog=None, idempotent=True, group="shell", search_hint="background jobs stop kill end terminate")
    def job_stop(job: str, *, context: Context) -> str:
        """End a background job, with everything that it started.

        Args:
            job: Its name, as it was returned at the start.
        """
        background_job = _find_job(job, context.call, workspace)
        background_job.stop()
        if not background_job.wait(patience_seconds):
            raise ToolError(f"{background_job.id} was asked to end, and has not yet; look again with `job_output`")
        printed = make_readable(background_job.read()).rstrip("\n")
        return f"{printed}\n{background_job.id}: {background_job.state()}".lstrip("\n")

    return Tool.of(job_stop)


def list_jobs(call: ToolCall, workspace: Workspace | None) -> list[Job]:
    """Return the calls, and the commands in *workspace*, that *call* may see by its session and its principal."""
    session = call.session
    jobs, shell = find_jobs(session), None if workspace is None else find_shell(session, workspace.root)
    commands: list[Job] = [] if shell is None else [*shell.jobs.all()]
    calls: list[Job] = [] if jobs is None else [*jobs.all()]
    visible_jobs = [job for job in commands + calls if job.principal == call.principal]
    return sorted(visible_jobs, key=lambda job: int(job.id.rpartition("_")[2]))


def _find_job(name: str, call: ToolCall, workspace: Workspace | None) -> Job:
    """Return the job called *name* that *call* may see, or raise `ToolError`, which suggests the nearest names."""
    jobs = {job.id: job for job in list_jobs(call, workspace)}
    if name not in jobs:
        raise build_unknown_job_error(name, list(jobs), find_jobs(call.session))
    return jobs[name]


def _render_output(output: str, job: Job, state: str) -> str:
    printed = output.rstrip("\n")
    return f"{printed or '(no new output)'}\n{job.id}: {state}"


def _wait(job: Job, seconds: float, context: Context) -> None:
    """Wait for the end of *job*, at most *seconds*, and no longer than the caller waits."""
    until = time.monotonic() + seconds
    while not context.cancelled and (left := until - time.monotonic()) > 0 and not job.wait(min(left, _LOOK_SECONDS)):
        pass


def _describe_job(job: Job) -> str:
    title = make_readable(job.title).replace("\n", " ")
    return f"{job.id}: {job.state()}: {title[:_MAX_TITLE_CHARS]}{'...' * (len(title) > _MAX_TITLE_CHARS)}"
