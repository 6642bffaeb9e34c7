"""
The front matter of a Markdown file, between two lines of dashes, in a small and plain form of YAML.

    ---
    name: review
    description: Review a file.
    tools: [read, grep]
    ---
    Read {path} and say what you would change.

It can hold mappings, lists, texts, numbers, true, false and null, each with its line. Dangerous features of YAML are
refused: tags, anchors and aliases, keys written twice, and deep nesting. Surprising values are read as text: `yes`,
`012` and `12:30`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._plumbing.distribution import install_hint
from .._plumbing.wording import in_backticks
from ..errors import ToolkitError
from .records import FrontMatterError

__all__ = ["Node", "check_yaml_installed", "split_front_matter"]

Content: TypeAlias = "str | int | float | bool | list[Node] | dict[str, Node] | None"

_Key: TypeAlias = "tuple[str, int] | None"

_FENCE = re.compile(r"---[ \t]*")
_MAX_CHARACTERS = 16_000
_MAX_DEPTH = 8
_CONSTANTS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and the line on which it stands. If the value has a key, it is the line of the key."""

    content: Content
    line: int

    def plain(self) -> Any:
        """Return the value without its lines."""
        if isinstance(self.content, dict):
            return {key: node.plain() for key, node in self.content.items()}
        if isinstance(self.content, list):
            return [node.plain() for node in self.content]
        return self.content


def split_front_matter(text: str) -> tuple[dict[str, Node], str]:
    """Return the front matter of *text*, and the text after it. Raise `FrontMatterError` if it cannot be read."""
    lines = text.split("\n")
    if _FENCE.fullmatch(lines[0]) is None:
        raise FrontMatterError(
            "there is no front matter; begin with a line `---`, then `description: ...`, then `---`", 1
        )
    end = next((index for index, line in enumerate(lines) if index and _FENCE.fullmatch(line)), None)
    if end is None:
        raise FrontMatterError("the front matter has no end; put a line `---` after it", 1)
    matter = "".join(f"{line}\n" for line in lines[1:end])
    if len(matter) > _MAX_CHARACTERS:
        raise FrontMatterError(f"the front matter has more than {_MAX_CHARACTERS:,} characters; put text below it", 1)
    root = _parse_yaml(matter)
    if root is None or root.content is None:
        return {}, "\n".join(lines[end + 1 :])
    if not isinstance(root.content, dict):
        raise FrontMatterError("front matter is written `key: value`, one to a line", root.line)
    return root.content, "\n".join(lines[end + 1 :])


def check_yaml_installed() -> None:
    """Raise `ToolkitError`, which says what to install, if YAML cannot be read."""
    try:
        import yaml  # noqa: F401 -- imported to check that it is installed
    except ImportError:
        raise ToolkitError(f"skills cannot be read without the extra; {install_hint('skills')}") from None


def _parse_yaml(matter: str) -> Node | None:
    import yaml

    builder = _NodeBuilder()
    try:
        for event in yaml.parse(matter, Loader=yaml.SafeLoader):
            builder.handle_event(event, type(event).__name__.removesuffix("Event"))
    except yaml.reader.ReaderError as error:
        line = matter.count("\n", 0, error.position) + 2
        raise FrontMatterError(
            f"the character U+{ord(matter[error.position]):04X} cannot stand here; remove it", line
        ) from None
    except yaml.MarkedYAMLError as error:
        words = error.problem or error.context
        # If a part has no end, name the line where it begins, because the author corrects it there.
        is_open = "end of stream" in words
        mark = (is_open and error.context_mark) or error.problem_mark or error.context_mark
        raise FrontMatterError(
            f"this is not YAML: {words}; a text with `: ` or `#` in it is put in quotes", mark.line + 2
        ) from None
    return builder.root


class _NodeBuilder:
    """
    Builds nodes from YAML events, without recursion, and raises `FrontMatterError` at everything that is not plain.
    """

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[tuple[Node, _Key]] = []  # each with the key under which it will be put
        self._key: _Key = None

    def handle_event(self, event: Any, kind: str) -> None:
        line = event.start_mark.line + 2  # counted from 1, below the line of dashes
        if kind == "Alias" or getattr(event, "anchor", None) is not None:
            raise FrontMatterError(
                "`&` and `*` begin YAML's anchors, which are not read here; put a text in quotes", line
            )
        if getattr(event, "tag", None) is not None:
            raise FrontMatterError("`!` begins YAML's tags, which are not read here; put a text in quotes", line)
        if kind == "Scalar":
            self._add_scalar(event, line)
        elif kind in ("MappingStart", "SequenceStart"):
            self._begin({} if kind == "MappingStart" else [], line)
        elif kind in ("MappingEnd", "SequenceEnd"):
            node, self._key = self._open.pop()
            self._put(node)
        elif kind == "DocumentStart" and self.root is not None:
            raise FrontMatterError("there is more than one document; write one", line)

    @property
    def _is_at_key(self) -> bool:
        return self._key is None and bool(self._open) and isinstance(self._open[-1][0].content, dict)

    def _begin(self, content: list[Node] | dict[str, Node], line: int) -> None:
        if self._is_at_key:
            raise FrontMatterError("a key has to be a text", line)
        if len(self._open) == _MAX_DEPTH:
            raise FrontMatterError(f"this is nested deeper than {_MAX_DEPTH}; write it flat", line)
        self._open.append((Node(content, self._key[1] if self._key else line), self._key))
        self._key = None

    def _add_scalar(self, event: Any, line: int) -> None:
        text = _join_surrogates(event.value, line)
        if self._is_at_key:
            self._key = text, line
            return
        self._put(Node(_parse_scalar(text) if event.style is None else text, self._key[1] if self._key else line))

    def _put(self, node: Node) -> None:
        holder = self._open[-1][0].content if self._open else None
        if isinstance(holder, list):
            holder.append(node)
        elif isinstance(holder, dict) and self._key is not None:
            name, line = self._key
            if name in holder:
                raise FrontMatterError(f"{in_backticks(name[:60])} stands here twice; keep one", line)
            holder[name] = node
            self._key = None
        else:
            self.root = node


def _join_surrogates(text: str, line: int) -> str:
    """Return *text* with the surrogate pairs of JSON joined. Raise `FrontMatterError` for half of a pair."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise FrontMatterError(
            r"`\ud800` and its like are halves of characters; write the character itself", line
        ) from None


def _parse_scalar(text: str) -> Content:
    """Return the value of a text without quotes, by the rules of JSON with few additions."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
