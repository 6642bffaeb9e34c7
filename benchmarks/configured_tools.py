"""
The tools of the table of configurations, in two sets.

The first set is the one to work with. The second set has other shapes for the same lines; look at it only when the work
is done, so that nothing is tuned to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from .subjects import CALLS, FUNCTIONS, add

__all__ = ["FIRST_SET", "SECOND_SET", "ToolSet"]


@dataclass
class ToolSet:
    """
    One function for each kind of line, each with good arguments.

    Attributes:
        plain: The call that others are compared with.
        several: A function of several parameters, for JSON text beside a peer.
        nested: A function that takes a nested object.
        results: Functions by the kind of what they return.
        sync: A sync function that takes the arguments of *plain*.
        failing: A function that takes the arguments of *plain* and raises.
        bad: A function with arguments that do not fit, and that no repair can mend.
        rule: A rule about an argument of *plain* that does not hold for its arguments; `{}` is the name of the tool.
    """

    plain: tuple[Callable[..., Any], dict[str, Any]]
    several: tuple[Callable[..., Any], dict[str, Any]]
    nested: tuple[Callable[..., Any], dict[str, Any]]
    results: dict[str, tuple[Callable[..., Any], dict[str, Any]]]
    sync: Callable[..., Any]
    failing: Callable[..., Any]
    bad: tuple[Callable[..., Any], dict[str, Any]]
    rule: str
    bare: Callable[..., Any] = field(default=add)


# The first set.


async def list_tags(
    query: str, limit: int = 10, threshold: float = 0.5, exact: bool = False, tags: list[str] | None = None
) -> list[str]:
    """
    List the tags of the notes that match.

    Args:
        query: What to look for.
        limit: How many to return.
        threshold: How similar they have to be.
        exact: Whether the words must match exactly.
        tags: Only notes with these tags.
    """
    return tags or [query]


async def count_words(query: str, tags: list[str]) -> dict[str, int]:
    """
    Count the words.

    Args:
        query: What to count.
        tags: More to count.
    """
    return {tag: len(tag) for tag in tags}


@dataclass
class Place:
    """Where something is."""

    name: str
    latitude: float
    longitude: float


async def find_place(name: str) -> Place:
    """
    Find a place.

    Args:
        name: Its name.
    """
    return Place(name, 48.85, 2.35)


def add_in_thread(a: int, b: int) -> int:
    """
    Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


async def add_and_fail(a: int, b: int) -> int:
    """
    Fail to add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    raise ValueError("no sum today")


FIRST_SET = ToolSet(
    plain=(add, CALLS["two integers"]),
    several=(FUNCTIONS["five parameters"], CALLS["five parameters"]),
    nested=(FUNCTIONS["nested order, 20 items"], CALLS["nested order, 20 items"]),
    results={
        "list[str]": (list_tags, CALLS["five parameters"]),
        "dict[str, int]": (count_words, {"query": "tea", "tags": ["kitchen", "green"]}),
        "a dataclass": (find_place, {"name": "Paris"}),
    },
    sync=add_in_thread,
    failing=add_and_fail,
    bad=(
        FUNCTIONS["five parameters"],
        {"query": ["tea"], "limit": "five", "threshold": 0.25, "exact": "perhaps", "tags": ["kitchen", 7]},
    ),
    rule="deny {}(a=13)",
)


# The second set.


@dataclass
class Attendee:
    name: str
    role: Literal["host", "guest"] = "guest"
    minutes: int | None = None


@dataclass
class Meeting:
    title: str
    attendees: list[Attendee]
    labels: dict[str, str] = field(default_factory=dict)


async def shorten(text: str, length: int) -> str:
    """
    Shorten a text.

    Args:
        text: The text.
        length: How much of it to keep.
    """
    return text[:length]


async def book(room: str, hours: float, guests: int, catering: bool = False, notes: str | None = None) -> str:
    """
    Book a room.

    Args:
        room: Which room.
        hours: For how long.
        guests: For how many.
        catering: Whether there is food.
        notes: Anything else.
    """
    return f"{room} for {guests}"


async def invite(meeting: Meeting) -> str:
    """
    Send the invitations of a meeting.

    Args:
        meeting: What is planned, and with whom.
    """
    return meeting.title


async def list_prices(item: str, count: int = 5) -> list[dict[str, Any]]:
    """
    List the prices of an item.

    Args:
        item: Which item.
        count: How many prices.
    """
    return [{"shop": number, "price": 9.5, "item": item} for number in range(count)]


async def measure(names: list[str]) -> dict[str, float]:
    """
    Measure several things.

    Args:
        names: Their names.
    """
    return dict.fromkeys(names, 0.5)


async def plan_meeting(title: str) -> Meeting:
    """
    Plan a meeting.

    Args:
        title: What it is about.
    """
    return Meeting(title, [Attendee("Ada", "host"), Attendee("Grace")])


def shorten_in_thread(text: str, length: int) -> str:
    """
    Shorten a text.

    Args:
        text: The text.
        length: How much of it to keep.
    """
    return text[:length]


async def shorten_and_fail(text: str, length: int) -> str:
    """
    Fail to shorten a text.

    Args:
        text: The text.
        length: How much of it to keep.
    """
    await asyncio.sleep(0) if length < 0 else None
    raise LookupError(text)


SECOND_SET = ToolSet(
    plain=(shorten, {"text": "a walk in the park", "length": 6}),
    several=(book, {"room": "blue", "hours": 1.5, "guests": 12, "notes": "near the window"}),
    nested=(
        invite,
        {
            "meeting": {
                "title": "planning",
                "attendees": [{"name": f"guest {number}", "minutes": number} for number in range(20)],
                "labels": {"team": "red", "floor": "2"},
            }
        },
    ),
    results={
        "list[dict]": (list_prices, {"item": "tea"}),
        "dict[str, float]": (measure, {"names": ["height", "width", "depth"]}),
        "a nested dataclass": (plan_meeting, {"title": "planning"}),
    },
    sync=shorten_in_thread,
    failing=shorten_and_fail,
    bad=(book, {"room": 7, "hours": "long", "guests": 1.5, "catering": "no idea", "notes": []}),
    rule='deny {}(text="never this")',
    bare=shorten,
)
