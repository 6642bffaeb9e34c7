"""
Processes that are killed at a line of `start`, `decide`, `retry` or `cancel`, for `test_kill.py` and `make endurance`.

    python -m tests.durable.killed_answers FOLDER SEED KILLS [POSTGRES_URL]

Each process does one of them to a run of its own, whose request for approval expires in a day, and dies at a line of
the durable package. KILLS of 0 stands for every line. Then one worker goes on with all runs, and a line of JSON is
printed for each: either the process had changed nothing, or what it has written is carried out, once.
"""

import asyncio
import contextlib
import functools
import itertools
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.clocks import wait_until
from tests.durable.killing import Place
from tests.killed_children import ROOT, count_lines, fork, say
from toolkit import Catalog, Context, Decision, Dispatcher, ToolCall
from toolkit.agent import Agent
from toolkit.approvals import Approvals
from toolkit.durable import DurableAgent, DurableError, dbos_engine
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Request
from toolkit.providers.messages import AssistantMessage

DAY_SECONDS = 86_400
PROMPT = "send it"
OPERATIONS = ("start", "decide", "retry", "cancel")
DURABLE = str(ROOT / "toolkit" / "durable")
assert dbos_engine  # loaded here, so that no child has to load it


def reply_to(request: Request) -> Any:
    """Return the next turn: a call that a person has to approve, and then the answer."""
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [[ToolCall("send", {}, "c1")], "done"][turn]


class AnswerPlace(Place):
    """The runs of one database, one for each process that is killed."""

    def open(self) -> DurableAgent[str]:
        """Make the agent anew, as every process does."""
        catalog = Catalog()

        @catalog.tool(destructive=True, approval="always")
        async def send(context: Context) -> str:
            """Send something away."""
            self.happen(run=context.session.id if context.session else "", key=context.idempotency_key)
            return "sent"

        dispatcher = Dispatcher(
            catalog, permissions=Permissions(mode="auto"), approvals=Approvals(expires_seconds=DAY_SECONDS)
        )
        agent = Agent(ScriptedProvider(itertools.repeat(reply_to)), dispatcher)
        return DurableAgent(agent, self.database, takeover_seconds=1.0, max_lives=1000)

    async def prepare(self, operation: str, run_ids: list[str]) -> list[str]:
        """Bring runs to where *operation* can be done, and return the ids of their requests."""
        request_ids = []
        async with self.open() as durable:
            for run_id in run_ids if operation != "start" else ():
                run = await durable.run(PROMPT, id=run_id)
                request_ids.append(run.requests[0].id)
                await durable.host._over_runs.follow_up(await durable.get(run_id))  # noqa: SLF001 -- the timer
                if operation == "retry":
                    await durable.cancel(run_id)
        return request_ids

    async def operate(self, operation: str, run_id: str, request_id: str, on_start: Callable[[], None]) -> None:
        """Do *operation* to a run, as one process."""
        async with self.open() as durable:
            operations: dict[str, Callable[[], Awaitable[Any]]] = {
                "start": lambda: durable.start(PROMPT, id=run_id),
                "decide": lambda: durable.decide(run_id, {request_id: Decision.approve(by="ada")}),
                "retry": lambda: durable.retry(run_id),
                "cancel": lambda: durable.cancel(run_id),
            }
            on_start()
            await operations[operation]()

    async def work(self, run_ids: list[str], seconds: float) -> None:
        """Be a worker until each run is over or waits for a person, or the time is over."""
        async with self.open() as durable:
            latest = asyncio.get_running_loop().time() + seconds
            working = asyncio.ensure_future(durable.work(concurrency=4, grace_seconds=1.0))
            with contextlib.suppress(TimeoutError):
                for run_id in run_ids:
                    settled = functools.partial(self._is_settled, durable, run_id)
                    await wait_until(settled, seconds=latest - asyncio.get_running_loop().time())
            working.cancel()
            await asyncio.wait([working])

    async def _is_settled(self, durable: DurableAgent[str], run_id: str) -> bool:
        try:
            row = await durable.get(run_id)
        except DurableError:
            return True  # it was never started
        return row.status not in ("queued", "running") and not row.decisions and not row.is_open

    async def report(self, operation: str, run_id: str, request_id: str) -> dict[str, Any]:
        """Return how a run has ended, and what must not have happened."""
        async with self.open() as durable:
            store = durable.agent._toolbox.dispatcher.approvals.store  # noqa: SLF001 -- it has no public name
            try:
                row, events = await durable.get(run_id), await durable.events(run_id)
            except DurableError:
                return {"run": run_id, "status": None, "violations": []}
            kinds = Counter(event.kind for event in events)
            expected = {
                "start": "waiting",
                "decide": "done" if kinds["decided"] else "waiting",
                "retry": "waiting" if kinds["retried"] else "cancelled",
                "cancel": "cancelled" if kinds["cancelled"] else "waiting",
            }[operation]
            violations = [] if row.status == expected else [f"{operation}: {row.status}, not {expected}"]
            sent = sum(event.kind == "began" for event in events)
            if sent != (expected == "done"):
                violations.append(f"{operation}: the call began {sent} times")
            record = store.get(request_id) if request_id else None
            if record is not None and row.status == "cancelled" and record.state == "pending":
                violations.append(f"{operation}: the request of a run that is over can still be approved")
            if kinds["decided"] > 1 or kinds["retried"] > 1:
                violations.append(f"{operation}: it was done twice: {dict(kinds)}")
            return {"run": run_id, "status": row.status, "violations": violations}


def count_operation(place: AnswerPlace, operation: str, run_id: str, request_id: str, number: int) -> int:
    """Do *operation* in this process, which dies at the *number*-th line of the durable package; 0 for never."""
    start, line_count = count_lines(number, only=DURABLE)
    asyncio.run(place.operate(operation, run_id, request_id, start))
    return line_count()


def kill_at_lines(place: AnswerPlace, operation: str, lines: list[int], prefix: str) -> list[dict[str, Any]]:
    """Kill a process at each of *lines*, let a worker go on, and return a report about each run."""
    run_ids = [f"{prefix}/{operation}/{line}" for line in lines]
    request_ids = fork(lambda: asyncio.run(place.prepare(operation, run_ids))) or [""] * len(lines)
    killed = [
        fork(lambda words=words: count_operation(place, operation, *words)) is None  # type: ignore[misc]  # bound now
        for words in zip(run_ids, request_ids, lines, strict=True)
    ]
    fork(lambda: asyncio.run(place.work(run_ids, 300.0)))
    reports = fork(
        lambda: [
            asyncio.run(place.report(operation, run_id, request_id))
            for run_id, request_id in zip(run_ids, request_ids, strict=True)
        ]
    )
    return [
        {**report, "deaths": [line], "kills": int(was_killed), "outcome": None}
        for report, line, was_killed in zip(reports, lines, killed, strict=True)
    ]


def main(folder: str, seed: str, kills: str, postgres_url: str | None = None) -> None:
    """Kill processes at random lines of each operation, or at every line, and write a line for each run."""
    chance = random.Random(int(seed))  # noqa: S311 -- it chooses where to die
    place = AnswerPlace(Path(folder) / "answers", seed, postgres_url)
    for number, operation in enumerate(OPERATIONS):
        # The first process makes the tables, so only the second one has as many lines as those that follow.
        run_ids = [f"{seed}/whole/{operation}/{turn}" for turn in range(2)]
        request_ids = fork(lambda: asyncio.run(place.prepare(operation, run_ids)))  # noqa: B023 -- called at once
        for words in zip(run_ids, request_ids or ["", ""], strict=True):
            total = fork(lambda: count_operation(place, operation, *words, 0))  # noqa: B023 -- as above
        share = int(kills) // 4 + (number < int(kills) % 4)
        # How many lines there are differs a little from process to process.
        lines = sorted(chance.sample(range(1, total * 9 // 10), share)) if int(kills) else list(range(1, total))
        for report in kill_at_lines(place, operation, lines, seed):
            say(report)


if __name__ == "__main__":
    main(*sys.argv[1:])
