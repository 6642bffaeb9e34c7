"""
Many durable runs: thousands on four workers, and a thousand that wait for people.

    python -m benchmarks.durable_load                             on SQLite
    python -m benchmarks.durable_load --postgres URL              on a new database of this PostgreSQL server
    python -m benchmarks.durable_load --runs 500 --waiting 50     less of it

The workers are processes. Each run makes one call that is not idempotent, which writes a line to a file. So the file
tells whether a run was done twice, or not at all.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit import Catalog, Decision, Dispatcher, ToolCall
from toolkit.agent import Agent
from toolkit.durable import DurableAgent
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Reply, Request
from toolkit.providers.messages import AssistantMessage, UserMessage

from .violations import Report

__all__ = ["main", "run", "run_many", "run_waiting"]

_ROOT = Path(__file__).parents[1]
_POLL_SECONDS = 0.2
_MOST_SECONDS = 1200.0
_MAX_RESUME_SECONDS = 2.0
_MAX_GROWTH_BYTES = 10 * 2**20


def _reply(request: Request) -> Any:
    prompt = next(message.text for message in request.messages if isinstance(message, UserMessage))
    if any(isinstance(message, AssistantMessage) for message in request.messages):
        return "done"
    tool, _, name = prompt.partition(" ")
    return [ToolCall(tool, {"name": name}, "call")]


class _Forgetful(ScriptedProvider):
    """A scripted provider that keeps no requests, so that the memory of a worker is the worker's own."""

    async def reply(self, request: Request) -> Reply:
        self.requests.clear()
        return await super().reply(request)


def build_agent(effects: Path) -> Agent[str]:
    """Return the agent of all workers. Its tools write a line to the file *effects*."""
    catalog = Catalog()

    def write_line(name: str) -> str:
        handle = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"{name}\n".encode())
        os.close(handle)
        return f"did {name}"

    @catalog.tool
    async def act(name: str) -> str:
        """Do something."""
        return write_line(name)

    @catalog.tool(approval="always")
    async def ask(name: str) -> str:
        """Do something that a person has to approve."""
        return write_line(name)

    dispatcher = Dispatcher(catalog, permissions=Permissions(mode="auto"))
    return Agent(_Forgetful(itertools.repeat(_reply)), dispatcher)


async def run(count: int) -> Report:
    """Do *count* runs on four workers and let a tenth as many wait, on SQLite, and report both."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/runs.sqlite"
        many = await run_many(database, Path(folder) / "effects", count)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/runs.sqlite"
        waiting = await run_waiting(database, Path(folder) / "effects", max(2, count // 10))
    return Report(f"{many.line}; {waiting.line}", many.violations + waiting.violations)


@contextmanager
def start_workers(count: int, database: str, effects: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start worker processes, and end them when the block is left."""
    command = [sys.executable, "-m", "benchmarks.durable_load", "--work", database, str(effects)]
    workers = [subprocess.Popen(command, cwd=_ROOT) for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


async def run_many(database: str, effects: Path, count: int, *, workers: int = 4) -> Report:
    """Let *workers* processes do *count* runs, and report how many they do in a second."""
    async with DurableAgent(build_agent(effects), database) as durable:
        started = time.monotonic()
        for number in range(count):
            await durable.start(f"act {number}", id=f"many-{number}")
        queued = time.monotonic() - started
        started = time.monotonic()
        with start_workers(workers, database, effects):
            await _wait_for(durable, "done", count)
        seconds = time.monotonic() - started
    names = Counter(_read_lines(effects))
    violations = [f"run {name} was done {times} times" for name, times in names.items() if times > 1]
    violations += [f"run {number} was not done" for number in range(count) if str(number) not in names]
    line = f"{count:,} runs queued in {queued:.1f} s ({count / queued:,.0f} a second), done by {workers} workers in "
    return Report(f"{line}{seconds:.1f} s ({count / seconds:,.0f} a second)", violations)


async def run_waiting(database: str, effects: Path, count: int) -> Report:
    """Let *count* runs wait for a person, and resume one of them in another process."""
    async with DurableAgent(build_agent(effects), database) as durable:
        with start_workers(1, database, effects) as workers:
            warm = max(1, count // 5)  # what a worker needs once, such as threads and caches, is not counted
            for number in range(count):
                await durable.start(f"ask {number}", id=f"waiting-{number}")
                if number == warm - 1:
                    await _wait_for(durable, "waiting", warm)
                    before = _read_memory(workers[0].pid)
            await _wait_for(durable, "waiting", count)
            growth = _read_memory(workers[0].pid) - before
        violations = [f"the worker has grown by {growth / 2**20:.1f} MB"] if growth > _MAX_GROWTH_BYTES else []
        # The worker is dead. This process has not seen any of the runs.
        started = time.monotonic()
        row = await durable.get(f"waiting-{count // 2}")
        requests = durable.read_run(row).requests
        run = await durable.resume(row.id, {request.id: Decision.approve(by="ada") for request in requests})
        seconds = time.monotonic() - started
    if run.status != "done" or seconds > _MAX_RESUME_SECONDS:
        violations.append(f"the run was {run.status} after {seconds:.1f} s")
    line = f"{count:,} runs wait, by which the worker has grown by {growth / 2**20:.1f} MB; one of them was resumed by "
    return Report(f"{line}another process in {seconds:.2f} s", violations)


def _read_lines(effects: Path) -> list[str]:
    return effects.read_text().splitlines()


async def _wait_for(durable: DurableAgent[str], status: Any, count: int) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline:
        rows = await durable.list(status=status, limit=count + 1)
        if len(rows) >= count:
            return
        await asyncio.sleep(_POLL_SECONDS)
    raise TimeoutError(f"not all of {count} runs are {status}")


def _read_memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def _work(database: str, effects: str) -> None:
    async with DurableAgent(build_agent(Path(effects)), database) as durable:
        await durable.work(concurrency=8)


async def _run_all(options: argparse.Namespace) -> int:
    from .durable_steps import make_database

    is_clean = True
    for name, work, count in (("many", run_many, options.runs), ("waiting", run_waiting, options.waiting)):
        with tempfile.TemporaryDirectory() as folder:
            database = make_database(options.postgres) if options.postgres else f"sqlite:///{folder}/runs.sqlite"
            started = time.monotonic()
            report = await work(database, Path(folder) / "effects", count)  # type: ignore[operator]  # one of the two
            report.print_lines(name, time.monotonic() - started)
            is_clean = is_clean and not report.violations
    return 0 if is_clean else 1


def main(arguments: list[str]) -> int:
    """Do what *arguments* ask for; return 1 if there is a violation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durable_load")
    parser.add_argument("--runs", type=int, default=10_000, help="how many runs four workers do")
    parser.add_argument("--waiting", type=int, default=1_000, help="how many runs wait")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL server on which databases can be made")
    parser.add_argument("--work", nargs=2, metavar=("DATABASE", "EFFECTS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        asyncio.run(_work(*options.work))
        return 0
    return asyncio.run(_run_all(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
