"""
A result never lies: a value with kind ok fits the output schema of its tool, and the text says the same as the value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.values.odd_values import _ANYTHING
from toolkit import Catalog, Codec, Dispatcher
from toolkit.calls.plan import CallPlan
from toolkit.calls.render_result import render_result
from toolkit.results import ToolResult
from toolkit.spec import Tool

from .types import Typed, typed

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

_SETTINGS = Dispatcher(Catalog()).settings
NAN = float("nan")


@dataclass
class Computed:
    x: Any
    y: int = field(init=False)

    def __post_init__(self) -> None:
        self.y = self.x


@attrs.define
class Attrs:
    _x: int
    y: Any = attrs.field(init=False, factory=list)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    x: float = pydantic.Field(ge=0)

    @pydantic.computed_field
    @property
    def twice(self) -> float:
        return self.x * 2


class Struct(msgspec.Struct):
    x: float


class Own:
    pass


OWN = Codec(schema={"type": "integer", "maximum": 3}, decode=int, encode=lambda value: value)
RECORDS = [Computed, Attrs, Model, Struct, list[Computed], dict[str, Model], Struct | None, Computed | Struct | str]


def plan_for(returns: Any) -> CallPlan:
    """Return the plan of a tool with this return annotation."""

    def give():
        """Give it."""

    give.__annotations__["return"] = returns
    return CallPlan(Tool.described(give), _SETTINGS, Catalog().table)


def check_result(value: Any, plan: CallPlan) -> ToolResult:
    """Render *value*, and hold the result against the output schema, as plain jsonschema reads it."""
    result = render_result(value, plan)
    sent = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert sent["value"] == result.value
    if result.kind != "ok":
        assert (result.kind, result.value, result.error.details) == ("failed", None, {"ran": True})
        assert result.text.startswith("error: the tool ran, but ")
        return result
    if plan.tool.output_schema is not None:
        Draft202012Validator(plan.tool.output_schema).validate(result.value)
    assert result.text == result.value if isinstance(result.value, str) else json.loads(result.text) == result.value
    return result


@given(data=st.data(), case=typed())
def test_a_value_of_the_annotated_type_fits_the_schema(data: Any, case: Typed):
    """With any annotation that the tool keeps to, the result is ok."""
    result = check_result(data.draw(case.values), plan_for(case.hint))
    assert result.kind == "ok", result.text


@given(data=st.data(), case=typed(), other=typed())
def test_a_value_of_another_type_fits_or_is_a_failure(data: Any, case: Typed, other: Typed):
    """A tool that does not keep to its annotation never gives a result that the schema refuses."""
    check_result(data.draw(other.values), plan_for(case.hint))


@given(value=_ANYTHING, case=typed())
@example(value=NAN, case=Typed(float, st.nothing(), frozenset()))
@example(value={1, "1"}, case=Typed(set[str], st.nothing(), frozenset()))
def test_any_object_fits_or_is_a_failure(value: Any, case: Typed):
    """The same for objects of any class, NaN, cycles and hostile ones."""
    check_result(value, plan_for(case.hint))


_NUMBERS = st.integers(-3, 5) | st.floats() | st.sampled_from([True, None, "a", Own()])
_RECORD_VALUES = (
    st.builds(Computed, _NUMBERS)
    | st.builds(Attrs, _NUMBERS)
    | st.builds(Model.model_construct, x=_NUMBERS)
    | st.builds(Struct, _NUMBERS)
)


@given(
    value=_RECORD_VALUES
    | st.lists(_RECORD_VALUES, max_size=2)
    | st.dictionaries(st.text(), _RECORD_VALUES, max_size=2),
    returns=st.sampled_from(RECORDS),
)
def test_records_with_wrong_fields_fit_or_are_a_failure(value: Any, returns: Any):
    """Computed fields, and classes of packages that do not check what they encode."""
    check_result(value, plan_for(returns))


@given(value=_NUMBERS)
def test_the_output_of_a_users_codec_has_to_fit_its_schema(value: Any):
    result = check_result(value, plan_for(Annotated[Any, OWN]))
    assert (result.kind == "ok") == (type(value) in (int, float) and float(value).is_integer() and value <= 3)
