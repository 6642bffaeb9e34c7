"""The `edit` tool, which makes exact replacements in a file: all of them or none."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from ..._plumbing.wording import format_count
from ...access import Writes
from ...approvals.previews import Preview
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, ToolError
from ...spec import Tool
from ...workspace.space import Workspace
from ..time_limit import TimeLimit, time_limit_for
from .changes import apply_change, check_time, check_unchanged, list_reads, preview_change, read_if_exists
from .encodings import decode_text
from .missing_paths import explain_missing
from .replacements import Edit, Edits, apply_edits, find_problems

__all__ = ["edit_for"]

_PREVIEW_SECONDS = 4.0  # a little less than the time that the dispatcher waits for a preview


def edit_for(workspace: Workspace) -> Tool:
    """Return the tool that edits files of *workspace*."""

    def preview(arguments: Any) -> Preview:
        path = arguments["path"]
        old = _read_content(workspace, path)
        new, _ = _edit_content(workspace, path, old, arguments["edits"], TimeLimit(_PREVIEW_SECONDS, lambda: False))
        return preview_change(workspace, path, old, new)

    @tool(
        catalog=None,
        group="files",
        search_hint="change modify patch update rewrite part of code",
        summary=lambda arguments: arguments["path"],
        timeout_seconds=workspace.timeout_seconds,
        preflight=list_reads,
        preview=preview,
        validate=lambda arguments: find_problems(arguments["edits"]),
    )
    def edit(path: Annotated[str, Writes], edits: Edits, *, context: Context) -> str:
        """Replace exact pieces of a text file; if one of the edits fails, none is made.

        Every edit is looked up in the file as it is now, not in what the others make of it. Line endings
        are kept: `old` and `new` may be written with plain newlines. Refused if the file has changed
        since you read it.

        Args:
            path: The file, relative to the workspace or absolute.
            edits: The replacements; their places must not overlap.
        """
        if problems := find_problems(edits):
            raise BadArgs(problems)
        time_limit = time_limit_for(workspace.timeout_seconds, context)
        old = _read_content(workspace, path)
        check_unchanged(workspace, path, old, context)
        new, count = _edit_content(workspace, path, old, edits, time_limit)
        change = apply_change(workspace, path, old, new, context, time_limit)
        return f"Edited {workspace.shown(path)}: {format_count(count, 'replacement')}\n{change}"

    return Tool.of(edit)


def _read_content(workspace: Workspace, path: str) -> bytes:
    old = read_if_exists(workspace, path)
    if old is None:
        raise ToolError(f"{workspace.shown(path)} {explain_missing(workspace, path)} (a new file is made with `write`)")
    return old


def _edit_content(
    workspace: Workspace, path: str, old: bytes, edits: list[Edit], time_limit: TimeLimit
) -> tuple[bytes, int]:
    """Return the new bytes of the file with all *edits* made, and the number of places that changed."""
    name = workspace.shown(path)
    decoding = decode_text(old)
    if decoding is None:
        raise ToolError(f"{name} is not a text file, and `edit` changes text")
    text, encoding = decoding
    before_edit = partial(check_time, time_limit, name)
    new, count = apply_edits(text, edits, name, max_characters=workspace.max_write_bytes, before_edit=before_edit)
    try:
        data = encoding.encode(new)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{name} is encoded in {encoding.name}, which has no {new[error.start]!r}; "
            f"choose other words, or write the whole file anew with `write`, which makes it UTF-8"
        ) from None
    if encoding.is_guess and (decode_text(data) or (None,))[0] != new:
        raise ToolError(
            f"{name} would not be read back as it is meant: it seemed to be {encoding.name}, and would not any more; "
            f"write the whole file anew with `write`, which makes it UTF-8"
        )
    return data, count
