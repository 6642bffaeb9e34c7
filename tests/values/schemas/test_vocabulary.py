"""One module knows where schemas stand inside a schema, and no keyword of the draft is forgotten there."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validators
from jsonschema_specifications import REGISTRY

from toolkit.values.schemas.vocabulary import (
    ANNOTATION_KEYWORDS,
    KEYWORDS_FOR_ANY_TYPE,
    KEYWORDS_FOR_SAME_VALUE,
    SUBSCHEMA_KEYWORDS,
    iter_subschemas,
    map_subschemas,
    stated_types,
)

META_SCHEMA: dict[str, Any] = dict(Draft202012Validator.META_SCHEMA)

VOCABULARIES = [
    REGISTRY.contents(f"https://json-schema.org/draft/2020-12/{part['$ref']}") for part in META_SCHEMA["allOf"]
]

KEYWORDS = {
    keyword
    for document in [META_SCHEMA, *VOCABULARIES]
    for keyword, form in document["properties"].items()
    if "#meta" in json.dumps(form) or "schemaArray" in json.dumps(form)
}
"""The keywords under which the meta-schema applies itself again."""


def schemas_by_metaschema(schema):
    """Return the ids of the parts of *schema* to which the draft's meta-schema applies itself."""
    ids = set()

    def record(validator, reference, instance, holder):
        if isinstance(instance, dict):
            ids.add(id(instance))
        yield from Draft202012Validator.VALIDATORS["$dynamicRef"](validator, reference, instance, holder)

    recorder: Any = validators.extend(Draft202012Validator, {"$dynamicRef": record})
    # The own `evolve` of jsonschema leaves this class when it meets the `$schema` of the meta-schema.
    recorder.evolve = lambda self, schema, _resolver: type(self)(schema, _resolver=_resolver)
    assert list(recorder(META_SCHEMA).iter_errors(schema)) == []
    return ids


def all_subschemas(schema):
    """Return every schema inside *schema* that `iter_subschemas` leads to, however deep."""
    waiting, subschemas = [schema], []
    while waiting:
        children = [subschema for _, subschema in iter_subschemas(waiting.pop())]
        subschemas += children
        waiting += children
    return subschemas


def holders(children):
    """Draw a schema that has *children* under a few keywords, in the form that each keyword wants."""
    lists = st.lists(children, min_size=1, max_size=2)
    mappings = st.dictionaries(st.sampled_from(["a", "items", "$ref", "properties"]), children, max_size=2)
    dependencies = st.dictionaries(st.sampled_from("ab"), children | st.just(["c"]), max_size=2)
    forms = {
        **dict.fromkeys([*KEYWORDS, "x-unknown", "default", "const"], children),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), lists),
        **dict.fromkeys(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"), mappings),
        "dependencies": dependencies,
    }
    return st.sets(st.sampled_from(sorted(forms)), min_size=1, max_size=4).flatmap(
        lambda keywords: st.fixed_dictionaries({keyword: forms[keyword] for keyword in sorted(keywords)})
    )


# Each leaf is an object of its own, so that its identity names its place.
LEAVES = st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "integer"]))
SCHEMAS = st.recursive(LEAVES, holders, max_leaves=8)


@given(schema=SCHEMAS)
def test_every_schema_of_the_metaschema_is_found(schema):
    """Everything that the meta-schema of the draft treats as a schema is found, and nothing else."""
    expected = schemas_by_metaschema(schema) - {id(schema)}
    assert {id(subschema) for subschema in all_subschemas(schema)} == expected


@given(schema=SCHEMAS)
def test_a_map_reaches_the_same_schemas(schema):
    """`map_subschemas` calls its function for each schema that `iter_subschemas` yields, and keeps the rest."""
    calls = []

    def note(value):
        calls.append(value)
        return value

    assert map_subschemas(schema, note) == schema
    assert [id(value) for value in calls if isinstance(value, dict)] == [
        id(part) for _, part in iter_subschemas(schema)
    ]


def test_every_keyword_of_the_metaschema_is_in_the_table():
    """The table has the keywords that hold schemas, and no other."""
    assert SUBSCHEMA_KEYWORDS == KEYWORDS


def test_true_and_false_are_schemas():
    """A boolean under a keyword for schemas is found like a mapping."""
    schema = {"items": False, "anyOf": [True], "properties": {"a": True}, "default": True}
    assert list(iter_subschemas(schema)) == [(("items",), False), (("anyOf", 0), True), (("properties", "a"), True)]


@pytest.mark.parametrize("schema", [True, False, None, [], "text"])
def test_a_schema_that_is_not_a_mapping_has_no_subschemas(schema):
    assert list(iter_subschemas(schema)) == []


@pytest.mark.parametrize(
    ("schema", "types"),
    [({}, []), ({"type": "string"}, ["string"]), ({"type": ["null", "string"]}, ["null", "string"])],
)
def test_stated_types(schema, types):
    """The types are a list, however the schema writes them."""
    assert stated_types(schema) == types


def test_no_annotation_refuses_a_value():
    """jsonschema has no check for a keyword that is called an annotation here."""
    assert ANNOTATION_KEYWORDS.isdisjoint(Draft202012Validator.VALIDATORS)


def test_keywords_for_any_type_are_those_for_the_same_value_and_three_more():
    """Only `dependentSchemas` is about the same value and also about one type."""
    assert set(KEYWORDS_FOR_ANY_TYPE) == KEYWORDS_FOR_SAME_VALUE - {"dependentSchemas"} | {"$ref", "enum", "const"}
