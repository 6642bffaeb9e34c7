"""
Tools to work on, and ways to run the command line: in this process, and in one of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.providers.protocols import Turn
from tests.providers.stub import Stub, serving
from toolkit.cli.completion.shell_scripts import register_completion_classes
from toolkit.cli.main import cli
from toolkit.results import ToolCall

__all__ = ["CANCEL", "DONE", "LOOK", "TOOLS", "Ran", "CommandFolder", "model", "words"]

TOOLS = '''\
"""Tools of a shop."""

import asyncio
from datetime import date
from typing import Annotated, Literal, TypedDict

from toolkit import Catalog, Context, ToolError, Transient

catalog = Catalog()
print("the module speaks")


class Item(TypedDict):
    """What is bought."""

    sku: Annotated[str, "As on the label."]
    tags: list[str]


@catalog.tool(read_only=True, aliases=["holidays"], group="days", search_hint="days off work", version="1.2",
              examples=[{"year": 2026}])
def free_days(year: int, country: Literal["DE", "FR"] = "DE", *, after: date | None = None) -> list[date]:
    """List the public holidays of a year.

    More of it.

    Args:
        year: Four digits.
        country: Where you are.
        after: Only later ones.
    """
    print("the tool speaks")
    days = [date(year, 1, 1), date(year, 5, 1)]
    return [day for day in days if after is None or day > after]


@catalog.tool(destructive=True)
def cancel(day: date) -> str:
    """Cancel a holiday.

    Args:
        day: Which.
    """
    return f"{day:%d %B} is a working day"


@catalog.tool
def order(items: list[Item], notes: list[str] = [], total: float = 0) -> str:
    """Order things."""
    return f"{len(items)} {notes} {total}"


@catalog.tool(read_only=True, defer=True)
def flaky(context: Context, failures: int = 1) -> str:
    """Fail a few times."""
    context.report(message="half way")
    if context.attempt <= failures:
        raise Transient("busy")
    return "\\x1b[31mred\\n"


@catalog.tool(read_only=True)
async def sleep() -> None:
    """Sleep for ever."""
    await asyncio.Event().wait()


@catalog.tool(read_only=True)
def broken() -> None:
    """Fail."""
    raise ToolError("it is broken")
'''


PATHS = {"anthropic": "", "openai": "/v1", "openai_responses": "/v1", "gemini": ""}
LOOK = Turn(text="I look it up.", calls=(ToolCall("free_days", {"year": 2026}, "c1"),))
CANCEL = Turn(text="I cancel it.", calls=(ToolCall("cancel", {"day": "2026-05-01"}, "c2"),))
DONE = Turn(text="It is done.")


def words(stub, *further, provider="anthropic", prompt="Which days are free?"):
    """Return a command that asks *stub*, with a key."""
    url = f"{stub.url}{PATHS[provider]}"
    options = ["--provider", provider, "--model", "test-1", "--base-url", url, "--key-from", "MY_KEY"]
    return ["agent", "tools.py", prompt, *options, *further]


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandFolder:
    """A folder to work in."""

    folder: Path

    def run(self, *words: str, input: str | None = None, **environment: str) -> Ran:
        """Run the command line in this process, its output piped."""
        register_completion_classes()
        result = CliRunner().invoke(cli, words, input=input, env=environment, prog_name="toolkit")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def process(self, *words: str, input: str | None = None, **environment: str) -> Ran:
        """Run it in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "toolkit", *words],
            input=input,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            start_new_session=True,  # so that there is no terminal to ask on
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@contextlib.contextmanager
def model(*script: Any) -> Iterator[Stub]:
    """Serve a model on loopback that plays *script*, in a thread of its own."""
    ready: queue.Queue[Any] = queue.Queue()

    async def serve() -> None:
        over = asyncio.Event()
        async with serving(*script) as stub:
            ready.put((stub, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    stub, loop, over = ready.get(timeout=30)
    try:
        yield stub
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
