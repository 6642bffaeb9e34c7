"""
The `job_output` tool, which shows what commands in the background print.
"""

from __future__ import annotations

from ...context import Context
from ...decorator import tool
from ...spec import Tool
from ...workspace.space import Workspace
from .jobs import BackgroundJob
from .outputs import make_readable
from .shell_state import shell_of

__all__ = ["job_output_for"]

_MAX_COMMAND_CHARS = 200


def job_output_for(workspace: Workspace) -> Tool:
    """Return the tool that lists and reads the jobs that `bash` started in *workspace*."""

    @tool(
        catalog=None,
        read_only=True,
        idempotent=False,
        concurrency_safe=False,
        group="shell",
        search_hint="background jobs list read log output running server watcher",
    )
    def job_output(*, job: str | None = None, context: Context) -> str:
        """Show what a background job printed since this was last asked, and whether it still runs.

        Args:
            job: Its name, as `bash` returned it; without one, all jobs are listed.
        """
        jobs = shell_of(context.session, workspace.root).jobs
        if job is None:
            return "\n".join(map(_describe_job, jobs.all())) or "(no jobs)"
        background_job = jobs.get(job)
        # Read the state before the output. Otherwise the last output of a job that ends in between would be missed.
        state = background_job.state()
        printed = background_job.read().rstrip("\n")
        return f"{printed or '(no new output)'}\n{background_job.id}: {state}"

    return Tool.of(job_output)


def _describe_job(job: BackgroundJob) -> str:
    command = make_readable(job.command).replace("\n", " ")
    return f"{job.id}: {job.state()}: {command[:_MAX_COMMAND_CHARS]}{'...' * (len(command) > _MAX_COMMAND_CHARS)}"
