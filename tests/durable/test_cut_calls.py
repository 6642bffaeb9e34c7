"""An approved call that is cut off in good order goes by its journal, as one whose process was killed."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.durable.kit import LocalEngine
from toolkit.agent import Agent
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable import DurableAgent, DurableHost
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


class Bench:
    """A durable agent that calls one tool, with a person's approval, and is held at *place* until it is cut off."""

    def __init__(self, path, place, **facts):
        self.begun = []
        self.is_held = asyncio.Event()
        self.held_place = place
        self.is_armed = False
        catalog = Catalog()

        @catalog.tool(name="put", approval="always", **facts)
        async def put(bill: str) -> str:
            """Put a bill somewhere."""
            self.begun.append(bill)
            await self._hold("tool")
            return f"put {bill}"

        def reply(request):
            has_called = any(isinstance(message, AssistantMessage) for message in request.messages)
            return "done" if has_called else [ToolCall("put", {"bill": "A"}, "c")]

        bench = self

        class Hook:
            async def around(self, call, run):
                await bench._hold("hook")
                return await run()

        dispatcher = Dispatcher(catalog, permissions=Permissions("default"), hooks=[Hook()])
        agent = Agent(ScriptedProvider(itertools.repeat(reply)), dispatcher)
        engine = LocalEngine()
        self.durable = DurableAgent(agent, DurableHost(f"sqlite:///{path}/runs.sqlite", engine=lambda: engine))

    async def _hold(self, place):
        if place == self.held_place and self.is_armed:
            self.is_held.set()
            await asyncio.Event().wait()

    async def cut_off(self, how, **edits):
        """Approve the call, perhaps with *edits*, cut it off at the place, go on with the run, and return the call's result."""
        async with self.durable as durable:
            waiting = await durable.run("go", id="a")
            self.is_armed = True
            decisions = {request.id: Decision.approve(by="ada", **edits) for request in waiting.requests}
            task = asyncio.ensure_future(durable.resume("a", decisions))
            await self.is_held.wait()
            if how == "caller":
                task.cancel()
            else:
                await durable.cancel("a")
            await asyncio.wait({task})
            self.is_armed = False
            if how == "run":
                await durable.retry("a")
            run = await durable.run("go", id="a")
            assert run.status == "done"
            return run.messages[-2].results[0]


@pytest.mark.parametrize("how", ["caller", "run"])
async def test_an_approved_call_that_never_began_runs(tmp_path, how, caplog):
    """A call that is cut off before its tool runs keeps its approval, and runs once."""
    bench = Bench(tmp_path, "hook", destructive=True)
    result = await bench.cut_off(how)
    assert (result.kind, result.text, bench.begun) == ("ok", "put A", ["A"])
    assert "taken over" not in caplog.text


@pytest.mark.parametrize("how", ["caller", "run"])
@pytest.mark.parametrize("facts", [{"idempotent": True}, {"read_only": True}])
async def test_an_approved_call_that_may_be_repeated_runs_again(tmp_path, facts, how):
    """A tool that may run twice runs again, and its result says nothing of "maybe"."""
    bench = Bench(tmp_path, "tool", **facts)
    result = await bench.cut_off(how)
    assert (result.kind, result.text, bench.begun) == ("ok", "put A", ["A", "A"])


@pytest.mark.parametrize("how", ["caller", "run"])
async def test_an_approved_call_that_may_not_be_repeated_does_not_run_again(tmp_path, how):
    """Its result says that it may have happened."""
    bench = Bench(tmp_path, "tool", destructive=True)
    result = await bench.cut_off(how)
    assert (result.kind, bench.begun) == ("failed", ["A"])
    assert "may or may not have happened" in result.text


@pytest.mark.parametrize("how", ["caller", "run"])
async def test_the_model_reads_which_edited_call_may_have_happened(tmp_path, how):
    """The model has sent other arguments than those that the tool got."""
    bench = Bench(tmp_path, "tool", destructive=True)
    result = await bench.cut_off(how, arguments={"bill": "B"})
    assert bench.begun == ["B"]
    assert result.text.startswith('note: ada changed the arguments: `bill` is "B" (was "A")\nerror: ')
    assert "may or may not have happened" in result.text
    assert result.metadata["edits"] == [{"by": "ada", "before": {"bill": "A"}, "after": {"bill": "B"}}]
