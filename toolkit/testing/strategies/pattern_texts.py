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
from ...values.patterns.charsets import Chars
from ...values.patterns.nfa import irregular
from ...values.patterns.syntax_tree import UNBOUNDED, At, Atomic, Either, Node, Opaque, Repeat, Seq, narrowest, read
from .lazy_hypothesis import Strategy, st

__all__ = ["letters_between", "matching"]

_ANY = Chars(".", int(re.DOTALL), 0, 1, wide=False)
_PADDING = Repeat(0, UNBOUNDED, _ANY, 1)
_MAX_EXTRA_ITEMS = 8
"""How many more items than its minimum a repeat may have."""
_LONG = 200
"""
A text that has to be longer than this repeats a short piece.

Every character that is drawn makes an example slower to find and to shrink.
"""


def matching(pattern: str, least: int, most: int | None) -> Strategy | None:
    """
    Return a strategy for texts of *least* to *most* characters that fit *pattern*.

    Some of the texts may not fit, so the caller has to judge them.

    Returns:
        The strategy; None if every text that fits *pattern* would be longer than *most*.
    """
    tree = read(pattern)
    if irregular(tree) and compile_pattern(pattern).fast_limit >= _LONG:
        return st.from_regex(pattern)
    items: list[Node] = list(tree.items) if isinstance(tree, Seq) else [tree]
    if not (items and isinstance(items[0], At) and items[0].place == "start"):
        items.insert(0, _PADDING)
    if not (items and isinstance(items[-1], At) and items[-1].place in ("end", "very end")):
        items.append(_PADDING)
    if most is not None and sum(map(narrowest, items)) > most:
        return None
    return _build_text_strategy(items, least, most)


def _build_text_strategy(items: list[Node], least: int, most: int | None) -> Strategy:
    """Draw *items* one after the other. The item that can grow most is as long as the length of the text requires."""
    index, growing = max(enumerate(items), key=lambda pair: _growth(pair[1]))
    before = [_build_node_strategy(item) for item in items[:index]]
    after = [_build_node_strategy(item) for item in items[index + 1 :]]
    is_steered = isinstance(growing, Repeat) and isinstance(growing.body, Chars) and bool(least or most is not None)
    if not is_steered or not isinstance(growing, Repeat):
        return st.tuples(*before, _build_node_strategy(growing), *after).map("".join)
    low, high, letters = growing.low, growing.high, _build_node_strategy(growing.body)

    @st.composite
    def text(draw: st.DrawFn) -> str:
        start, end = "".join(map(draw, before)), "".join(map(draw, after))
        missing = least - len(start) - len(end)
        shortest = max(low, missing)
        longest = min(high, shortest + _MAX_EXTRA_ITEMS)
        if most is not None:
            longest = min(longest, most - len(start) - len(end))
        longest = max(longest, shortest)  # if the text becomes too long, its judge refuses it
        return f"{start}{draw(letters_between(letters, shortest, longest))}{end}"

    return text()


def letters_between(letters: Strategy, least: int, most: int) -> Strategy:
    """
    Return a strategy for texts of *least* to *most* characters of *letters*.

    If *least* is more than `_LONG`, a text has exactly *least* characters, and repeats a short piece.
    """
    if least <= _LONG:
        return st.text(letters, min_size=least, max_size=most)
    pieces = st.text(letters, min_size=1, max_size=_MAX_EXTRA_ITEMS)
    return pieces.map(lambda piece: (piece * least)[:least])


def _growth(node: Node) -> int:
    return node.high - node.low if isinstance(node, Repeat) and isinstance(node.body, Chars) else -1


def _build_node_strategy(node: Node) -> Strategy:
    match node:
        case Chars(source, flags):
            strategy = st.from_regex(re.compile(source, flags), fullmatch=True, alphabet=st.characters(codec="utf-8"))
        case Seq(items):
            strategy = st.tuples(*map(_build_node_strategy, items)).map("".join)
        case Either(items) | Opaque(items):
            strategy = st.one_of([_build_node_strategy(item) for item in sorted(items, key=narrowest)])
        case Repeat(low, high, Chars() as body):
            strategy = letters_between(_build_node_strategy(body), low, min(high, low + _MAX_EXTRA_ITEMS))
        case Repeat(low, high, body):
            strategy = st.lists(_build_node_strategy(body), min_size=low, max_size=min(high, low + 3)).map("".join)
        case Atomic(body):
            strategy = _build_node_strategy(body)
        case _:  # a node that consumes no text, or of an unknown kind
            strategy = st.just("")
    return strategy
