"""
A catalog in which every law and every lint is broken, each by a tool of its own.

`LAWS` and `LINTS` say which tool breaks what. Nothing here is an example to follow.
"""

from __future__ import annotations

import datetime as dt
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import httpx

from toolkit import Catalog, Codec, ToolError, ToolkitWarning
from toolkit.spec import Tool

__all__ = ["LAWS", "LINTS", "laws", "lints", "state"]

laws = Catalog()
lints = Catalog()
state: list[str] = []
"""What `add_note` has written; the state that it should leave alone the second time."""


class _Sloppy:
    """What is known of a tool whose author wrote a schema that is none."""

    def __init__(self, about: Any) -> None:
        self._about = about

    def __getattr__(self, name: str) -> Any:
        return getattr(self._about, name)

    @property
    def schemas(self) -> tuple[Any, Any]:
        return {"type": "object", "properties": {"a": {"type": "number", "minimum": "three"}}}, None


class _Trusting(_Sloppy):
    """What is known of a tool whose check takes everything."""

    @property
    def schemas(self) -> tuple[Any, Any]:
        return self._about.schemas

    @property
    def checker(self) -> Any:
        return self

    def check(self, arguments: Any, validation: str = "fast") -> Any:
        return dict(arguments) if isinstance(arguments, dict) else {}


def _made_by(kind: type, **options: Any) -> Any:
    """Add a tool whose description is wrapped in *kind*."""

    def decorate(function: Any) -> Any:
        tool = Tool.described(function, **options)
        laws.add(replace(tool, about=kind(tool.about)))
        return function

    return decorate


@_made_by(_Sloppy)
def measure_twice(a: float) -> None:
    """Take the measure of a plank.

    Args:
        a: Its length.
    """


@laws.tool
def grant_wish(
    wish: Annotated[int, Codec(schema={"type": "integer", "minimum": 2, "maximum": 1}, decode=int, encode=int)],
) -> None:
    """Fulfil what a person longs for.

    Args:
        wish: Which of the three.
    """


@laws.tool(
    schema={"type": "object", "properties": {"day": {"type": "string", "description": "The day."}}, "required": ["day"]}
)
def open_door(day: dt.date) -> None:
    """Unlock the entrance on one day."""


@_made_by(_Trusting)
def sweep_floor(room: str) -> None:
    """Brush the dust together.

    Args:
        room: Where the dust lies.
    """


_LOSSY = Codec(
    schema={"type": "string", "maxLength": 5}, decode=str, encode=lambda value: value + "x" if len(value) < 5 else value
)


@laws.tool
def whisper_secret(word: Annotated[str, _LOSSY]) -> None:
    """Pass a message on, a little longer each time.

    Args:
        word: What is passed on.
    """


@laws.tool
def paint_fence(colour: str) -> None:
    """Give the garden border another look."""


@laws.tool(name="a.very.long.name." + "with.dots." * 4)
def plant_tree() -> None:
    """Put a sapling into the ground."""


@laws.tool
def fetch_letters() -> None:
    """Bring the mail from the box at the gate."""


@laws.tool
def bring_mail() -> None:
    """Bring the mail from a box at the gates."""


@laws.tool(name="light.on")
def light_on() -> None:
    """Make a lamp shine."""


@laws.tool(name="light--on")
def light_up() -> None:
    """Let there be brightness in a room."""


@laws.tool(read_only=True)
def divide_cake(guests: int) -> int:
    """Cut a pie into equal pieces.

    Args:
        guests: How many people eat.
    """
    return 12 // guests


@laws.tool(read_only=True)
def count_sheep(start: int) -> Iterator[int]:
    """Number the flock, one animal after the other.

    Args:
        start: The first number.
    """
    while start > 100:
        yield start
    yield 0


@laws.tool(read_only=True)
def weigh_parcel(heavy: bool) -> int:
    """Put a package on the scales.

    Args:
        heavy: Whether two have to carry it.
    """
    return "a lot" if heavy else 1  # type: ignore[return-value]


@laws.tool(read_only=True)
def lend_key(spare: bool):
    """Hand over what opens the shed.

    Args:
        spare: Whether it is the second one.
    """
    return [object()] if spare else None


@laws.tool(read_only=True)
def read_diary(page: int) -> str:
    """Look at what was written on one day.

    Args:
        page: Which page.
    """
    if page > 5:
        (Path(os.environ["BROKEN_FOLDER"]) / "fingerprints.txt").write_text(str(page))
    return ""


@laws.tool(idempotent=True)
def add_note(text: str) -> str:
    """Stick a reminder to the fridge.

    Args:
        text: What to think of.
    """
    state.append(text)
    return "done"


@laws.tool(destructive=True)
def burn_papers(pile: str) -> None:
    """Set fire to old documents.

    Args:
        pile: Which heap.
    """
    raise AssertionError("this may not run unasked")


@laws.tool(read_only=True, open_world=True)
def call_neighbour(number: str) -> None:
    """Ring the people next door.

    Args:
        number: Their telephone.
    """
    raise AssertionError("this may not run unasked")


@laws.tool(read_only=True)
def ask_politely(name: str) -> str:
    """Request a favour; sometimes it is turned down.

    Args:
        name: Of whom.
    """
    if name:
        raise ToolError("they said no")
    return "yes"


LAWS: dict[tuple[str, str], str] = {
    ("measure_twice", "valid-schema"): "its schema",
    ("grant_wish", "callable"): "#/properties/wish/minimum",
    ("open_door", "keeps-its-promise"): "",
    ("sweep_floor", "refuses-mistakes"): "room",
    ("whisper_secret", "round-trip"): "",
    ("paint_fence", "described"): "parameter `colour`",
    ("a.very.long.name.with.dots.with.dots.with.dots.with.dots.", "legal-name"): "format 'anthropic'",
    ("bring_mail", "told-apart"): "beside `fetch_letters`",
    ("light--on", "legal-name"): "beside `light.on`",
    ("divide_cake", "declared-failures"): "",
    ("count_sheep", "ends-in-time"): "",
    ("weigh_parcel", "output"): "",
    ("lend_key", "output"): "",
    ("read_diary", "read-only"): "",
    ("add_note", "idempotent"): "",
}
"""By tool and law, the place that the finding names."""


def sort_mail(box: Annotated[str, "Which box."]) -> None: ...


with warnings.catch_warnings():
    warnings.simplefilter("ignore", ToolkitWarning)  # that it has no docstring is the fault
    lints.add(sort_mail)


@lints.tool
def wash_dishes(detergent: str) -> None:
    """Clean plates and cups."""


@lints.tool(search_hint="Feed.")
def feed_cat() -> None:
    """Fill the bowl of the animal in the kitchen."""


@lints.tool(defer=True)
def rake_leaves() -> None:
    """Gather what the trees have dropped."""


@lints.tool
def buy_and_cook_dinner() -> None:
    """Get vegetables, and make something of them."""


@dataclass
class Screw:
    size: Annotated[int, "In millimetres."] = 1


@dataclass
class Hinge:
    screws: list[Screw] = field(default_factory=list)


@dataclass
class Door:
    hinges: list[Hinge] = field(default_factory=list)


@lints.tool
def hang_door(door: Annotated[Door, "What is hung."]) -> None:
    """Put an entrance into its frame."""


@lints.tool(
    schema={
        "type": "object",
        "properties": {"town": {"enum": [f"Town number {n}" for n in range(200)], "description": "Where."}},
    }
)
def send_card(town: str) -> None:
    """Write to friends elsewhere."""


@lints.tool
def list_items() -> None:
    """Say what is on the shelf."""


@lints.tool(name="l1st-items")
def second_list() -> None:
    """Say what is under the table."""


@lints.tool(read_only=True)
def peek_inside(box: Annotated[str, "Which one."]) -> str:
    """Look into a parcel, and leave a mark."""
    with open(box, "w") as file:
        file.write("seen")
    return box


@lints.tool
def clear_attic(path: Annotated[str, "Which corner."]) -> None:
    """Throw away what is not needed."""
    os.remove(path)


@lints.tool
def ask_oracle(question: Annotated[str, "What you want to know."]) -> str:
    """Hear what others think."""
    return httpx.get(question).text


@lints.tool(idempotent=True)
def keep_tally(path: Annotated[Path, "Where it is kept."]) -> None:
    """Make another stroke on the wall."""
    with path.open(mode="a") as file:
        file.write("|")


LINTS: dict[tuple[str, str], tuple[str, str]] = {
    ("sort_mail", "no-description"): ("", 'write a docstring: """Sort mail'),
    ("wash_dishes", "described"): ("parameter `detergent`", "What detergent is."),
    ("feed_cat", "search-hint"): ("search_hint", "search_hint='feed fill bowl animal'"),
    ("rake_leaves", "deferred-without-hint"): ("defer", "search_hint='gather what trees dropped'"),
    ("buy_and_cook_dinner", "two-things"): ("its name", "`buy_dinner` and `cook_dinner`"),
    ("hang_door", "deep-nesting"): ("parameter `door`", "of its own"),
    ("send_card", "large-schema"): ("parameter `town`", "the 200 values"),
    ("l1st-items", "look-alike-names"): ("beside `list_items`", "l1st-items_"),
    ("peek_inside", "facts-against-code"): ("line", "read_only=False"),
    ("clear_attic", "facts-against-code"): ("line", "@tool(destructive=True)"),
    ("ask_oracle", "facts-against-code"): ("line", "@tool(open_world=True)"),
    ("keep_tally", "facts-against-code"): ("line", "idempotent=False"),
}
"""By tool and lint, the place that the finding names, and a piece of the rewrite."""
