"""
Run real calls.

The calls are parallel reads, an alias, a repaired argument, a refused one, a transient
failure that recovers, a destructive tool that is not retried, a streaming one, and an
unknown name with its suggestion. It needs no key and no network.
"""

import asyncio
import logging
import textwrap
from collections.abc import AsyncIterator
from typing import Annotated

from toolkit import Catalog, Dispatcher, Progress, RetryPolicy, ToolCall, ToolError, ToolResult, Transient
from toolkit.hooks import Stats

catalog = Catalog()
notes = {"tea.txt": "Boil water.", "milk.txt": "Buy milk.\nTwo litres."}
weather_asked = 0
readers = asyncio.Semaphore(2)
Note = Annotated[str, "The name of the note, as in tea.txt."]


@catalog.tool(read_only=True, aliases=["cat"])
async def read_note(name: Note, *, lines: Annotated[int, "Stop after so many."] = 10) -> str:
    """Read a note."""
    if name not in notes:
        raise ToolError(f"there is no note {name!r}; there are {', '.join(notes)}")
    async with readers:
        await asyncio.sleep(0)
        return "\n".join(notes[name].splitlines()[:lines])


@catalog.tool(read_only=True)
def weather(city: Annotated[str, "Where."]) -> str:
    """Tell the weather; the station answers at the third try."""
    global weather_asked  # noqa: PLW0603 -- the example needs a counter, and nothing else
    weather_asked += 1
    if weather_asked < 3:
        raise Transient("the station does not answer")
    return f"Sunny in {city}."


@catalog.tool(destructive=True)
def delete_note(name: Note) -> None:
    """Delete a note; the connection breaks just then."""
    raise ConnectionResetError("connection lost")


@catalog.tool(read_only=True)
async def count_down(start: Annotated[int, "The first number, at most 100."]) -> AsyncIterator[int]:
    """Count down."""
    if start > 100:
        raise ToolError("nobody wants to wait that long; start at 100")
    for number in range(start, 0, -1):
        yield number


@catalog.tool(approval="always")
def publish(name: Note) -> str:
    """Publish a note."""
    return f"{name} is public"


def show(title: str, result: ToolResult) -> None:
    print(f"{title}\n    {result.kind}: {textwrap.shorten(result.text, 100)}")
    for note in [*result.repairs, *result.retries]:
        print(f"      - {note}")


def on_progress(progress: Progress) -> None:
    print(f"      ... {progress.tool} yields {progress.value}")


async def main() -> None:
    stats = Stats()
    async with Dispatcher(
        catalog, hooks=[stats], retry=RetryPolicy(wait_initial=0.01), on_progress=on_progress
    ) as dispatcher:
        batch = await dispatcher.call_many([ToolCall("read_note", {"name": name}) for name in notes])
        print(f"Two reads at once\n    {[result.text for result in batch]}")
        show("By its alias", await dispatcher.call("cat", {"name": "tea.txt"}))
        show("A repaired argument", await dispatcher.call("cat", {"Name": "milk.txt", "lines": "1"}))
        show("A refused one", await dispatcher.call("cat", {"name": 7, "line": 2}))
        show("A transient failure that recovers", await dispatcher.call("weather", {"city": "Oslo"}))
        show("A destructive tool is not run twice", await dispatcher.call("delete_note", {"name": "tea.txt"}))
        show("A streaming tool", await dispatcher.call("count_down", {"start": 3}))
        show("A tool that raises", await dispatcher.call("read_note", {"name": "gone.txt"}))
        show("A person has to agree", await dispatcher.call("publish", {"name": "tea.txt"}))
        show("A name nobody knows", await dispatcher.call("read_notes", {"name": "tea.txt"}))
    print("In numbers")
    for each in stats.snapshot():
        print(f"    {each.tool}: {each.calls} calls, {each.retries} retries, failures {each.failures or 'none'}")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # the dispatcher logs exceptions of tools, with the traceback
    asyncio.run(main())
