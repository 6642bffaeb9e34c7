"""Durable runs in a file, for the tests of `toolkit runs`."""

from __future__ import annotations

import asyncio
import time

from toolkit import Agent, Catalog, Dispatcher, Permissions, ToolCall
from toolkit.agent.saved.run_seal import dump_run
from toolkit.providers import ScriptedProvider

DATABASE = "sqlite:///runs.sqlite"


def run_until_it_waits(*bills):
    """Return a run of an agent that wants to pay *bills*, and waits."""
    catalog = Catalog()
    # Of calls that change something, the second would wait until the first is answered.
    facts = {"destructive": True} if len(bills) == 1 else {"read_only": True, "approval": "always"}
    catalog.tool(**facts, preview=lambda arguments: f"pay {arguments['bill']}")(pay)
    calls = [ToolCall("pay", {"bill": bill}, f"c{number}") for number, bill in enumerate(bills, 1)]
    agent = Agent(ScriptedProvider([calls]), Dispatcher(catalog, permissions=Permissions("default")))
    return asyncio.run(agent.run("Pay what is open."))


def add_waiting(journal, run_id="bills/may", *bills, queue="toolkit"):
    """Add a run to the journal that waits for an answer about each of *bills*, and return its requests."""
    run = run_until_it_waits(*(bills or ["A-7"]))
    journal.create(run_id, "agent", {"prompt": "Pay what is open."}, principal="ada", queue=queue, now=time.time())
    row = journal.activate(run_id, worker="worker-1", now=time.time(), max_lives=3)
    journal.end(run_id, row.epoch, "waiting", dump_run(run), used_decisions=[], now=time.time())
    return run.requests


def pay(bill: str) -> str:
    """Pay a bill."""
    return f"{bill} is paid"
