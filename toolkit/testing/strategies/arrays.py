"""Strategies for arrays: which items stand at each place, how many there are, and whether they have to differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._plumbing.wording import format_count
from ...values.schemas.keywords import equality_key
from .base import Impossible, SchemaStrategy, Strategy, repeat_to_length, st, with_edges
from .schema_parts import Part, Parts, find_limits

__all__ = ["arrays"]

_MAX_REPEATED_ITEMS = 4
_MAX_DRAWN_ITEMS = 64
"""If more than this many items have to be drawn, a few items are repeated, unless all items have to differ."""

_MAX_LONG_ITEMS = 32
"""How many items more than it must a long list has. Its items are a few that are repeated."""

_MAX_MISSES = 10
"""How many items may be drawn in vain if all items have to differ."""


def arrays(parts: Parts, build_item: Callable[[list[Part]], SchemaStrategy], *, max_extra_items: int) -> SchemaStrategy:
    """
    Return a strategy for arrays that fit *parts*; raise `Impossible` if no array does.

    *build_item* returns what draws an item that fits some parts. Most arrays have at most *max_extra_items* more items
    than they must, and some have up to `_MAX_LONG_ITEMS` more, which repeat a few.
    """
    least, most = find_limits(parts, "Items")
    heads, tail, limit = _build_head_and_tail(parts, build_item)
    if limit is not None:
        most = len(heads) if most is None else min(most, len(heads))
    contained, exact = (
        _build_contained_items(parts, build_item, len(heads), most)
        if limit is None
        else ([], not _find_contains_parts(parts))
    )
    least = max(least, len(heads) + len(contained)) if contained else least
    is_unique = any(part.schema.get("uniqueItems") is True for part in parts)
    longest = least + _MAX_LONG_ITEMS if most is None else min(most, least + _MAX_LONG_ITEMS)
    if most is None or most > least + max_extra_items:
        most = least + max_extra_items
    if is_unique and tail is not None and tail.count is not None:
        most = min(most, len(heads) + tail.count)
    if least > most:
        if limit is not None:
            raise limit
        part, keyword = _find_conflicting_keyword(parts, is_unique)
        raise Impossible(keyword, f"{part.place}/{keyword}", f"does not go with at least {format_count(least, 'item')}")
    items = [*heads, *([] if tail is None else [tail]), *contained]
    is_plain = not any(key in part.schema for part in parts for key in ("unevaluatedItems", "maxContains", "contains"))
    exact = exact and is_plain and all(item.exact for item in items)
    exact = exact and not (is_unique and (bool(heads) or _may_run_out(tail, least)))
    strategy = _build_array_strategy(
        [head.strategy for head in heads], tail, [item.strategy for item in contained], least, most, is_unique
    )
    if longest > most and tail is not None and not heads and not contained and not is_unique:
        few = st.lists(tail.strategy, min_size=1, max_size=_MAX_REPEATED_ITEMS)
        strategy = with_edges(strategy, [st.builds(repeat_to_length, few, st.integers(most + 1, longest))])
    return SchemaStrategy(strategy, 1 if most == 0 else None, exact)


def _build_head_and_tail(
    parts: Parts, build_item: Callable[[list[Part]], SchemaStrategy]
) -> tuple[list[SchemaStrategy], SchemaStrategy | None, Impossible | None]:
    """
    Return what draws the first items, what draws each later item, and the reason if there can be no later item.

    If one of the first items is impossible, the first items end before it, and there can be no later item.
    """
    heads: list[SchemaStrategy] = []
    for index in range(max((len(part.schema.get("prefixItems", ())) for part in parts), default=0) + 1):
        try:
            item = build_item(_parts_at(parts, index))
        except Impossible as reason:
            return heads, None, reason
        heads.append(item)
    return heads[:-1], heads[-1], None


def _parts_at(parts: Parts, index: int) -> list[Part]:
    item_parts = []
    for part in parts:
        if index < len(part.schema.get("prefixItems", ())):
            item_parts.append(part.below("prefixItems", index))
        elif "items" in part.schema:
            item_parts.append(part.below("items"))
        elif "unevaluatedItems" in part.schema:
            item_parts.append(part.below("unevaluatedItems"))
    return item_parts


def _find_contains_parts(parts: Parts) -> list[Part]:
    return [part for part in parts if "contains" in part.schema and part.schema.get("minContains", 1) > 0]


def _build_contained_items(
    parts: Parts, build_item: Callable[[list[Part]], SchemaStrategy], head_count: int, max_items: int | None
) -> tuple[list[SchemaStrategy], bool]:
    """
    Return the items that `contains` requires after the first *head_count* items, and whether they surely satisfy it.

    If there can be no such items, or they would exceed *max_items*, return no items and False.
    """
    items: list[SchemaStrategy] = []
    for part in _find_contains_parts(parts):
        try:
            item = build_item([*_parts_at(parts, head_count), part.below("contains")])
        except Impossible:
            return [], False  # one of the first items may satisfy `contains`
        items += [item] * int(part.schema.get("minContains", 1))
    return (items, True) if max_items is None or head_count + len(items) <= max_items else ([], False)


def _find_conflicting_keyword(parts: Parts, is_unique: bool) -> tuple[Part, str]:
    keywords = ["uniqueItems"] if is_unique else ["maxItems", "minItems"]
    return next((part, keyword) for keyword in keywords for part in parts if keyword in part.schema)


def _build_array_strategy(
    heads: Sequence[Strategy],
    tail: SchemaStrategy | None,
    contained: Sequence[Strategy],
    min_items: int,
    max_items: int,
    is_unique: bool,
) -> Strategy:
    by = equality_key if is_unique else None
    if tail is None:
        rest: Strategy = st.just([])
    elif (count := min_items - len(heads) - len(contained)) > _MAX_DRAWN_ITEMS and not is_unique:
        few = st.lists(tail.strategy, min_size=1, max_size=_MAX_REPEATED_ITEMS)
        rest = few.map(lambda items: repeat_to_length(items, count))
    else:
        low, high = (max(0, size - len(heads) - len(contained)) for size in (min_items, max_items))
        if is_unique and _may_run_out(tail, low):
            rest = _build_distinct_items(tail.strategy, low, high)
        else:
            rest = st.lists(tail.strategy, min_size=low, max_size=high, unique_by=by)
    if not heads and not contained:
        return rest

    @st.composite
    def draw_array(draw: st.DrawFn) -> list[Any]:
        count = draw(st.integers(min(min_items, len(heads)), min(max_items, len(heads))))
        first_items = [draw(head) for head in heads[:count]]
        return [*first_items, *map(draw, contained), *draw(rest)] if count == len(heads) else first_items

    return draw_array()


def _may_run_out(tail: SchemaStrategy | None, min_items: int) -> bool:
    """Return whether there may be fewer than *min_items* different items, because their number is not known."""
    return tail is not None and tail.count is None and min_items > 1


def _build_distinct_items(item: Strategy, min_items: int, max_items: int) -> Strategy:
    """
    Return a strategy for lists of different items.

    If too few different items are found, one item comes twice, so that a judge refuses the list and counts it.
    Hypothesis itself would throw the example away silently.
    """

    @st.composite
    def draw_items(draw: st.DrawFn) -> list[Any]:
        size = draw(st.integers(min_items, max_items))
        distinct: dict[Any, Any] = {}
        last = None
        for _ in range(size + _MAX_MISSES):
            if len(distinct) == size:
                break
            last = draw(item)
            distinct.setdefault(equality_key(last), last)
        return [*distinct.values(), *[last] * (min_items - len(distinct))]

    return draw_items()
