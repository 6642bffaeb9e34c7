"""
The built-in tools of a working agent, bound to a workspace. Importing this package registers no tool.

    from toolkit.builtin import Workspace, builtin_catalog

    catalog = builtin_catalog(Workspace("."))
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from ..sandbox import Sandbox, best_sandbox
    from ..workspace import Workspace
    from .ask_user_tool import ask_user_for
    from .bundle import builtin_catalog
    from .commands.bash_tool import bash_for
    from .commands.job_tools import job_output_for, job_stop_for
    from .commands.shell_state import end_shells
    from .files.edit_tool import edit_for
    from .files.read_tool import read_for
    from .files.write_tool import write_for
    from .memory.memory_folder import MemoryFolder
    from .memory.memory_tools import memory_tools
    from .memory.notes import MemoryNote, MemoryStore
    from .read_output_tool import forget_outputs, read_output_for
    from .search.glob_tool import glob_for
    from .search.grep_tool import grep_for
    from .tool_search_tool import tool_search_for
    from .web.web_fetch_tool import web_fetch_for

__all__ = [
    "MemoryFolder",
    "MemoryNote",
    "MemoryStore",
    "Sandbox",
    "Workspace",
    "ask_user_for",
    "bash_for",
    "best_sandbox",
    "builtin_catalog",
    "edit_for",
    "end_shells",
    "forget_outputs",
    "glob_for",
    "grep_for",
    "job_output_for",
    "job_stop_for",
    "memory_tools",
    "read_for",
    "read_output_for",
    "tool_search_for",
    "web_fetch_for",
    "write_for",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("Sandbox", "Workspace", "best_sandbox", "builtin_catalog"), "bundle"),
        **dict.fromkeys(("job_output_for", "job_stop_for"), "commands.job_tools"),
        **dict.fromkeys(("MemoryNote", "MemoryStore"), "memory.notes"),
        **dict.fromkeys(("forget_outputs", "read_output_for"), "read_output_tool"),
        "MemoryFolder": "memory.memory_folder",
        "ask_user_for": "ask_user_tool",
        "bash_for": "commands.bash_tool",
        "edit_for": "files.edit_tool",
        "end_shells": "commands.shell_state",
        "glob_for": "search.glob_tool",
        "grep_for": "search.grep_tool",
        "memory_tools": "memory.memory_tools",
        "read_for": "files.read_tool",
        "tool_search_for": "tool_search_tool",
        "web_fetch_for": "web.web_fetch_tool",
        "write_for": "files.write_tool",
    },
)
