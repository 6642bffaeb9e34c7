"""
Generated code encodes what a codec encodes: the same result, for every return annotation and every value.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values.odd_values import _ANYTHING
from toolkit import Catalog, Dispatcher, ToolResult
from toolkit.calls.plan import CallPlan
from toolkit.calls.render_result import render_result
from toolkit.spec import Tool
from toolkit.values.codecs.code_writer import UNSURE

from .types import Typed, typed

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

_SETTINGS = Dispatcher(Catalog(), max_chars=200).settings
_NOT_ANNOTATED = object()


def plan_for(returns: Any, *, is_quick: bool) -> CallPlan:
    """Return the plan of a tool with this return annotation, with or without the generated code."""

    def give():
        """Give it."""

    if returns is not _NOT_ANNOTATED:
        give.__annotations__["return"] = returns
    plan = CallPlan(Tool.described(give), _SETTINGS, Catalog().table)
    if not is_quick:
        plan.encode_quickly = lambda value, depth: UNSURE
    return plan


def assert_same(returns: Any, value: Any) -> None:
    quick = render_result(value, plan_for(returns, is_quick=True))
    slow = render_result(value, plan_for(returns, is_quick=False))
    assert quick.to_json() == slow.to_json()
    assert list(map(type, walk(quick.value))) == list(map(type, walk(slow.value)))


def walk(form: Any) -> list[Any]:
    """Return *form* and everything in it, with the keys in their order."""
    if isinstance(form, dict):
        return [form, *(inner for key, item in form.items() for inner in (key, *walk(item)))]
    return [form, *(inner for item in form for inner in walk(item))] if isinstance(form, list) else [form]


@given(typed(), st.data())
def test_a_value_of_the_annotated_type(case: Typed, data: st.DataObject):
    assert_same(case.hint, data.draw(case.values))


@given(typed(), _ANYTHING)
def test_any_other_value(case: Typed, value: Any):
    assert_same(case.hint, value)


@given(_ANYTHING)
def test_a_value_without_annotation(value: Any):
    assert_same(_NOT_ANNOTATED, value)


@given(typed(), st.data())
def test_the_form_shares_no_container_with_the_value(case: Typed, data: st.DataObject):
    """A tool may go on changing what it returned."""
    value = data.draw(case.values)
    form = plan_for(case.hint, is_quick=True).encode_quickly(value, 0)
    if form is not UNSURE:
        assert not {id(part) for part in walk(value) if isinstance(part, dict | list)} & {
            id(part) for part in walk(form) if isinstance(part, dict | list)
        }


@given(_ANYTHING, st.sampled_from([list, dict, str | None, list[str] | None]), st.booleans())
def test_the_result_of_a_call_equals_the_rendered_value(value: Any, returns: Any, is_pickled: bool):
    """The text is written when it is read, cut or whole."""

    async def give():
        """Give it."""
        return value

    give.__annotations__["return"] = returns
    catalog = Catalog(give)
    result: ToolResult = asyncio.run(Dispatcher(catalog, max_chars=200).call("give", {}))
    rendered = asyncio.run(Dispatcher(catalog, max_chars=200, hooks=[_Keep()]).call("give", {}))
    assert result.returned is value or result.returned is rendered.returned
    if is_pickled:
        result = pickle.loads(pickle.dumps(result))  # noqa: S301 -- our own bytes
        assert result.returned is None
    assert (result.truncated, result.text, result.value) == (rendered.truncated, rendered.text, rendered.value)


class _Keep:
    """Keeps the result. Because there is an after-hook, the text is written at once."""

    async def after(self, call: Any, result: ToolResult) -> ToolResult:
        return result
