"""
For every signature, values encode, validate, and come back.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from .signatures import Case, cases
from .values import same

MODES = ["fast", "jsonschema"]


@given(case=cases())
def test_schemas_are_valid_and_plain_json(case: Case):
    """A schema is draft 2020-12 and survives being sent."""
    Draft202012Validator.check_schema(case.tool.schema)
    assert json.loads(json.dumps(case.tool.schema)) == case.tool.schema


@pytest.mark.parametrize("validation", MODES)
@given(case=cases())
def test_encoded_arguments_decode_to_the_same_values(case: Case, validation):
    """They fit the schema as plain jsonschema reads it."""
    encoded = case.tool.encode(case.arguments)
    Draft202012Validator(case.tool.schema).validate(encoded)
    decoded = case.tool.check(encoded, validation=validation)
    assert case.tool.encode(decoded) == case.tool.encode(case.complete)
    if case.exact:
        assert same(decoded, case.complete)


@pytest.mark.parametrize("validation", MODES)
@given(case=cases())
def test_text_and_object_are_the_same_call(case: Case, validation):
    """Arguments as JSON text give what the parsed object gives."""
    encoded = case.tool.encode(case.arguments)
    from_text = case.tool.check(json.dumps(encoded), validation=validation)
    assert case.tool.encode(from_text) == case.tool.encode(case.tool.check(encoded, validation=validation))


@given(case=cases())
def test_decoding_and_encoding_again_changes_nothing(case: Case):
    once = case.tool.encode(case.tool.check(case.tool.encode(case.arguments)))
    assert case.tool.encode(case.tool.check(once)) == once


@given(case=cases())
def test_the_function_gets_the_sent_arguments(case: Case):
    """Decoded arguments, bound to the function, arrive under their own names."""
    decoded = case.tool.check(case.tool.encode(case.arguments))
    positional, named = case.tool.signature.bind(decoded)
    received = case.tool.function(*positional, **named)
    flat = {}
    for name, value in received.items():
        flat.update(value if name not in decoded else {name: value})
    assert {name: list(item) if isinstance(item, tuple) else item for name, item in flat.items()} == {
        name: list(item) if isinstance(item, tuple) else item for name, item in decoded.items()
    }
