"""
The sync methods of an agent, for scripts, notebooks and web servers without an event loop.
"""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent
from toolkit.agent.events import Done
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.providers import ScriptedProvider


def test_an_agent_runs_and_resumes_in_a_sync_program():
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."])
    waiting = agent.run_sync("Cut some oak.")
    assert waiting.status == "waiting"
    done = agent.resume_sync(waiting, {waiting.requests[0].id: Decision.approve(by="ada")})
    assert (done.text, shed.done, agent.last_run) == ("Done.", ["cut oak"], done)


def test_run_sync_continues_the_conversation_of_a_run():
    agent = Shed().agent(["Hello.", "Still here."])
    first = agent.run_sync("Hi.")
    assert agent.run_sync("And?", run=first).text == "Still here."


def test_execute_sync_carries_out_a_plan():
    """A sync program can leave plan mode too."""
    shed = Shed()
    agent = shed.agent([[call("exit_plan", plan="Cut oak.")], [call("cut", wood="oak")], "Done."], mode="plan")
    planned = agent.run_sync("We need oak.")
    assert (planned.status, shed.done) == ("planned", [])
    assert agent.execute_sync(planned, mode="auto").text == "Done."
    assert shed.done == ["cut oak"]


@pytest.mark.anyio
async def test_run_sync_works_in_a_running_loop():
    """README snippets work in a notebook, where the thread has a loop that runs."""
    shed, loop = Shed(), asyncio.get_running_loop()
    agent = shed.agent([[call("cut", wood="oak")], "Done."])
    waiting = agent.run_sync("Cut some oak.")
    assert agent.resume_sync(waiting, {waiting.requests[0].id: Decision.approve()}).text == "Done."
    assert asyncio.get_running_loop() is loop


def test_tools_of_a_sync_run_may_run_in_the_thread_of_the_caller():
    """`thread="caller"` holds for `run_sync` as for `call_sync`; listeners hear of it in the loop's thread."""
    catalog, threads, events = Catalog(), [], []

    @catalog.tool(read_only=True, thread="caller")
    def look() -> str:
        """Look."""
        threads.append(threading.current_thread())
        return "seen"

    provider = ScriptedProvider([[call("look"), call("look")], [call("look")], "Done."])
    agent = Agent(
        provider, Dispatcher(catalog), on_event=lambda event: events.append((event, threading.current_thread()))
    )
    assert agent.run_sync("Look.").text == "Done."
    assert threads == [threading.current_thread()] * 3
    assert isinstance(events[-1][0], Done)
    assert events[-1][1] is not threading.current_thread()


def test_a_sync_run_in_the_background_loop_is_refused():
    """A tool that starts a run on the loop that it runs in would wait for itself."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def ask() -> str:
        """Ask the agent."""
        return agent.run_sync("And you?").text

    agent = Agent(ScriptedProvider([[call("ask")], "Done."]), Dispatcher(catalog))
    (result,) = results_of(agent.run_sync("Ask."))
    assert "await the method without `_sync`" in result.text
