"""Parameters that cannot be flat are refused at decoration."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict, Unpack

from tests.functions.flat_record_kit import DataRefund, refunding
from toolkit import (
    Context,
    DefinitionError,
    Reads,
    Tool,
    tool,
)


def two(order: DataRefund, other: int) -> None:
    """Refund an order."""


def several(*orders: DataRefund) -> None:
    """Refund orders."""


# What cannot be flat.


class Options(TypedDict):
    amount: int


@dataclass
class Hashed:
    amount: int
    salt: InitVar[int]


class Rendered(pydantic.BaseModel):
    amount: int

    @pydantic.model_serializer
    def render(self) -> str:
        return "a refund"


class Listed(msgspec.Struct, array_like=True):
    amount: int


class Rooted(pydantic.RootModel[dict[str, int]]):
    pass


def nothing() -> None:
    """Refund an order."""


def injected_alone(context: Context) -> None:
    """Refund an order."""


def with_more(order: DataRefund, **more: int) -> None:
    """Refund an order."""


def unpacked(**order: Unpack[Options]) -> None:
    """Refund an order."""


def optional(order: DataRefund | None) -> None:
    """Refund an order."""


def either(order: DataRefund | Options) -> None:
    """Refund an order."""


def in_a_list(order: list[DataRefund]) -> None:
    """Refund an order."""


def mapping(order: dict[str, int]) -> None:
    """Refund an order."""


def untyped(order) -> None:
    """Refund an order."""


def number(order: int) -> None:
    """Refund an order."""


def with_default(order: DataRefund = DataRefund(1)) -> None:  # noqa: B008 -- the default is the point
    """Refund an order."""


def forgetful(order: Hashed) -> None:
    """Refund an order."""


def rendered(order: Rendered) -> None:
    """Refund an order."""


def array(order: Listed) -> None:
    """Refund an order."""


def rooted(order: Rooted) -> None:
    """Refund an order."""


def marked(order: Annotated[DataRefund, Reads]) -> None:
    """Refund an order."""


FIELDS = r"parameter `order`: `flat=True` makes the fields of a record the arguments"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (nothing, r"`flat=True` makes .* and a model sends nothing; take one parameter that is a record"),
        (injected_alone, r"a model sends nothing"),
        (two, r"a model sends `order`, `other`; take one parameter that is a record, or leave `flat` out"),
        (with_more, r"a model sends `order`, `\*\*more`; take one parameter"),
        (unpacked, r"a model sends `amount`; take one parameter"),
        (several, r"a model sends `\*orders`; take one parameter"),
        (optional, rf"{FIELDS}, and .*DataRefund \| None has no fields to send one by one"),
        (either, rf"{FIELDS}, and .* has no fields"),
        (in_a_list, rf"{FIELDS}, and list\[.*\] has no fields"),
        (mapping, rf"{FIELDS}, and dict\[str, int\] has no fields"),
        (untyped, rf"{FIELDS}, and Any has no fields"),
        (number, rf"{FIELDS}, and int has no fields"),
        (with_default, rf"{FIELDS}, so its default would never be used; give the fields their defaults"),
        (forgetful, rf"{FIELDS}, but Hashed does not keep `salt`, so no rule .* make it a plain field"),
        (rendered, rf"{FIELDS}, and Rendered has no fields to send one by one"),
        (array, rf"{FIELDS}, and Listed has no fields"),
        (rooted, rf"{FIELDS}, and Rooted has no fields"),
        (marked, r"parameter `order`: it is marked `Reads`, .* mark the field that names the target"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_cannot_be_flat_is_refused_at_decoration(function, words):
    """The message names the function, the parameter and the remedy."""
    with pytest.raises(DefinitionError, match=rf"^{__name__}\.{function.__name__}: .*{words}"):
        tool(function, catalog=None, flat=True)


@dataclass
class Inner:
    path: Annotated[Path, Reads]


@dataclass
class Outer:
    inner: Inner


def test_a_marker_deeper_in_a_record_is_refused():
    """It would have no effect."""
    with pytest.raises(DefinitionError, match="parameter `order`: field `inner`: `Reads` counts on a parameter"):
        refunding(Outer)


def test_a_flat_option_that_is_not_a_bool_is_refused():
    with pytest.raises(DefinitionError, match="`flat` has to be True or False, got 1"):
        Tool.described(nothing, flat=1)


def test_a_handler_cannot_be_flat():
    """It gets the whole object already."""
    with pytest.raises(DefinitionError, match="`flat` is about parameters, but a handler gets all arguments"):
        Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: None, flat=True)
