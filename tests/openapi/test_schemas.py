"""
Schemas of every version become schemas of draft 2020-12.
"""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from toolkit import DefinitionError
from toolkit.openapi.documents import ApiDocument
from toolkit.openapi.files import BINARY
from toolkit.openapi.schemas import SchemaConverter


def convert(schema, version="3.0.0", direction="request", **schemas):
    content = {"components": {"schemas": schemas}}
    converter = SchemaConverter(ApiDocument(content, version, "Pets"), direction)
    return converter.add_definitions(converter.convert(schema, "here"))


@pytest.mark.parametrize(
    ("schema", "converted"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"allOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"type": "integer", "maximum": 9}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "file"}, BINARY),
        ({"type": "string", "format": "binary"}, BINARY),
        ({"type": "string", "contentMediaType": "application/octet-stream"}, BINARY),
        ({"type": ["string", "null"], "format": "binary"}, {**BINARY, "type": ["string", "null"]}),
        ({"type": "string", "format": "binary", "nullable": True}, {**BINARY, "type": ["string", "null"]}),
        ({"contentMediaType": "image/png"}, {**BINARY, "contentMediaType": "image/png"}),
        ({"type": "string", "contentMediaType": "text/html"},) * 2,
        ({"type": "string", "contentMediaType": "application/vnd.x+json"},) * 2,
        ({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64url"},) * 2,
        ({"type": "array", "format": "binary"},) * 2,
        ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}),
        ({"type": "string", "default": "<|endoftext|>", "example": "<system>x</system>"}, {"type": "string"}),
        ({"properties": {"a": {"type": "string", "title": "A"}}}, {"properties": {"a": {"type": "string"}}}),
        ({"type": "string", "xml": {"name": "x"}, "x-internal": 1}, {"type": "string"}),
        ({"type": "string", "required": True}, {"type": "string"}),
        (
            {"oneOf": [{"type": "string"}], "discriminator": {"propertyName": "kind"}},
            {"anyOf": [{"type": "string"}]},
        ),
        (
            {"oneOf": [{"type": "string"}], "anyOf": [{"minLength": 1}], "allOf": [{"maxLength": 3}]},
            {"anyOf": [{"minLength": 1}], "allOf": [{"maxLength": 3}, {"anyOf": [{"type": "string"}]}]},
        ),
        (
            {
                "type": "object",
                "properties": {"id": {"type": "integer", "readOnly": True}, "n": {}},
                "required": ["id"],
            },
            {"type": "object", "properties": {"n": {}}},
        ),
        (
            {"type": "array", "items": {"type": "string", "nullable": True}},
            {"type": "array", "items": {"type": ["string", "null"]}},
        ),
    ],
)
def test_older_keywords_are_rewritten(schema, converted):
    assert convert(schema) == converted
    Draft202012Validator.check_schema(convert(schema))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("See [the guide](https://a.example/b_(c)?d=1#e), or [b](http://b).", "See the guide, or b."),
        ("**[`sort`](https://a.example)**", "**`sort`**"),
        ("matches [a-z](/[0-9]+)? or [x](y), list[0](https", "matches [a-z](/[0-9]+)? or [x](y), list[0](https"),
        ("https://a.example [x] (https://b.example) [](https://c.example)",) * 2,
        ("[a](https://b.example c)",) * 2,
    ],
)
def test_links_in_descriptions_are_written_as_their_text(text, written):
    schema = {"properties": {"description": {"description": text}}, "default": text}
    assert convert(schema) == {"properties": {"description": {"description": written}}, "default": text}


def test_the_schema_of_a_response_has_no_write_only_fields():
    schema = {
        "type": "object",
        "properties": {"password": {"type": "string", "writeOnly": True}, "name": {}},
        "required": ["password", "name"],
    }
    assert convert(schema, direction="response") == {"type": "object", "properties": {"name": {}}, "required": ["name"]}
    assert "password" in convert(schema)["properties"]


def test_a_read_only_property_behind_a_reference_is_left_out():
    schema = {"type": "object", "properties": {"id": {"$ref": "#/components/schemas/Id"}, "name": {}}}
    assert convert(schema, Id={"type": "string", "readOnly": True})["properties"] == {"name": {}}


ABSENT = {"type": "integer", "readOnly": True}
IDENTITY = {"$ref": "#/components/schemas/Id"}
NEEDS = {"required": ["id", "name"]}


@pytest.mark.parametrize("item", [ABSENT, IDENTITY, {"allOf": [IDENTITY]}, {"allOf": [{"allOf": [IDENTITY]}, {}]}])
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/components/schemas/Pet"},
        {"$ref": "#/components/schemas/Pet", **NEEDS},
        {"$ref": "#/components/schemas/Pet", "allOf": [NEEDS]},
        {"allOf": [{"$ref": "#/components/schemas/Pet"}, NEEDS]},
        {"allOf": [{"$ref": "#/components/schemas/Pet"}], **NEEDS},
        {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"$ref": "#/components/schemas/Needs"}]},
        {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"$ref": "#/components/schemas/Needs", "title": "N"}]},
        {"allOf": [{"allOf": [{"$ref": "#/components/schemas/Pet"}]}, {"allOf": [NEEDS]}]},
        {"$ref": "#/components/schemas/Pet", "anyOf": [NEEDS, {"$ref": "#/components/schemas/Needs"}]},
        {"$ref": "#/components/schemas/Needs", "properties": {"id": IDENTITY}},
    ],
)
def test_a_read_only_property_is_not_required_by_any_part_of_a_schema(schema, item):
    schemas = {"Id": ABSENT, "Needs": {"type": "object", **NEEDS}}
    schemas["Pet"] = {"type": "object", "properties": {"id": item, "name": {}}, **NEEDS}
    validator = Draft202012Validator(convert(schema, "3.1.0", **schemas))
    assert validator.is_valid({"name": "x"})
    assert not validator.is_valid({})
    answers = Draft202012Validator(convert(schema, "3.1.0", "response", **schemas))
    assert answers.is_valid({"id": 1, "name": "x"})
    assert not answers.is_valid({"name": "x"})


def test_a_shared_schema_keeps_required_fields_that_exist_elsewhere():
    schemas = {"Needs": {"type": "object", **NEEDS}}
    needs = {"$ref": "#/components/schemas/Needs"}
    schema = {"properties": {"a": {"allOf": [needs, {"properties": {"id": ABSENT}}]}, "b": needs}}
    validator = Draft202012Validator(convert(schema, **schemas))
    assert validator.is_valid({"a": {"name": "x"}, "b": {"name": "x", "id": 1}})
    assert not validator.is_valid({"b": {"name": "x"}})


def test_recursion_stays_recursion_and_only_used_definitions_are_carried():
    node = {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Node"}}}
    converted = convert({"$ref": "#/components/schemas/Node"}, Node=node, Other={"type": "string"})
    assert converted == {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}},
    }


def test_a_definition_with_one_use_is_inlined():
    schemas = {"Name": {"type": "string"}, "Pet": {"properties": {"name": {"$ref": "#/components/schemas/Name"}}}}
    pet = {"$ref": "#/components/schemas/Pet"}
    assert convert(pet, **schemas) == {"properties": {"name": {"type": "string"}}}
    converted = convert({"properties": {"a": pet, "b": pet}}, **schemas)
    assert converted["$defs"] == {"Pet": {"properties": {"name": {"type": "string"}}}}
    beside = convert({**pet, "description": "Mine.", "minProperties": 1}, "3.1.0", **schemas)
    assert beside == {"description": "Mine.", "minProperties": 1, "allOf": [convert(pet, **schemas)]}


def test_a_long_chain_of_definitions_is_not_nested():
    schemas = {f"A{number}": {"items": {"$ref": f"#/components/schemas/A{number + 1}"}} for number in range(2000)}
    converted = convert({"$ref": "#/components/schemas/A0"}, **schemas, A2000={"type": "string"})
    assert len(converted["$defs"]) > 1900
    assert Draft202012Validator(converted).is_valid([])


def test_names_that_need_escaping_are_referred_to():
    schemas = {"a/b~c": {"type": "string"}}
    name = {"$ref": "#/components/schemas/a~1b~0c"}
    validator = Draft202012Validator(convert({"properties": {"first": name, "last": name}}, **schemas))
    assert validator.is_valid({"first": "x"})
    assert not validator.is_valid({"last": 1})


def test_keywords_beside_a_reference_count_since_3_1():
    schema = {"$ref": "#/components/schemas/Name", "description": "The name."}
    assert "description" not in convert(schema, Name={"type": "string"})
    assert convert(schema, "3.1.0", Name={"type": "string"}) == {"type": "string", "description": "The name."}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string", "pattern": "("}, "has no meaning"),
        ({"properties": {"a": 1}}, "a schema is an object, got int"),
        ({"$ref": "#/components/schemas/Missing"}, "names nothing"),
        ({"enum": ["a\u200bb"]}, "hidden characters"),
        ({"properties": {"<system>": {}}}, "poses as a message"),
    ],
)
def test_a_schema_that_cannot_be_converted_is_refused_with_its_place(schema, message):
    with pytest.raises(DefinitionError, match=message) as caught:
        convert(schema)
    assert "here" in str(caught.value) or "components" in str(caught.value)


def test_a_schema_that_refers_only_to_itself_is_refused():
    converter = SchemaConverter(
        ApiDocument({"components": {"schemas": {"A": {"$ref": "#/components/schemas/A"}}}}, "3.0.0", "Pets"), "request"
    )
    with pytest.raises(DefinitionError, match="defined by itself"):
        converter.inline(converter.convert({"$ref": "#/components/schemas/A"}, "here"))


def reference_to(name):
    return {"$ref": f"#/components/schemas/{name}"}


def pet(kind=None, **options):
    kind = {"type": "string"} if kind is None else kind
    return {"type": "object", "properties": {"kind": kind, "name": {}}, "required": ["kind"], **options}


def choice(keyword="oneOf", **mapping):
    discriminator = {"propertyName": "kind", **({"mapping": mapping} if mapping else {})}
    return {keyword: [reference_to("Cat"), reference_to("Dog")], "discriminator": discriminator}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize(
    ("mapping", "legal"),
    [
        ({}, {"Cat": ["Cat"], "Dog": ["Dog"]}),
        ({"cat": "#/components/schemas/Cat", "dog": "Dog"}, {"Cat": ["cat"], "Dog": ["dog"]}),
        ({"cat": "Cat", "lion": "Cat", "wolf": "Cat.json"}, {"Cat": ["cat", "lion"], "Dog": ["Dog"]}),
    ],
)
@pytest.mark.parametrize("shape", ["plain", "allOf", "shared enum", "undescribed"])
def test_each_alternative_has_the_values_of_its_discriminator(keyword, mapping, legal, shape):
    schemas = {
        "plain": {"Cat": pet(), "Dog": pet()},
        "allOf": {
            "Base": pet(),
            **{name: {"allOf": [reference_to("Base"), {"properties": {name: {}}}]} for name in ("Cat", "Dog")},
        },
        "shared enum": {
            "Kind": {"type": "string", "enum": [value for values in legal.values() for value in values]},
            "Cat": pet(reference_to("Kind")),
            "Dog": pet(reference_to("Kind")),
        },
        "undescribed": {"Cat": {"type": "object"}, "Dog": {"type": "object"}},
    }[shape]
    converted = convert({"type": "array", "items": choice(keyword, **mapping)}, "3.0.0", **schemas)["items"]
    converted["$defs"] = convert(choice(keyword, **mapping), "3.0.0", **schemas).get("$defs", {})
    for number, values in enumerate(legal.values()):
        validator = Draft202012Validator({**converted["anyOf"][number], "$defs": converted["$defs"]})
        assert all(validator.is_valid({"kind": value, "name": 1}) for value in values)
        assert not validator.is_valid({"kind": "other", "name": 1})
    assert convert(choice(keyword, **mapping), direction="response", **schemas).keys() <= {"anyOf", "$defs"}
    assert "const" not in str(convert(choice(keyword, **mapping), direction="response", **schemas))


def test_an_alternative_that_is_used_elsewhere_has_no_value_there():
    schemas = {"Cat": pet(), "Dog": pet()}
    schema = {"properties": {"pet": choice(), "cat": reference_to("Cat"), "dog": reference_to("Dog")}}
    validator = Draft202012Validator(convert(schema, **schemas))
    assert validator.is_valid({"cat": {"kind": "any"}, "pet": {"kind": "Dog"}})
    assert not validator.is_valid({"pet": {"kind": "any"}})
    assert convert(choice(), **schemas)["anyOf"][0]["properties"] == {
        "kind": {"type": "string", "const": "Cat"},
        "name": {},
    }


@pytest.mark.parametrize(
    "cat",
    [
        pet({"const": "feline"}),
        pet({"enum": ["feline"]}),
        pet({"enum": ["a", "b"]}),
        pet({"type": "integer"}),
        pet({"type": "string", "readOnly": True}),
        {"type": "object", "properties": {"name": {}}, "additionalProperties": False},
        {"anyOf": [pet({"const": "a"}), pet({"const": "b"})]},
        {**pet(), "discriminator": {"propertyName": "kind", "mapping": {"a": "A"}}},
    ],
)
def test_an_alternative_with_its_own_values_keeps_these_values(cat):
    assert convert(choice(), Cat=cat, Dog=pet({"const": "dog"}))["anyOf"][0] == convert(reference_to("Cat"), Cat=cat)


def test_a_value_that_fits_several_alternatives_is_taken():
    validator = Draft202012Validator(convert({"oneOf": [{"type": "number"}, {"type": "integer"}]}))
    assert validator.is_valid(5)
    assert not validator.is_valid("5")


def test_a_recursive_choice_stays_recursive():
    schemas = {"Cat": pet(friend=1) | {"properties": {"kind": {"type": "string"}, "friend": choice()}}, "Dog": pet()}
    validator = Draft202012Validator(convert(choice(), **schemas))
    assert validator.is_valid({"kind": "Cat", "friend": {"kind": "Cat", "friend": {"kind": "Dog"}}})
    assert not validator.is_valid({"kind": "Cat", "friend": {"kind": "Cat", "friend": {"kind": "Cow"}}})


def test_definitions_that_share_others_are_converted_once():
    """Each level names the next one twice, and what is absent in all of them is demanded in all of them."""
    levels = {
        f"L{number}": {"allOf": [{"$ref": f"#/components/schemas/L{number + 1}"}] * 2, **NEEDS} for number in range(40)
    }
    schema = {"allOf": [{"properties": {"id": ABSENT}}, {"$ref": "#/components/schemas/L0"}]}
    assert "['id', 'name']" not in str(convert(schema, **levels, L40=NEEDS))
