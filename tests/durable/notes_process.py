"""
A process with a durable agent that writes notes: `python notes_process.py FOLDER work|run [RUN]`.

The model lets the agent write the notes 1, 2, 3 of a run, and is done then. Each note is a line in the file `notes`, so
a note that was written twice is there twice. Options are in the environment: `DIE` ends the process with SIGKILL the
first time that a place is reached, such as `before 2` or `after 2`, or every time with `DIE_ALWAYS`; `HOLD` waits at a
place while the test holds the file `hold`. `NAME` names the process in the file `places`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from pathlib import Path

from toolkit.agent import Agent
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.durable.durable_agent import DurableAgent
from toolkit.permissions import Permissions
from toolkit.providers.base import Reply, Request
from toolkit.providers.messages import AssistantMessage, UserMessage
from toolkit.results import ToolCall

__all__ = ["NOTE_COUNT", "build_durable", "read_notes"]

NOTE_COUNT = 3


def read_notes(folder: Path) -> list[str]:
    """Return the lines that were written."""
    return (folder / "notes").read_text(encoding="utf-8").split("\n")[:-1] if (folder / "notes").exists() else []


class Places:
    """The places that a process reaches, where it can die or wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def reach(self, place: str) -> None:
        """Do what the environment says about *place*."""
        _append(self._folder / "places", f"{os.environ.get('NAME', '')} {place}")
        if os.environ.get("HOLD") == place:
            with (self._folder / "hold").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH)
        if os.environ.get("DIE") == place:
            died = self._folder / "died"
            if "DIE_ALWAYS" in os.environ or not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)


class NoteModel:
    """A model that asks for one note after the other. It knows nothing but the conversation."""

    name = "notes"
    model = "notes"

    def __init__(self, places: Places) -> None:
        self._places = places

    async def reply(self, request: Request) -> Reply:
        """Ask for the next note, or be done."""
        number = 1 + sum(isinstance(message, AssistantMessage) for message in request.messages)
        await asyncio.to_thread(self._places.reach, f"reply {number}")
        prompt = next(message.text for message in request.messages if isinstance(message, UserMessage))
        if number > NOTE_COUNT:
            return Reply(message=AssistantMessage(text="all notes are written"), stop="answer")
        call = ToolCall("write_note", {"text": f"{prompt} {number}"}, f"c{number}")
        return Reply(message=AssistantMessage(text="", calls=(call,)), stop="calls")

    async def aclose(self) -> None:
        """Do nothing."""


def build_durable(folder: Path, *, mode: str = "auto", database: str | None = None, **options) -> DurableAgent:
    """Return the durable agent of all processes."""
    places = Places(folder)
    catalog = Catalog()

    @catalog.tool
    def write_note(text: str) -> str:
        """Write a note."""
        number = text.rpartition(" ")[2]
        places.reach(f"before {number}")
        _append(folder / "notes", text)
        places.reach(f"after {number}")
        return f"written: {text}"

    agent = Agent(NoteModel(places), Dispatcher(catalog, permissions=Permissions(mode)))
    return DurableAgent(agent, database or f"sqlite:///{folder}/runs.sqlite", **options)


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


async def _work(durable: DurableAgent) -> None:
    task = asyncio.ensure_future(durable.work())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await asyncio.wait({task})
    await durable.close()
    if not task.cancelled():
        task.result()


async def _main(folder: str, verb: str, run_id: str = "") -> None:
    durable = build_durable(
        Path(folder),
        mode=os.environ.get("MODE", "auto"),
        database=os.environ.get("DATABASE"),
        takeover_seconds=float(os.environ.get("TAKEOVER", "10")),
    )
    if verb == "work":
        await _work(durable)
    else:
        run = await durable.run(run_id, id=run_id)
        sys.stdout.write(f"{run.status} {run.reason}\n")
        await durable.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
