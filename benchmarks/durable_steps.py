"""
A durable run of 31 steps: with the journal inside DBOS, beside the same agent with DBOS's own steps.

    python -m benchmarks.durable_steps                             on SQLite
    python -m benchmarks.durable_steps --postgres URL              on PostgreSQL

Each way runs in processes of its own, which take turns, and the best run counts. The agent, its model and its tool are
the same: 16 requests to the model and 15 calls of a tool that is not idempotent. DBOS's own steps cannot say that a
call is about to take effect; they write one row for each step, and the journal writes two for each call.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from toolkit import Catalog, Dispatcher, ToolCall
from toolkit.agent import Agent
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Reply, Request
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolResult
from toolkit.session import Session
from toolkit.steps.base import CallWork
from toolkit.steps.records import dump_call, dump_reply, load_call, load_reply

from .timing import Row, print_table

__all__ = ["main", "rows"]

_CALLS = 15
_RUNS = 25
_ROUNDS = 3
_ROOT = Path(__file__).parents[1]


def _reply(request: Request) -> Any:
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [ToolCall("pay", {"n": turn}, f"pay-{turn}")] if turn < _CALLS else "done"


def build_agent(**options: Any) -> Agent[str]:
    """Return the agent of both ways."""
    catalog = Catalog()

    @catalog.tool
    async def pay(n: int) -> str:
        """Pay something."""
        return f"paid {n}"

    replies = [_reply] * ((_CALLS + 1) * (_RUNS + 2))
    return Agent(ScriptedProvider(replies), Dispatcher(catalog, permissions=Permissions(mode="bypass")), **options)


class DbosSteps:
    """Steps that are DBOS's own, by their position in the workflow."""

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        from dbos import DBOS

        async def work() -> dict[str, Any]:
            return dump_reply(await ask())

        return load_reply(await DBOS.run_step_async({"name": key}, work))

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        from dbos import DBOS

        async def run() -> dict[str, Any]:
            return dump_call(await work(_begin), session)

        return load_call(await DBOS.run_step_async({"name": key}, run), session)


async def _begin() -> None:
    """Do nothing: a step of DBOS is written when it has ended."""


async def time_journal(database: str) -> float:
    """Return the seconds of the fastest run with the journal, inside a workflow of DBOS."""
    from dbos import DBOS

    from toolkit.durable import DurableAgent

    async with DurableAgent(build_agent(), database) as durable:

        @DBOS.workflow()
        async def work(run_id: str) -> str:
            return (await durable.run("pay", id=run_id)).text

        return await _time_workflow(work, database)


async def time_dbos(database: str) -> float:
    """Return the seconds of the fastest run with DBOS's own steps."""
    from dbos import DBOS

    agent = build_agent(steps=DbosSteps())

    @DBOS.workflow()
    async def work(run_id: str) -> str:
        return (await agent.run("pay")).text

    return await _time_workflow(work, database)


async def _time_workflow(work: Callable[[str], Awaitable[str]], database: str) -> float:
    from dbos import DBOS, SetWorkflowID

    DBOS(config={"name": "bench", "system_database_url": database, "log_level": "WARNING"})
    await asyncio.to_thread(DBOS.launch)

    async def run(number: int) -> None:
        with SetWorkflowID(f"workflow-{number}"):
            handle = await DBOS.start_workflow_async(work, f"run-{number}")
        assert await handle.get_result() == "done"

    try:
        return await _time(run)
    finally:
        await asyncio.to_thread(DBOS.destroy)


async def _time(run: Callable[[int], Awaitable[None]]) -> float:
    best = float("inf")
    for number in range(_RUNS):
        started = time.perf_counter()
        await run(number)
        best = min(best, time.perf_counter() - started)
    return best


WAYS: dict[str, Callable[[str], Awaitable[float]]] = {"journal": time_journal, "dbos": time_dbos}


def _time_in_process(way: str, database: str | None) -> float:
    with tempfile.TemporaryDirectory() as folder:
        url = database or f"sqlite:///{folder}/runs.sqlite"
        command = [sys.executable, "-m", "benchmarks.durable_steps", "--way", way, "--postgres", url]
        ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{way}: {ended.stderr[-2000:]}")
    return float(ended.stdout.split()[-1])


def rows(postgres: Callable[[], str] | None = None) -> list[Row]:
    """Return a row for each way. *postgres* makes a new database and returns its address; SQLite without it."""
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(_ROUNDS):
        for way in WAYS:
            best[way] = min(best[way], _time_in_process(way, None if postgres is None else postgres()))
    ours, theirs = best["journal"], best["dbos"]
    where = "SQLite" if postgres is None else "PostgreSQL"
    return [
        (f"31 steps with DBOS's own steps, {where}", theirs * 1e6, None, ""),
        (f"31 steps with the journal inside DBOS, {where}", ours * 1e6, ours / theirs, "of DBOS's own steps"),
    ]


def main(arguments: list[str]) -> None:
    """Print the table, or time one way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durable_steps")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL server on which databases can be made")
    parser.add_argument("--way", choices=[*WAYS], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.way is not None:
        print(asyncio.run(_as_coroutine(WAYS[options.way](options.postgres))))
        return
    print_table("Durable runs", rows())
    if options.postgres is not None:
        print_table("Durable runs", rows(lambda: make_database(options.postgres)))


async def _as_coroutine(work: Awaitable[float]) -> float:
    return await work


def make_database(url: str) -> str:
    import secrets

    import psycopg

    name = f"bench_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    before, _, _ = url.rpartition("/")
    return f"{before}/{name}"


if __name__ == "__main__":
    main(sys.argv[1:])
