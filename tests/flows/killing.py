"""
A durable flow whose processes are killed, for `test_kill.py` and for trying more of it by hand.

    python -m tests.flows.killing FOLDER SEED KILLS [POSTGRES_URL]

As in `tests.durable.killing`, each process dies at a random line of the toolkit, by SIGKILL, and the next one goes on.
The flow has checks that fail once, lists, an approval and a way back. An effect is a file; an undo removes it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.durable.killing import MAYBE, Place, kill_processes
from toolkit import Context, Decision, Inject
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow, Problems, Waiting


@dataclass
class Order:
    text: str


@dataclass
class Draft:
    text: str


@dataclass
class Page:
    text: str
    number: int


@dataclass
class Printed:
    text: str
    number: int


@dataclass
class Book:
    text: str


@dataclass
class Sold:
    text: str


EXPECTED = ["bind,2,0", "print_page,2,1", "print_page,2,2", "print_page,2,3", "sell,1,0", "write,2,0"]
"""The effects that stand at the end, without the attempts."""


class FlowPlace(Place):
    """A run of a flow, with a file that has a line for every effect and undo, and a folder of the effects that stand."""

    def __init__(self, folder: Path, run_id: str, postgres_url: str | None = None) -> None:
        super().__init__(folder, run_id, postgres_url)
        self.standing = folder / "standing"
        self.standing.mkdir()

    def build_flow(self) -> Flow[Sold]:
        """Make the flow anew, as every process does."""
        flow = Flow[Sold]("books")

        def do(context: Context) -> None:
            name = context.call.id.partition("/")[2].replace("/", ",")
            self.happen(word="do", key=name)
            (self.standing / name).touch()

        def undo(before: Any, context: Context) -> None:
            name = context.call.id.partition("/")[2].replace("/undo/", "/run/").replace("/", ",")
            self.happen(word="undo", key=name)
            (self.standing / name).unlink(missing_ok=True)

        def is_good(before: Any, after: Draft) -> str | None:
            return "it is bad" if after.text == "bad" else None

        @flow.step(check=is_good, undo=undo, attempts=2)
        async def write(order: Order, problems: Inject[Problems], context: Context) -> Draft:
            do(context)
            return Draft({"": "bad", "write": "first", "bind": "second"}[problems.step])

        @flow.step(read_only=True)
        async def split(draft: Draft) -> list[Page]:
            return [Page(draft.text, number) for number in (1, 2, 3)]

        @flow.step(undo=undo, concurrency_safe=True)
        async def print_page(page: Page, context: Context) -> Printed:
            do(context)
            return Printed(page.text, page.number)

        def is_second(before: Any, after: Book) -> list[str]:
            return [] if after.text == "second" else ["it is the first edition"]

        @flow.step(destructive=True, approval="always", check=is_second, undo=undo, back_to=write)
        def bind(pages: list[Printed], context: Context) -> Book:
            do(context)
            return Book(pages[0].text)

        @flow.step
        async def sell(book: Book, context: Context) -> Sold:
            do(context)
            return Sold(book.text)

        return flow

    async def live(self, on_start: Callable[[], None]) -> dict[str, Any]:
        """Work on the run until it is over, as one process; every request is approved."""
        flow = self.build_flow()
        async with DurableHost(self.database, takeover_seconds=1.0, max_lives=1000) as host:
            on_start()
            outcome = await flow.run(Order("a book"), host, id=self.run_id)
            while isinstance(outcome, Waiting):
                decisions = {request.id: Decision.approve(by="ada") for request in outcome.requests}
                outcome = await flow.resume(self.run_id, decisions, host)
            story = [str(event) for event in await flow.replay(self.run_id, host)]
        problems = list(outcome.problems) if isinstance(outcome, Failed) else []
        return {"end": str(outcome), "problems": problems, "cuts": sum(MAYBE in text for text in story)}

    def find_violations(self, outcome: dict[str, Any], effects: list[dict[str, Any]], kills: int) -> list[str]:
        """Return what must not have happened in a run whose processes were killed *kills* times."""
        violations = []
        lines = [(effect["word"], effect["key"]) for effect in effects]
        repeated = [key for (word, key), count in Counter(lines).items() if word == "do" and count > 1]
        if repeated:
            violations.append(f"these happened twice: {repeated}")
        undone = Counter(key for word, key in lines if word == "undo")
        if sum(undone.values()) - len(undone) > kills:
            violations.append(f"after {kills} kills these were undone again: {undone}")
        standing = sorted(path.name.rpartition(",run,")[0] for path in self.standing.iterdir())
        is_in_doubt = any(MAYBE in problem for problem in outcome["problems"])
        expected = [name for name in EXPECTED if name != "sell,1,0"] if is_in_doubt else EXPECTED
        if not is_in_doubt and "Sold(text='second')" not in outcome["end"]:
            violations.append(f"the run ended as {outcome['end']}")
        if [name for name in standing if name != "sell,1,0" or not is_in_doubt] != expected:
            violations.append(f"these stand: {standing}")
        if outcome["cuts"] > kills * 3 or (kills == 0 and is_in_doubt):
            violations.append(f"after {kills} kills {outcome['cuts']} calls may have happened")
        return violations


if __name__ == "__main__":
    kill_processes(FlowPlace, *sys.argv[1:])
