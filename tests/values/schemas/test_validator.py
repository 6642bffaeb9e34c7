from __future__ import annotations

import threading
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolkit.errors import DefinitionError
from toolkit.values.schemas.validator import DIALECT, check_schema, compile_schema

EVIL = "^(a+)+$"


def is_valid(schema: Any, value: Any) -> bool:
    check_schema(schema, "it")
    return not list(compile_schema(schema).iter_errors(value))


NODE = {
    "$id": "https://example.com/node",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"next": {"$dynamicRef": "#node"}},
    "additionalProperties": False,
}
EMBEDDED = {
    "$id": "https://example.com/root",
    "properties": {"x": {"$ref": "item"}},
    "$defs": {"i": {"$id": "item", "properties": {"y": {"$ref": "#/$defs/z"}}, "$defs": {"z": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (NODE, {"next": {"next": {}}}, {"next": {"next": {"x": 1}}}),
        (EMBEDDED, {"x": {"y": 1}}, {"x": {"y": "1"}}),
        (
            {"$id": "https://a.b/c", "items": {"$id": "d", "$ref": "#/$defs/z", "$defs": {"z": {"type": "null"}}}},
            [None],
            [1],
        ),
        ({"$ref": "#foo", "$defs": {"f": {"$anchor": "foo", "type": "integer"}}}, 1, "1"),
        ({"properties": {"next": {"$ref": "#"}}, "additionalProperties": False}, {"next": {}}, {"next": {"x": 1}}),
        ({"$ref": f"{DIALECT}"}, {"type": "string"}, {"type": "strong"}),
        (
            {"$schema": DIALECT, "properties": {"a": {"$schema": f"{DIALECT}#", "pattern": EVIL}}},
            {"a": "aa"},
            {"a": "ab"},
        ),
        ({"properties": {"a": {"$ref": "#/default"}}, "default": {"type": "null"}}, {"a": None}, {"a": 1}),
        ({"properties": {"a": {"$ref": "#/x/y"}}, "x": {"y": {"type": "null"}}}, {"a": None}, {"a": 1}),
        ({"items": False, "prefixItems": [True]}, [1], [1, 2]),
        ({"items": False}, [], [1]),
        ({"items": True}, [1], None),
        ({"properties": {"a": False}}, {}, {"a": 1}),
        ({"anyOf": [False, {"type": "string"}]}, "a", 1),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"patternProperties": {"^a": True}, "unevaluatedProperties": False}, {"ab": 1}, {"b": 1}),
        ({"patternProperties": {"^a": {"type": "null"}}}, {"b": 1, "a": None}, {"b": 1, "a": 1}),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1], [1, 2]),
        ({"type": ["integer", "null"]}, 3.0, True),
        ({"const": {"a": [1, True]}}, {"a": [1.0, True]}, {"a": [1, 1]}),
        ({"enum": [1, "a", None, [0]]}, 1.0, True),
        ({"enum": [1, "a", None, [0]]}, [0.0], [False]),
        ({"enum": [True]}, True, 1),
        ({"const": 10**400}, 10**400, 10**400 + 1),
        ({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, None], [1, 1.0]),
        ({"uniqueItems": True}, [[1], [True]], [[1], [True], [1]]),
        ({"uniqueItems": False}, [1, 1], None),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 4, 5),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 5.5, 4.5),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        (
            {"patternProperties": {"^a": {"type": "null"}}, "additionalProperties": {"type": "string"}},
            {"a": None},
            {"b": 1},
        ),
        ({"not": {"required": ["a"]}}, {}, {"a": 1}),
        ({"minProperties": 1, "maxProperties": 2, "minItems": 1, "minLength": 1}, {"a": 1}, ""),
        ({"format": "date"}, "not a date", None),
        ({"properties": {"$schema": {"type": "string"}, "$ref": {"type": "string"}}}, {"$schema": "x"}, {"$ref": 1}),
        ({"required": ["a"], "properties": {"a": False}, "dependentRequired": {"a": ["b"]}}, 5, {}),
        (
            {"patternProperties": {"a": False}, "additionalProperties": False, "unevaluatedProperties": False},
            5,
            {"a": 1},
        ),
        ({"items": False, "uniqueItems": True, "pattern": "a", "minItems": 1}, 5, []),
        ({"dependentRequired": {"a": ["b"], "c": ["a"]}}, {"a": 1, "b": 1}, {"c": 1}),
        (True, 1, None),
        ({"not": False}, 1, None),
    ],
    ids=str,
)
def test_schemas_are_judged_as_jsonschema_judges(schema, good, bad):
    """References, dialects, equality and unions: the verdict is the draft's."""
    assert is_valid(schema, good)
    # Where nothing of the row is bad, null stands for "no such case".
    assert bad is None or not is_valid(schema, bad)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "https://example.com/other"}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "/properties/a: $ref 'file:///etc/passwd'"),
        ({"$ref": "#/$defs/missing"}, "put the definition under `$defs`"),
        ({"$dynamicRef": "https://example.com/other#x"}, "$dynamicRef"),
        ({"anyOf": [{"$ref": "#/anyOf/zero"}]}, "not answered"),
        ({"$ref": "#"}, "leads back to itself"),
        ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "leads back"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "draft-07"),
        ({"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "/properties/a: the schema"),
        ({"type": "objekt"}, "not a valid schema at type"),
        ({"properties": {"const": {"pattern": "("}}}, "/properties/const: '(' is not a regular expression"),
        ({"patternProperties": {"(": True}}, "is not a regular expression"),
        ({"patternProperties": {EVIL: True}, "unevaluatedProperties": False}, "could take for ever"),
        ({"$ref": "#/x", "x": {"pattern": 5}}, "not a valid schema at pattern"),
        (5, "not a valid schema at the top"),
        ({"type": []}, "write one of null, boolean, integer, number, string, array, object, or a list"),
        ({"items": [{"type": "string"}]}, "has `prefixItems` for a list of schemas"),
        ({"exclusiveMinimum": True}, "draft 2020-12 has a number here"),
        ({"anyOf": []}, "not a valid schema at anyOf"),
        ({"properties": {"a": {"$ref": "#/type"}}, "type": "object"}, 'leads to "object", which is not a schema'),
        ({"$id": "http://[bad"}, "is not an address"),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_enforced_is_refused_at_definition(schema, words):
    """It would fetch a document, loop or stall."""
    with pytest.raises(DefinitionError) as caught:
        check_schema(schema, "it")
    assert str(caught.value).startswith("it: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("number", "factor", "is_multiple"),
    [
        (19.99, 0.01, True),
        (-0.07, 0.01, True),
        (0.3, 0.1, True),
        (1e22, 0.1, True),
        (1e308, 1e-10, True),
        (7, 0.1, True),
        (0, 0.1, True),
        (19.995, 0.01, False),
        (0.1 + 0.2, 0.1, False),
        (1e-320, 0.1, False),
        (7.5, 2, False),
        (8.0, 2, True),
        (10**400, 0.5, True),
        (10**400 + 1, 2.5, False),
        (1.5, 10**400, False),
        (0.0, 10**400, True),
        (1e300, 5e-324, True),
    ],
)
def test_a_multiple_is_judged_by_the_numbers_as_they_are_written(number, factor, is_multiple):
    """jsonschema divides floats, and 19.99 / 0.01 is 1998.9999999999998."""
    assert is_valid({"multipleOf": factor}, number) is is_multiple


def test_the_schema_false_refuses_every_value():
    assert not is_valid(False, {})


def test_a_schema_without_end_is_refused():
    """A schema that Python cannot walk is no schema."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(2000):
        schema = {"items": schema}
    with pytest.raises(DefinitionError, match="nested too deeply"):
        check_schema(schema, "it")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": EVIL}, "a" * 100_000 + "!"),
        ({"patternProperties": {EVIL: False}}, {"a" * 50_000: 1}),
        ({"patternProperties": {EVIL: True}, "additionalProperties": False}, {"a" * 50_000 + "!": 1}),
        ({"propertyNames": {"pattern": EVIL}}, {"a" * 50_000 + "!": 1}),
        ({"uniqueItems": True}, [{"n": n} for n in range(20_000)] + [{"n": 7.0}]),
        ({"uniqueItems": True}, [n * (2**61 - 1) for n in range(20_000)] + [0.0]),
        ({"enum": [f"choice {n}" for n in range(100_000)]}, "none of them"),
        ({"items": {"type": "integer"}}, [""] * 1_000_000),
    ],
    ids=["pattern", "patternProperties", "additionalProperties", "propertyNames", "unique", "hashes", "enum", "errors"],
)
def test_no_value_stalls_a_validator(schema, value):
    """A naive check would take minutes, or all the memory."""
    assert not is_valid(schema, value)


BINARY = {
    "$ref": "#/$defs/a",
    "$defs": {
        name: {
            "type": "object",
            "properties": {"child": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}},
            "additionalProperties": False,
        }
        for name in "ab"
    },
}


def test_ambiguous_values_are_judged_once():
    """Two members that contain each other do not double the work at every level."""
    value: Any = {"child": 5}
    for _ in range(40):
        value = {"child": value}
    assert not is_valid(BINARY, value)
    assert is_valid(BINARY, {"child": {"child": {}}})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("value", [5, 2.5, "no", "yes", None, [], {}], ids=repr)
def test_references_that_meet_again_do_not_double_the_work(keyword, value):
    """Otherwise a server could keep the process busy with the schema of one tool."""
    definitions = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    judge = compile_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, "d40": {"type": "string", "pattern": "y"}}})
    assert (list(judge.iter_errors(value)) == []) is (value == "yes" and keyword != "oneOf")
    assert judge.steps_taken < 5_000


def test_equal_values_in_many_places_have_their_own_errors():
    """Small numbers are one object in Python in all places of a value."""
    schema = {"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"anyOf": [{"type": "string"}, {"maximum": 3}]}}}
    errors = list(compile_schema(schema).iter_errors([5] * 20))
    assert [list(error.absolute_path) for error in errors] == [[index] for index in range(20)]
    inner = [[list(part.absolute_path) for part in error.context] for error in errors[:7]]
    assert inner == [[[index], [index]] for index in range(7)]


@pytest.mark.unmeasured
def test_too_much_work_is_refused():
    """A judgement that would take too long ends, with advice."""
    judge = compile_schema({"items": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}})
    with pytest.raises(ValueError, match="send less at once"):
        list(judge.iter_errors([1] * 400_000))
    assert list(judge.iter_errors([1, "a"])) == []


def test_long_keys_are_refused_for_searches_by_jsonschema():
    """The limit holds for every key beside `unevaluatedProperties`."""
    judge = compile_schema({"patternProperties": {"^a": True}, "unevaluatedProperties": False})
    with pytest.raises(ValueError, match="longer than 1,000 characters"):
        list(judge.iter_errors({"a" * 1001: 1}))


@pytest.mark.long
@pytest.mark.unmeasured
def test_a_judge_serves_many_threads():
    """The count of the work is one a thread."""
    judge = compile_schema({"items": {"minimum": 0, "type": "integer"}})
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(list(judge.iter_errors([1] * 60_000 + [-1])))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1, 1, 1, 1]


def test_errors_have_the_place_of_jsonschema_or_a_nearer_one():
    """Each missing and each unknown key has its own error."""
    schema = {
        "properties": {
            "a": {"type": "integer", "description": "A number."},
            "list": {"prefixItems": [{"type": "null"}]},
        },
        "required": ["b", "c"],
        "additionalProperties": False,
    }
    value = {"a": "x", "list": [1], "d": 1, "e": 2}
    ours = [(error.validator, list(error.absolute_path)) for error in compile_schema(schema).iter_errors(value)]
    theirs = {error.validator for error in Draft202012Validator(schema).iter_errors(value)}
    assert ours == [
        ("type", ["a"]),
        ("type", ["list", 0]),
        ("required", ["b"]),
        ("required", ["c"]),
        ("additionalProperties", ["d"]),
        ("additionalProperties", ["e"]),
    ]
    assert theirs == {keyword for keyword, _ in ours}


@pytest.mark.parametrize("keyword", ["contentSchema", "dependencies"])
def test_a_schema_that_is_never_applied_need_not_be_enforceable(keyword):
    """Its references are not followed, unless another one leads to it."""
    inner = {"a": {"$ref": "https://example.com/elsewhere"}}
    schema = {keyword: inner if keyword == "dependencies" else inner["a"]}
    check_schema(schema, "tool `t`")
    place = "#/dependencies/a" if keyword == "dependencies" else "#/contentSchema"
    with pytest.raises(DefinitionError, match="nothing is fetched"):
        check_schema({**schema, "items": {"$ref": place}}, "tool `t`")


TYPED = {
    "type": "object",
    "properties": {
        "whole": {"type": "integer"},
        "either": {"type": ["string", "null"]},
        "list": {"type": "array", "items": {"type": "number"}},
        "inner": {"$ref": "#/$defs/inner"},
        "any": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/inner"}]},
    },
    "$defs": {"inner": {"type": "object", "properties": {"x": {"type": "boolean"}, "next": {"$ref": "#/$defs/inner"}}}},
}


def describe_errors(errors):
    """Return the keyword, both places and the value of each error, with the errors inside unions."""
    return [
        (
            error.validator,
            list(error.absolute_path),
            list(error.absolute_schema_path),
            error.validator_value,
            error.instance,
            error.schema,
            describe_errors(error.context),
        )
        for error in errors
    ]


@pytest.mark.parametrize("prefix", [{}, {"$id": "https://example.com/typed"}], ids=["one document", "with an $id"])
@pytest.mark.parametrize(
    "value",
    [
        {"whole": "a", "either": 5, "list": [1, "b", None, True], "inner": {"x": 0, "next": {"x": "c"}}},
        {"whole": 1.0, "either": None, "list": [1.5], "inner": {"x": True}, "any": "text"},
        {"whole": 1.5, "list": {}, "inner": [], "any": {"x": 1, "next": {"x": [], "next": 3}}},
        {"whole": True, "either": False, "list": [[]], "any": 7},
        [],
        None,
    ],
)
def test_the_errors_about_types_are_those_of_jsonschema(value, prefix):
    """They have the same places, also when the validator is used again."""
    schema = {**prefix, **TYPED}
    validator = compile_schema(schema)
    expected = describe_errors(Draft202012Validator(schema).iter_errors(value))
    assert describe_errors(validator.iter_errors(value)) == expected
    assert describe_errors(validator.iter_errors(value)) == expected


def test_a_chain_of_schemas_is_checked_once_against_the_metaschema(monkeypatch):
    """The meta-schema looks into all parts itself; a second look at each would take seconds for 60 levels."""
    checked = []
    monkeypatch.setattr("toolkit.values.schemas.validator.check_against_metaschema", checked.append)
    schema: Any = {"type": "integer"}
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    check_schema(schema, "here")

    assert checked == [schema]


def test_a_schema_under_an_unknown_keyword_is_checked_if_a_reference_leads_there():
    """The meta-schema does not look there."""
    schema = {"properties": {"a": {"$ref": "#/shapes/a"}}, "shapes": {"a": {"items": {"type": "nothing"}}}}
    with pytest.raises(DefinitionError, match="not a valid schema"):
        check_schema(schema, "here")
