"""Types and schemas that the tests of foreign types share."""

from datetime import date
from typing import TypeVar

import msgspec
from pydantic import BaseModel

__all__ = ["DAY", "INTEGER", "Kind", "Node", "T", "TEXT"]

T = TypeVar("T")
INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
DAY = date(2024, 5, 1)


class Node(BaseModel):
    value: int
    children: "list[Node]" = []


class Kind(msgspec.Struct):
    """What it is for."""

    x: int
    day: date = DAY
