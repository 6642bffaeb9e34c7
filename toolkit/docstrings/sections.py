"""
Find the sections of a docstring, and read the entries that docstring-parser gets wrong.

docstring-parser reads every entry that it reads well, and this file the rest. Over 53,000 parameters of installed
packages it gets these wrong:

- It reads one style in each text, and takes the prose behind the first section for a part of a section.
- It knows a title in one spelling, an underline in one length, and finds both inside a code fence.
- It raises at an entry without a colon, and splits `x (a: b)` at the wrong colon.
- It knows neither parameters written as a list nor a type of several words before the name of a field.
- It drops the gap and the margin behind the first line of an entry, also those of code behind `::`.
- Its epydoc reader is quadratic, and finds a field in the middle of a sentence. It gets epydoc fields as Sphinx fields.

Every repetition in a pattern is possessive or bounded, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .._lazy_names import lazy_pattern
from .markup import BULLET, dedent, indent_of, join_lines

__all__ = ["Sections", "find_sections", "has_sections", "read_simple_entries"]


class Sections:
    """
    The parts of a docstring.

    Attributes:
        prose: The text without the sections.
        returns: The text of the first returns or yields section.
        raises: Each exception of the raises sections, with its text.
        pages: The parameter sections for docstring-parser, each with the name of its style. The style "simple" is for
            `read_simple_entries` instead.
        fields: The parameter fields for docstring-parser, which become one page.
        parameters: The names and texts of the parameters that docstring-parser would get wrong.
    """

    __slots__ = ("fields", "pages", "parameters", "prose", "raises", "returns")

    def __init__(self) -> None:
        self.prose: list[str] = []
        self.returns = ""
        self.raises: list[str] = []
        self.pages: list[tuple[str, str]] = []
        self.fields: list[str] = []
        self.parameters: list[tuple[str, str]] = []


class _Mark(NamedTuple):
    """The line or the two lines that start a section or a field."""

    style: str
    kind: str
    indent: int
    start: int
    end: int
    name: str = ""
    text: str = ""


def has_sections(text: str) -> bool:
    """Return whether *text* may have a section. Most docstrings have none."""
    return ":\n" in text or text[-1:] == ":" or _HINT.search("\n" + text) is not None


def find_sections(text: str) -> Sections:
    """Split a cleaned *text* into prose and sections."""
    text = "\n" + text  # so that every line begins with a line feed, which is found much faster than `^`
    sections, marks, end = Sections(), list(_marks(text)), 0
    for number, mark in enumerate(marks):
        if mark.start < end or mark.kind == "unknown":
            continue
        sections.prose.append(text[end : mark.start])
        end = _section_end(text, marks, number)
        body = text[mark.end : end]
        if mark.kind == "raises":
            _add_raises(sections, mark, body)
        elif mark.style == "numpy":
            _add_numpy(sections, mark, dedent("\n" + body))
        elif mark.kind == "returns":
            sections.returns = sections.returns or join_lines(mark.text + body)
        elif mark.kind == "parameters" and mark.style == "google":
            _add_google(sections, body)
        elif mark.kind == "parameters":
            _add_field(sections, mark, body)
    sections.prose.append(text[end:])
    if sections.fields:
        sections.pages.append(("sphinx", "\n".join(sections.fields)))
    return sections


def _table(**names: str) -> dict[str, str]:
    return {name: kind for kind, joined_names in names.items() for name in joined_names.split(", ")}


# The names are in the singular. Fields and titles that are not in these tables are prose, and stay in the text.
_FIELDS = _table(
    parameters="param, parameter, arg, argument, key, keyword, kwarg, kwparam, ivar, var, cvar, attribute, attr",
    returns="return, yield",
    raises="raise, except, exception",
    dropped="type, rtype, ytype, vartype, warn, meta, see, seealso, example, todo, version",
)
_TITLES = _table(
    parameters="arg, argument, param, parameter, kwarg, keyword arg, keyword argument, keyword parameter, other arg, "
    "other argument, other param, other parameter, attribute",
    returns="return, yield",
    raises="raise, except, exception",
    dropped="warn, receive, method, example, usage example, example usage, doctest, todo, see also, seealso, reference",
    prose="note, warning, tip, important, caution, hint",
)
_HINT = lazy_pattern(r"\n *+(?:[:@]|\*\*|---|===|(?:Returns?|Yields?|Raises):)")
_MARK = lazy_pattern(
    r"\n( *+)(?:"
    r"(?P<heading>[^ \n].*+)\n *+(?:-{3,}+|={3,}+)(?=\n|\Z)"
    r"|[:@](?P<field>[a-z]++)(?: ++(?P<name>[^:\n]++))?: *+(?P<text>.*+)"
    r"|\*{0,2}(?P<inline>Returns?|Yields?|Raises):\*{0,2} ++(?P<rest>.++)"
    r"|[:*]{0,2}(?P<title>[A-Za-z]++(?: [A-Za-z]++)?)[:* ]{1,5}(?=\n|\Z)"
    r"|```.*+(?:\n(?! *+```).*+)*+\n *+```.*+"  # the lines inside a fence start no section
    r")"
)
_FIRST_LINE = lazy_pattern(r"\n++( *+)(?=[^ \n])")
_NAME = lazy_pattern(r"\w++")
_HEAD = r"\*{0,2}\w++(?:, \*{0,2}\w++)*+(?: ?\([^:\n]{0,200}\))?:"
_PLAIN_ENTRY = rf"{_HEAD}(?: .*+|(?=\n|\Z))"
_PLAIN_ENTRIES = lazy_pattern(rf"\n++( ++){_PLAIN_ENTRY}(?:\n++\1(?:{_PLAIN_ENTRY}| .*+))*+")
# One line for each parameter, and nothing that the parser would have to look at.
_SIMPLE_ENTRIES = lazy_pattern(r"\n( ++)\w++: [^ \n].*+(?:\n\1\w++: [^ \n].*+)*+\n*+")
_SIMPLE_ENTRY = lazy_pattern(r"\n *+(\w++): (.++)")
# The parser drops the gap and the margin behind the first line of an entry. A text below a blank line keeps them.
_WRAPPED_ENTRY = lazy_pattern(rf"(\n( ++){_HEAD})(?: (.++))?(?=\n++(\2 ++))")
_ENTRY = lazy_pattern(
    r" *+(?:[-+*•] ++|[:@]param ++)?"  # some authors write the parameters as a list
    r"([\w*`\\]++(?:, *+[\w*`\\]++)*+) *+"
    r"(?:\((?:[^()]++|\([^()]*+\))*+\) *+)?"  # the type, with brackets inside brackets
    r"(?::(?!:)|--? |[\u2013\u2014] ) *+(.*)"
)


def _marks(text: str) -> Iterator[_Mark]:
    for match in _MARK.finditer(text):
        style, name, rest = "field", "", ""
        start, end = match.span()
        match match.lastgroup:
            case "title":
                style, kind = "google", _TITLES.get(_singular(match["title"]), "")
            case "text":
                kind, name, rest = _FIELDS.get(_singular(match["field"]), ""), match["name"] or "", match["text"]
                if kind == "parameters" and not name:  # `:keyword:` without a name is a role
                    continue
            case "heading":
                name = match["heading"]
                style, kind = "numpy", _TITLES.get(_singular(name.strip(" :")), "unknown")
            case "rest" if start > 0:  # a summary may begin with "Returns:"
                kind, rest = _TITLES[_singular(match["inline"])], match["rest"]
            case _:
                continue
        if kind and (kind != "prose" or style == "numpy"):
            yield _Mark(style, kind, match.end(1) - start - 1, start, end, name, rest)


def _singular(name: str) -> str:
    return name.lower().rstrip("s")


def _section_end(text: str, marks: Sequence[_Mark], number: int) -> int:
    mark = marks[number]
    later = (marks[i] for i in range(number + 1, len(marks)))
    if mark.style == "numpy":
        return next((other.start for other in later if other.style == "numpy"), len(text))
    start = mark.end
    if mark.style == "google":
        # A body that is not indented may be a list, bad style, or the body of a title on the very first line.
        first = _FIRST_LINE.match(text, start)
        if first is None or len(first[1]) > mark.indent:
            return _end_of(_block(mark.indent + 1), text, start)
        if BULLET.match(text, first.end()):
            start = first.start(1) - 1
        elif first.start(1) - start > 1:
            return start
    limit = next((other.start for other in later if other.indent <= mark.indent), len(text))
    return _end_of(_block(mark.indent + 1, "|\n.++"), text, start, limit)


@lru_cache(maxsize=64)
def _block(indent: int, flush: str = "") -> re.Pattern[str]:
    """Return a pattern of lines with at least *indent* blanks. With *flush*, lines that follow without a gap belong."""
    return re.compile(rf"(?:\n++ {{{indent}}}.*+{flush})*+")


def _end_of(pattern: re.Pattern[str], text: str, start: int, limit: int = sys.maxsize) -> int:
    match = pattern.match(text, start, limit)
    return start if match is None else match.end()


def _add_google(sections: Sections, body: str) -> None:
    if _SIMPLE_ENTRIES.fullmatch(body) and body.replace("\n", "").isprintable():
        sections.pages.append(("simple", body))
        return
    if "::\n" not in body and _PLAIN_ENTRIES.fullmatch(body):
        if "\n\n" in body:
            body = _WRAPPED_ENTRY.sub(r"\1\n\n\4\3", body)
        sections.pages.append(("google", "Args:" + body))
        return
    entries: list[tuple[str, list[str]]] = []
    lines = body.split("\n")
    margin = indent_of(next(filter(None, lines), ""))
    for line in lines:
        if indent_of(line) <= margin and (match := _ENTRY.match(line)):
            entries.append((match[1], [match[2]]))
        elif entries:
            entries[-1][1].append(line)
    for names, texts in entries:
        text = join_lines("\n".join(texts))
        sections.parameters += [(name, text) for name in _NAME.findall(names)]


def read_simple_entries(body: str) -> list[tuple[str, str]]:
    """Return the names and texts of a section that has one line for each parameter."""
    return [(name, text.strip()) for name, text in _SIMPLE_ENTRY.findall(body) if name.isidentifier()]


def _add_field(sections: Sections, mark: _Mark, body: str) -> None:
    # The name is the last word: `x`, `int x`, `dict[str, int] x`, `\*args`. Some authors write the type behind it.
    name = mark.name.partition("(")[0].rstrip() if mark.name[-1] == ")" else mark.name
    if name.count(" ") < 2 and "\n\n" not in body and "\n:" not in body:
        sections.fields.append(f":param {name}: {mark.text}{body}")
    else:
        text = join_lines(mark.text + body)
        sections.parameters += [(word, text) for word in _NAME.findall(name)[-1:]]


def _add_numpy(sections: Sections, mark: _Mark, body: str) -> None:
    if mark.kind == "parameters":
        # The parser's pattern for `name : type` is quadratic in runs of blanks, so these are removed first.
        lines = [line if line[:1] == " " else " ".join(line.split()) for line in body.split("\n")]
        sections.pages.append(("numpy", "Parameters\n----------\n" + "\n".join(lines)))
    elif mark.kind == "returns" and not sections.returns:
        # A line with text below it is a type, perhaps with a name. It is written as in Google style: `int: The count.`
        # docstring-parser takes every line of a returns section that has no type for a type.
        lines = body.split("\n")
        heads = {line for line, below in pairwise(lines) if line[:1] not in ("", " ") and below[:1] == " "}
        sections.returns = join_lines("\n".join([f"{line}:" if line in heads else line.strip() for line in lines]))
    elif mark.kind == "prose" and body:
        sections.prose.append(f"\n{mark.name.rstrip(':')}:\n{body}\n")


def _add_raises(sections: Sections, mark: _Mark, body: str) -> None:
    """Add each entry in one line: the exception, a colon, and when it is raised."""
    entries: list[list[str]] = []
    if mark.style == "field":  # `:raises KeyError: text`, or `Raises: KeyError if ...`
        entries.append([f"{mark.name}:" if mark.name else "", mark.text, body])
    else:
        for line in dedent("\n" + body).split("\n"):
            if line[:1] not in ("", " "):
                # In the style of numpy, a line without a blank is only the exception, and its text follows below.
                is_head = mark.style == "numpy" and " " not in line and line[-1] != ":"
                entries.append([BULLET.sub("", line, count=1) + (":" if is_head else "")])
            elif entries:
                entries[-1].append(line)
    sections.raises += filter(None, (" ".join(" ".join(entry).split()).rstrip(":") for entry in entries))
