r"""
Strategies for strings that have to fit a length, a pattern or a form.

Texts for a pattern are drawn from its syntax tree, so that no regex engine has to backtrack. One repeat can be as long
as the other parts of the pattern leave room for, so that drawing `^[a-z]+$` with at least thirty characters does not
depend on chance. The tree does not hold lookarounds, backreferences and `\b`, so the caller has to judge whether a
text fits them.
"""

from __future__ import annotations

import re

from ..._plumbing.wording import format_count
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
from ...values.schemas.text_forms import find_text_form
from .base import Impossible, SchemaStrategy, Strategy, one_of, repeat_to_length, st, with_edges
from .format_texts import texts_of_format
from .schema_parts import Parts, find_limits

__all__ = ["texts", "texts_matching"]

_MAX_EXTRA_CHARACTERS = 16
"""How many characters more than its minimum length most texts have."""

_MAX_LONG_CHARACTERS = 300
"""How many characters more than its minimum length a long text has at most. Usual limits, such as 255, are below."""

_MAX_EDGE_CHARACTERS = 10_000
"""How long a text of exactly `maxLength` may be, to be drawn as an edge."""

_ANY_CHARACTER = Chars(".", int(re.DOTALL), 0, 1, wide=False)
_PADDING = Repeat(0, UNBOUNDED, _ANY_CHARACTER, 1)
_MAX_EXTRA_ITEMS = 8
"""How many more items than its minimum a repeat may have."""
_MAX_DRAWN_LENGTH = 200
"""A longer text repeats a short piece, because every character that is drawn makes an example slower to shrink."""


def texts(parts: Parts) -> SchemaStrategy:
    """Return a strategy for strings that fit *parts*; raise `Impossible` if there are none."""
    least, most = find_limits(parts, "Length")
    if most is not None and least > most:
        place = next(part.place for part in parts if part.schema.get("maxLength") == most)
        raise Impossible("maxLength", f"{place}/maxLength", f"is less than minLength {least}")
    patterns = [
        (part.schema["pattern"], part)
        for part in parts
        if "pattern" in part.schema and not _has_own_pattern(part.schema)
    ]
    names = [part.schema.get(keyword) for part in parts for keyword in ("format", "contentEncoding")]
    forms = [strategy for strategy in map(texts_of_format, names) if strategy is not None]
    if not patterns and not forms:
        # A text of the full length is too long to be drawn letter by letter.
        has_edges = most is not None and least + _MAX_EXTRA_CHARACTERS < most <= _MAX_EDGE_CHARACTERS
        edges = [st.sampled_from(["a" * most, "\N{GRINNING FACE}" * most])] if most and has_edges else []
        plain = _texts_of_length(st.characters(codec="utf-8"), least, UNBOUNDED if most is None else most)
        return SchemaStrategy(with_edges(plain, edges), 1 if most == 0 else None)
    # The form is only an annotation, but length and pattern are binding. A text of the form has to be judged if there
    # is a length or a pattern. A text of the pattern always has to be judged, and need not have the form.
    options = [SchemaStrategy(strategy, exact=not patterns and not least and most is None) for strategy in forms[:1]]
    for pattern, part in patterns[:1]:
        strategy = texts_matching(pattern, least, most)
        if strategy is None:
            raise Impossible(
                "pattern", f"{part.place}/pattern", f"wants more than {format_count(most or 0, 'character')}"
            )
        options.append(SchemaStrategy(strategy, exact=False))
    return one_of(options)


def _has_own_pattern(schema: dict[str, object]) -> bool:
    """Return whether the pattern is that of the format, so that a text of the format fits it."""
    form = find_text_form(schema)
    name = schema.get("format") or schema.get("contentEncoding")
    # A format such as `uuid4` is narrower than the form whose pattern it has.
    names = form.keywords.values() if form is not None and form.keywords else ()
    return isinstance(name, str) and any(map(name.startswith, names)) and texts_of_format(name) is not None


def texts_matching(pattern: str, min_length: int, max_length: int | None) -> Strategy | None:
    """
    Return a strategy for texts that fit *pattern*; None if every such text would be longer than *max_length*.

    Some of the texts may not fit, so the caller has to judge them.
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
    if not isinstance(growing, Repeat) or not isinstance(growing.body, Chars):
        return st.tuples(*before, _build_node_strategy(growing), *after).map("".join)
    low, high, letters = growing.low, growing.high, _build_node_strategy(growing.body)
    if not min_length and max_length is None:
        return st.tuples(*before, _texts_of_length(letters, low, high), *after).map("".join)

    @st.composite
    def draw_text(draw: st.DrawFn) -> str:
        start, end = "".join(map(draw, before)), "".join(map(draw, after))
        missing = min_length - len(start) - len(end)
        shortest = max(low, missing)
        longest = high if max_length is None else min(high, max_length - len(start) - len(end))
        longest = max(longest, shortest)  # if the text becomes too long, its judge refuses it
        return f"{start}{draw(_texts_of_length(letters, shortest, longest))}{end}"

    return draw_text()


def _texts_of_length(letters: Strategy, min_length: int, max_length: int) -> Strategy:
    """
    Return a strategy for texts of *min_length* to *max_length* characters of *letters*.

    Most have a few characters more than they must. Some are longer, and repeat a short piece. If *min_length* is more
    than `_MAX_DRAWN_LENGTH`, a text has exactly *min_length* characters, and repeats a piece too.
    """
    pieces = st.text(letters, min_size=1, max_size=_MAX_EXTRA_ITEMS)
    if min_length > _MAX_DRAWN_LENGTH:
        return pieces.map(lambda piece: repeat_to_length(piece, min_length))
    longest = min(max_length, min_length + _MAX_EXTRA_CHARACTERS)
    longest_of_all = min(max_length, min_length + _MAX_LONG_CHARACTERS)
    few = st.text(letters, min_size=min_length, max_size=longest)
    if longest == longest_of_all:
        return few
    return with_edges(few, [st.builds(repeat_to_length, pieces, st.integers(longest + 1, longest_of_all))])


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
            strategy = _texts_of_length(_build_node_strategy(body), low, min(high, low + _MAX_EXTRA_ITEMS))
        case Repeat(low, high, body):
            strategy = st.lists(_build_node_strategy(body), min_size=low, max_size=min(high, low + 3)).map("".join)
        case Atomic(body):
            strategy = _build_node_strategy(body)
        case _:  # a node that consumes no text, or of an unknown kind
            strategy = st.just("")
    return strategy
