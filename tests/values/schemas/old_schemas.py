"""
Random schemas of older drafts, with references into all their corners, and values to check with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ADDRESSES = {
    "04": "http://json-schema.org/draft-04/schema#",
    "06": "http://json-schema.org/draft-06/schema#",
    "07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
}
NAMES = st.sampled_from(["a", "b", "c/d", "e~f", "g%h", "items", "$ref"])
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 4),
    st.sampled_from([0.5, 1.5, 2.5]),
    st.sampled_from(["", "a", "ab", "abc", "b"]),
)


def values(*, integral_floats: bool = True) -> st.SearchStrategy[Any]:
    """Return a strategy for small JSON values; *integral_floats* says whether 1.0 is among them."""
    scalars = _scalars | st.sampled_from([1.0, 2.0]) if integral_floats else _scalars
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
    )


_sizes = st.integers(0, 3)
_limits = st.integers(-1, 3) | st.sampled_from([0.5, 1.5])
_name_lists = st.lists(NAMES, max_size=2, unique=True)
_plain = st.one_of(_scalars, st.lists(_scalars, max_size=2), st.dictionaries(NAMES, _scalars, max_size=2))

_CHECKS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
    "enum": st.lists(_plain, min_size=1, max_size=3),
    "minimum": _limits,
    "maximum": _limits,
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "minLength": _sizes,
    "maxLength": _sizes,
    "pattern": st.sampled_from(["^a", "b", "c$", "^$"]),
    "minItems": _sizes,
    "maxItems": _sizes,
    "uniqueItems": st.booleans(),
    "minProperties": _sizes,
    "maxProperties": _sizes,
    "required": _name_lists,
    "format": st.sampled_from(["date", "email"]),
    "description": st.just("Words."),
    "default": _plain,
}
_CHECKS_OF_LATER_DRAFTS: dict[str, st.SearchStrategy[Any]] = {
    "const": _plain,
    "exclusiveMinimum": _limits,
    "exclusiveMaximum": _limits,
    "dependentRequired": st.dictionaries(NAMES, _name_lists, max_size=2),
    "minContains": _sizes,
    "maxContains": _sizes,
}


_ANCHORS_AND_ADDRESSES = ["r1", "r2", "http://x.test/r1", "#r3"]
_REFERENCES = ["r1", "r2#", "http://x.test/r1", "#r3", "#", "r1#/properties/a", "r2#/definitions/a", "#/definitions/a"]


@st.composite
def schemas(draw: Any, draft: str, depth: int = 3, *, has_addresses: bool = False) -> Any:
    """
    Draw a schema of *draft*, some keywords of which it may not have.

    A reference is `{"$ref": number}` until `documents` has written it. With *has_addresses*, some parts have an address,
    and some references name one.
    """
    if draft != "04" and draw(st.integers(0, 9)) == 0:
        return draw(st.booleans())
    inner = schemas(draft, depth - 1, has_addresses=has_addresses)
    named = st.dictionaries(NAMES, inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    keywords = dict(_CHECKS)
    keywords |= _CHECKS_OF_LATER_DRAFTS
    if draft == "04":
        del keywords["exclusiveMinimum"], keywords["exclusiveMaximum"]
    if depth > 0:
        keywords |= dict.fromkeys(("properties", "patternProperties", "definitions", "$defs", "x-other"), named)
        keywords["patternProperties"] = st.dictionaries(st.sampled_from(["^a", "b", "."]), inner, max_size=2)
        keywords |= dict.fromkeys(("allOf", "anyOf", "oneOf"), several)
        keywords |= dict.fromkeys(("not", "contains", "propertyNames", "if", "then", "else"), inner)
        keywords |= dict.fromkeys(("additionalProperties", "additionalItems"), inner | st.booleans())
        keywords["items"] = inner | st.lists(inner, max_size=3)
        keywords["dependencies"] = st.dictionaries(NAMES, inner | _name_lists, max_size=2)
        keywords["dependentSchemas"] = named
        keywords["prefixItems"] = several
        numbers = st.integers(0, 1000)
        keywords |= dict.fromkeys(
            ("$ref", "$ref2"), numbers | st.sampled_from(_REFERENCES) if has_addresses else numbers
        )
    if has_addresses:
        keywords["id" if draft == "04" else "$id"] = st.sampled_from(
            _ANCHORS_AND_ADDRESSES[: 3 if draft == "2019-09" else 4]
        )
    if draft == "2019-09":
        # jsonschema takes the keywords of a schema in `additionalProperties` for properties that were evaluated, so
        # `unevaluatedProperties` has a test of its own.
        keywords |= {
            "$recursiveRef": st.just("#"),
            "$recursiveAnchor": st.booleans(),
            "unevaluatedItems": st.booleans(),
        }
        keywords |= {"$anchor": st.just("r3")} if has_addresses else {}
    chosen = draw(st.lists(st.sampled_from(list(keywords)), max_size=4, unique=True))
    schema = {keyword: draw(keywords[keyword]) for keyword in chosen}
    if "$ref2" in schema:  # a reference that is alone comes more often than one among others
        return {"$ref": schema["$ref2"]}
    if draft == "04":
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if limit in schema and draw(st.booleans()):
                schema[exclusive] = draw(st.booleans())
    return schema


def iter_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the steps to every value in a document that could be read as a schema."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            yield from iter_places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from iter_places(item, (*path, index))


def write_pointer(path: tuple[Any, ...]) -> str:
    """Return the reference to a place in the same document."""
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1").replace("%", "%25") for step in path)


@st.composite
def documents(draw: Any, draft: str, *, has_addresses: bool) -> dict[str, Any]:
    """Draw a whole schema of *draft* that names it, with references to any of its places."""
    schema = draw(schemas(draft, has_addresses=has_addresses).filter(lambda schema: isinstance(schema, dict)))
    places = list(iter_places(schema))
    return {"$schema": ADDRESSES[draft], **_write_references(schema, places)}


def _write_references(value: Any, places: list[tuple[Any, ...]]) -> Any:
    if isinstance(value, list):
        return [_write_references(item, places) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: write_pointer(places[item % len(places)])
        if key == "$ref" and isinstance(item, int) and not isinstance(item, bool)
        else _write_references(item, places)
        for key, item in value.items()
    }
