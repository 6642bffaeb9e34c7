"""Defaults of parameters: in the schema, and in a call."""

import datetime as dt
import json
import math
from typing import Annotated, Any, Literal

import pydantic
import pytest

from tests.functions.signature_kit import call, list_refused_paths
from toolkit import Tool

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


# Defaults.


class Hostile:
    def __eq__(self, other):
        raise RuntimeError("compared")

    def __hash__(self):
        raise RuntimeError("hashed")

    def __bool__(self):
        raise RuntimeError("asked")

    def __repr__(self):
        raise RuntimeError("shown")


class Agreeable:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("a")


SENTINEL = object()


@pytest.mark.parametrize("hint", [int, str, float, bool, Any, list[int], Literal["a", 1], dict[str, int], int | None])
@pytest.mark.parametrize(
    "default",
    [SENTINEL, math.nan, math.inf, len, Hostile(), Agreeable(), int, [math.nan], {"a": SENTINEL}, ...],
    ids=lambda value: type(value).__name__,
)
def test_a_default_without_a_json_form_is_not_changed(hint, default):
    """It is left out of the schema, and the function gets that very object."""

    def take(value=default, *rest: int):
        return value

    take.__annotations__["value"] = hint
    assert "default" not in Tool.of(take).schema["properties"]["value"]
    assert call(take, {}) is default
    json.dumps(Tool.of(take).definition, allow_nan=False)


@pytest.mark.parametrize(
    ("hint", "default"),
    [(int, "5"), (int, None), (int, True), (str, 5), (bool, 1), (list[int], (1,)), (dt.date, "2024-05-01")],
)
def test_a_default_of_another_type_is_not_shown(hint, default):
    """A model must not be told of a default that it could not send."""

    def take(value=default):
        return value

    take.__annotations__["value"] = hint
    assert "default" not in Tool.of(take).schema["properties"]["value"]
    assert call(take, {}) is default


@pytest.mark.parametrize(
    ("hint", "default", "form"),
    [
        (dt.date, dt.date(2024, 5, 1), "2024-05-01"),
        (int | None, None, None),
        (float, 1, 1),
        (list[int], [1], [1]),
        (Any, {"a": [1]}, {"a": [1]}),
        (bool, False, False),
    ],
)
def test_defaults_are_shown_in_their_json_form(hint, default, form):
    """The function gets the Python object itself."""

    def take(value=default):
        return value

    take.__annotations__["value"] = hint
    assert Tool.of(take).schema["properties"]["value"]["default"] == form
    assert call(take, {}) is default


def test_a_mutable_default_is_pythons_affair():
    """Every call without the argument gets the one list, as a direct call would."""

    def collect(into: list[int] = []):  # noqa: B006
        into.append(1)
        return into

    assert call(collect, {}) is call(collect, {}) is collect()
    assert Tool.of(collect).check({})["into"] == [1, 1, 1]


@pytest.mark.parametrize(
    "field", [pydantic.Field(5, ge=1), pydantic.Field(default=5, ge=1), pydantic.Field(default_factory=lambda: 5, ge=1)]
)
def test_a_pydantic_field_may_be_the_default(field):
    """Its own default counts, not the field object; its limits hold."""

    def take(limit: int = field):
        return limit

    assert call(take, {}) == 5
    assert list_refused_paths(take, {"limit": 0}) == [("limit",)]


def test_a_pydantic_field_without_a_default_is_required():
    """Python sees the field as a default."""

    def take(limit: int = pydantic.Field(description="How many.")):  # noqa: B008 -- as pydantic's users write it
        return limit

    assert Tool.of(take).schema["required"] == ["limit"]
    assert Tool.of(take).schema["properties"]["limit"]["description"] == "How many."
    assert call(take, {"limit": 3}) == 3


def test_a_field_in_the_annotation_may_hold_the_default():
    def take(limit: Annotated[int, pydantic.Field(default=5, ge=1)]):
        return limit

    assert Tool.of(take).check({}) == {"limit": 5}
    assert list_refused_paths(take, {"limit": 0}) == [("limit",)]


def test_a_factory_makes_a_new_default_each_time():
    """Which is what it is for."""

    def take(items: list[int] = pydantic.Field(default_factory=list)):  # noqa: B008 -- as pydantic's users write it
        return items

    assert call(take, {}) is not call(take, {})
