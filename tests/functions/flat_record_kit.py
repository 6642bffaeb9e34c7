"""Records of every library with the same fields, and a tool that takes one as its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from typing_extensions import NotRequired, TypedDict

from toolkit import (
    Tool,
)

__all__ = ["Box", "DataRefund", "DictRefund", "KINDS", "ModelRefund", "refunding"]
T = TypeVar("T")


@dataclass
class DataRefund:
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class ModelRefund(pydantic.BaseModel):
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


@pydantic.dataclasses.dataclass
class CheckedRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


@attrs.define
class AttrsRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class StructRefund(msgspec.Struct):
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class TupleRefund(NamedTuple):
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: str = "none"


class DictRefund(TypedDict):
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: NotRequired[str]


CLASSES = [DataRefund, FrozenRefund, ModelRefund, CheckedRefund, AttrsRefund, StructRefund, TupleRefund, DictRefund]
KINDS = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


def refunding(kind: Any, received: list[Any] | None = None, **options: Any) -> Tool:
    """Return a flat tool that takes a record of this *kind*, and adds it to the list *received*."""

    def refund(order):
        """Refund an order."""
        if received is not None:
            received.append(order)
        return "refunded"

    refund.__annotations__ = {"order": kind, "return": str}
    return Tool.described(refund, flat=True, **options)


@dataclass
class Box(Generic[T]):
    content: T
    label: str = ""
