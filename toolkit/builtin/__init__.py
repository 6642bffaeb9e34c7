"""
The tools that a working agent needs, bound to a workspace. Importing registers nothing.

    from toolkit.builtin import Workspace, builtin_catalog

    catalog = builtin_catalog(Workspace("."))
"""

from typing import TYPE_CHECKING

from ..later import later as _later

if TYPE_CHECKING:
    from ..sandbox import Sandbox, best_sandbox
    from ..workspace import Workspace
    from .bash_tool import bash_for
    from .bundle import builtin_catalog
    from .edit_tool import edit_for
    from .glob_tool import glob_for
    from .grep_tool import grep_for
    from .job_output_tool import job_output_for
    from .job_stop_tool import job_stop_for
    from .read_tool import read_for
    from .shells import end_shells
    from .tool_search_tool import tool_search_for
    from .web_fetch_tool import web_fetch_for
    from .write_tool import write_for

_TOOLS = ("bash", "edit", "glob", "grep", "job_output", "job_stop", "read", "tool_search", "web_fetch", "write")

__all__ = [
    "Sandbox",
    "Workspace",
    "bash_for",
    "best_sandbox",
    "builtin_catalog",
    "edit_for",
    "end_shells",
    "glob_for",
    "grep_for",
    "job_output_for",
    "job_stop_for",
    "read_for",
    "tool_search_for",
    "web_fetch_for",
    "write_for",
]

__getattr__ = _later(
    __name__,
    {
        **{f"{name}_for": f"{name}_tool" for name in _TOOLS},
        **dict.fromkeys(("Sandbox", "Workspace", "best_sandbox", "builtin_catalog"), "bundle"),
        "end_shells": "shells",
    },
)
