"""A step whose thread goes on after its caller has gone is waited for, and not refused."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.durable.kit import LocalEngine
from tests.flows.kit import Built, Part
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow

pytestmark = pytest.mark.anyio


class Workshop:
    """A flow whose only step stays in its thread at the first attempt, until `gate` is set."""

    def __init__(self, **dispatcher_options):
        self.began, self.gate, self.log = threading.Event(), threading.Event(), []
        dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), cleanup_seconds=0.01, **dispatcher_options)
        self.flow = Flow("workshop", dispatcher=dispatcher)

        @self.flow.step(idempotent=True)
        def build(part: Part) -> Built:
            self.log.append("begin")
            if len(self.log) == 1:
                self.began.set()
                self.gate.wait()
            self.log.append("end")
            return Built(part.number)

    async def cancel_first_run(self, host):
        """Start a run, cancel it while its step is in a thread, and let the thread go on."""
        task = asyncio.create_task(self.flow.run(Part(1), host, id="r"))
        await asyncio.to_thread(self.began.wait)
        task.cancel()
        await asyncio.wait({task})


async def test_a_run_that_is_continued_waits_for_the_thread_of_its_step(tmp_path):
    """The step is run again when the thread has ended, and the story of the run says that it was given back."""
    shop = Workshop()
    async with DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine) as host:
        await shop.cancel_first_run(host)
        again = asyncio.create_task(shop.flow.run(Part(1), host, id="r"))
        await asyncio.wait({again}, timeout=0.05)
        shop.gate.set()
        assert await again == Built(1)
        assert "the process gave the run back" in [str(event) for event in await shop.flow.replay("r", host)]
    assert shop.log == ["begin", "end", "begin", "end"]


async def test_a_thread_that_does_not_end_is_not_waited_for_longer_than_a_call_may_take(tmp_path):
    """The flow fails, and says why."""
    shop = Workshop(timeout_seconds=0.1)
    try:
        async with DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine) as host:
            await shop.cancel_first_run(host)
            outcome = await shop.flow.run(Part(1), host, id="r")
    finally:
        shop.gate.set()
    assert isinstance(outcome, Failed)
    assert "the same call still runs" in outcome.problems[0]
