"""
Parse a docstring into prose, parameters and the description of the result.

The styles of Google, NumPy, Sphinx and epydoc are recognised by their own marks, section by section, so a text may even
mix them. Parsing never raises, for any text. Its time is linear in the length of the text.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat

__all__ = ["Docstring", "attribute_docstrings", "parse", "words"]


@dataclass(frozen=True, slots=True)
class Docstring:
    """
    A parsed docstring.

    Attributes:
        description: The summary and paragraphs as written, without the sections.
        parameters: The text for each parameter, attribute or field. A text is never empty.
        returns: The text of the returns or yields section, or an empty string.
    """

    description: str
    parameters: Mapping[str, str]
    returns: str


def parse(text: str | None) -> Docstring:
    """Parse *text*. A value that is not a string gives an empty `Docstring`."""
    if not isinstance(text, str):
        return Docstring("", {}, "")
    if "\r" in text or "\t" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs()
    if ":`" in text:
        text = _ROLE.sub("`", text)
    text = _dedent(text)
    # Most docstrings are only prose. One cheap search avoids the full parsing for them.
    if ":\n" not in text and text[-1:] != ":" and _HINT.search("\n" + text) is None:
        return Docstring(text, {}, "")
    lines = [line.rstrip() for line in text.split("\n")]
    return _walk(_prune_lines(lines) if ">>>" in text or ".. " in text else lines)


def attribute_docstrings(cls: type) -> Mapping[str, str]:
    """Return the strings below the attributes of *cls* and its bases. A class without readable source has none."""
    attribute_texts: dict[str, str] = {}
    # A TypedDict keeps its bases only in this attribute.
    for base in filter(inspect.isclass, vars(cls).get("__orig_bases__", ())):
        attribute_texts |= attribute_docstrings(base)
    for owner in reversed(cls.__mro__):
        with suppress(Exception):  # the source may be missing, outdated or broken in any way
            # The classes of a framework do not describe the user's fields, and reading them takes 50 ms.
            if owner.__module__.partition(".")[0] not in _FRAMEWORKS:
                texts = _attribute_texts(inspect.getsource(sys.modules[owner.__module__]))
                attribute_texts |= texts.get(owner.__qualname__.replace(".<locals>", ""), {})
    return {name: text for name, text in attribute_texts.items() if text}


def words(name: str) -> str:
    """Spell an identifier as a phrase: `getHTTPStatus` becomes "Get HTTP status"."""
    parts = _WORD_EDGE.sub(" ", name).split()
    # Two capital letters mark an acronym, unless the whole name is in capital letters.
    is_all_capitals = len(parts) > 1 and name.isupper()
    phrase = " ".join(
        part.lower() if is_all_capitals or len(part) < 2 or not part[:2].isupper() else part for part in parts
    )
    return phrase[:1].upper() + phrase[1:]


_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FRAMEWORKS = sys.stdlib_module_names | {"attr", "msgspec", "pydantic", "typing_extensions"}
_WORD_EDGE = re.compile(r"[\W_]++|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
# Every repetition here is possessive or bounded, so that a search is not quadratic even in 1 MB of junk.
_LINE_INDENT = re.compile(r"\n( *+)[^ \n]")
_NAME = re.compile(r"\w++")
_GAP = re.compile(r"\n\n\n++")
_ROLE = re.compile(r"(?<![\w:`]):[A-Za-z]{1,20}(?::[A-Za-z]{1,20})?:`~?")
_HINT = re.compile(r"\n *+(?:[:@]|\*\*|>>>|\.\. |---|===|(?:Returns?|Yields?|Raises):)")
_DIRECTIVE = re.compile(r"\.\. ++(?:(?:(code|code-block)|(note|tip|important|caution|warning)|[\w-]++)::|_|\[) *+(.*)")
_FIELD = re.compile(r"[:@]([a-z]++)(?: ++([^:]++))?: *+(.*)")
_INLINE = re.compile(r"\*{0,2}(Returns?|Yields?|Raises):\*{0,2} ++(.*)")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s")
_ENTRY = re.compile(
    r" *+(?:[-+*•] ++|[:@]param ++)?"  # some authors write the parameters as a list
    r"([\w*`\\]++(?:, *+[\w*`\\]++)*+) *+"
    r"(?:\((?:[^()]++|\([^()]*+\))*+\) *+)?"  # the type, with brackets inside brackets
    r"(?::(?!:)|--? |[\u2013\u2014] ) *+(.*)"
)


def _table(**names: str) -> dict[str, str]:
    return {name: kind for kind, joined_names in names.items() for name in joined_names.split(", ")}


# The names are in the singular. Fields and titles that are not in these tables are prose, and stay in the text.
_FIELDS = _table(
    parameters="param, parameter, arg, argument, key, keyword, kwarg, kwparam, ivar, var, cvar, attribute, attr",
    returns="return, yield",
    dropped="type, rtype, ytype, vartype, raise, except, exception, warn, meta, see, seealso, example, todo, version",
)
_TITLES = _table(
    parameters="arg, argument, param, parameter, kwarg, keyword arg, keyword argument, keyword parameter, other arg, "
    "other argument, other param, other parameter, attribute",
    returns="return, yield",
    dropped="raise, except, exception, warn, receive, method, example, usage example, example usage, doctest, todo, "
    "see also, seealso, reference",
    prose="note, warning, tip, important, caution, hint",
)
_Mark = tuple[str, str, str, str]  # style, kind, name, text


@lru_cache(maxsize=16)  # one pass for each module; `inspect.getsource(cls)` would parse it again for each class
def _attribute_texts(source: str) -> dict[str, dict[str, str]]:
    """Return the texts below attributes, by the qualified name of the class."""
    texts: dict[str, dict[str, str]] = {}
    nodes: list[tuple[str, ast.AST]] = [("", ast.parse(source))]
    for outer, node in nodes:  # the list grows during the loop
        name = f"{outer}.{node.name}".strip(".") if isinstance(node, _SCOPES) else outer
        nodes += [(name, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        for pair in pairwise(node.body) if isinstance(node, ast.ClassDef) else ():
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=attribute)) | ast.Assign(targets=[ast.Name(id=attribute)]),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    texts.setdefault(name, {})[attribute] = _join_lines(parse(text).description.split("\n"))
    return texts


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedent(text: str) -> str:
    # This does the same as `inspect.cleandoc`, in two thirds of its time.
    pad = min(_LINE_INDENT.findall(text), default="")  # among strings of blanks, the smallest is the shortest
    text = text.replace("\n" + pad, "\n")
    if " \n" in text:
        text = "\n".join([line.rstrip() for line in text.split("\n")])
    return text.rstrip().lstrip(" ").strip("\n")


def _prune_lines(lines: Sequence[str]) -> list[str]:
    """Remove interpreter sessions, and directives other than admonitions and code."""
    result: list[str] = []
    index = 0
    while index < len(lines):
        line, index = lines[index], index + 1
        directive = _DIRECTIVE.match(line.lstrip())
        if line.lstrip().startswith(">>>"):
            # A session ends at a blank line or at a line with less indentation. A fence around it is removed too.
            if result and result[-1].lstrip().startswith("```"):
                index = _after_fence(lines, index) or len(lines)
                result.pop()
            while index < len(lines) and lines[index] and _indent(lines[index]) >= _indent(line):
                index += 1
        elif directive is None:
            result.append(line)
        elif directive[2]:
            result.append(f"{' ' * _indent(line)}{directive[2].capitalize()}: {directive[3]}".rstrip())
        elif not directive[1]:
            index = _end(lines, index, _indent(line))
    return result


def _after_fence(lines: Sequence[str], start: int) -> int:
    return next((index + 1 for index in range(start, len(lines)) if lines[index].lstrip().startswith("```")), 0)


def _marks(lines: Sequence[str]) -> dict[int, _Mark]:
    """Return the lines that start a section or a field, in order."""
    marks: dict[int, _Mark] = {}
    resume = 0
    for index, line in enumerate(lines):
        bare = line.lstrip()
        if index < resume or not bare or (bare[-1] not in ":*" and bare[0] not in ":@*`-=RY"):
            continue
        if bare[:3] == "```":  # lines inside a fence are not marks; a fence that never closes is not a fence
            resume = _after_fence(lines, index + 1)
        if bare[-1] in ":*" and (kind := _TITLES.get(bare.strip("*: ").lower().rstrip("s"), "prose")) != "prose":
            marks[index] = "google", kind, "", ""
        if bare[0] in ":@" and (match := _FIELD.match(bare)):
            kind = _FIELDS.get(match[1].rstrip("s"), "")
            if kind and (match[2] or kind != "parameters"):  # `:keyword:` without a name is a role
                marks[index] = "field", kind, match[2] or "", match[3]
        elif bare[0] in "RY*" and index > 0 and (match := _INLINE.match(bare)):  # a summary may begin with "Returns:"
            marks[index] = "field", _TITLES[match[1].lower().rstrip("s")], "", match[2]
        elif bare[:3] in ("---", "===") and not bare.strip(bare[0]) and index > 0 and lines[index - 1]:
            marks[index - 1] = "numpy", _TITLES.get(lines[index - 1].strip(" :").lower().rstrip("s"), "unknown"), "", ""
    return marks


def _end(lines: Sequence[str], start: int, indent: int, marks: Mapping[int, _Mark] | None = None) -> int:
    """Return where the lines deeper than *indent* end. With *marks*, lines that follow without a gap belong too."""
    end, gap = start, False
    for index in range(start, len(lines)):
        if not lines[index]:
            gap = True
        elif _indent(lines[index]) > indent or (marks is not None and not gap and index not in marks):
            end, gap = index + 1, False
        else:
            break
    return end


def _walk(lines: Sequence[str]) -> Docstring:
    prose: list[str] = []
    parameters: dict[str, str] = {}
    returns, end, marks = "", 0, _marks(lines)
    for index, (style, kind, field_name, rest) in marks.items():
        if index < end or kind == "unknown":
            continue
        prose += lines[end:index]
        line, start = lines[index], index + 1
        if style == "numpy":
            titles = (i for i in range(start + 1, len(lines)) if i in marks and marks[i][0] == "numpy")
            end = next(titles, len(lines))
            body = _dedent("\n".join(["", *lines[start + 1 : end]])).split("\n")
        else:
            # A body that is not indented may be a list, bad style, or the body of a title on the very first line.
            first = next((i for i in range(start, len(lines)) if lines[i]), index)
            flush = first > index and _indent(lines[first]) <= _indent(line)
            if flush and style == "google" and _BULLET.match(lines[first].lstrip()):
                start = first
            end = _end(lines, start, _indent(line), marks if style == "field" or (flush and first == start) else None)
            body = [rest, *lines[start:end]]
        if kind == "parameters":
            for name, text in _numpy_entries(body) if style == "numpy" else _entries(field_name, body):
                if text:
                    parameters.setdefault(name, text)
        elif kind == "returns":
            returns = returns or (_numpy_returns(body) if style == "numpy" else _join_lines(body))
        prose += ["", line.rstrip(":") + ":", *body, ""] if kind == "prose" else [""]
    return Docstring(_GAP.sub("\n\n", "\n".join([*prose, *lines[end:]]).strip("\n")), parameters, returns)


def _entries(field_name: str, body: Sequence[str]) -> Iterator[tuple[str, str]]:
    # docstring_parser is used only for NumPy style. For Google style it raises at a line without a colon, does not know
    # keyword sections, and splits `x (a: b)` at the wrong colon. It also takes 33 µs by itself, where all of `parse`
    # takes 22. For fields it raises at `:param dict[str, int] x:`, adds later prose to the last field, and is quadratic
    # with epydoc. The fields `x`, `int x`, `dict[str, int] x` and `\*args` all end with the name.
    entries = [(name, list(body)) for name in _NAME.findall(field_name)[-1:]]
    margin = _indent(next(filter(None, body), ""))
    for line in () if field_name else body:
        if _indent(line) <= margin and (match := _ENTRY.match(line)):
            entries.append((match[1], [match[2]]))
        elif entries:
            entries[-1][1].append(line)
    for names, lines in entries:
        yield from zip(_NAME.findall(names), repeat(_join_lines(lines)))


def _numpy_entries(body: Sequence[str]) -> Iterator[tuple[str, str]]:
    from docstring_parser.numpydoc import ParamSection

    # The parser's pattern for `name : type` is quadratic in runs of blanks, so these are removed first.
    squeezed = "\n".join(line if line[:1] == " " else " ".join(line.split()) for line in body)
    for item in ParamSection("Parameters", "param").parse(squeezed):
        names = filter(str.isidentifier, (name.strip(" *`\\") for name in item.args[1].split(",")))
        yield from zip(names, repeat(_join_lines(["", *(item.description or "").split("\n")])))


def _numpy_returns(body: Sequence[str]) -> str:
    # A line with text below it is a type, perhaps with a name. It is written as in Google style: `int: The count.`
    heads = {line for line, below in pairwise(body) if line[:1] not in ("", " ") and below[:1] == " "}
    return _join_lines([f"{line}:" if line in heads else line.strip() for line in body])


def _join_lines(lines: Sequence[str]) -> str:
    """Join wrapped lines, keeping paragraphs, list items and code blocks apart."""
    filled = [line for line in lines if line]
    if len(filled) == 1:
        return filled[0].strip()
    parts: list[str] = []
    margin, glue, code, fenced = _indent(next(filter(None, lines[1:]), "")), "", False, False
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            glue = "\n\n" if parts else ""
            continue
        deeper = number > 0 and _indent(line) > margin
        fence = bare.startswith("```")
        if glue == "\n\n":
            code = deeper
        elif parts and (code or fence or fenced or _BULLET.match(bare)):
            glue = "\n"
        parts += (glue, line[margin:] if deeper and (code or fenced) else bare)
        glue = "\n" if fence else " "
        fenced ^= fence
    return "".join(parts)
