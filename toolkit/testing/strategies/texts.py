"""
Strategies for strings that have to fit a length, a pattern or a form.
"""

from __future__ import annotations

from ..._plumbing.wording import format_count
from ...values.schemas.text_forms import find_text_form
from .base import Impossible, SchemaStrategy, Strategy, one_of, st, with_edges
from .format_texts import texts_of_format
from .pattern_texts import texts_matching, texts_of_length
from .schema_parts import Parts

__all__ = ["texts"]

_MAX_EXTRA_CHARACTERS = 16
"""How many characters more than its minimum length a text may have."""

_MAX_EDGE_CHARACTERS = 10_000
"""How long a text of exactly `maxLength` may be, to be drawn as an edge."""


def texts(parts: Parts) -> SchemaStrategy:
    """Return a strategy for strings that fit *parts*; raise `Impossible` if there are none."""
    least, most = _find_lengths(parts)
    patterns = [
        (part.schema["pattern"], part)
        for part in parts
        if "pattern" in part.schema and not _has_own_pattern(part.schema)
    ]
    forms = [strategy for part in parts for strategy in _format_strategies(part.schema) if strategy is not None]
    if not patterns and not forms:
        longest = least + _MAX_EXTRA_CHARACTERS if most is None else min(most, least + _MAX_EXTRA_CHARACTERS)
        letters = st.characters(codec="utf-8")
        # A text of the full length is too long to be drawn letter by letter.
        has_edges = most is not None and longest < most <= _MAX_EDGE_CHARACTERS
        edges = [st.sampled_from(["a" * most, "\N{GRINNING FACE}" * most])] if most and has_edges else []
        return SchemaStrategy(with_edges(texts_of_length(letters, least, longest), edges), 1 if most == 0 else None)
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


def _find_lengths(parts: Parts) -> tuple[int, int | None]:
    least = max((part.schema["minLength"] for part in parts if "minLength" in part.schema), default=0)
    most = min((part.schema["maxLength"] for part in parts if "maxLength" in part.schema), default=None)
    if most is not None and least > most:
        place = next(part.place for part in parts if part.schema.get("maxLength") == most)
        raise Impossible("maxLength", f"{place}/maxLength", f"is less than minLength {least}")
    return int(least), None if most is None else int(most)


def _has_own_pattern(schema: dict[str, object]) -> bool:
    """Return whether the pattern is that of the format, so that a text of the format fits it."""
    form = find_text_form(schema)
    name = schema.get("format") or schema.get("contentEncoding")
    # A format such as `uuid4` is narrower than the form whose pattern it has.
    names = form.keywords.values() if form is not None and form.keywords else ()
    return isinstance(name, str) and any(map(name.startswith, names)) and texts_of_format(name) is not None


def _format_strategies(schema: dict[str, object]) -> list[Strategy | None]:
    return [texts_of_format(schema.get("format")), texts_of_format(schema.get("contentEncoding"))]
