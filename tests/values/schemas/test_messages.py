from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from toolkit.errors import BadArgs
from toolkit.spec import Tool
from toolkit.values.schemas.member_names import FLAG_NAMES, MemberNames
from toolkit.values.schemas.messages import describe_expectation, explain_errors, join_with_or
from toolkit.values.schemas.validator import compile_schema


def words(schema: Any, value: Any) -> list[str]:
    return [str(problem) for problem in explain_errors(compile_schema(schema).iter_errors(value))]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "ten", 'expected an integer, got "ten"'),
        ({"type": ["integer", "null"]}, "ten", 'expected an integer or null, got "ten"'),
        ({"type": "string", "format": "date"}, 5, "expected a string (date), got 5"),
        ({"type": "array"}, {"a": 1}, 'expected an array, got an object with keys "a"'),
        ({"enum": ["asc", "desc", 1]}, "up", 'expected "asc", "desc" or 1, got "up"'),
        ({"enum": [[1]]}, [2], "expected [1], got an array of 1 item"),
        ({"const": "a"}, "b", 'expected "a", got "b"'),
        ({"const": list(range(100))}, [], "expected an array of 100 items, got []"),
        ({"minimum": 0}, -1, "expected at least 0, got -1"),
        ({"exclusiveMinimum": 0}, 0, "expected more than 0, got 0"),
        ({"maximum": 0}, 1, "expected at most 0, got 1"),
        ({"exclusiveMaximum": 1.5}, 10**100, f"expected less than 1.5, got 1{'0' * 59}..."),
        ({"multipleOf": 3}, 4, "expected a multiple of 3, got 4"),
        ({"minLength": 2}, "a", 'expected at least 2 characters, got "a"'),
        ({"maxLength": 2}, "abc", "expected at most 2 characters, got 3"),
        ({"pattern": "^a"}, "b", 'expected text that matches ^a, got "b"'),
        ({"minItems": 1}, [], "expected at least 1 item, got 0"),
        ({"maxItems": 0}, [1], "expected at most 0 items, got 1"),
        ({"items": False}, [1], "expected at most 0 items, got 1"),
        ({"minProperties": 1}, {}, "expected at least 1 entry, got 0"),
        ({"maxProperties": 0}, {"a": 1}, "expected at most 0 entries, got 1"),
        ({"uniqueItems": True}, [1, 1], "expected items that differ, but some are equal"),
        ({"contains": {"type": "null"}}, [1], "expected at least one item that is null"),
        ({"contains": {"type": "null"}, "minContains": 2}, [None], "expected at least 2 items of a kind, got fewer"),
        ({"contains": {"type": "null"}, "maxContains": 0}, [None], "expected at most 0 items of a kind, got more"),
        ({"required": ["a"]}, {}, "a: required, but missing"),
        ({"properties": {"a": {"type": "null"}}, "required": ["a"]}, {}, "a: required, but missing; expected null"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 'b: required beside "a", but missing'),
        ({"properties": {"a": False}}, {"a": 1}, "a: not allowed here"),
        ({"not": {}}, 1, "1 is not allowed here"),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            'the key "ab" is not expected: expected at most 1 character, got 2',
        ),
        ({"unevaluatedItems": False}, [1], "some of the items are not expected"),
        ({"unevaluatedProperties": False}, {"b": 1}, 'some of the keys are not expected, in an object with keys "b"'),
        ({"oneOf": [True, True]}, 1, "1 fits more than one of the alternatives; it has to fit exactly one"),
        (
            {"properties": {"limit": {}}, "additionalProperties": False},
            {"limt": 1},
            'limt: unknown key; did you mean "limit"?',
        ),
        ({"properties": {"limit": {}}, "additionalProperties": False}, {"x": 1}, 'x: unknown key; expected "limit"'),
        ({"additionalProperties": False}, {"x": 1}, "x: unknown key; none are expected"),
        (
            {"patternProperties": {"^a": True}, "additionalProperties": False},
            {"x": 1},
            "x: unknown key; expected one that matches ^a",
        ),
        ({"additionalProperties": {"type": "null"}}, {"x": 1}, "x: expected null, got 1"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:30],
)
def test_each_keyword_has_a_message_that_says_what_would_be_right(schema, value, message):
    """It is one line."""
    assert words(schema, value) == [message]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "string", "enum": ["a", "b"]}, 5, 'expected "a" or "b", got 5'),
        ({"type": ["string", "null"], "enum": ["a", None]}, 5, 'expected "a" or null, got 5'),
        ({"type": "integer", "const": 1}, "1", 'expected 1, got "1"'),
        ({"type": "string", "enum": ["a", 5]}, 5, "expected a string, got 5"),
        ({"type": "string", "const": 5}, 5, "expected a string, got 5"),
        ({"items": {"type": "string", "enum": ["a", "b"]}}, [5], '[0]: expected "a" or "b", got 5'),
        ({"enum": []}, 5, "no value is allowed here"),
        ({"type": "string", "enum": []}, 5, "no value is allowed here"),
        ({"required": ["a"], "properties": {"a": {"enum": []}}}, {}, "a: required, but missing; expected nothing"),
        ({"anyOf": [{"enum": []}, {"type": "null"}]}, 5, "expected nothing or null, got 5"),
        (
            {"enum": ["x" * 59] * 6 + ["y"]},
            "z",
            "expected " + ", ".join([f'"{"x" * 59}"'] * 5) + ' or ..., got "z"',
        ),
    ],
)
def test_a_wrong_json_type_for_a_choice_is_worded_once(schema, value, message):
    """The choices say more than the type does; the type is named only if the value is one of the choices."""
    assert words(schema, value) == [message]


ENUM = [f"Europe/City{n}" for n in range(500)]


@pytest.mark.parametrize(
    ("value", "ending"),
    [("europe/city499", '; did you mean "Europe/City499"?'), ("", 'got ""'), (5, "got 5")],
)
def test_a_misspelt_choice_among_many_is_recognised(value, ending):
    """The nearest of a long list is named, if there is one."""
    (message,) = words({"enum": ENUM}, value)
    assert message.startswith('expected "Europe/City0", ')
    assert message.endswith(ending)
    assert len(message) < 400


def test_all_problems_are_reported_with_their_places():
    schema = {
        "properties": {
            "order": {
                "type": "object",
                "properties": {"items": {"items": {"properties": {"sku": {"type": "string"}}, "required": ["n"]}}},
                "additionalProperties": False,
            }
        },
    }
    value = {"order": {"items": [{"sku": "a", "n": 1}, {"sku": 5}], "itms": 1}}
    assert words(schema, value) == [
        "order.items[1].sku: expected a string, got 5",
        "order.items[1].n: required, but missing",
        'order.itms: unknown key; did you mean "items"?',
    ]


def test_the_same_problem_is_reported_once():
    """The schema may be reached in several ways."""
    assert words({"allOf": [{"type": "string"}, {"type": "string"}]}, 5) == ["expected a string, got 5"]


def record(required: list[str], **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


CIRCLE = record(["kind", "radius"], kind={"const": "circle"}, radius={"type": "number"})
SQUARE = record(["kind", "side"], kind={"const": "square"}, side={"type": "number"}, mode={"enum": ["a", "b"]})
POINT = record(["x", "y"], x={"type": "number"}, y={"type": "number"})


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("members", "value", "messages"),
    [
        ([CIRCLE, SQUARE], {"kind": "circle", "radius": "1"}, ['radius: expected a number, got "1"']),
        ([CIRCLE, SQUARE], {"kind": "square"}, ["side: required, but missing; expected a number"]),
        ([CIRCLE, SQUARE], {"kind": "square", "side": 1, "mode": "c"}, ['mode: expected "a" or "b", got "c"']),
        ([CIRCLE, SQUARE], {"kind": "oval"}, ['kind: expected "circle" or "square", got "oval"']),
        ([CIRCLE, POINT], {"x": 1, "y": "2"}, ['y: expected a number, got "2"']),
        ([CIRCLE, POINT], {}, ['expected an object with "kind", "radius" or an object with "x", "y", got {}']),
        ([CIRCLE, {"type": "null"}], {"kind": "circle"}, ["radius: required, but missing; expected a number"]),
        ([CIRCLE, {"type": "null"}], 5, ['expected an object with "kind", "radius" or null, got 5']),
        ([{"type": "integer"}, {"type": "string", "maxLength": 1}], "ab", ["expected at most 1 character, got 2"]),
        ([{"type": "integer"}, {"const": "auto"}], "manual", ['expected an integer or "auto", got "manual"']),
        (
            [{"type": "array", "items": CIRCLE}, CIRCLE],
            [{"kind": "circle"}],
            ["[0].radius: required, but missing; expected a number"],
        ),
        ([{"type": "null"}] * 2 + [False], 1, ["not allowed here"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_problems_of_a_union_are_those_of_the_member_that_was_meant(union, members, value, messages):
    """The type, the tag or the keys tell which one was meant. Otherwise there is one message about all members."""
    assert words({union: members}, value) == messages


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        (True, "anything"),
        (False, "nothing"),
        ({}, "another value"),
        ({"$ref": "#/$defs/Node"}, "Node"),
        ({"$ref": "#"}, "#"),
        ({"anyOf": [{"type": "null"}, {"type": "null"}]}, "null"),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "null or a string"),
        ({"enum": list(range(100))}, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 or ..."),
        ({"anyOf": [{"const": n} for n in range(100)]}, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 or ..."),
        ({"type": "object", "required": list("abcdef")}, 'an object with "a", "b", "c", "d", ...'),
    ],
    ids=str,
)
def test_an_expectation_is_a_few_words(schema, phrase):
    assert describe_expectation(schema) == phrase


def test_a_keyword_without_words_is_named():
    """Should jsonschema learn a keyword, its refusals are still told."""
    error = types.SimpleNamespace(validator="later", context=(), schema_path=(), absolute_path=("a",))
    assert [str(problem) for problem in explain_errors([error])] == ["a: does not fit what `later` asks"]


def test_a_refusal_never_repeats_a_large_value():
    """A secret or a payload sent in the wrong place is not echoed in full."""
    secret = "s3cr3t " * 1000
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "object"}}, "additionalProperties": False}
    lines = words(schema, {"a": secret, "b": [secret], secret: secret})
    assert len(lines) == 3
    assert all(len(line) < 300 for line in lines)


@dataclass
class Circle:
    kind: Literal["circle"]
    radius: int


@dataclass
class Square:
    kind: Literal["square"]
    side: int


def draw(shape: Circle | Square) -> None:
    """Draw a shape."""


@pytest.mark.parametrize(
    ("shape", "problems"),
    [
        ({"kind": "square", "radius": 1}, ["shape.side: required", "shape.radius: unknown key"]),
        ({"kind": "oval", "radius": 1}, ['shape.kind: expected "circle" or "square", got "oval"']),
        ({"radius": 1}, ['shape.kind: required, but missing; expected "circle" or "square"']),
    ],
)
def test_a_tag_decides_which_member_was_meant(shape, problems):
    """A right tag is never blamed, a wrong one is answered with all the right ones, and nothing contradicts."""
    with pytest.raises(BadArgs) as refused:
        Tool.of(draw).check({"shape": shape})
    messages = [str(problem) for problem in refused.value.problems]
    assert len(messages) == len(problems)
    assert all(message.startswith(start) for message, start in zip(messages, problems, strict=True))


def test_a_flag_that_lists_its_sums_is_described_by_its_members():
    """The names of three members say more than eight numbers."""
    schema = {"type": "integer", "enum": [0, 1, 4, 5], FLAG_NAMES: MemberNames(READ=1, RUN=4)}
    assert words(schema, 2) == ["expected a sum of 1 READ, 4 RUN, got 2"]
    assert words({"properties": {"a": schema}, "required": ["a"]}, {}) == [
        "a: required, but missing; expected a sum of 1 READ, 4 RUN"
    ]


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_words_are_joined_as_in_speech(words, text):
    assert join_with_or(words) == text
