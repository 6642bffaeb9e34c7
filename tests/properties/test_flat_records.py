"""
For every record, a flat call and a nested call give the function the same.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolkit.spec import Tool

from .types import NAMES, SCALARS, Typed, dataclass_types, named_tuples, recursive_records, typed, typed_dicts
from .values import damaged, json_objects, same
from .verdict_comparison import find_disagreement

MODES = ["fast", "jsonschema"]


class FlatCase(NamedTuple):
    """Two tools of one function, the JSON form of a record, and what the nested tool makes of it."""

    flat: Tool
    nested: Tool
    form: dict[str, Any]
    record: Any


@st.composite
def attrs_classes(draw: Any) -> Typed:
    names = [name.strip("_") for name in NAMES if name != "self"]  # attrs calls the object so
    fields = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(SCALARS), max_size=4))
    attrs_class = attrs.make_class("Attributed", {name: attrs.field(type=field.hint) for name, field in fields.items()})
    values = st.fixed_dictionaries({name: field.values for name, field in fields.items()})
    return Typed(attrs_class, values.map(lambda members: attrs_class(**members)), frozenset({"object"}))


@functools.cache
def records() -> st.SearchStrategy[Typed]:
    """Draw any record class, with fields of any type."""
    kinds = (dataclass_types, named_tuples, typed_dicts, recursive_records)
    return st.one_of([attrs_classes(), *(kind(typed()) for kind in kinds)])


@st.composite
def _flat_cases(draw: Any) -> FlatCase:
    drawn = draw(records())

    def take(record):
        """Take a record."""
        return record

    take.__annotations__ = {"record": drawn.hint}
    flat, nested = Tool.described(take, flat=True), Tool.described(take)
    form = nested.encode({"record": draw(drawn.values)})["record"]
    return FlatCase(flat, nested, form, nested.check({"record": form})["record"])


@functools.cache
def flat_cases() -> st.SearchStrategy[FlatCase]:
    return _flat_cases()


@pytest.mark.parametrize("validation", MODES)
@given(case=flat_cases())
def test_a_flat_call_gets_an_equal_record_as_the_nested_call(case: FlatCase, validation):
    """The fields fit the schema as plain jsonschema reads it, and become the same record."""
    Draft202012Validator(case.flat.schema).validate(case.form)
    decoded = case.flat.check(case.form, validation=validation)
    _, keywords = case.flat.signature.bind(decoded)
    assert same(keywords["record"], case.record)


@given(case=flat_cases())
def test_the_fields_come_back_unchanged(case: FlatCase):
    """Encoding the decoded fields equals encoding the record, and decoding that changes nothing."""
    once = case.flat.encode(case.flat.check(case.form))
    assert once == case.nested.encode({"record": case.record})["record"]
    assert case.flat.encode(case.flat.check(once)) == once


@given(case=flat_cases())
def test_each_field_is_encoded_alone_as_beside_the_others(case: FlatCase):
    """A rule is compared with one field."""
    decoded = case.flat.check(case.form)
    alone = [case.flat.encode({name: value}) for name, value in decoded.items()]
    assert {name: form for part in alone for name, form in part.items()} == case.flat.encode(decoded)


@given(case=flat_cases(), data=st.data())
def test_damaged_fields_get_one_verdict(case: FlatCase, data):
    """Both modes judge alike, and never accept what jsonschema refuses."""
    assert find_disagreement(case.flat, data.draw(damaged(case.form))) is None


@given(case=flat_cases(), arguments=json_objects())
def test_arbitrary_objects_get_one_verdict(case: FlatCase, arguments):
    """The arguments may have nothing to do with the record."""
    assert find_disagreement(case.flat, arguments) is None
