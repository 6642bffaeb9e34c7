"""
`arguments`: what fits, the smallest first, and a clear refusal where nothing does.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import ipaddress
import pathlib
import re
import uuid
from typing import Annotated, Any, Literal

import annotated_types as at
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolkit import DefinitionError, tool
from toolkit.spec import Tool
from toolkit.testing import Unsupported, arguments, values
from toolkit.testing.laws.smallest_example import Effort, draw_values
from toolkit.testing.strategies.format_texts import FORMAT_STRATEGIES, texts_of_format
from toolkit.testing.strategies.texts import texts_matching
from toolkit.values.codecs import texts

from ..least import least

TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Node"}},
    "required": ["tree"],
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}


def of(schema: Any, **further: Any) -> dict[str, Any]:
    """Return a schema of arguments with one required parameter `x`."""
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False, **further}


SMALLEST = {
    "nothing": ({"type": "object", "properties": {"a": {}}}, {}),
    "only what is required": (of({"type": "integer"}), {"x": 0}),
    "the least integer": (of({"type": "integer", "minimum": 3}), {"x": 3}),
    "the nearest to zero": (of({"type": "integer", "maximum": -7}), {"x": -7}),
    "an excluded bound": (of({"type": "integer", "exclusiveMinimum": 3}), {"x": 4}),
    "a bound between integers": (of({"type": "integer", "minimum": 2.5}), {"x": 3}),
    "a multiple": (of({"type": "integer", "multipleOf": 7, "minimum": 1}), {"x": 7}),
    "a multiple of two numbers": (of({"multipleOf": 4, "type": "integer", "allOf": [{"multipleOf": 6}], "minimum": 1}), {"x": 12}),
    "a multiple of a fraction": (of({"type": "number", "multipleOf": 0.5, "minimum": 0.25, "maximum": 0.75}), {"x": 0.5}),
    "a fraction": (of({"type": "number", "exclusiveMinimum": 0.25, "maximum": 0.5}), {"x": 0.5}),
    "beyond all floats": (of({"type": "number", "minimum": 10**400}), {"x": 10**400}),
    "the empty text": (of({"type": "string"}), {"x": ""}),
    "a text of some length": (of({"type": "string", "minLength": 3}), {"x": "000"}),
    "a text of a pattern": (of({"type": "string", "pattern": "^[a-z]+-[0-9]{2}$"}), {"x": "a-00"}),
    "a pattern and a length": (of({"type": "string", "pattern": "^[a-z]+$", "minLength": 5}), {"x": "aaaaa"}),
    "null before all else": (of({"type": ["object", "string", "null"]}), {"x": None}),
    "the simpler member": (of({"anyOf": [{"type": "object"}, {"type": "boolean"}]}), {"x": False}),
    "the member with the fewest keys": (
        of({"anyOf": [of({}), {"type": "object", "additionalProperties": False}]}),
        {"x": {}},
    ),
    "the first choice": (of({"enum": ["b", "a"]}), {"x": "b"}),
    "a choice that fits the rest": (of({"enum": [1, "a", None], "type": "string"}), {"x": "a"}),
    "a constant": (of({"const": {"a": [1]}}), {"x": {"a": [1]}}),
    "the empty array": (of({"type": "array", "items": {"type": "integer"}}), {"x": []}),
    "as many items as there have to be": (of({"type": "array", "items": {"type": "null"}, "minItems": 2}), {"x": [None, None]}),
    "the first items": (
        of({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "items": False}),
        {"x": [0, ""]},
    ),
    "items that differ": (
        of({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 3, "uniqueItems": True}),
        {"x": [0, 1, 2]},
    ),
    "items that are all there are": (
        of({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True}),
        {"x": [False, True]},
    ),
    "an item of a kind": (of({"type": "array", "contains": {"const": 7}}), {"x": [7]}),
    "several of a kind": (of({"type": "array", "contains": {"const": 7}, "minContains": 2}), {"x": [7, 7]}),
    "none of a kind need be there": (of({"type": "array", "contains": {"const": 7}, "minContains": 0}), {"x": []}),
    "a key for every two": (of({"type": "object", "minProperties": 1, "additionalProperties": {"type": "null"}}), {"x": {"": None}}),
    "keys of a pattern": (
        of({"type": "object", "patternProperties": {"^k": {"type": "null"}}, "additionalProperties": False, "minProperties": 1}),
        {"x": {"k": None}},
    ),
    "keys that may be": (
        of({"type": "object", "propertyNames": {"enum": ["red", "blue"]}, "minProperties": 2, "additionalProperties": {"type": "null"}}),
        {"x": {"red": None, "blue": None}},
    ),
    "what comes together": (
        of({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}},
            "dependentRequired": {"a": ["b"]}, "required": ["a"], "additionalProperties": False}),
        {"x": {"a": None, "b": None}},
    ),
    "what a key asks for": (
        of({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"],
            "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": {"const": 1}}}}}),
        {"x": {"a": None, "b": 1}},
    ),
    "a condition that is not met": (
        of({"type": "object", "properties": {"k": {"enum": ["a", "b"]}}, "required": ["k"],
            "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["v"]}}),
        {"x": {"k": "b"}},
    ),
    "a condition that is met": (
        of({"type": "integer", "if": {"minimum": 5}, "then": {"multipleOf": 3}, "else": False}), {"x": 6},
    ),
    "what is not refused": (of({"type": "integer", "minimum": 0, "not": {"enum": [0, 1]}}), {"x": 2}),
    "a type that is not refused": (of({"type": ["null", "boolean"], "not": {"type": "null"}}), {"x": False}),
    "exactly one": (of({"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 0}]}), {"x": -1}),
    "all of them": (of({"allOf": [{"type": "integer"}, {"minimum": 4}, {"maximum": 9}]}), {"x": 4}),
    "a reference": (of({"$ref": "#/$defs/Small"}, **{"$defs": {"Small": {"type": "integer", "minimum": 2}}}), {"x": 2}),
    "a tree": (TREE, {"tree": {"value": 0}}),
    "what is not evaluated": (
        {"type": "object", "allOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}], "unevaluatedProperties": False},
        {"a": None},
    ),
    "items that are not evaluated": (
        of({"type": "array", "prefixItems": [{"type": "null"}], "unevaluatedItems": {"const": 7}, "minItems": 2}),
        {"x": [None, 7]},
    ),
    "an item of a kind among the first": (
        of({"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}, "contains": {"type": "null"}}),
        {"x": [None]},
    ),
    "no key at all": (of({"type": "object", "propertyNames": False}), {"x": {}}),
    "data that looks like a reference": (of({"enum": [{"$ref": "#/nowhere"}]}), {"x": {"$ref": "#/nowhere"}}),
    "a date": (of({"type": "string", "format": "date"}), {"x": "2000-01-01"}),
    "an unknown format": (of({"type": "string", "format": "postcode"}), {"x": ""}),
}  # fmt: skip


@pytest.mark.one_case_in(5)
@pytest.mark.unmeasured
@pytest.mark.parametrize(("schema", "smallest"), SMALLEST.values(), ids=SMALLEST)
def test_the_smallest_example_is_the_smallest_call(schema, smallest):
    """It has only the required values, and each is the smallest."""
    judge = Draft202012Validator(schema)

    strategy = arguments(schema)
    assert all(map(judge.is_valid, draw_values(strategy, Effort(examples=12, seed=1))))
    assert least(strategy) == smallest


@pytest.mark.parametrize(
    ("schema", "keyword", "place"),
    [
        (of(False), "false", "#/properties/x"),
        (of({"type": "string", "allOf": [{"type": "integer"}]}), "type", "#/properties/x/allOf/0"),
        (of({"type": "integer", "minimum": 4, "maximum": 3}), "minimum", "#/properties/x/minimum"),
        (of({"type": "integer", "minimum": 1, "maximum": 6, "multipleOf": 7}), "minimum", "#/properties/x/minimum"),
        (of({"type": "string", "minLength": 4, "maxLength": 3}), "maxLength", "#/properties/x/maxLength"),
        (of({"type": "string", "pattern": "^[a-z]{9}$", "maxLength": 3}), "pattern", "#/properties/x/pattern"),
        (of({"type": "array", "minItems": 4, "maxItems": 3}), "maxItems", "#/properties/x/maxItems"),
        (of({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}), "uniqueItems", "#/properties/x/uniqueItems"),
        (of({"type": "array", "minItems": 3, "uniqueItems": True, "items": of({"type": "boolean"})}), "uniqueItems", "#/properties/x/uniqueItems"),
        (of({"type": "array", "minItems": 1, "items": False}), "false", "#/properties/x/items"),
        (of({"enum": [1, 2], "type": "string"}), "enum", "#/properties/x/enum"),
        (of({"const": 1, "minimum": 2}), "const", "#/properties/x/const"),
        (of({"not": {}}), "not", "#/properties/x/not"),
        (of({"type": "object", "maxProperties": 0, "required": ["a"]}), "maxProperties", "#/properties/x/maxProperties"),
        (of({"type": "object", "minProperties": 1, "additionalProperties": False}), "minProperties", "#/properties/x/minProperties"),
        (of({"type": "object", "required": ["a"], "propertyNames": {"maxLength": 0}}), "propertyNames", "#/properties/x/propertyNames"),
        ({"type": "object", "properties": {"me": {"$ref": "#"}}, "required": ["me"]}, "$ref", "#/properties/me"),
        (of({"type": "integer", "minimum": 10**1000}), "minimum", "#/properties/x/minimum"),
        (of({"anyOf": [False, {"type": "string", "not": True}]}), "not", "#/properties/x/anyOf/1/not"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("#") else "",
)  # fmt: skip
def test_an_impossible_schema_is_refused_with_its_keyword(schema, keyword, place):
    """The error has the keyword and its place."""
    with pytest.raises(Unsupported, match="no value fits its schema") as caught:
        arguments(schema)
    assert (caught.value.keyword, caught.value.place) == (keyword, place)


AB = {"type": "string", "pattern": "^[ab]$"}


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        (of({"type": "integer", "not": {"minimum": -(10**300)}, "minimum": 0}), "not"),
        pytest.param(
            of({"type": "string", "allOf": [{"pattern": "^[a-m]{20}$"}, {"pattern": "^[n-z]{20}$"}]}),
            "pattern",
            marks=pytest.mark.long,
        ),
        (of({"type": "boolean", "oneOf": [{}, {}]}), "oneOf"),
        (of({"type": "string", "pattern": "^$", "minLength": 1}), "minLength"),
        pytest.param(
            of({"type": "array", "uniqueItems": True, "minItems": 3, "items": AB}),
            "uniqueItems",
            marks=pytest.mark.long,
        ),
    ],
    ids=["not", "two patterns", "few values", "one value", "too few that differ"],
)
def test_a_schema_that_refuses_every_drawn_value_is_named(schema, keyword):
    """Some schemas fail only while drawing. `Unsupported` names the keyword, and no health check comes before it."""

    @settings(max_examples=100, database=None, deadline=None, phases=[Phase.generate, Phase.shrink])
    @given(arguments(schema))
    def draw(value): ...

    with pytest.raises(Unsupported, match="none of the values") as caught:
        draw()
    assert caught.value.keyword == keyword
    assert caught.value.place.startswith("#/properties/x")


def test_items_differ_as_json_does():
    """1 and 1.0 are one value, true is another."""
    schema = of({"type": "array", "items": {"enum": [1, 1.0, True]}, "uniqueItems": True, "minItems": 2})
    smallest = least(arguments(schema))
    assert smallest == {"x": [1, True]}
    assert [type(item) for item in smallest["x"]] == [int, bool]
    with pytest.raises(Unsupported, match="uniqueItems"):
        arguments(of({"type": "array", "items": {"enum": [1, 1.0, True]}, "uniqueItems": True, "minItems": 3}))


@pytest.mark.long
def test_different_items_are_drawn_without_a_known_number_of_values():
    """As many as necessary are found, and the smallest ones."""
    strategy = arguments(of({"type": "array", "uniqueItems": True, "minItems": 2, "items": AB}))
    assert {"".join(sorted(value["x"])) for value in draw_values(strategy, Effort(examples=30, seed=1))} == {"ab"}
    assert sorted(least(strategy)["x"]) == ["a", "b"]


def test_an_integer_may_come_as_a_float():
    """`5.0` is an integer to JSON Schema, and to models."""
    assert least(arguments(of({"type": "integer"})), lambda value: isinstance(value["x"], float)) == {"x": 0.0}


@pytest.mark.long
def test_a_tree_grows_and_ends():
    """A schema that contains itself is followed several times, and not without end."""
    deep = least(
        arguments(TREE), lambda value: bool(value["tree"].get("below")) and bool(value["tree"]["below"][0].get("next"))
    )
    assert deep["tree"]["below"][0]["next"]["value"] == 0


def test_a_chain_of_references_is_followed_to_its_end():
    """The smallest value has twelve levels."""
    names = [f"N{number}" for number in range(12)]
    links = {
        name: {
            "type": "object",
            "properties": {"next": {"$ref": f"#/$defs/{after}"}},
            "required": ["next"],
            "additionalProperties": False,
        }
        for name, after in zip(names, names[1:], strict=False)
    }
    links["N11"] = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/N0"}]}
    value = least(arguments(of({"$ref": "#/$defs/N0"}, **{"$defs": links})))
    for _ in range(11):
        value = value.get("x", value).get("next") if "x" in value else value["next"]
    assert value is None


def test_references_are_resolved_at_their_own_place():
    """An `$id` inside gives them another base, and an `$anchor` a name."""
    schema = of(
        {"$ref": "other#/$defs/Kind"},
        **{"$id": "https://a.example/root", "$defs": {
            "other": {"$id": "other", "$defs": {"Kind": {"$ref": "#kind"}, "k": {"$anchor": "kind", "type": "null"}}}
        }},
    )  # fmt: skip
    assert least(arguments(schema)) == {"x": None}


def test_long_texts_and_arrays_are_drawn():
    """They do not make an example too large to draw."""
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 5000},
            "word": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2000},
            "items": {
                "type": "array",
                "minItems": 500,
                "maxItems": 500,
                "items": {"type": "integer"},
                "contains": {"const": 7},
            },
        },
        "required": ["text", "word", "items"],
    }
    for value in draw_values(arguments(schema), Effort(examples=3, seed=1)):
        assert (len(value["text"]), len(value["word"]), len(value["items"])) == (5000, 2000, 500)
        assert 7 in value["items"]


LONG = {
    "texts": ({"type": "string"}, 255),
    "bounded texts": ({"type": "string", "minLength": 5, "maxLength": 40}, 30),
    "lists": ({"type": "array", "items": {"type": "integer"}}, 25),
    "patterns": ({"type": "string", "pattern": "^[a-z]+$"}, 100),
    "patterns inside": ({"type": "string", "pattern": "-[0-9]{2}$"}, 100),
    "bounded patterns": ({"type": "string", "pattern": "^[a-z]+-[0-9]+$", "maxLength": 60}, 50),
    "bounded lists": ({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 12}, 10),
    "lists of lists": ({"type": "array", "items": {"type": "array", "items": {"type": "null"}}}, 20),
}


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(("schema", "length"), LONG.values(), ids=LONG)
def test_long_values_are_drawn_and_shrink_to_the_least_length(schema, length):
    """Sometimes: within the 60 calls that a law tries. The limits of the schema hold."""
    most = schema.get("maxLength", schema.get("maxItems", 400))
    strategy = arguments(of(schema))
    sizes = [len(drawn["x"]) for seed in range(2) for drawn in draw_values(strategy, Effort(examples=60, seed=seed))]
    assert length < max(sizes) <= most
    assert sorted(sizes)[len(sizes) // 2] <= 25  # most are short
    # A text of exactly `maxLength` is an edge of its own, which does not get shorter.
    assert len(least(strategy, lambda drawn: len(drawn["x"]) > length)["x"]) in (length + 1, schema.get("maxLength"))


def test_different_items_stay_different_in_lists_of_any_length():
    unique = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    for drawn in draw_values(arguments(of(unique)), Effort(examples=60, seed=1)):
        assert len(set(drawn["x"])) == len(drawn["x"]) <= 6


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    "pattern",
    ["^[a-z]+$", "a|b", r"\d{3}-\d{4}", "^(x|yy)*$", "", "^$", "(?i)^abc$", r"^(a)\1$", "^(?=.*[0-9])[a-z0-9]{4,}$",
     "[^a-z]", "^.{3}$", r"\bword\b", "(a+)+$", "(?>ab|a)c", "^[\\w.]+@[\\w.]+$"],
)  # fmt: skip
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data(), least=st.integers(0, 12))
def test_texts_match_their_pattern(pattern, data, least):
    """They match as with `re.search`, and have the requested length if the pattern allows it."""
    schema = of({"type": "string", "pattern": pattern})
    drawn = data.draw(arguments(schema))["x"]
    assert re.search(pattern, drawn)
    if pattern in ("^[a-z]+$", "a|b", "[^a-z]"):
        assert least <= len(data.draw(texts_matching(pattern, least, least + 20)))


_CHECKED = {
    "date": dt.date, "date-time": dt.datetime, "time": dt.time, "duration": dt.timedelta, "uuid": uuid.UUID,
    "decimal": decimal.Decimal, "complex": complex, "path": pathlib.PurePath, "regex": re.Pattern,
    "ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address, "ipv4-interface": ipaddress.IPv4Interface,
    "ipv6-interface": ipaddress.IPv6Interface, "ipv4-network": ipaddress.IPv4Network,
    "ipv6-network": ipaddress.IPv6Network, "base64": bytes,
}  # fmt: skip


def test_every_form_of_a_codec_is_drawn_and_checked():
    """A codec with a form of its own needs a strategy for its texts, and a line above."""
    schemas = [codec.schema for codec in texts._CODECS.values()]
    forms = {schema.get("format") or schema.get("contentEncoding") for schema in schemas} - {None}
    assert forms == set(_CHECKED)
    assert forms <= set(FORMAT_STRATEGIES)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(("name", "kind"), _CHECKED.items(), ids=_CHECKED)
@given(data=st.data())
def test_every_form_is_one_that_its_codec_reads(name, kind, data):
    """A date is a date, an address an address."""

    def probe(value):
        """Probe."""

    probe.__annotations__["value"] = kind
    text = data.draw(texts_of_format(name))
    assert Tool.described(probe).check({"value": text})["value"] is not None


@pytest.mark.parametrize(
    "name", [name for name in FORMAT_STRATEGIES if name in Draft202012Validator.FORMAT_CHECKER.checkers]
)
@given(data=st.data())
def test_every_drawn_text_has_its_format(name, data):
    """jsonschema checks the formats that it knows."""
    Draft202012Validator.FORMAT_CHECKER.check(data.draw(texts_of_format(name)), name)


@dataclasses.dataclass
class Order:
    sku: Annotated[str, at.MinLen(1)]
    count: Annotated[int, at.Ge(1)] = 1


def shop(order: Order, when: dt.date, kind: Literal["new", "used"], *, notes: dict[str, int] | None = None) -> None:
    """Order something."""


def test_a_function_is_drawn_for_as_its_tool_is():
    """A function gets the same arguments with and without the decorator."""
    smallest = {"order": {"sku": "0"}, "when": "2000-01-01", "kind": "new"}
    assert least(arguments(shop)) == smallest
    assert least(arguments(Tool.of(shop))) == smallest


def test_values_are_decoded():
    """They are the values that the function receives, such as records, dates and defaults."""
    assert least(values(shop)) == {
        "order": Order("0", 1),
        "when": dt.date(2000, 1, 1),
        "kind": "new",
        "notes": None,
    }


def test_limits_that_a_schema_cannot_express_are_kept():
    """A decoded date is within its bounds."""

    def book(day: Annotated[dt.date, at.Ge(dt.date(2020, 1, 1))]) -> None:
        """Book a day."""

    @given(values(book))
    def draw(value):
        assert value["day"] >= dt.date(2020, 1, 1)

    draw()


def test_arguments_that_validate_refuses_are_not_drawn():
    """If it refuses all of them, the error names it."""

    @tool(catalog=None, validate=lambda call_arguments: "odd" if call_arguments["n"] % 2 else None)
    def even(n: int) -> None:
        """Take an even number."""

    assert least(arguments(even), lambda value: value["n"] > 6) == {"n": 8}

    @tool(catalog=None, validate=lambda call_arguments: "never")
    def never(n: int) -> None:
        """Take nothing."""

    with pytest.raises(Unsupported) as caught:
        least(arguments(never))
    assert caught.value.keyword == "validate"


def test_a_validate_that_has_to_wait_is_not_asked():
    """Drawing is not async; what can be asked without waiting is."""

    async def agree(call_arguments: Any) -> None: ...

    @tool(catalog=None, validate=agree)
    def ask(n: int) -> None:
        """Ask for a number."""

    assert least(arguments(ask)) == {"n": 0}


def test_an_invalid_schema_is_refused():
    """A schema is checked before a value is drawn from it. A number is not a schema and not a tool."""
    with pytest.raises(DefinitionError, match="not a valid schema"):
        arguments({"type": "text"})
    with pytest.raises(TypeError, match="expected a tool, a function or a schema, got int"):
        arguments(3)
    with pytest.raises(TypeError, match="nothing to decode with"):
        values({"type": "object"})


def test_a_union_with_too_many_ways_through_is_refused():
    """Thousands of combinations of which none is possible are not all tried."""
    clashing = [{"anyOf": [{"const": number}, {"const": -number}]} for number in range(1, 20)]
    open_ended = [{"anyOf": [{"minimum": number}, {"maximum": -number}]} for number in range(1, 20)]
    with pytest.raises(Unsupported):
        arguments(of({"type": "string", "allOf": [{"type": ["string", "null"]}], "not": {"type": "string"}}))
    assert least(arguments(of({"type": "integer", "allOf": open_ended}))) in ({"x": 19}, {"x": -19})
    with pytest.raises(Unsupported):
        arguments(of({"allOf": clashing}))


def test_a_schema_that_is_too_deep_is_refused():
    """The stack of Python is not exhausted."""
    schema: Any = {"type": "null"}
    for _ in range(150):
        schema = {"type": "array", "items": schema, "minItems": 1}
    with pytest.raises((Unsupported, DefinitionError), match="nested too deeply"):
        arguments(of(schema))
