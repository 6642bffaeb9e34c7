"""
The `read_output` tool, with which a model reads the rest of a result that was cut.

The dispatcher keeps the whole text of such a result in the session if this tool is in its catalog. The text that the
model gets then names the handle, and the place where it was cut.
"""

from __future__ import annotations

from ..calls.kept_outputs import MAX_PAGE_CHARS, READER_KEY, KeptOutput, forget_outputs, output_memory
from ..calls.record_cuts import find_cut
from ..context import Context
from ..decorator import tool
from ..errors import BadArgs, ToolError
from ..session import Session
from ..spec import Tool

__all__ = ["READ_OUTPUT", "find_output", "forget_outputs", "read_output_for"]

READ_OUTPUT = "read_output"

_MAX_MATCHES = 100


def read_output_for(*, defer: bool = False) -> Tool:
    """
    Return the tool that reads what was cut off from results: `catalog.add(read_output_for())`.

    Args:
        defer: Whether the model is told about the tool only when there is something to read.
    """

    @tool(
        catalog=None,
        name=READ_OUTPUT,
        read_only=True,
        defer=defer,
        group="search",
        search_hint="rest of a truncated long result output page on",
        summary=lambda arguments: str(arguments["handle"]),
        max_chars=2 * MAX_PAGE_CHARS,  # a page has the length that the tool it comes from allows
        max_bytes=8 * MAX_PAGE_CHARS,
        metadata={READER_KEY: True},
    )
    def read_output(
        handle: str, *, offset: int = 0, limit: int | None = None, pattern: str = "", context: Context
    ) -> str:
        """Read on in a result that was truncated or cut, or search in it.

        Args:
            handle: The handle that the cut result names, `output_...`.
            offset: Where to start, in characters; a negative one counts from the end.
            limit: How many characters to read at most; a whole page unless given.
            pattern: A regular expression: only lines that match are shown, each after its offset.
        """
        output = find_output(context.session, handle, context.call.principal)
        start = _resolve_offset(output, offset)
        if limit is not None and limit < 1:
            raise BadArgs(f"limit: expected 1 or more, got {limit}")
        page_chars = output.page_chars if limit is None else min(limit, output.page_chars)
        if pattern:
            from .search.grep_syntax import build_query  # few calls search, and this takes a while to load
            from .search.output_search import search_output

            query = build_query(pattern)
            return search_output(output, query, context, offset=start, max_matches=_MAX_MATCHES, max_chars=page_chars)
        return _render_page(output, start, page_chars)

    return Tool.of(read_output)


def find_output(session: Session | None, handle: str, principal: str | None) -> KeptOutput:
    """Return the output that *session* keeps for *principal* under *handle*, or raise `ToolError` if it keeps none."""
    output = output_memory.find(session, handle.strip(), principal)
    if output is None:
        raise ToolError(
            f"{handle[:100]!r} is not kept in this conversation, or not any more; "
            "if the tool that gave the result only reads, call it again, and ask for less"
        )
    return output


def _resolve_offset(output: KeptOutput, offset: int) -> int:
    length = len(output.text)
    start = max(0, length + offset) if offset < 0 else offset
    if start >= length > 0:
        kept = "" if length == output.total_chars else f"only the first {length:,} of "
        raise BadArgs(
            f"offset: expected less than {length}, got {offset}; {kept}{output.total_chars:,} characters are there"
        )
    return start


def _render_page(output: KeptOutput, start: int, page_chars: int) -> str:
    end = start + page_chars
    if end < len(output.text):
        cut = find_cut(output.text, end).end
        if 2 * cut < start + end:  # a record is longer than half a page
            cut = start + find_cut(output.text[start : end + 1], page_chars).end
        end = max(cut, start + 1)
    page = output.text[start:end]
    end = start + len(page)
    place = f"characters {start:,} to {end:,} of {output.total_chars:,} of `{output.tool}`"
    if end < len(output.text):
        return f"{page}\n({place}; more: continue with offset={end})"
    if end < output.total_chars:
        return f"{page}\n({place}; the rest was too large to be kept)"
    return f"{page}\n({place}; this is the end)"
