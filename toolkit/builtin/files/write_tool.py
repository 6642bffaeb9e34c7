"""The `write` tool, which writes a whole file, new or in place of an old one."""

from __future__ import annotations

from typing import Annotated, Any

from ..._plumbing.wording import format_count
from ...access import Writes
from ...approvals.previews import Preview
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem
from ...spec import Tool
from ...workspace.space import Workspace
from ..time_limit import time_limit_for
from .changes import apply_change, check_unchanged, list_reads, preview_change, read_if_exists
from .encodings import UTF_8, Encoding, decode_text, detect_line_ending, encode_like, why_unwritable, with_line_ending

__all__ = ["write_for"]


def write_for(workspace: Workspace) -> Tool:
    """Return the tool that writes files of *workspace*."""

    def preview(arguments: Any) -> Preview:
        old = read_if_exists(workspace, arguments["path"])
        new, _ = _encode_content(arguments["content"], old)
        return preview_change(workspace, arguments["path"], old, new)

    @tool(
        catalog=None,
        group="files",
        search_hint="create save make overwrite replace a whole text file",
        summary=lambda arguments: arguments["path"],
        timeout_seconds=workspace.timeout_seconds,
        preflight=list_reads,
        preview=preview,
        validate=_find_problems,
    )
    def write(path: Annotated[str, Writes], content: str, *, context: Context) -> str:
        """Write a text file: a new one, or all of an old one anew.

        Folders on the way are made. An old file keeps its encoding, and its CRLF line endings if the content
        has none. Refused if the file has changed since you read it. To change a part of a file, use `edit`.

        Args:
            path: The file, relative to the workspace or absolute.
            content: All that the file is going to hold.
        """
        if problems := _find_problems({"content": content}):
            raise BadArgs(problems)
        time_limit = time_limit_for(workspace.timeout_seconds, context)
        old = read_if_exists(workspace, path)
        check_unchanged(workspace, path, old, context)
        new, notes = _encode_content(content, old)
        change = apply_change(workspace, path, old, new, context, time_limit)
        return "\n".join([f"Wrote {format_count(len(new), 'byte')} to {workspace.shown(path)}", change, *notes])

    return Tool.of(write)


def _find_problems(arguments: Any) -> list[Problem]:
    problem = why_unwritable(arguments["content"])
    return [Problem(problem, ("content",))] if problem else []


def _encode_content(content: str, old: bytes | None) -> tuple[bytes, list[str]]:
    """Return *content* with the encoding and line endings of *old*, and notes on them for the model."""
    decoding = None if old is None else decode_text(old)
    if decoding is None:
        return UTF_8.encode(content), []
    text, encoding = decoding
    converted = with_line_ending(content, detect_line_ending(text))
    data, used = encode_like(encoding, converted)
    notes = ["(the file keeps its CRLF line endings)"] if converted != content else []
    return data, notes + _describe_encoding(encoding, used)


def _describe_encoding(old: Encoding, used: Encoding) -> list[str]:
    if used == UTF_8:
        return [] if old == UTF_8 else [f"(it is UTF-8 now; {old.name} cannot hold the content)"]
    return [f"(the file keeps its encoding, {used.name})"]
