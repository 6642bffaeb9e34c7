"""
Schemas of older drafts say the same in draft 2020-12.
"""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.values.schemas.old_schemas import ADDRESSES, documents, values
from toolkit import BadArgs, DefinitionError, Tool, ToolkitWarning
from toolkit.values.schemas.draft_rewriting import rewrite_schema
from toolkit.values.schemas.validator import check_schema, compile_schema

VALIDATORS: dict[str, Any] = {
    "04": jsonschema.Draft4Validator,
    "06": jsonschema.Draft6Validator,
    "07": jsonschema.Draft7Validator,
    "2019-09": jsonschema.Draft201909Validator,
}
LATEST = "https://json-schema.org/draft/2020-12/schema"


def rewrite(draft: str, **schema: Any) -> dict[str, Any]:
    """Return a schema of *draft* in draft 2020-12, after a check that it is one."""
    new, _ = rewrite_schema({"$schema": ADDRESSES[draft], **schema}, "it")
    check_schema(new, "it")
    return new


# The property.


def has_same_verdict(draft: str, schema: dict[str, Any], instances: list[Any]) -> bool:
    """Return whether jsonschema and the rewritten schema agree; also if the schema is refused."""
    original = copy.deepcopy(schema)
    try:
        new, _ = rewrite_schema(schema, "it")
        check_schema(new, "it")
    except DefinitionError:
        return True
    assert schema == original, "the schema that was given has changed"
    validator = compile_schema(new)
    for instance in instances:
        try:
            expected = VALIDATORS[draft](schema).is_valid(instance)
        except (TypeError, AttributeError):  # jsonschema cannot read `additionalItems` beside `items: true`, ...
            continue
        assert validator.is_valid(instance) == expected, (instance, new)
    return True


INSTANCES = {draft: st.lists(values(integral_floats=draft != "04"), min_size=3, max_size=6) for draft in ADDRESSES}


@pytest.mark.long
@pytest.mark.parametrize("has_addresses", [False, True])
@pytest.mark.parametrize("draft", ADDRESSES)
def test_the_rewritten_schema_gives_the_verdict_of_the_old_draft(draft, has_addresses):
    """The schemas are random, with references into all their parts, and keywords that their draft does not have."""

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(documents(draft, has_addresses=has_addresses), INSTANCES[draft])
    def check(schema, instances):
        assert has_same_verdict(draft, schema, instances)

    check()


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, [True, False]),
        ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, [True, False]),
        ({"allOf": [{"additionalProperties": {"type": "integer"}}], "unevaluatedProperties": False}, [True, True]),
        (
            {"$defs": {"a": {"properties": {"b": {}}}}, "$ref": "#/$defs/a", "unevaluatedProperties": False},
            [False, True],
        ),
    ],
)
def test_properties_that_are_not_evaluated(schema, fits):
    """The draft's own words: each property that no keyword beside or inside has looked at."""
    validator = compile_schema(rewrite("2019-09", **schema))
    assert [validator.is_valid({name: 1}) for name in ("a", "b")] == fits


CASES = {
    "a tuple": {"items": [{"type": "string"}, {"$ref": "#/items/0"}], "additionalItems": {"type": "integer"}},
    "a closed tuple": {"items": [{"type": "string"}], "additionalItems": False},
    "an empty tuple": {"items": [], "additionalItems": {"type": "string"}},
    "no tuple": {"additionalItems": False},
    "items beside additional ones": {"items": {"type": "integer"}, "additionalItems": False},
    "a reference to additional items": {"properties": {"a": {"$ref": "#/additionalItems"}}, "additionalItems": {"type": "null"}},
    "definitions": {"definitions": {"a": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/a"}}},
    "a definition in a definition": {
        "definitions": {"a": {"definitions": {"b": {"type": "null"}}}},
        "properties": {"a": {"$ref": "#/definitions/a/definitions/b"}},
    },
    "definitions of a later draft": {"$defs": {"a": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/a"}}},
    "both definitions": {
        "$defs": {"a": {"type": "integer"}},
        "definitions": {"a": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/definitions/a"}},
    },
    "escaped steps": {
        "definitions": {"c/d": {"type": "integer"}, "e~f": {"type": "string"}, "g%h": {"type": "null"}, "i j": {"type": "array"}},
        "properties": {
            "a": {"$ref": "#/definitions/c~1d"},
            "b": {"$ref": "#/definitions/e~0f"},
            "c/d": {"$ref": "#/definitions/g%25h"},
            "e~f": {"$ref": "#/definitions/i%20j"},
        },
    },
    "dependencies": {"dependencies": {"a": ["b"], "b": {"required": ["c/d"]}, "c/d": {"$ref": "#/dependencies/b"}}},
    "a reference into dependencies": {
        "dependencies": {"a": {"properties": {"b": {"type": "integer"}}}},
        "properties": {"b": {"$ref": "#/dependencies/a/properties/b"}},
    },
    "keywords beside a reference": {
        "definitions": {"a": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/definitions/a", "minimum": 3, "properties": {"b": {"type": "string"}}}},
        "additionalProperties": {"$ref": "#/properties/a/properties/b"},
    },
    "a reference at the top": {
        "$ref": "#/definitions/a",
        "definitions": {"a": {"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}}}},
        "required": ["b"],
    },
    "a property that is called $ref": {"properties": {"$ref": {"type": "string"}}},
    "a reference under an unknown keyword": {
        "x-types": {"a": {"items": [{"type": "integer"}]}},
        "items": {"$ref": "#/x-types/a/items/0"},
    },
    "a reference into a default": {"default": {"a": {"type": "integer"}}, "items": {"$ref": "#/default/a"}},
    "what looks like a schema in a choice": {"enum": [{"$ref": "#/nowhere"}, {"$schema": "x"}, {"a": 1}, ["a"]]},
    "keywords of later drafts": {
        "minContains": 2, "maxContains": 2, "prefixItems": [{"type": "null"}], "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"a": False}, "unevaluatedItems": False, "unevaluatedProperties": False,
    },
    "no booleans": {"anyOf": [{"type": "array", "items": [{"not": {}}]}, {"type": "object"}]},
}  # fmt: skip
NOT_IN = {
    "dependencies": ["2019-09"],
    "a reference into dependencies": ["2019-09"],
    "keywords of later drafts": ["2019-09"],
}
VALUES: list[Any] = [
    *(None, True, 0, 1, 3, 1.5, "", "a", [], {}),
    *(["a"], [1], ["a", "a"], ["a", "a", 1], ["a", "a", "a"], [None], [1, "a"], [1, 1], [[1]]),
    *({"a": 1}, {"a": "a"}, {"a": None}, {"b": 1}, {"b": "a"}, {"a": 1, "b": 1}, {"a": {"a": {}}}, {"a": {"a": 1}}),
    *({"c/d": 1}, {"c/d": None}, {"a": 1, "b": "x", "c/d": None, "e~f": []}, {"e~f": 1}, {"$ref": 1}, {"$ref": "a"}),
    *({"b": 1, "c/d": 2}, {"z": 1}, {"z": "a"}),
]


@pytest.mark.parametrize("draft", ADDRESSES)
@pytest.mark.parametrize("name", CASES)
def test_a_hand_made_schema_gives_the_verdict_of_its_draft(draft, name):
    """Each schema has one feature that differs between the drafts."""
    schema = {"$schema": ADDRESSES[draft], **CASES[name]}
    if draft not in NOT_IN.get(name, ()):
        rewrite(draft, **CASES[name])
    assert has_same_verdict(draft, schema, VALUES)


@pytest.mark.parametrize("value", [1, 2, 3, 4, 5, 2.5, "a"])
@pytest.mark.parametrize("lower", [True, False, None])
@pytest.mark.parametrize("upper", [True, False, None])
def test_limits_of_draft_04(value, lower, upper):
    """A second keyword says whether a limit is exclusive."""
    schema: dict[str, Any] = {"minimum": 2, "maximum": 4}
    schema |= {} if lower is None else {"exclusiveMinimum": lower}
    schema |= {} if upper is None else {"exclusiveMaximum": upper}
    expected = jsonschema.Draft4Validator(schema).is_valid(value)
    assert compile_schema(rewrite("04", **schema)).is_valid(value) is expected


# How the new schema looks.


def test_the_words_for_people_stay():
    """The model reads them, also beside a reference."""
    item = {"$ref": "#/definitions/a", "description": "An item.", "default": 1, "x-order": 2, "minimum": 5}
    new = rewrite("07", title="Items", properties={"a": item}, definitions={"a": {"type": "integer", "examples": [1]}})
    assert new == {
        "title": "Items",
        "properties": {"a": {"$ref": "#/$defs/a", "description": "An item.", "default": 1, "x-order": 2}},
        "$defs": {"a": {"type": "integer", "examples": [1]}},
    }


@pytest.mark.parametrize("dialect", [None, LATEST, LATEST + "#", "http://json-schema.org/draft/2020-12/schema"])
def test_a_schema_of_the_latest_draft_is_not_changed(dialect):
    """This holds also if its data looks like a schema of an older draft."""
    data = {"$schema": ADDRESSES["07"], "items": []}
    schema = {"default": data, "items": {"const": data}, "additionalItems": 3}
    schema |= {} if dialect is None else {"$schema": dialect}
    assert rewrite_schema(schema, "it")[0] is schema
    check_schema(schema, "it")


@pytest.mark.parametrize("draft", ADDRESSES)
@pytest.mark.parametrize(
    "change", [str, lambda text: text.removesuffix("#"), lambda text: text.replace("http:", "https:")]
)
def test_the_address_of_a_draft_may_be_written_in_several_ways(draft, change):
    """The last character may be missing, and the scheme may differ."""
    new, _ = rewrite_schema({"$schema": change(ADDRESSES[draft]), "items": [{"type": "null"}]}, "it")
    assert new == {"prefixItems": [{"type": "null"}]}


def test_a_resource_inside_another_may_have_a_different_draft():
    inner = {"$id": "inner", "$schema": ADDRESSES["07"], "items": [{"type": "string"}], "additionalItems": False}
    outer = {"$schema": LATEST, "items": {"$ref": "inner"}, "$defs": {"a": inner}}
    new, _ = rewrite_schema(outer, "it")
    check_schema(new, "it")
    validator = compile_schema(new)
    assert [validator.is_valid(value) for value in ([], [["a"]], [[1]], [["a", "b"]])] == [True, True, False, False]


@pytest.mark.parametrize(
    ("draft", "inner", "reference"),
    [
        ("04", {"id": "http://x.test/b"}, "http://x.test/b"),
        ("04", {"id": "b"}, "b#"),
        ("04", {"id": "b"}, "http://x.test/b#/properties/a"),
        ("04", {"id": "#b"}, "#b"),
        ("06", {"$id": "b"}, "b"),
        ("07", {"$id": "#b"}, "#b"),
        ("07", {"$id": "b#c"}, "b#c"),
        ("07", {"$id": "urn:b"}, "urn:b"),
        ("2019-09", {"$id": "b"}, "b"),
        ("2019-09", {"$anchor": "b"}, "#b"),
        ("2019-09", {"$anchor": "b"}, "top#b"),
    ],
)
def test_a_reference_by_address_becomes_a_pointer(draft, inner, reference):
    """The addresses of parts are not needed any more, because the document is one."""
    identifier = "id" if draft == "04" else "$id"
    part = {**inner, "properties": {"a": {"type": "integer"}}, "type": "object"}
    new = rewrite(draft, **{identifier: "http://x.test/top"}, definitions={"k": part}, items={"$ref": reference})
    keyword = "definitions" if draft == "2019-09" else "$defs"
    rest = "/properties/a" if reference.endswith("a") else ""
    assert new["items"] == {"$ref": f"#/{keyword}/k{rest}"}
    assert new["$id"] == "http://x.test/top"
    assert new[keyword]["k"] == {"properties": {"a": {"type": "integer"}}, "type": "object"}


def test_an_unchecked_part_gets_a_free_name():
    """A reference still leads to it."""
    new = rewrite(
        "07",
        definitions={"a": {"type": "string"}},
        properties={"b": {"$ref": "#/definitions/a", "not": {"$ref": "#/x/a"}}, "c": {"$ref": "#/properties/b/not"}},
        x={"a": {"type": "null"}},
    )
    assert new["properties"] == {"b": {"$ref": "#/$defs/a"}, "c": {"$ref": "#/$defs/not"}}
    assert new["$defs"] == {"a": {"type": "string"}, "not": {"$ref": "#/$defs/a_2"}, "a_2": {"type": "null"}}


# Recursive references.


def test_a_recursive_reference_in_one_resource_is_a_plain_one():
    """There is only one schema that it could mean."""
    new = rewrite("2019-09", **{"$recursiveAnchor": True}, properties={"a": {"$recursiveRef": "#"}}, type="object")
    assert new == {"properties": {"a": {"$ref": "#"}}, "type": "object"}


@pytest.mark.parametrize("order", [("$ref", "$recursiveRef", "allOf"), ("allOf", "$recursiveRef", "$ref")])
def test_a_recursive_reference_beside_another_one_keeps_both(order):
    """A schema of draft 2020-12 has one `$ref`, so the second one is a schema of its own."""
    both = {"$ref": "#/$defs/a", "$recursiveRef": "#", "allOf": [{"minProperties": 1}]}
    part = {keyword: both[keyword] for keyword in order}
    schema = {"$schema": ADDRESSES["2019-09"], "$defs": {"a": {"maxProperties": 2}}, "type": "object"}
    schema["properties"] = {"a": part, "b": {"$ref": "#/properties/a/allOf/0"}}
    instances = [
        {},
        {"a": 1},
        {"a": {}},
        {"a": {"a": {"x": 1}}},
        {"a": {"x": 1}},
        {"b": {}},
        {"a": {"x": 1, "y": 2, "z": 3}},
    ]
    rewrite_schema(schema, "it")
    assert has_same_verdict("2019-09", schema, instances)
    assert not compile_schema(rewrite_schema(schema, "it")[0]).is_valid({"a": {"a": {}}})


TREE = {
    "$schema": ADDRESSES["2019-09"],
    "$id": "http://x.test/strict-tree",
    "$recursiveAnchor": True,
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {
        "tree": {
            "$id": "tree",
            "$recursiveAnchor": True,
            "type": "object",
            "properties": {"data": True, "children": {"type": "array", "items": {"$recursiveRef": "#"}}},
        },
        "list": {
            "$id": "list",
            "properties": {"next": {"$recursiveRef": "#"}, "tree": {"$ref": "tree#/properties/children"}},
        },
    },
}


@pytest.mark.parametrize("anchors", ["both", "outer", "inner", "none"])
def test_a_recursive_reference_that_depends_on_the_path(anchors):
    """The example of the draft: a strict tree makes the branches of a lenient one strict, if both say so."""
    schema = copy.deepcopy(TREE)
    if anchors in ("outer", "none"):
        del schema["$defs"]["tree"]["$recursiveAnchor"]
    if anchors in ("inner", "none"):
        del schema["$recursiveAnchor"]
    instances = [
        {"children": [{"data": 1}]},
        {"children": [{"daat": 1}]},
        {"daat": 1},
        {"children": [{"children": [{"x": 1}]}]},
        3,
    ]
    verdicts = [compile_schema(rewrite_schema(schema, "it")[0]).is_valid(instance) for instance in instances]
    assert verdicts == [True, anchors != "both", False, anchors != "both", False]
    assert has_same_verdict("2019-09", schema, instances)


@pytest.mark.parametrize("place", ["$defs", "x-parts"])
def test_a_part_that_is_moved_stays_in_its_resource(place):
    """The meaning of a recursive reference in it depends on the schema around it."""
    leaf = {"type": "object", "properties": {"next": {"$recursiveRef": "#"}}}
    inner = {"$id": "inner", "$recursiveAnchor": True, "required": ["k"], "items": {"$ref": "#/x-leaf"}, "x-leaf": leaf}
    schema = {
        "$schema": ADDRESSES["2019-09"],
        "$id": "http://x.test/outer",
        "$recursiveAnchor": True,
        "properties": {"a": {"$ref": "inner"}, "b": {"$ref": f"#/{place}/inner"}, "c": {"$ref": "inner#/x-leaf"}},
        "$defs": {"inner": inner},
    }
    if place == "x-parts":
        schema |= {"x-parts": {"inner": {"$recursiveRef": "#"}}}
    instances = [
        *({"a": [{"next": {"c": 1}}]}, {"a": [{"next": {"c": {}}}]}, {"a": {}}, {"a": [1]}, {"b": [1]}, {"b": {}}),
        *({"c": {"next": {"c": 1}}}, {"c": {"next": {}}}, {"b": {"k": 1}}, {"b": {"a": {}}}),
    ]
    new = rewrite("2019-09", **schema)
    assert new["$defs"]["inner"]["items"] == {"$ref": "#/$defs/x-leaf"}
    assert new["$defs"]["inner"]["$defs"]["x-leaf"]["properties"]["next"] == {"$dynamicRef": "#recursive"}
    assert has_same_verdict("2019-09", schema, instances)


# What is refused, and what is noted.


@pytest.mark.parametrize(
    ("draft", "schema", "problem"),
    [
        ("04", {"properties": {"a": True}}, r"properties/a: draft 04 has no schema `true`; write \{\}"),
        ("04", {"not": False}, r'not: draft 04 has no schema `false`; write \{"not": \{\}\}'),
        ("04", {"exclusiveMinimum": 3}, "the top: `exclusiveMinimum` of draft 04 is true or false, got 3; write"),
        ("04", {"items": {"exclusiveMaximum": True}}, "items: `exclusiveMaximum` of draft 04 is about `maximum`"),
        ("07", {"dependencies": 3}, "the top: `dependencies` has to be an object, got 3"),
        ("07", {"dependencies": {"a": "b"}}, "`dependencies` of 'a' has to be a list of names or a schema"),
        (
            "07",
            {"items": {"$ref": "http://x.test/"}},
            "items: .ref 'http://x.test/' is not answered.*nothing is fetched",
        ),
        ("07", {"items": {"$ref": "#/definitions/a"}}, "items: .ref '#/definitions/a' is not answered"),
        ("07", {"items": [{"$ref": "#/items/1"}]}, "items/0: .ref '#/items/1' is not answered"),
        ("07", {"items": [{"$ref": "#/items/x"}]}, "items/0: .ref '#/items/x' is not answered"),
        ("07", {"title": "a", "items": {"$ref": "#/title"}}, 'leads to "a", which is not a schema'),
        ("07", {"title": "a", "items": {"$ref": "#/title/b"}}, "is not answered"),
        ("07", {"items": {"$ref": "#anchor"}}, "'#anchor' is not answered"),
        (
            "07",
            {"allOf": [{"$id": "a"}, {"$id": "a", "type": "null"}], "items": {"$ref": "a"}},
            "items: .ref 'a' may mean several schemas.*give each its own",
        ),
        ("2019-09", {"$id": "a#b"}, "`.id` of draft 2019-09 has no `#`; write `.anchor` for 'b'"),
        ("2019-09", {"items": {"$recursiveRef": "#/a"}}, "items: `.recursiveRef` is always `#`"),
        ("2019-09", {"$recursiveAnchor": "a"}, "the top: `.recursiveAnchor` is true or false"),
        (
            "07",
            {"items": {"$schema": "http://json-schema.org/draft-03/schema#"}},
            "items: .*draft-03.*drafts 04, 06, 07",
        ),
        ("07", {"items": {"$schema": 3}}, "items: the schema is written for 3"),
        (
            "07",
            {"$id": "http://a.test/", "items": {"$ref": "http://[bad"}},
            "an `.id` or `.ref` of the schema is not an address",
        ),
        ("07", {"$id": 3}, "not a valid schema at .id"),
        ("07", {"properties": []}, "not a valid schema at properties"),
        ("07", {"exclusiveMinimum": True}, "not a valid schema at exclusiveMinimum.*a number here"),
        ("07", {"items": {"type": "text"}}, "not a valid schema at items/type"),
        ("07", {"items": [3]}, "not a valid schema at prefixItems/0"),
        ("07", {"definitions": {"a": 3}}, "not a valid schema at .defs/a"),
        ("07", {"$ref": 3}, "not a valid schema at .ref"),
        ("07", {"$ref": "#"}, "leads back to itself"),
    ],
)
def test_a_keyword_without_a_meaning_is_refused_by_name(draft, schema, problem):
    """The message has the place, and mostly the remedy."""
    with pytest.raises(DefinitionError, match=f"^it: .*{problem}|^it: {problem}"):
        rewrite(draft, **schema)


def test_an_unknown_draft_is_refused():
    """The message names those that are understood."""
    with pytest.raises(DefinitionError, match="drafts 04, 06, 07, 2019-09, 2020-12 are understood"):
        rewrite_schema({"$schema": "http://json-schema.org/draft-03/schema#"}, "it")


@pytest.mark.parametrize(
    ("draft", "keyword", "value"),
    [
        ("04", "const", 1),
        ("04", "contains", {}),
        ("06", "if", {}),
        ("07", "unevaluatedProperties", False),
        ("07", "dependentRequired", {}),
        ("07", "$recursiveRef", "#"),
        ("07", "$dynamicRef", "#a"),
        ("07", "prefixItems", [{}]),
        ("2019-09", "prefixItems", [{}]),
        ("2019-09", "dependencies", {"a": ["b"]}),
    ],
)
def test_a_keyword_of_another_draft_is_left_out_and_noted(draft, keyword, value):
    """The draft of the schema does not check it, and draft 2020-12 would."""
    new, notes = rewrite_schema({"$schema": ADDRESSES[draft], "items": {keyword: value}}, "it")
    assert new == {"items": {}}
    assert [f"`{keyword}` at items is no keyword of draft {draft}" in note for note in notes] == [True]


# Tools.


def test_a_tool_may_name_an_older_draft():
    """All tools of the reference servers do so. The enforced schema is in draft 2020-12."""
    schema = {
        "$schema": ADDRESSES["07"],
        "type": "object",
        "properties": {
            "point": {"type": "array", "items": [{"type": "number"}, {"type": "number"}], "additionalItems": False}
        },
        "required": ["point"],
        "additionalProperties": False,
    }
    tool = Tool.from_schema("put", "Put.", schema, lambda arguments: None, output_schema={**schema})
    numbers = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False}
    assert tool.schema["properties"]["point"] == tool.output_schema["properties"]["point"] == numbers
    assert "$schema" not in tool.schema
    assert tool.check({"point": [1, 2]}) == {"point": [1, 2]}
    with pytest.raises(BadArgs, match="point"):
        tool.check({"point": [1, 2, 3]})


def test_a_tool_with_a_keyword_of_a_later_draft_warns():
    """Its author probably expects a check that the named draft does not have."""
    schema = {"$schema": ADDRESSES["07"], "unevaluatedProperties": False}
    with pytest.warns(ToolkitWarning, match="tool `put`: `unevaluatedProperties` at the top is no keyword of draft 07"):
        tool = Tool.from_schema("put", "Put.", schema, lambda arguments: None)
    assert tool.check({"a": 1}) == {"a": 1}


def test_a_tool_of_a_server_logs_the_keyword_and_does_not_warn(caplog):
    """The user cannot change the server, and a warning that is an error must not lose the tool."""
    schema = {"$schema": ADDRESSES["07"], "unevaluatedProperties": False}
    with caplog.at_level("INFO", "toolkit"):
        Tool.from_schema("put", "Put.", schema, lambda arguments: None, output_schema=schema, origin="mcp:shop")
    assert [record.getMessage().partition(" is no")[0] for record in caplog.records] == [
        "tool `put`: `unevaluatedProperties` at the top",
        "tool `put`: the output schema: `unevaluatedProperties` at the top",
    ]


def test_a_schema_that_is_nested_too_deeply_is_refused():
    """The stack is not exhausted."""
    schema: dict[str, Any] = {}
    for _ in range(10_000):
        schema = {"items": schema}
    with pytest.raises(DefinitionError, match="tool `put`: the schema is"):
        Tool.from_schema("put", "Put.", {"$schema": ADDRESSES["07"], **schema}, lambda arguments: None)
