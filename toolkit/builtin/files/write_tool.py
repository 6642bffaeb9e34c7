"""
The `write` tool, which writes a whole file, new or in place of an old one.
"""

from __future__ import annotations

from typing import Annotated, Any

from ...access import Reads, Writes
from ...approvals.previews import Preview
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem
from ...spec import Tool
from ...workspace.space import Workspace
from ..time_limit import watch_for
from .changes import check_unchanged, make, present, shown_change
from .encodings import UTF_8, Encoding, decoded, encoded_like, line_ending, unwritable, with_line_ending

__all__ = ["write_for"]


def write_for(workspace: Workspace) -> Tool:
    """Return the tool that writes files of *workspace*."""

    def preview(arguments: Any) -> Preview:
        old = present(workspace, arguments["path"])
        new, _ = _encoded(arguments["content"], old)
        return shown_change(workspace, arguments["path"], old, new)

    @tool(
        catalog=None,
        group="files",
        search_hint="create save make overwrite replace a whole text file",
        summary=lambda arguments: arguments["path"],
        timeout_seconds=workspace.timeout_seconds,
        preflight=lambda arguments: [Reads(arguments["path"])],  # the diff shows the content that is replaced
        preview=preview,
        validate=_objections,
    )
    def write(path: Annotated[str, Writes], content: str, *, context: Context) -> str:
        """Write a text file: a new one, or all of an old one anew.

        Folders on the way are made. An old file keeps its encoding, and its CRLF line endings if the content
        has none. Refused if the file has changed since you read it. To change a part of a file, use `edit`.

        Args:
            path: The file, relative to the workspace or absolute.
            content: All that the file is going to hold.
        """
        if problems := _objections({"content": content}):
            raise BadArgs(problems)
        watch = watch_for(workspace, context)
        old = present(workspace, path)
        check_unchanged(workspace, path, old, context)
        new, notes = _encoded(content, old)
        change = make(workspace, path, old, new, context, watch)
        return "\n".join([f"Wrote {len(new)} bytes to {workspace.shown(path)}", change, *notes])

    return Tool.of(write)


def _objections(arguments: Any) -> list[Problem]:
    problem = unwritable(arguments["content"])
    return [Problem(problem, ("content",))] if problem else []


def _encoded(content: str, old: bytes | None) -> tuple[bytes, list[str]]:
    """
    Encode *content* with the encoding and line endings of *old*.

    Return the bytes, and notes on them for the model.
    """
    decoding = None if old is None else decoded(old)
    if decoding is None:
        return UTF_8.encode(content), []
    text, encoding = decoding
    converted = with_line_ending(content, line_ending(text))
    data, used = encoded_like(encoding, converted)
    notes = ["(the file keeps its CRLF line endings)"] if converted != content else []
    return data, notes + _about(encoding, used)


def _about(old: Encoding, used: Encoding) -> list[str]:
    if used == UTF_8:
        return [] if old == UTF_8 else [f"(it is UTF-8 now; {old.name} cannot hold the content)"]
    return [f"(the file keeps its encoding, {used.name})"]
