"""Make tools of existing functions: from the standard library, partials, methods, callable objects."""

import functools
import json
import shutil
import textwrap
from collections.abc import Callable
from datetime import date, timedelta

from toolkit import Catalog, DefinitionError

catalog = Catalog()

# Without annotations every parameter takes any JSON. A hand-written schema says more, and is enforced.
catalog.tool(
    schema={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What is cut at a blank."},
            "width": {"type": "integer", "minimum": 10, "description": "How many characters may be left."},
        },
        "required": ["text", "width"],
    }
)(textwrap.shorten)
catalog.tool(
    read_only=True,
    name="free_space",
    schema={
        "type": "object",
        "properties": {"path": {"enum": ["/", "."], "description": "A folder on the disk."}},
        "required": ["path"],
        "additionalProperties": False,
    },
)(shutil.disk_usage)


def days_between(start: date, end: date, *, inclusive: bool = False) -> timedelta:
    """
    Count the days from one date to another.

    Args:
        start: The first day.
        end: The last day.
        inclusive: Whether the last day counts.
    """
    return end - start + timedelta(days=inclusive)


# An argument that a partial has bound is neither in the schema nor accepted.
catalog.tool(name="since_new_year")(functools.partial(days_between, date(2026, 1, 1)))


class Counter:
    """Count how often each word was seen."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def __call__(self, word: str, times: int = 1) -> int:
        """
        Count a word, and say how often it was seen.

        Args:
            word: Which one.
            times: How often it was seen just now.
        """
        self.seen[word] = self.seen.get(word, 0) + times
        return self.seen[word]


catalog.add(Counter())

for definition in catalog.definitions():
    print(json.dumps(definition, indent=2))


def keep(items: list[int], test: Callable[[int], bool]) -> list[int]:
    """Keep the numbers that pass a test."""
    return [item for item in items if test(item)]


# A function that cannot be described is refused at once, with the parameter and the remedy.
for function in (max, keep):
    try:
        catalog.add(function)
    except DefinitionError as error:
        print("Refused:", error)
