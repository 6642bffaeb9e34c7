"""
The `job_stop` tool, which ends a job: a command of `bash`, or a call in the background.
"""

from __future__ import annotations

from ...context import Context
from ...decorator import tool
from ...errors import ToolError
from ...spec import Tool
from ...workspace.space import Workspace
from .job_output_tool import find_job
from .outputs import make_readable

__all__ = ["job_stop_for"]


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
        background_job = find_job(job, context.call, workspace)
        background_job.stop()
        if not background_job.wait(patience_seconds):
            raise ToolError(f"{background_job.id} was asked to end, and has not yet; look again with `job_output`")
        printed = make_readable(background_job.read()).rstrip("\n")
        return f"{printed}\n{background_job.id}: {background_job.state()}".lstrip("\n")

    return Tool.of(job_stop)
