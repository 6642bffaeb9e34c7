"""
A request on a terminal: everything that a person needs to decide, and nothing that could deceive them.

Text from outside is made visible. Each of its lines is wrapped to the screen and stands behind a bar, so that no part
of it looks like a line of this program.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from ...decisions import ApprovalRequest, AuthRequest, Grant
from ...questions import DECLINED, AnswersNeeded
from ...values.visible import make_visible
from ..comparisons import describe_edit

__all__ = ["Screen", "describe_grant"]

_BAR = "  | "
_MAX_CHARS = 20_000
_MIN_WIDTH = 20
_STYLES = {"bold": "1", "red": "31", "green": "32", "cyan": "36"}
_DIFF_STYLES = (("+++ ", "bold"), ("--- ", "bold"), ("@@ ", "cyan"), ("+", "green"), ("-", "red"))
_LONG_SECONDS = 12 * 3600.0  # a person at a terminal need not know that there is more time than this
_TIME_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


class Screen:
    """
    The terminal on which a request is shown.

    Args:
        output: The stream to which the request is written.
        colour: Whether to use colours; by default only on a terminal, and if NO_COLOR is not set.
    """

    def __init__(self, output: TextIO, *, colour: bool | None = None) -> None:
        self._output = output
        self._width = _measure_width(output)
        if colour is None:
            is_monochrome = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
            colour = self._width is not None and not is_monochrome
        self._colour = colour

    def show(self, request: ApprovalRequest, now: float, *, lists_questions: bool = True) -> bool:
        """
        Print *request*; return whether all of it could be shown.

        *lists_questions* says whether the questions of a tool are shown as well, and not one by one afterwards.
        """
        tool = _to_one_line(request.tool)
        self.say()
        self.say(f"`{tool}` {_describe_need(request)}", style="bold")
        for label, text in _facts(request, now):
            self._show_fact(label, text)
        arguments = json.dumps(dict(request.arguments), ensure_ascii=False, indent=2, default=str)
        is_whole = len(arguments) <= _MAX_CHARS
        if request.arguments and not (is_whole and self._show_on_one_line(request.arguments)):
            cut_note = "" if is_whole else f", cut: {_MAX_CHARS:,} of {len(arguments):,} characters shown"
            self.say(f"  with{cut_note}:")
            self.show_block(make_visible(arguments[:_MAX_CHARS]))
        if request.preview:
            self.say("  which would do:")
            text = make_visible(request.preview)
            self.show_block(text, is_diff="\n@@ " in text)
        messages = [question.message for question in request.questions if lists_questions]
        for message in messages:
            self.show_block(make_visible(_shorten(message)))
        return is_whole and not request.is_cut and max(map(len, messages), default=0) <= _MAX_CHARS

    def say(self, text: str = "", *, style: str | None = None, end: str = "\n") -> None:
        """Print a line of this program. The caller has made any text from outside in it visible."""
        self._write(self._add_style(text, style) + end)
        self._output.flush()

    def _show_fact(self, label: str, text: str) -> None:
        line = f"  {label}: {_to_one_line(text)}"
        if self._width is None or _count_cells(line) <= self._width:
            self.say(line)
        else:
            self.say(f"  {label}:")
            self.show_block(_to_one_line(text))

    def _show_on_one_line(self, arguments: Mapping[str, Any]) -> bool:
        """Print *arguments* as one line if they are short enough for the terminal; return whether they were."""
        line = f"  with: {_to_one_line(json.dumps(dict(arguments), ensure_ascii=False, default=str))}"
        is_short = self._width is not None and _count_cells(line) <= self._width
        if is_short:
            self.say(line)
        return is_short

    def show_block(self, text: str, *, is_diff: bool = False) -> None:
        """Print *text*, which was made visible, behind a bar, so that it cannot look like a line of this program."""
        for line in text.removesuffix("\n").split("\n"):
            style = next((style for start, style in _DIFF_STYLES if is_diff and line.startswith(start)), None)
            for piece in _wrap_line(line, None if self._width is None else self._width - len(_BAR)):
                self._write(f"{_BAR}{self._add_style(piece, style)}\n")

    def _add_style(self, text: str, style: str | None) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and style and text else text

    def _write(self, text: str) -> None:
        try:
            self._output.write(text)
        except UnicodeEncodeError as error:  # The terminal's encoding lacks some of the characters.
            self._output.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))


def describe_grant(grant: Grant) -> str:
    """Return what a person agrees to with *grant*, on one line."""
    targets = {"tool": "every call of it", "command": f"commands that start with {grant.target}"}
    words = grant.shown or targets.get(grant.scope, f"everything under {grant.target}")
    return f"{_to_one_line(words)}, for the rest of the session"


def _describe_need(request: ApprovalRequest) -> str:
    if request.questions:
        return "asks you a question" if len(request.questions) == 1 else f"asks you {len(request.questions)} questions"
    return "needs credentials" if request.auth else "asks for permission"


def _facts(request: ApprovalRequest, now: float) -> Iterator[tuple[str, str]]:
    if request.origin != "python":
        yield "comes from", request.origin
    # The questions are shown one by one. The reason says more if the last answers had a mistake.
    if request.reason != make_visible(str(AnswersNeeded(request.questions))):
        yield "because", request.reason
    # The reason mostly names the mode or the rule that asks, so it is not said twice.
    askers = [name for name in request.asked_by if name not in request.reason]
    if askers and not request.questions:
        yield "asked by", ", ".join(askers)
    for answered in request.answers:
        answer = json.dumps(answered.answer, ensure_ascii=False, default=str)
        yield f"answered {answered.question.key!r} before", "declined" if answered.answer is DECLINED else answer
    if request.principal is not None:
        yield "on behalf of", request.principal
    if request.waits_for is not None:
        yield "after", request.waits_for
    for repair in request.repairs:
        yield "mended before", repair
    for edit in request.edits:
        yield f"changed by {edit.by or 'the user'}", describe_edit(edit)
    if request.auth is not None:
        yield from _auth_facts(request.auth)
    if request.expires_at is not None and request.expires_at - now < _LONG_SECONDS:
        yield "can be answered for", _describe_duration(request.expires_at - now)


def _auth_facts(auth: AuthRequest) -> Iterator[tuple[str, str]]:
    yield "credentials of", auth.provider
    if auth.scopes:
        yield "which permit", ", ".join(auth.scopes)
    if auth.url is not None:
        yield "given at", auth.url
    if auth.reason:
        yield "needed for", auth.reason


def _describe_duration(seconds: float) -> str:
    for length, unit in _TIME_UNITS:
        if seconds >= 2 * length:
            return f"{seconds // length:.0f} {unit}"
    return "a moment"


def _to_one_line(text: str) -> str:
    return make_visible(_shorten(text), keep_lines=False)


def _shorten(text: str) -> str:
    is_whole = len(text) <= _MAX_CHARS
    return text if is_whole else f"{text[:_MAX_CHARS]} (cut: {_MAX_CHARS:,} of {len(text):,} characters shown)"


def _measure_width(output: TextIO) -> int | None:
    """Return how many cells a line has; return None if the output is not a terminal, which would wrap lines."""
    try:
        if not output.isatty():
            return None
        return max(_MIN_WIDTH, os.get_terminal_size(output.fileno()).columns or 80)
    except (OSError, ValueError):
        return None


def _wrap_line(line: str, width: int | None) -> Iterator[str]:
    """Yield *line* in pieces of at most *width* cells; yield at least one piece, even if the line is empty."""
    if width is None:
        yield line
        return
    start = used = 0
    for index, character in enumerate(line):
        cells = _count_cells(character)
        if used + cells > width:
            yield line[start:index]
            start, used = index, 0
        used += cells
    yield line[start:]


def _count_cells(text: str) -> int:
    return sum(
        8 if character == "\t" else 2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text
    )
