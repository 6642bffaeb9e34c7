"""Texts of results that were cut, and jobs in the background, after the process of a run has ended."""

from __future__ import annotations

import itertools

import pytest

from toolkit import Agent, Catalog, Decision, Dispatcher, Permissions, Session, ToolCall
from toolkit.builtin import job_output_for
from toolkit.calls.kept_outputs import output_memory
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, ScriptedProvider
from toolkit.steps import session_changes
from toolkit.steps.session_changes import apply_changes, describe_changes, read_state

pytestmark = pytest.mark.anyio


def play(script):
    return lambda request: script[sum(isinstance(message, AssistantMessage) for message in request.messages)](request)


def build_agent(catalog, script):
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), max_chars=1000)
    return Agent(ScriptedProvider(itertools.repeat(play(script))), dispatcher)


async def run_in_two_processes(tmp_path, build, id="r"):
    """Run until a person has to answer, and go on in another process; return the run."""
    tmp_path.chmod(0o700)
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    async with DurableAgent(build(), database) as durable:
        run = await durable.run("go", id=id)
        assert run.status == "waiting"
    async with DurableAgent(build(), database) as durable:
        return await durable.resume(id, {request.id: Decision.approve() for request in run.requests})


async def test_read_output_reads_a_text_of_an_earlier_process(tmp_path):
    def build():
        catalog = Catalog()

        @catalog.tool(read_only=True)
        def look() -> str:
            """Look at much."""
            return "\n".join(f"line {number}" for number in range(2000))

        @catalog.tool(destructive=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        def read_on(request):
            text = request.messages[2].results[0].text
            handle = text.partition('handle="')[2].partition('"')[0]
            return [ToolCall("read_output", {"handle": handle, "offset": -50}, "c3")]

        script = [
            lambda request: [ToolCall("look", {}, "c1")],
            lambda request: [ToolCall("pay", {}, "c2")],
            read_on,
            lambda request: request.messages[-1].results[0].text,
        ]
        return build_agent(catalog, script)

    run = await run_in_two_processes(tmp_path, build)
    assert "line 1999" in run.text


async def test_job_output_says_that_a_job_ended_with_its_process(tmp_path):
    def build():
        catalog = Catalog(job_output_for())

        @catalog.tool(background=True)
        async def serve() -> str:
            """Serve."""
            return "served"

        @catalog.tool(destructive=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        script = [
            lambda request: [ToolCall("serve", {"background": True}, "c1")],
            lambda request: [ToolCall("pay", {}, "c2")],
            lambda request: [ToolCall("job_output", {"job": "job_1"}, "c3")],
            lambda request: request.messages[-1].results[0].text,
        ]
        return build_agent(catalog, script)

    run = await run_in_two_processes(tmp_path, build)
    assert "job_1 ended with its process" in run.text


def keep(session, text):
    return output_memory.keep(session, text, tool="look", max_chars=100, principal="ada")


def test_texts_in_records_are_limited(monkeypatch):
    monkeypatch.setattr(session_changes, "_MAX_TEXT_BYTES", 1000)
    monkeypatch.setattr(session_changes, "_MAX_RUN_BYTES", 2500)
    session, other = Session(), Session()
    handles = [keep(session, f"{number}" * 3000) for number in range(4)]
    changes = describe_changes(None, read_state(session))
    apply_changes(changes, other)
    outputs = [output_memory.find(other, handle, "ada") for handle in handles]
    assert [None if output is None else len(output.text) for output in outputs] == [None, 500, 1000, 1000]
    assert outputs[-1].total_chars == 3000
    assert output_memory.find(other, handles[-1], "bob") is None
    # What records have counts for the whole run.
    keep(other, "x" * 3000)
    before = read_state(other)
    keep(other, "y" * 3000)
    assert "outputs" not in describe_changes(before, read_state(other))
