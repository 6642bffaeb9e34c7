"""Receive dates, enums and records where a model sends JSON."""

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from toolkit import Tool


class Room(StrEnum):
    SINGLE = "single"
    DOUBLE = "double"


@dataclass
class Card:
    """A credit card."""

    kind: Literal["card"]
    number: Annotated[str, "Sixteen digits, no spaces."]


@dataclass
class Transfer:
    """A bank transfer."""

    kind: Literal["transfer"]
    iban: str


def book(guest: str, arrival: date, room: Room, payment: Card | Transfer, deposit: Decimal = Decimal(0)) -> str:
    """
    Book a room.

    Args:
        guest: Who is coming.
        arrival: The first night.
        room: For one, or for two.
        payment: How the guest pays.
        deposit: What is paid in advance, in euros.
    """
    return f"{guest} arrives on {arrival:%A}; {room.name}, {type(payment).__name__}, {deposit}"


tool = Tool.of(book)
print(json.dumps(tool.schema, indent=2))

arguments = {
    "guest": "Ada",
    "arrival": "2026-12-24",
    "room": "double",
    "payment": {"kind": "transfer", "iban": "DE02"},
    "deposit": "99.50",
}
decoded = tool.check(arguments)
print(decoded)
print(book(**decoded))
print("And back:", tool.encode(decoded) == arguments)
