"""The part of the second reading that deals with characters: it finds where a word ends, by bash's own rules."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from typing import NoReturn, TypeAlias

from ..._plumbing.wording import in_backticks
from .heredocs import read_delimiter
from .records import CannotParse

__all__ = ["Span", "WordOutline", "refuse"]

Span: TypeAlias = tuple[int, int]

_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"$`]*")
_BEFORE_ARRAY = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=\Z")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[[\w$@*+/%.:,~!#^?{}-]*\]")
_OPENS_SUBSCRIPT = re.compile(r"(?:[A-Za-z_]\w*|(?:\w|\\\n)+(?=[\[+=]))(?P<next>\[)?")
_IN_ARRAY = re.compile(r"\[[\w$@*+/%.:,~!#^?{}-]*\]\+?=")
_JOINED_PARENTHESIS = re.compile(r"(?:\\\n)+\(")
_JOINS = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_IN_STRING = re.compile(r'[^"\\$`]*')
_IN_BODY = re.compile(r"[^\\$`]*")
_MAX_NESTING = 60


def refuse(reason: str) -> NoReturn:
    """Raise `CannotParse` with the reason *reason*."""
    raise CannotParse(reason)


def _match_end(pattern: re.Pattern[str], text: str, at: int, end: int = sys.maxsize) -> int:
    match = pattern.match(text, at, end)
    return match.end() if match else at


class WordOutline(ABC):
    """
    A text, the place that was reached in it, and the things that were found.

    Attributes:
        commands: The positions of the words of every simple command.
        backticks: The positions of `` `...` ``. The text inside is read separately.
        targets: The positions of the words behind redirections, except here-documents.
        heredocs: The delimiters of the here-documents that begin on the next line, and whether tabs are removed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.commands: set[tuple[Span, ...]] = set()
        self.backticks: set[Span] = set()
        self.targets: set[Span] = set()
        self.heredocs: list[tuple[str, bool]] = []
        self._depth = 0

    @abstractmethod
    def read_substitution(self, at: int) -> int:
        """Read the statements of a substitution that begins at *at*. Return the place behind its `)`."""

    def skip_blanks(self) -> None:
        """Step over blanks, joined lines and a comment, but not over the end of the line."""
        self.at = _match_end(_BLANKS, self.text, self.at)

    def skip_newlines(self) -> None:
        """Step over blanks and the ends of lines, and over the here-documents that begin there."""
        self.skip_blanks()
        while self.text.startswith("\n", self.at):
            self.at += 1
            if self.heredocs:
                self._skip_bodies()
            self.skip_blanks()

    def skip_word(self, *, assigns: bool = False, arrays: bool = False) -> int:
        """
        Step over the word that begins here, and return its end.

        Args:
            assigns: Whether an assignment may stand here, so that `a[b c]` is one word.
            arrays: Whether `a=(...)` may stand here.
        """
        text, begins, at = self.text, self.at, self.at
        if assigns:
            at = self._subscript_end(at)
        while True:
            at = _match_end(_PLAIN, text, at)
            sign = text[at : at + 1]
            if sign == "$":
                at = self._expansion_end(at, quoted=False)
            elif sign == "'":
                at = text.find("'", at + 1) + 1 or refuse("quotes that do not match")
            elif sign == '"':
                at = self._string_end(at + 1)
            elif sign == "\\":
                if at + 1 >= len(text):
                    refuse("it ends in a backslash")
                at += 2
            elif sign == "`":
                at = self._backticks_end(at)
            elif sign == "(":
                if arrays and _BEFORE_ARRAY.match(text[begins:at].replace("\\\n", "")):
                    at = self._array_end(at + 1)
                elif at > begins and text[at - 1] in "?*+@!=\n":
                    refuse("`(` in the middle of a word")
                else:
                    break
            elif sign in ("<", ">") and text.startswith("(", at + 1):
                at = self._substitution_end(at + 2)
            else:
                break
        self.at = at
        return at

    def _subscript_end(self, at: int) -> int:
        match = _OPENS_SUBSCRIPT.match(self.text, at)
        if match is None:
            return at
        if "\\\n" in match.group():
            refuse("a name over two lines")
        if match["next"]:
            subscript = _SUBSCRIPT.match(self.text, at)
            return subscript.end() if subscript else refuse(f"the subscript behind `{match.group()}` is not understood")
        return at

    def _substitution_end(self, at: int) -> int:
        """Read the statements of `$(`, `<(` or `>(`, and return the end."""
        self._depth += 1
        if self._depth > _MAX_NESTING:
            refuse("it is nested too deeply")
        end = self.read_substitution(at)
        self._depth -= 1
        return end

    def _expansion_end(self, at: int, *, quoted: bool) -> int:
        """Return the end of the expansion that begins with the `$` at *at*."""
        text = self.text
        sign = text[at + 1 : at + 2]
        if sign == "(":
            if text.startswith("(", at + 2):
                return self.arithmetic_end(at + 3)
            self.refuse_joined_parenthesis(at + 2)
            return self._substitution_end(at + 2)
        if sign == "{":
            return self._braces_end(at + 2, quoted=quoted)
        if sign == "[":
            refuse("`$[` is not understood")
        if text.startswith("\\\n", at + 1):
            refuse("`$` at the end of a line")
        if sign == "$":
            return at + 2
        if not quoted and sign == "'":
            return self._ansi_end(at + 2)
        if not quoted and sign == '"':
            return self._string_end(at + 2)
        return at + 1

    def refuse_joined_parenthesis(self, at: int) -> None:
        """Refuse a second parenthesis on another line: the shell joins the lines, and reads arithmetic."""
        if _JOINED_PARENTHESIS.match(self.text, at):
            refuse("`((` over two lines")

    def _ansi_end(self, at: int) -> int:
        while self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        return at + 1

    def _string_end(self, at: int) -> int:
        """Return the end of a text in double quotes."""
        while True:
            at = _match_end(_IN_STRING, self.text, at)
            sign = self.text[at : at + 1]
            if sign == '"':
                return at + 1
            if not sign:
                refuse("quotes that do not match")
            at = self._active_part_end(at, sign)

    def _active_part_end(self, at: int, sign: str) -> int:
        """Return the end of an escape, backticks or expansion that is still active inside double quotes."""
        if sign == "\\":
            return at + 2
        return self._backticks_end(at) if sign == "`" else self._expansion_end(at, quoted=True)

    def _backticks_end(self, begins: int) -> int:
        at = begins + 1
        while self.text[at] != "`":
            at += 2 if self.text[at] == "\\" else 1
        self.backticks.add((begins, at + 1))
        return at + 1

    def _braces_end(self, at: int, *, quoted: bool) -> int:
        """Return the end of `${...}`. The first `}` that is not part of an inner expansion or string ends it."""
        text = self.text
        if text[at] in " \t\n|(":
            refuse("`${ ` is not understood")
        while True:
            sign = text[at]
            if sign == "}":
                return at + 1
            if sign == "'" or (sign == '"' and quoted) or (sign in "<>" and text.startswith("(", at + 1)):
                refuse("quotes inside `${...}`")
            if sign == '"':
                at = self._string_end(at + 1)
            elif sign in "\\`$":
                at = self._active_part_end(at, sign)
            else:
                at += 1

    def arithmetic_end(self, at: int) -> int:
        """Return the end of `((...))`. *at* is the place behind the opening parentheses."""
        text, depth = self.text, 0
        while True:
            sign = text[at]
            if sign == "(":
                depth += 1
                at += 1
            elif sign == ")":
                if not depth:
                    return at + 2 if text.startswith("))", at) else refuse("`((` is not understood here")
                depth -= 1
                at += 1
            elif sign in "'\"\\":
                refuse("quotes inside arithmetic")
            elif sign in "`$":
                at = self._active_part_end(at, sign)
            else:
                at += 1

    def condition_end(self, at: int) -> int:
        """Return the end of `[[ ... ]]`. *at* is the place behind the opening brackets."""
        text, before = self.text, ""
        self.at = at
        while True:
            self.skip_newlines()
            begins = self.at
            sign = text[begins]
            if before == "=~":
                before = ""
                self._regex_end()
            elif sign in "()" or (sign in "<>" and not text.startswith("(", begins + 1)):
                self.at, before = begins + 1, sign
            elif text.startswith(("&&", "||"), begins):
                self.at, before = begins + 2, "&&"
            else:
                end = self.skip_word()
                if end == begins:
                    refuse(f"{in_backticks(sign)} inside `[[`")
                before = text[begins:end]
                if before == "]]":
                    return end

    def _regex_end(self) -> None:
        text, depth, begins = self.text, 0, self.at
        while True:
            sign = text[self.at]
            if sign in " \t\n" and not depth:
                break
            if sign in ";&<>`'\" \t\n":
                refuse("the expression behind `=~` is not understood")
            if sign in "\\$":
                self.at = self._active_part_end(self.at, sign)
                continue
            depth += (sign == "(") - (sign == ")")
            self.at += 1
        if depth or self.at == begins:
            refuse("the expression behind `=~` is not understood")

    def _array_end(self, at: int) -> int:
        """Return the end of the values of an array."""
        text = self.text
        while True:
            while text[at] in " \t\n" or text.startswith("\\\n", at):
                if self.heredocs and text[at] == "\n":
                    refuse("a here-document that begins inside an array")
                at += 2 if text[at] == "\\" else 1
            if text[at] == "#":
                at = text.find("\n", at)
                if at < 0:
                    refuse("an array without an end")
                continue
            if text[at] == ")":
                return at + 1
            if text[at] == "[" and not _IN_ARRAY.match(text, at):
                refuse("a subscript inside an array")
            self.at = at
            if self.skip_word() == at:
                refuse(f"{in_backticks(text[at])} inside an array")
            at = self.at

    def _skip_bodies(self) -> None:
        """Step over the here-documents that begin with this line."""
        waiting, self.heredocs = self.heredocs, []
        for quoted_delimiter, strips_tabs in waiting:
            delimiter, expands = read_delimiter(quoted_delimiter)
            begins = self.at
            end = self._body_end(delimiter, strips_tabs=strips_tabs, joins=expands)
            behind = self.at
            if expands:
                self._check_expanded_body(begins, end)
            self.at = behind

    def _body_end(self, delimiter: str, *, strips_tabs: bool, joins: bool) -> int:
        """Step over the lines up to *delimiter* and over its own line. Return the place where its line begins."""
        text = self.text
        while self.at < len(text):
            begins = self.at
            line = ""
            while True:
                stop = text.find("\n", self.at)
                line += text[self.at :] if stop < 0 else text[self.at : stop]
                self.at = len(text) if stop < 0 else stop
                if stop < 0 or not (joins and _JOINS.search(line)):
                    break
                line, self.at = line[:-1], stop + 1
            if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                # Step over the end of the line too, unless the text ends here.
                self.at = min(self.at + 1, len(text))
                return begins
            self.at += 1
        refuse(f"where the here-document {in_backticks(delimiter)} ends is not understood")

    def _check_expanded_body(self, at: int, end: int) -> None:
        while at < end:
            at = _match_end(_IN_BODY, self.text, at, end)
            if at < end:
                at = self._active_part_end(at, self.text[at])
        if at > end + 1:
            refuse("a substitution that goes on behind its here-document")
