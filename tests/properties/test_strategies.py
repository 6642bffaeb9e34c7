"""
For every schema: what is drawn for it fits, what is drawn against it does not, as plain jsonschema judges.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolkit.errors import BadArgs
from toolkit.testing import Unsupported, arguments, bad_arguments, mistaken_arguments, values

from .exact_multiples import with_exact_multiples
from .signatures import Case, cases
from .values import json_objects
from .written_schemas import schemas

_JUDGE = with_exact_multiples(Draft202012Validator)

# Schemas are large to draw; that too many of them lead nowhere would be a fault, and is looked for.
_MANY = settings(max_examples=2 * settings().max_examples)


def verdict(schema: Any, value: Any) -> bool | None:
    """Return what plain jsonschema says; None if it breaks down."""
    try:
        return bool(_JUDGE(schema).is_valid(value))
    except (OverflowError, RecursionError):  # an integer beyond every float, divided by one; very deep arrays
        return None


def strategy_for(schema: Any) -> Any:
    """Return the strategy; give the example up if nothing fits the schema."""
    try:
        return arguments(schema)
    except Unsupported:
        return assume(False)


@_MANY
@given(schema=schemas(), data=st.data())
def test_a_value_that_is_drawn_for_a_schema_fits(schema, data):
    """This holds for every value, and for every keyword of a schema."""
    value = data.draw(strategy_for(schema))
    assert verdict(schema, value) is not False


@_MANY
@given(schema=schemas(), data=st.data())
def test_a_value_that_is_drawn_against_a_schema_does_not_fit(schema, data):
    """The values are near misses and hostile ones."""
    assert not verdict(schema, data.draw(bad_arguments(schema)))


@given(schema=schemas(), candidates=st.lists(json_objects(), min_size=5, max_size=20))
def test_no_value_fits_a_schema_for_which_no_value_is_drawn(schema, candidates):
    """This holds also if the strategy raises `Unsupported` before the first draw."""
    refusal = None
    try:
        arguments(schema)
    except Unsupported as error:
        refusal = error
    if refusal is not None:
        assert refusal.keyword
        assert refusal.place.startswith("#")
        assert not any(verdict(schema, candidate) for candidate in [*candidates, {}])


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@given(case=cases(), data=st.data())
@pytest.mark.long
def test_arguments_drawn_for_a_tool_are_accepted(case: Case, validation, data):
    """Parameters may have any types. The arguments fit the schema and can be decoded."""
    drawn = data.draw(arguments(case.tool))
    assert verdict(case.tool.schema, drawn)
    case.tool.check(drawn, validation=validation)


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@given(case=cases(), data=st.data())
def test_arguments_drawn_against_a_tool_are_refused(case: Case, validation, data):
    """Both jsonschema and the tool refuse them, and the tool names the place if the mistake has one."""
    mistake = data.draw(mistaken_arguments(case.tool))
    assert not verdict(case.tool.schema, mistake.arguments)
    with pytest.raises(BadArgs) as caught:
        case.tool.check(mistake.arguments, validation=validation)
    assert not mistake.path or any(problem.path for problem in caught.value.problems)


@given(case=cases(), data=st.data())
def test_values_are_the_arguments_of_the_function(case: Case, data):
    """They are decoded, have the names of the parameters, and include the defaults."""
    decoded = data.draw(values(case.tool))
    assert decoded.keys() >= case.complete.keys() - case.arguments.keys()
    case.tool.signature.bind(decoded)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]},
        {"type": "object", "properties": {"t": {"type": "string", "pattern": "^[a-z]{3,}$", "minLength": 20}}},
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
        {"type": "object", "properties": {"tree": {"$ref": "#"}, "leaf": {"type": "boolean"}}},
    ],
    ids=["bounds", "pattern", "open", "recursive"],
)
def test_no_health_check_complains(schema):
    """Examples are not too large, and few are thrown away. Slow drawing is not checked here."""

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(arguments(schema), bad_arguments(schema))
    def draw(good, bad):
        assert verdict(schema, good)
        assert not verdict(schema, bad)

    draw()
