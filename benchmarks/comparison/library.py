"""What the rows ask of every library, and the tools and calls that they ask it with."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

__all__ = [
    "BAD_CALLS",
    "GOOD_CALL",
    "KEY",
    "Library",
    "NotOfferedError",
    "Reply",
    "append_line",
    "many_functions",
    "order",
    "pay",
]

KEY = "sk-0123456789abcdef"


class NotOfferedError(Exception):
    """Say that a library has no such feature that we could find; its text, if any, is the cell."""


@dataclass(frozen=True, slots=True)
class Reply:
    """
    What came of one call.

    Attributes:
        text: What the model, or the client, reads.
        repairs: What the library says it changed in the arguments.
    """

    text: str
    repairs: int = 0


class Library:
    """One library; a method that it does not replace is a feature that it does not have."""

    distribution: str
    imports: str
    """What a program with an agent imports."""
    notes: ClassVar[dict[str, str]] = {}
    """Words after a cell, by the name of the row."""

    async def call(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Reply:
        """Have a scripted model call *function* once through the library's own loop, and return what it reads."""
        raise NotImplementedError

    async def call_with_time_limit(self, function: Callable[..., Any], seconds: float) -> Reply:
        """Do the same with a limit of *seconds* for the tool."""
        raise NotOfferedError

    async def call_with_retries(self, function: Callable[..., Any], *, destructive: bool) -> Reply:
        """Do the same with the library's retries switched on, and the tool marked if the library has a mark."""
        raise NotOfferedError

    async def call_with_text_limit(self, function: Callable[..., Any], characters: int) -> Reply:
        """Do the same with a limit for the length of a result."""
        raise NotOfferedError

    async def call_with_masked_key(self, function: Callable[..., Any]) -> Reply:
        """Do the same with keys such as `KEY` masked in results."""
        raise NotOfferedError

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        """Return how many definitions the first request has if all *functions* are to be searched for."""
        raise NotOfferedError

    async def ask(self, folder: Path) -> bool:
        """Have a model call `append_line`, which needs approval, and tell whether the run waits; *folder* keeps it."""
        raise NotOfferedError

    async def answer(self, folder: Path) -> None:
        """Approve what waits in *folder*, in another process, and go on."""
        raise NotOfferedError

    async def pay_bills(self, folder: Path) -> None:
        """
        Have a model call `pay` for bill 1 and then for bill 2, as a run that is kept in *folder*.

        If *folder* has a run that was cut off, the run continues.
        """
        raise NotOfferedError

    async def call_over_mcp(self, command: list[str]) -> str:
        """Call `echo` of the MCP server that *command* starts, and return its text."""
        raise NotOfferedError

    async def serve_over_mcp(self) -> str:
        """Serve a tool over MCP, call it with a client, and return its text."""
        raise NotOfferedError

    async def call_operation(self, document: dict[str, Any], arguments: dict[str, Any], client: Any) -> None:
        """Call the operation `send` of an OpenAPI *document*, over *client*, which is one of httpx."""
        raise NotOfferedError

    def count_providers(self) -> int:
        """Count the model providers that the library names itself."""
        raise NotOfferedError


@dataclass
class Address:
    """Where it goes."""

    street: str
    zip_code: int


def order(item: str, count: int, speed: Literal["slow", "fast"], address: Address) -> str:
    """
    Order something.

    Args:
        item: What is ordered.
        count: How many.
        speed: How it is sent.
        address: Where it goes.
    """
    return "ordered"


GOOD_CALL: dict[str, Any] = {
    "item": "tea",
    "count": 3,
    "speed": "fast",
    "address": {"street": "Mill Lane 1", "zip_code": 12345},
}
BAD_CALLS: dict[str, dict[str, Any]] = {
    "a word for an integer": {**GOOD_CALL, "count": "many"},
    "digits in quotes": {**GOOD_CALL, "count": "3"},
    "true for an integer": {**GOOD_CALL, "count": True},
    "an unknown key": {**GOOD_CALL, "colour": "green"},
    "a wrong value inside": {**GOOD_CALL, "address": {"street": "Mill Lane 1", "zip_code": "unknown"}},
    "an unknown key inside": {**GOOD_CALL, "address": {"street": "Mill Lane 1", "zip_code": 12345, "town": "Ely"}},
    "a value that is not in the list": {**GOOD_CALL, "speed": "quick"},
    "a missing value": {name: value for name, value in GOOD_CALL.items() if name != "count"},
}


def append_line(folder: str) -> str:
    """
    Write a line that cannot be taken back.

    Args:
        folder: Where the file is.
    """
    with Path(folder, "lines.txt").open("a", encoding="utf-8") as file:
        file.write("one\n")
    return "written"


def pay(folder: str, bill: int) -> str:
    """
    Pay a bill. The process is killed when bill 2 is paid for the first time.

    Args:
        folder: Where the file is.
        bill: Which one.
    """
    lines = Path(folder, "lines.txt")
    with lines.open("a", encoding="utf-8") as file:
        file.write(f"{bill}\n")
    if lines.read_text(encoding="utf-8").count("2") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


def many_functions(count: int) -> list[Callable[..., Any]]:
    """Return *count* functions with a name and a docstring each."""
    namespace: dict[str, Any] = {}
    for number in range(count):
        exec(
            f'def task_{number}(path: str) -> str:\n    """Do task {number} with a file.\n\n'
            '    Args:\n        path: The file.\n    """\n    return path\n',
            namespace,
        )
    return [namespace[f"task_{number}"] for number in range(count)]
