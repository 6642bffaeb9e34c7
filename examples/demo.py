"""
Make tools of functions that were not written as tools.

The demo prints the schemas that a model sees. It then prints a table of arguments as
models send them, good and bad, with the verdicts. It needs no key and no network.
"""

import json
import math
import random
import statistics
import sys
import textwrap
import warnings
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

import docstring_parser
import httpx

from toolkit import BadArgs, Catalog, DefinitionError, Tool, ToolkitWarning, UnknownTool

catalog = Catalog()


def described(**properties: Any) -> dict[str, Any]:
    """Write a schema by hand: all of *properties* and nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# The standard library has docstrings and no annotations; a schema by hand says what the text does not.
# Violations that `toolkit check` finds and that we want to keep are listed with their reason.
text = {"type": "string", "description": "What is cut at a blank."}
width = {"type": "integer", "minimum": 10, "description": "How many characters may be left."}
number = {"type": "number", "minimum": -1e9, "maximum": 1e9}
numbers = {"type": "array", "items": number, "minItems": 1, "description": "At least one."}
integers = {"type": "array", "items": {"type": "integer"}, "description": "What it has to divide."}
lowest = {"type": "integer", "description": "The lowest number on the die."}
highest = {"type": "integer", "description": "The highest."}
catalog.tool(
    read_only=True,
    schema=described(integers=integers),
    metadata={"known_violations": {"declared-failures": "To JSON Schema 12.0 is an integer, to gcd it is none."}},
)(math.gcd)
catalog.tool(read_only=True, schema=described(data=numbers))(statistics.fmean)
catalog.tool(read_only=True, name="shorten", schema=described(text=text, width=width))(textwrap.shorten)
die = random.Random(7)  # noqa: S311 -- a die, not a key
catalog.tool(name="roll", aliases=["dice"], schema=described(a=lowest, b=highest))(die.randint)

# Two packages that happen to be installed: an enum, a class method.
known = "A docstring is an object of its own; its text is enough for a model."
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ToolkitWarning)  # it says what the known violation says
    catalog.tool(
        read_only=True,
        name="parse_docstring",
        metadata={"known_violations": dict.fromkeys(("output", "unsendable-result"), known)},
    )(docstring_parser.parse)
status = {"type": "integer", "description": "The status code of an HTTP answer."}
catalog.tool(read_only=True, name="is_error", schema=described(value=status))(httpx.codes.is_error)


# Code as it is in many projects.
class Priority(StrEnum):
    LOW = "low"
    HIGH = "high"


@dataclass
class Repeat:
    """How a task comes back."""

    every: timedelta
    times: Annotated[int, "0 for ever"] = 0


def add_task(
    title: str,
    due: date | Literal["today", "tomorrow"],
    priority: Priority = Priority.LOW,
    repeat: Repeat | None = None,
    *people: str,
) -> int:
    """
    Put a task on the list.

    :param title: What is to be done.
    :param due: When it has to be finished.
    :param priority: How soon it is looked at.
    :param repeat: When it comes back; once only unless given.
    :param people: Who helps.
    """
    return len(title)


catalog.tool(add_task)

CALLS: list[tuple[str, Any]] = [
    ("add_task", {"title": "Tea", "due": "2026-12-24", "repeat": {"every": "P1D"}, "people": ["Ada", "Bob"]}),
    ("add_task", '{"title": "Tea", "due": "today", "priority": "high"}'),
    ("add_task", {"title": "Tea", "due": "soon"}),
    ("add_task", {"titel": "Tea", "due": "today", "priority": "urgent", "repeat": {"every": "daily", "times": "3"}}),
    ("add_task", '{"title": "Tea", "title": "Milk", "due": "today"}'),
    ("add_task", {"title": "Tea \ud800", "due": "today"}),
    ("shorten", {"text": "a long text about nothing much", "width": 20}),
    ("shorten", {"text": "a long text", "width": 3, "placeholder": "!"}),
    ("dice", {"a": 1, "b": 6}),
    ("dice", {"a": 1}),
    ("is_error", {"value": 404}),
    ("is_error", {"value": True}),
    ("parse_docstring", {"text": "Say hello.", "style": 1}),
    ("parse_docstring", {"text": "Say hello.", "style": "google"}),
    ("gcd", {"integers": [12, 18]}),
    ("shortn", {"text": ""}),
]


def shown(value: Any, width: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return textwrap.shorten(text, width, placeholder=" ...")


def verdict(name: str, arguments: Any) -> list[str]:
    """Return the outcome of a call: its Python arguments, or every problem."""
    try:
        tool = catalog[name]
        decoded = tool.check(arguments)
    except UnknownTool as error:
        return [f"? {error}"]
    except BadArgs as error:
        return [f"✗ {problem}" for problem in error.problems]
    args, keywords = tool.signature.bind(decoded)
    return [f"✓ {tool.name}{tuple(args)} {keywords}" if args else f"✓ {keywords}"]


def main() -> None:
    print("What a model is told\n")
    for tool in catalog:
        print(f"{tool.name}: {shown(tool.description, 100)}")
        print(textwrap.indent(json.dumps(tool.schema), "    "), "\n")

    print("What it sends, and what becomes of it\n")
    for name, arguments in CALLS:
        print(f"{name} {shown(arguments, 110)}")
        for line in verdict(name, arguments):
            print(textwrap.indent(textwrap.fill(line, 110), "    "))

    print("\nWhat cannot be a tool says why\n")
    for function in (max, docstring_parser.compose, textwrap.TextWrapper):
        try:
            Tool.of(function)
        except DefinitionError as error:
            print(textwrap.fill(f"✗ {error}", 110, subsequent_indent="    "))


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may not know every letter
    main()
