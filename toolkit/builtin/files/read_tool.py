"""
The `read` tool, which returns a file in a form that a model can use.

Text comes with numbered lines, one page at a time, even from a file of gigabytes. Images come as images. Any other file
is described, and its content is never returned.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, BinaryIO

from ..._plumbing.wording import format_count
from ...access import Reads
from ...content import ImagePart, TextPart
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, Safety, ToolError
from ...safety.paths import quote_path as quoted
from ...spec import Tool
from ...workspace.space import Workspace
from .changes import remember_digest
from .encodings import UTF_8, Encoding, detect_encoding
from .file_kinds import FileKind, image_size, kind_of
from .line_pages import FileLine, LinePage, OnProgress, Survey, read_page, survey_file
from .missing_paths import find_entry

__all__ = ["read_for"]

_MAX_PAGE_BYTES = 30_000  # with its last line and the notes, less than a result may have
_MAX_IMAGE_BYTES = 3_750_000  # in base64, an image of this size still fits the limit of the providers
_SAMPLE_BYTES = 1 << 18
_REPORT_EVERY_BYTES = 1 << 28


def read_for(workspace: Workspace) -> Tool:
    """Return the tool that reads files of *workspace*."""

    @tool(
        catalog=None,
        read_only=True,
        group="files",
        search_hint="show open view cat head tail print content",
        summary=lambda arguments: arguments["path"],
        timeout_seconds=workspace.timeout_seconds,
        validate=_find_problems,
    )
    def read(
        path: Annotated[str, Reads], *, offset: int = 1, limit: int = 2000, context: Context
    ) -> str | list[TextPart | ImagePart]:
        """Read a file: text with numbered lines, or an image.

        Each line comes as its number, a tab and its text. What follows in parentheses says whether
        the file ends there or where to go on. Very long lines are cut, and say so.

        Args:
            path: The file, relative to the workspace or absolute.
            offset: The first line, counted from 1; a negative one counts from the end: -20 is the last 20 lines.
            limit: How many lines at most.
        """
        if problems := _find_problems({"offset": offset, "limit": limit}):
            raise BadArgs(problems)
        name = workspace.shown(path)
        with _open_file(workspace, path) as file:
            size = os.fstat(file.fileno()).st_size
            sample = file.read(_SAMPLE_BYTES)
            encoding = detect_encoding(sample, is_whole=len(sample) < _SAMPLE_BYTES)
            on_progress = _track_progress(context, size)
            file_survey = None
            if size <= workspace.max_read_bytes:
                # Take the digest before any line is shown. If another program writes meanwhile, the stamp is too old,
                # never too new.
                file_survey = survey_file(file, encoding or UTF_8, on_progress=on_progress)
                remember_digest(context.session, workspace.place(path), file_survey.sha256)
            kind = kind_of(sample) if encoding is None or encoding.is_guess else None
            if encoding is None or kind is not None:
                return _describe_file(file, name, size, kind)
            return _render_page(file, encoding, size, file_survey, offset, limit, on_progress)

    return Tool.of(read)


def _find_problems(arguments: Any) -> list[Problem]:
    checks = {
        "offset": (arguments["offset"] == 0, "lines are counted from 1, or from the end with negative numbers; got 0"),
        "limit": (arguments["limit"] < 1, f"has to be at least 1, got {arguments['limit']}"),
    }
    return [Problem(message, (name,)) for name, (is_wrong, message) in checks.items() if is_wrong]


def _open_file(workspace: Workspace, path: str) -> BinaryIO:
    """Open the file, or raise an error that says which path would be right."""
    try:
        return workspace.open(path)
    except Safety:
        raise
    except ToolError as error:
        if find_entry(workspace, path).kind != "folder":
            raise
        raise ToolError(f"{quoted(path)} is a folder, and `read` reads files; list it with `glob`") from error


def _track_progress(context: Context, size: int) -> OnProgress:
    """Return an `OnProgress` function that raises if the call was cancelled, and reports progress now and then."""
    done = 0

    def on_progress(count: int) -> None:
        nonlocal done
        if context.cancelled:
            raise ToolError("it was stopped before the lines were found")
        done, before = done + count, done
        if done // _REPORT_EVERY_BYTES > before // _REPORT_EVERY_BYTES:
            context.report(done, size, "looking for the lines")

    return on_progress


# Text files.


def _render_page(
    file: BinaryIO,
    encoding: Encoding,
    size: int,
    file_survey: Survey | None,
    offset: int,
    limit: int,
    on_progress: OnProgress,
) -> str:
    if file_survey is None and offset < 0:
        file_survey = survey_file(file, encoding, on_progress=on_progress, with_digest=False)
    first = offset if offset > 0 or file_survey is None else max(1, file_survey.line_count + 1 + offset)
    checkpoints = ((0, 0),) if file_survey is None else file_survey.checkpoints
    page = read_page(
        file,
        encoding,
        first_line=first,
        max_lines=limit,
        max_bytes=_MAX_PAGE_BYTES,
        on_progress=on_progress,
        checkpoints=checkpoints,
    )
    if not page.lines and first > 1:
        lines = page.lines_before if file_survey is None else file_survey.line_count
        raise BadArgs(
            Problem(f"there is no line {first}; the file has {format_count(lines, 'line')} in all", ("offset",))
        )
    numbered = [f"{number}\t{_render_line(line)}" for number, line in enumerate(page.lines, first)]
    total = None if file_survey is None else file_survey.line_count
    return "\n".join([*numbered, _describe_page(page, encoding, size, total, first)])


def _render_line(line: FileLine) -> str:
    return f"{line.text}... [cut: the line has {line.bytes_if_cut:,} bytes]" if line.bytes_if_cut else line.text


def _describe_page(page: LinePage, encoding: Encoding, size: int, lines: int | None, first: int) -> str:
    """Return what the model has to know besides the lines."""
    last = first + len(page.lines) - 1
    if not page.lines:
        notes = ["the file is empty"]
    elif page.is_last:
        notes = [f"end of file: {format_count(last, 'line')} in all"]
    else:
        whole = format_count(size, "byte") if lines is None else format_count(lines, "line")
        notes = [f"lines {first}-{last}; {whole} in all; more: continue with offset={last + 1}"]
    if page.lines and page.is_last and not page.lines[-1].ending:
        notes.append("no newline at the end")
    endings = {line.ending for line in page.lines if line.ending}
    if "\r\n" in endings:
        notes.append("lines end in CRLF" if len(endings) == 1 else "some lines end in CRLF, others in LF")
    if encoding != UTF_8:
        notes.append(f"encoding: {encoding.name}{', which is a guess' if encoding.is_guess else ''}")
    if any(line.is_damaged for line in page.lines):
        notes.append("some bytes are not text in this encoding, and shown as \ufffd")
    return f"({'; '.join(notes)})"


# Other files.


def _describe_file(file: BinaryIO, name: str, size: int, kind: FileKind | None) -> str | list[TextPart | ImagePart]:
    description = (
        f"{name}: {'binary file of no known kind' if kind is None else kind.name}, {format_count(size, 'byte')}"
    )
    if kind is None or kind.media_type is None:
        return f"{description}; its content is not shown, because it is not text"
    if size > _MAX_IMAGE_BYTES:
        return f"{description}; it is too large to be shown, the limit is {_MAX_IMAGE_BYTES:,} bytes"
    file.seek(0)
    data = file.read(_MAX_IMAGE_BYTES)
    if pixels := image_size(data):
        description += f", {pixels[0]} x {pixels[1]} pixels"
    return [TextPart(description), ImagePart(data, kind.media_type)]
