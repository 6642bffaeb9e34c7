r"""
Strategies for texts of a given length in which a pattern is found.

The texts are drawn from the syntax tree of the pattern, so that no regex engine has
to backtrack. One repeat can be as long as the other parts of the pattern leave room
for, so that drawing `^[a-z]+$` with at least thirty characters does not depend on
chance. The tree does not hold lookarounds, backreferences and `\b`, so the caller
has to judge whether a text fits them.
"""

from __future__ import annotations

import re

from ...values.patterns import compile_pattern
from ...values.patterns.automaton import find_irregular
from ...values.patterns.charsets import Chars
from ...values.patterns.syntax_tree import (
    UNBOUNDED,
    At,
    Atomic,
    Either,
    Node,
    Opaque,
    Repeat,
    Seq,
    min_width,
    read_tree,
)
from .base import Strategy, st

__all__ = ["texts_matching", "texts_of_length"]

_ANY_CHARACTER = Chars(".", int(re.DOTALL), 0, 1, wide=False)
_PADDING = Repeat(0, UNBOUNDED, _ANY_CHARACTER, 1)
_MAX_EXTRA_ITEMS = 8
"""How many more items than its minimum a repeat may have."""
_MAX_DRAWN_LENGTH = 200
"""
A text that has to be longer than this repeats a short piece.

Every character that is drawn makes an example slower to find and to shrink.
"""


def texts_matching(pattern: str, min_length: int, max_length: int | None) -> Strategy | None:
    """
    Return a strategy for texts of *min_length* to *max_length* characters that fit *pattern*.

    Some of the texts may not fit, so the caller has to judge them.

    Returns:
        The strategy; None if every text that fits *pattern* would be longer than *max_length*.
    """
    tree = read_tree(pattern)
    if find_irregular(tree) and compile_pattern(pattern).fast_limit >= _MAX_DRAWN_LENGTH:
        return st.from_regex(pattern)
    items: list[Node] = list(tree.items) if isinstance(tree, Seq) else [tree]
    if not (items and isinstance(items[0], At) and items[0].place == "start"):
        items.insert(0, _PADDING)
    if not (items and isinstance(items[-1], At) and items[-1].place in ("end", "very end")):
        items.append(_PADDING)
    if max_length is not None and sum(map(min_width, items)) > max_length:
        return None
    return _build_text_strategy(items, min_length, max_length)


def _build_text_strategy(items: list[Node], min_length: int, max_length: int | None) -> Strategy:
    """Draw *items* one after the other. The item that can grow most is as long as the length of the text requires."""
    index, growing = max(enumerate(items), key=lambda pair: _growth(pair[1]))
    before = [_build_node_strategy(item) for item in items[:index]]
    after = [_build_node_strategy(item) for item in items[index + 1 :]]
    is_steered = (
        isinstance(growing, Repeat) and isinstance(growing.body, Chars) and bool(min_length or max_length is not None)
    )
    if not is_steered or not isinstance(growing, Repeat):
        return st.tuples(*before, _build_node_strategy(growing), *after).map("".join)
    low, high, letters = growing.low, growing.high, _build_node_strategy(growing.body)

    @st.composite
    def draw_text(draw: st.DrawFn) -> str:
        start, end = "".join(map(draw, before)), "".join(map(draw, after))
        missing = min_length - len(start) - len(end)
        shortest = max(low, missing)
        longest = min(high, shortest + _MAX_EXTRA_ITEMS)
        if max_length is not None:
            longest = min(longest, max_length - len(start) - len(end))
        longest = max(longest, shortest)  # if the text becomes too long, its judge refuses it
        return f"{start}{draw(texts_of_length(letters, shortest, longest))}{end}"

    return draw_text()


def texts_of_length(letters: Strategy, min_length: int, max_length: int) -> Strategy:
    """
    Return a strategy for texts of *min_length* to *max_length* characters of *letters*.

    If *min_length* is more than `_MAX_DRAWN_LENGTH`, a text has exactly *min_length* characters, and repeats a short
    piece.
    """
    if min_length <= _MAX_DRAWN_LENGTH:
        return st.text(letters, min_size=min_length, max_size=max_length)
    pieces = st.text(letters, min_size=1, max_size=_MAX_EXTRA_ITEMS)
    return pieces.map(lambda piece: (piece * min_length)[:min_length])


def _growth(node: Node) -> int:
    return node.high - node.low if isinstance(node, Repeat) and isinstance(node.body, Chars) else -1


def _build_node_strategy(node: Node) -> Strategy:
    match node:
        case Chars(source, flags):
            strategy = st.from_regex(re.compile(source, flags), fullmatch=True, alphabet=st.characters(codec="utf-8"))
        case Seq(items):
            strategy = st.tuples(*map(_build_node_strategy, items)).map("".join)
        case Either(items) | Opaque(items):
            strategy = st.one_of([_build_node_strategy(item) for item in sorted(items, key=min_width)])
        case Repeat(low, high, Chars() as body):
            strategy = texts_of_length(_build_node_strategy(body), low, min(high, low + _MAX_EXTRA_ITEMS))
        case Repeat(low, high, body):
            strategy = st.lists(_build_node_strategy(body), min_size=low, max_size=min(high, low + 3)).map("".join)
        case Atomic(body):
            strategy = _build_node_strategy(body)
        case _:  # a node that consumes no text, or of an unknown kind
            strategy = st.just("")
    return strategy
