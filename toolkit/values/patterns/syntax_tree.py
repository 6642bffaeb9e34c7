"""
A pattern as a small tree: the one place that knows Python's private parser.

`re._parser` is private, but the same in Python 3.11 to 3.13. What it returns
is read by name; a construct nobody here has heard of becomes `Unknown`, and a
parser that is not there makes the whole pattern `Unknown`, which costs too
much to try. Captures are dropped, since the question is only yes or no.
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
    "anchors",
    "narrowest",
    "read",
]

UNBOUNDED = 1 << 32  # more than any repeat the parser accepts

# `re` builds a table of 64 K entries, in milliseconds of Python, for each class with characters beyond Latin-1.
MOST_WIDE_CLASSES = 64
# The walks below this file recurse, so the depth is bounded here, once, and not by the stack of whoever searches.
DEEPEST = 100

_ALPHABETS = re.ASCII | re.UNICODE

Assertion = Literal["start", "line start", "end", "line end", "very end", "\\b", "\\B", "ascii \\b", "ascii \\B"]


# Named tuples, because frozen dataclasses take ten times as long to define and this is imported early.
class At(NamedTuple):
    """A place between two characters, such as `^` or `\\b`."""

    place: Assertion


class Seq(NamedTuple):
    """One thing after the other; without any, the empty text."""

    items: tuple[Node, ...]


class Either(NamedTuple):
    """One of several; without any, a failure."""

    items: tuple[Node, ...]


class Repeat(NamedTuple):
    """A body *low* to *high* times, *width* being the least the body consumes."""

    low: int
    high: int
    body: Node
    width: int


class Look(NamedTuple):
    """A condition on the text around, which consumes nothing."""

    body: Node
    what: str = "a lookaround"


class Atomic(NamedTuple):
    """A body that is never entered again once it has matched."""

    body: Node
    what: str = "an atomic group or possessive repeat"


class Opaque(NamedTuple):
    """One of several, by a choice that `re` alone can make."""

    items: tuple[Node, ...]
    what: str


class Backref(NamedTuple):
    """The text of a group once more."""

    what: str = "a backreference"


class Unknown(NamedTuple):
    """Something this Python has and this library does not know."""

    what: str = "a construct unknown to this library"


Node = Chars | At | Seq | Either | Repeat | Look | Atomic | Opaque | Backref | Unknown
Parse = Callable[[str], Any]

_PARSE: Parse | None = getattr(getattr(re, "_parser", None), "parse", None)


def read(source: str, *, parse: Parse | None = _PARSE) -> Node:
    """
    The tree of *source*.

    Raises:
        ValueError: It is too large, or nested too deeply. What the parser itself raises passes through.
    """
    if parse is None:
        return Unknown()
    parsed = parse(source)
    return _Reader().sequence(parsed, parsed.state.flags, 0)


class _Reader:
    def __init__(self) -> None:
        self.wide_classes = 0

    def sequence(self, parsed: Iterable[tuple[Any, Any]], flags: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise ValueError(f"groups are nested deeper than {DEEPEST}")
        items = tuple(self.node(operation.name, value, flags, depth + 1) for operation, value in parsed)
        return items[0] if len(items) == 1 else Seq(items)

    def node(self, name: str, value: Any, flags: int, depth: int) -> Node:
        match name:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self.chars(name, value, flags)
            case "AT":
                return _at(value.name, flags)
            case "BRANCH":
                return Either(tuple(self.sequence(item, flags, depth) for item in value[1]))
            case "SUBPATTERN":
                return self.group(value, flags, depth)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.repeat(value, flags, depth)
            case "POSSESSIVE_REPEAT":
                return Atomic(self.repeat(value, flags, depth))
            case "ATOMIC_GROUP":
                return Atomic(self.sequence(value, flags, depth))
            case "ASSERT" | "ASSERT_NOT":
                return Look(self.sequence(value[1], flags, depth))
            case "GROUPREF_EXISTS":
                branches = tuple(self.sequence(item or (), flags, depth) for item in value[1:])
                return Opaque(branches, "a conditional group")
            case "GROUPREF":
                return Backref()
            case "FAILURE":
                return Either(())
            case _:
                return Unknown()

    def chars(self, name: str, value: Any, flags: int) -> Node:
        chars = read_chars(name, value, flags)
        if chars is None:
            return Unknown()
        self.wide_classes += chars.wide
        if self.wide_classes > MOST_WIDE_CLASSES:
            raise ValueError(f"it has more than {MOST_WIDE_CLASSES} large character classes")
        return chars

    def group(self, value: tuple[Any, int, int, Any], flags: int, depth: int) -> Node:
        _, added, removed, parsed = value
        if not added & _ALPHABETS & ~flags:
            return self.sequence(parsed, (flags | added) & ~removed, depth)
        body = self.sequence(parsed, (flags & ~_ALPHABETS | added) & ~removed, depth)
        # At the head of a pattern `re` skips ahead by the flags outside of the group, and may miss a match.
        # The answer must not depend on the engine, so this is left to the one that has the fault.
        return Opaque((body,), "a group with an (?a) or (?u) of its own")

    def repeat(self, value: tuple[int, int, Any], flags: int, depth: int) -> Repeat:
        low, high, parsed = value
        body = self.sequence(parsed, flags, depth)
        # The parser's "no limit" is a named constant; every other number is a plain one.
        return Repeat(int(low), int(high) if type(high) is int else UNBOUNDED, body, narrowest(body))


def _at(name: str, flags: int) -> Node:
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


def narrowest(node: Node) -> int:
    """The least number of characters *node* consumes."""
    match node:
        case Chars():
            return 1
        case Seq(items):
            return sum(map(narrowest, items))
        case Either(items) | Opaque(items):
            return min(map(narrowest, items), default=0)
        case Repeat(low, _, _, width):
            return low * width
        case Atomic(body):
            return narrowest(body)
        case _:
            return 0


def anchors(node: Node) -> int:
    """How many `^` or `\\A` keep *node* from matching anywhere but at the start; 0 if it can."""
    match node:
        case At("start"):
            return 1
        case Seq(items) if items:
            return anchors(items[0])
        case Either(items):
            each = [anchors(item) for item in items]
            return sum(each) if all(each) else 0
        case _:
            return 0
