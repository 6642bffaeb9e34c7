"""A function that goes on is ended, or reported."""

from __future__ import annotations

import contextlib
import itertools
import threading
from typing import Annotated

import pytest

from toolkit import tool
from toolkit.spec import Tool
from toolkit.testing import LawsBroken, check_tool


def _append_and_pop():
    steps: list[int] = []
    while True:
        steps.append(len(steps))
        steps.pop()


def _do_nothing():
    while True:
        pass


def _reckon():
    number = 0
    while True:
        number = (number * 3 + 1) % 1_000_003


def _count():
    for _ in itertools.count():
        pass


def _recurse():
    def add(number: int) -> int:
        return number if number < 2 else add(number - 1) + add(number - 2)

    while True:
        add(12)


@pytest.mark.long
@pytest.mark.parametrize(
    ("style", "spin"),
    [
        ("async", _append_and_pop),
        ("sync", _append_and_pop),
        ("async", _do_nothing),
        ("sync", _reckon),
        ("async", _count),
        ("sync", _recurse),
    ],
)
def test_a_function_that_does_not_end_is_stopped(style, spin):
    """
    It may run in the loop of the dispatcher or in a thread, and may block the loop. It does not go on in the
    background.
    """
    ended = threading.Event()

    def turn(on: bool) -> None:
        try:
            if on:
                spin()
        finally:
            if on:
                ended.set()

    async def turn_async(on: Annotated[bool, "Whether to go on."]) -> None:
        """Turn in circles."""
        turn(on)

    def turn_sync(on: Annotated[bool, "Whether to go on."]) -> None:
        """Turn in circles."""
        turn(on)

    turning = Tool.described(turn_async if style == "async" else turn_sync, read_only=True)
    with pytest.raises(LawsBroken) as caught:
        check_tool(turning, examples=5, timeout_seconds=0.3)
    assert [(violation.rule, violation.arguments) for violation in caught.value.violations] == [
        ("ends-in-time", {"on": True})
    ]
    assert ended.wait(10)


def test_a_function_that_cannot_be_ended_is_reported():
    """It swallows every exception and ends when it wants."""
    enough, ended = threading.Event(), threading.Event()

    @tool(read_only=True, catalog=None)
    def insist(on: Annotated[bool, "Whether to insist."]) -> None:
        """Insist."""
        while on and not enough.is_set():
            with contextlib.suppress(BaseException):
                while not enough.is_set():
                    pass
        ended.set()

    try:
        with pytest.raises(LawsBroken, match=r"did not end within 0\.2 s"):
            check_tool(insist, examples=5, timeout_seconds=0.2)
    finally:
        enough.set()
    assert ended.wait(10)


def test_a_check_does_not_wait_for_a_tool_that_never_ends():
    """Such a tool uses no processor time."""
    never = threading.Event()

    @tool(read_only=True, catalog=None)
    def wait(on: Annotated[bool, "Whether to wait."]) -> None:
        """Wait for nothing."""
        if on:
            never.wait()

    try:
        with pytest.raises(LawsBroken, match=r"did not end within 0\.2 s"):
            check_tool(wait, examples=5, timeout_seconds=0.2)
    finally:
        never.set()
