"""
Read a pattern into a small tree. Only this module knows Python's private parser.

`re._parser` is private, but it is the same in Python 3.11 to 3.13. This module reads the parser's output by name. A
construct that this module does not know becomes `Unknown`. If the parser is missing, the whole pattern becomes
`Unknown`, whose cost counts as too high for `re`. Captures are dropped, because a search only answers yes or no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from .charsets import Chars, read_chars

__all__ = [
    "UNBOUNDED",
    "Assertion",
    "At",
    "Atomic",
    "Backref",
    "Either",
    "Look",
    "Node",
    "Opaque",
    "Repeat",
    "Seq",
    "Unknown",
    "count_anchors",
    "min_width",
    "read_tree",
]

UNBOUNDED = 1 << 32  # more than any repeat that the parser accepts

# For each class with characters beyond Latin-1, `re` builds a table of 64 K entries, which takes milliseconds of Python
# code.
MAX_WIDE_CLASSES = 64
# The functions that visit this tree recurse. The depth is limited here, once, so that it does not depend on the stack
# of the caller.
MAX_DEPTH = 100

_ALPHABETS = re.ASCII | re.UNICODE

Assertion = Literal["start", "line start", "end", "line end", "very end", "\\b", "\\B", "ascii \\b", "ascii \\B"]


# These are named tuples, because frozen dataclasses take ten times as long to define and this is imported early.
class At(NamedTuple):
    """A place between two characters, such as `^` or `\\b`."""

    place: Assertion


class Seq(NamedTuple):
    """A sequence of items. Without items, it is the empty text."""

    items: tuple[Node, ...]


class Either(NamedTuple):
    """A choice of one item. Without items, it always fails."""

    items: tuple[Node, ...]


class Repeat(NamedTuple):
    """
    A body that is repeated *low* to *high* times.

    *width* is the least number of characters that the body consumes.
    """

    low: int
    high: int
    body: Node
    width: int


class Look(NamedTuple):
    """A condition on the surrounding text. It consumes no characters."""

    body: Node
    construct: str = "a lookaround"


class Atomic(NamedTuple):
    """A body that the search never enters again once it has matched."""

    body: Node
    construct: str = "an atomic group or possessive repeat"


class Opaque(NamedTuple):
    """A choice of one item that only `re` can make."""

    items: tuple[Node, ...]
    construct: str


class Backref(NamedTuple):
    """The text of a group, which must occur again."""

    construct: str = "a backreference"


class Unknown(NamedTuple):
    """A construct that this Python has and this library does not know."""

    construct: str = "a construct unknown to this library"


Node = Chars | At | Seq | Either | Repeat | Look | Atomic | Opaque | Backref | Unknown
Parse = Callable[[str], Any]

_PARSE: Parse | None = getattr(getattr(re, "_parser", None), "parse", None)


def read_tree(source: str, *, parse: Parse | None = _PARSE) -> Node:
    """
    Read *source* into a tree.

    Raises:
        ValueError: *source* is too large or nested too deeply. Exceptions of the parser itself are not caught.
    """
    if parse is None:
        return Unknown()
    parsed = parse(source)
    return _TreeBuilder().build_sequence(parsed, parsed.state.flags, 0)


class _TreeBuilder:
    def __init__(self) -> None:
        self.wide_classes = 0

    def build_sequence(self, parsed: Iterable[tuple[Any, Any]], flags: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise ValueError(f"groups are nested deeper than {MAX_DEPTH}")
        items = tuple(self.build_node(operation.name, value, flags, depth + 1) for operation, value in parsed)
        return items[0] if len(items) == 1 else Seq(items)

    def build_node(self, name: str, value: Any, flags: int, depth: int) -> Node:
        match name:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self.build_chars(name, value, flags)
            case "AT":
                return _build_assertion(value.name, flags)
            case "BRANCH":
                return Either(tuple(self.build_sequence(item, flags, depth) for item in value[1]))
            case "SUBPATTERN":
                return self.build_group(value, flags, depth)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.build_repeat(value, flags, depth)
            case "POSSESSIVE_REPEAT":
                return Atomic(self.build_repeat(value, flags, depth))
            case "ATOMIC_GROUP":
                return Atomic(self.build_sequence(value, flags, depth))
            case "ASSERT" | "ASSERT_NOT":
                return Look(self.build_sequence(value[1], flags, depth))
            case "GROUPREF_EXISTS":
                branches = tuple(self.build_sequence(item or (), flags, depth) for item in value[1:])
                return Opaque(branches, "a conditional group")
            case "GROUPREF":
                return Backref()
            case "FAILURE":
                return Either(())
            case _:
                return Unknown()

    def build_chars(self, name: str, value: Any, flags: int) -> Node:
        chars = read_chars(name, value, flags)
        if chars is None:
            return Unknown()
        self.wide_classes += chars.wide
        if self.wide_classes > MAX_WIDE_CLASSES:
            raise ValueError(f"it has more than {MAX_WIDE_CLASSES} large character classes")
        return chars

    def build_group(self, value: tuple[Any, int, int, Any], flags: int, depth: int) -> Node:
        _, added, removed, parsed = value
        if not added & _ALPHABETS & ~flags:
            return self.build_sequence(parsed, (flags | added) & ~removed, depth)
        body = self.build_sequence(parsed, (flags & ~_ALPHABETS | added) & ~removed, depth)
        # At the start of a pattern, `re` skips ahead with the flags from outside the group, and may miss a match. The
        # answer must not depend on the engine, so only `re`, which has this fault, handles such a group.
        return Opaque((body,), "a group with an (?a) or (?u) of its own")

    def build_repeat(self, value: tuple[int, int, Any], flags: int, depth: int) -> Repeat:
        low, high, parsed = value
        body = self.build_sequence(parsed, flags, depth)
        # The parser writes "no limit" as a named constant, and every other number as a plain integer.
        return Repeat(int(low), int(high) if type(high) is int else UNBOUNDED, body, min_width(body))


def _build_assertion(name: str, flags: int) -> Node:
    multiline = bool(flags & re.MULTILINE)
    places: dict[str, Assertion] = {
        "AT_BEGINNING": "line start" if multiline else "start",
        "AT_BEGINNING_STRING": "start",
        "AT_END": "line end" if multiline else "end",
        "AT_END_STRING": "very end",
        "AT_BOUNDARY": "ascii \\b" if flags & re.ASCII else "\\b",
        "AT_NON_BOUNDARY": "ascii \\B" if flags & re.ASCII else "\\B",
    }
    return At(places[name]) if name in places else Unknown()


def min_width(node: Node) -> int:
    """Return the least number of characters that *node* consumes."""
    match node:
        case Chars():
            return 1
        case Seq(items):
            return sum(map(min_width, items))
        case Either(items) | Opaque(items):
            return min(map(min_width, items), default=0)
        case Repeat(low, _, _, width):
            return low * width
        case Atomic(body):
            return min_width(body)
        case _:
            return 0


def count_anchors(node: Node) -> int:
    """Count the `^` and `\\A` that allow *node* to match only at the start; return 0 if it can match elsewhere."""
    match node:
        case At("start"):
            return 1
        case Seq(items) if items:
            return count_anchors(items[0])
        case Either(items):
            counts = [count_anchors(item) for item in items]
            return sum(counts) if all(counts) else 0
        case _:
            return 0
