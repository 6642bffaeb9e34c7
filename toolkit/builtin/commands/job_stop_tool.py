"""
The `job_stop` tool, which ends a command in the background.
"""

from __future__ import annotations

from ...context import Context
from ...decorator import tool
from ...errors import ToolError
from ...spec import Tool
from ...workspace.space import Workspace
from .shell_state import shell_of

__all__ = ["job_stop_for"]


def job_stop_for(workspace: Workspace, *, patience_seconds: float = 15.0) -> Tool:
    """
    Return the tool that ends jobs that `bash` started in *workspace*.

    Args:
        patience_seconds: How long the tool waits for a job to end. If the job still runs then, the tool raises
            `ToolError`.
    """

    @tool(catalog=None, idempotent=True, group="shell", search_hint="background jobs stop kill end terminate")
    def job_stop(job: str, *, context: Context) -> str:
        """End a background job, with everything that it started.

        Args:
            job: Its name, as `bash` returned it.
        """
        background_job = shell_of(context.session, workspace.root).jobs.get(job)
        background_job.process.stop()
        if not background_job.process.wait(patience_seconds):
            raise ToolError(f"{background_job.id} was asked to end, and has not yet; look again with `job_output`")
        printed = background_job.read().rstrip("\n")
        return f"{printed}\n{background_job.id}: {background_job.state()}".lstrip("\n")

    return Tool.of(job_stop)
