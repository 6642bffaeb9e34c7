"""Error messages for a path that leads to nothing: what is there instead, or which path was probably meant."""

from __future__ import annotations

import posixpath

from ...errors import Safety, ToolError, find_nearest
from ...safety.paths import quote_path as quoted
from ...workspace import Entry, Workspace

__all__ = ["explain_missing", "find_entry"]


def find_entry(workspace: Workspace, path: str) -> Entry:
    """Return the entry that *path* leads to, or raise `ToolError`, which says which path would be right."""
    try:
        return workspace.stat(path)
    except Safety:
        raise
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise ToolError(f"{quoted(path)} {explain_missing(workspace, path)}") from error
        raise


def explain_missing(workspace: Workspace, path: str) -> str:
    """Return why there is nothing at *path*, and where to look instead."""
    folder, name = posixpath.split(path.rstrip("/"))
    try:
        entries = {entry.name: entry for entry in workspace.entries(folder or ".")}
    except ToolError:
        return f"does not exist, nor does the folder {quoted(folder)}; look for it with `glob`"
    if name in entries and entries[name].kind == "link":
        return "is a link that leads to nothing"
    near = " or ".join(quoted(posixpath.join(folder, candidate)) for candidate in find_nearest(name, entries))
    return f"does not exist; did you mean {near}?" if near else "does not exist; look for it with `glob`"
