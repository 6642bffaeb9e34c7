"""
A host with toy runs, an engine in memory, and waiting for other processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import threading
import time

from tests.clocks import wait_until
from toolkit.agent import Agent
from toolkit.catalog import Catalog
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable import DurableAgent, DurableHost
from toolkit.durable.run_kinds import ActivationEnd
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall

__all__ = ["LocalEngine", "Toys", "holding", "running", "wait_for_status"]


async def wait_for_status(host, run_id, *statuses, seconds=240.0):
    """Wait until a run has one of *statuses*, and return its row."""

    async def find():
        row = await host.get(run_id)
        return row if row.status in statuses else None

    return await wait_until(find, seconds=seconds)


@contextlib.contextmanager
def holding(path):
    """Hold processes that lock the file *path*, until the yielded function is called or the block ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield lambda: fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.asynccontextmanager
async def running(work):
    """Run *work* in a task, and cancel it at the end of the block."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


class LocalEngine:
    """An engine that keeps its jobs in memory, and does each in a thread of its own."""

    def __init__(self):
        self.jobs = {}
        self.delivered = {}
        self.order = []
        self._lock = threading.Lock()
        self._stop = None

    def enqueue(self, job):
        with self._lock:
            self.jobs[job.id] = (job, time.monotonic() + job.delay_seconds)

    def find_missing(self, job_ids):
        with self._lock:
            now = time.monotonic()
            present = {job_id for job_id, (_, at) in self.jobs.items() if at <= now} | set(self.delivered)
            return [job_id for job_id in job_ids if job_id not in present]

    def list_busy_workers(self):
        with self._lock:
            return {owner for _, owner in self.delivered.values()}

    def withdraw(self, job_ids):
        for job_id in job_ids:
            self.jobs.pop(job_id, None)

    def take_back(self, worker):
        with self._lock:
            job_ids = [job_id for job_id, (_, owner) in self.delivered.items() if owner == worker]
            for job_id in job_ids:
                job, _ = self.delivered.pop(job_id)
                self.jobs[job_id] = (job, 0.0)
        return job_ids

    def forget(self, job_ids):
        self.withdraw(job_ids)

    def start_worker(self, worker, perform, limits):
        self._stop = stop = threading.Event()
        threading.Thread(target=self._deliver, args=(worker, perform, stop), daemon=True).start()

    def _deliver(self, worker, perform, stop):
        while not stop.wait(0.002):
            with self._lock:
                due = [job for job, at in self.jobs.values() if at <= time.monotonic()]
                for job in due:
                    del self.jobs[job.id]
                    self.delivered[job.id] = (job, worker)
            for job in due:
                threading.Thread(target=self._do, args=(job, perform), daemon=True).start()

    def _do(self, job, perform):
        self.order.append(job.run_id)
        delivery = perform(job.run_id)
        with self._lock:
            self.delivered.pop(job.id, None)
            if delivery == "return":
                self.jobs[job.id] = (job, 0.0)

    def stop_worker(self):
        self._stop.set()

    def close(self):
        pass


class Toys:
    """
    Toy runs. What one does is its input:

    {"ask": true} waits for the request "ask-ID" first, {"expires_at": 5.0} lets it expire; {"hold": true} goes on when
    `release` is set; {"fail": "text"} raises an error.
    """

    def __init__(self):
        self.begun = []
        self.ended = []
        self.release = asyncio.Event()

    async def activate(self, activation):
        """Work on a run."""
        row = activation.row
        self.begun.append((row.id, row.epoch))
        if row.input.get("ask") and not activation.decisions and not self._has_expired(activation):
            return ActivationEnd(status="waiting", outcome={"request": f"ask-{row.id}"})
        if row.input.get("hold"):
            await self.release.wait()
        if "fail" in row.input:
            raise RuntimeError(row.input["fail"])
        self.ended.append(row.id)
        answers = {request: decision.approved for request, decision in activation.decisions.items()}
        return ActivationEnd(status="done", outcome={"answers": answers})

    def _has_expired(self, activation):
        row = activation.row
        return row.outcome is not None and row.input.get("expires_at", activation.now + 1) <= activation.now

    def find_requests(self, row):
        """Return the request that a run waits for."""
        if "request" not in row.outcome:
            return []
        expires_at = row.input.get("expires_at")
        return [ApprovalRequest(tool="t", call_id="c", reason="r", id=row.outcome["request"], expires_at=expires_at)]

    def open_host(self, path, *, engine=None, **options):
        """Return a host with these runs."""
        options.setdefault("takeover_seconds", 0.5)
        build = None if engine is None else lambda: engine
        host = DurableHost(f"sqlite:///{path}/runs.sqlite", engine=build, **options)
        host.register("toy", self.activate, find_requests=self.find_requests)
        return host


class DurableShop:
    """An agent that pays two bills at once, and is done then. Its model knows the conversation only."""

    def __init__(self, path, *, mode="default", approvals=None, script=None, **options):
        self.paid = []
        self.path = path
        self.catalog = catalog = Catalog()

        @catalog.tool
        def pay(bill: str) -> str:
            """Pay a bill."""
            self.paid.append(bill)
            return f"{bill} is paid"

        self.script = script or [[ToolCall("pay", {"bill": "A"}, "a"), ToolCall("pay", {"bill": "B"}, "b")], "done"]
        provider = ScriptedProvider(itertools.repeat(self._reply))
        self.dispatcher = Dispatcher(catalog, permissions=Permissions(mode), approvals=approvals)
        self.agent = Agent(provider, self.dispatcher, **options)
        self.engine = LocalEngine()

    def _reply(self, request):
        reply = self.script[sum(isinstance(message, AssistantMessage) for message in request.messages)]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def open(self, **options):
        """Return the durable agent."""
        options.setdefault("takeover_seconds", 0.5)
        host = DurableHost(f"sqlite:///{self.path}/runs.sqlite", engine=lambda: self.engine, **options)
        return DurableAgent(self.agent, host)


def approve(run):
    """Return approvals for all that a run waits for."""
    return {request.id: Decision.approve(by="ada") for request in run.requests}


class FaultyJournal:
    """A journal whose methods raise the errors in *faults*, one for each call, before they work."""

    def __init__(self, journal):
        self._journal = journal
        self.faults = {}

    def __getattr__(self, name):
        method = getattr(self._journal, name)

        def call(*arguments, **options):
            if self.faults.get(name):
                error = self.faults[name].pop(0)
                if error is not None:
                    raise error
            return method(*arguments, **options)

        return call
