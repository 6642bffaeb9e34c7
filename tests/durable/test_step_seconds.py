"""The time that a run has used is that of the clock on the wall, however many steps run at once."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.durable.kit import LocalEngine
from toolkit.agent import Agent, Budget
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable import DurableAgent, DurableHost
from toolkit.durable.journal.records import StepRow
from toolkit.durable.journal_steps import measure_steps
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall

ticks = st.integers(0, 40)


@given(st.lists(st.tuples(ticks, ticks), max_size=6))
def test_each_second_counts_once(intervals):
    """The sum is the number of seconds in which a step was under way; a step that has only begun does not count."""
    steps = [
        StepRow(key=str(place), epoch=1, state="done", seconds=float(length), finished_at=float(began_at + length))
        for place, (began_at, length) in enumerate(intervals)
    ]
    covered = {second for began_at, length in intervals for second in range(began_at, began_at + length)}
    assert measure_steps([*steps, StepRow(key="b", epoch=1, state="began")]) == len(covered)


@pytest.mark.anyio
async def test_calls_at_the_same_time_do_not_use_up_the_budget(tmp_path):
    """An approved call runs, if the time of the run is not over by the clock on the wall."""
    catalog = Catalog()
    catalog.tool(lambda: "seen", name="look", description="Look.", read_only=True)
    catalog.tool(lambda: "paid", name="pay", description="Pay.", destructive=True)
    script = [[ToolCall("look", {}, f"c{place}") for place in range(8)], [ToolCall("pay", {}, "p")], "done"]

    def reply(request):
        return script[sum(isinstance(message, AssistantMessage) for message in request.messages)]

    dispatcher = Dispatcher(catalog, permissions=Permissions("default"))
    agent = Agent(ScriptedProvider(itertools.repeat(reply)), dispatcher, budget=Budget(seconds=60))
    host = DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine)
    async with DurableAgent(agent, host) as durable:
        run = await durable.run("go", id="a")
        journal = host._journal
        row = journal.activate("a", worker="w", now=50.0, max_lives=9)
        for place in range(8):  # steps that have taken 10 seconds each, at the same time
            journal.finish("a", row.epoch, f"a/other/{place}", {}, seconds=10.0, now=50.0)
        journal.end("a", row.epoch, "waiting", row.outcome, used_decisions=[], now=51.0)
        run = await durable.resume("a", {request.id: Decision.approve() for request in run.requests})
    assert (run.status, run.messages[-2].results[0].text) == ("done", "paid")
    assert 10 <= run.spent.seconds < 60
