"""
Runs without an answer: `unwrap` raises with the reason, and reading `text` warns once.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.agent.kit import Shed, call
from toolkit.agent import NoAnswer, Run
from toolkit.agent.saved.missing_answers import explain_missing_answer
from toolkit.agent.saved.runs import Status
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.errors import ProviderError, ToolkitError
from toolkit.providers import AnthropicProvider

pytestmark = pytest.mark.anyio


async def test_unwrap_returns_the_text():
    """`run.unwrap()` returns the text or raises with the reason."""
    run = await Shed().agent(["Three."]).run("How many?")
    assert run.unwrap() == run.text == "Three."


async def test_unwrap_of_a_failed_run_raises_with_the_reason_and_the_cause():
    """`run.unwrap()` returns the text or raises with the reason."""
    run = await Shed().agent([ProviderError("overloaded")]).run("How many?")
    with pytest.raises(NoAnswer, match=r"^the run failed: overloaded; mend that, .*`agent\.run\(run=run\)`$") as raised:
        run.unwrap()
    assert raised.value.__cause__ is run.error
    assert (raised.value.status, raised.value.reason) == ("failed", "overloaded")
    assert isinstance(raised.value, ToolkitError)


async def test_unwrap_of_a_loaded_run_raises_without_a_cause():
    """The exception of a run is not saved, but its reason is."""
    run = await Shed().agent([ProviderError("overloaded")]).run("How many?")
    with pytest.raises(NoAnswer, match="overloaded") as raised:
        Run.loads(run.dumps()).unwrap()
    assert raised.value.__cause__ is None


async def test_unwrap_of_a_waiting_run_names_the_requests_and_how_to_answer():
    """`run.unwrap()` raises a clear exception that names the open requests and the remedy."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Cut."])
    run = await agent.run("go")
    with pytest.raises(NoAnswer) as raised:
        run.unwrap()
    assert raised.value.requests == run.requests
    for part in (
        run.requests[0].id,
        "`cut`",
        run.requests[0].reason,
        "agent.resume(run, {request_id:",
        "`durable.resume(id, ...)`",
    ):
        assert part in str(raised.value)
    resumed = await agent.resume(run, {raised.value.requests[0].id: Decision.approve()})
    assert resumed.unwrap() == "Cut."


async def test_unwrap_of_a_stopped_run_names_the_reason():
    """`run.unwrap()` raises an exception that names the ending."""
    run = await Shed().agent([[call("look", what="oak")]] * 2, max_turns=1).run("go")
    with pytest.raises(NoAnswer, match=r"the run was stopped \(turns\): the budget of 1 .*`max_turns`"):
        run.unwrap()


async def test_unwrap_of_a_planned_run_names_the_plan():
    """A plan is not an answer."""
    run = await Shed().agent(["Cut oak."], mode="plan").run("go")
    with pytest.raises(NoAnswer, match=r"has planned.*`run\.plan`.*`agent\.execute\(run\)`"):
        run.unwrap()


@pytest.mark.parametrize("status", ["failed", "waiting", "stopped", "planned"])
def test_every_ending_has_a_remedy(status: Status):
    """Every message says what to do."""
    requests = [ApprovalRequest(tool=f"t{number}", call_id="c", reason="why") for number in range(9)]
    text = explain_missing_answer(status, None, "x" * 5_000, requests if status == "waiting" else ())
    assert "`agent." in text
    assert len(text) < 2_000


async def test_the_text_of_a_failed_run_warns_once(caplog):
    """A failed or waiting run whose `text` is read logs a warning once."""
    run = await Shed().agent([ProviderError("overloaded")]).run("How many?")
    with caplog.at_level(logging.WARNING, logger="toolkit"):
        assert repr(run)
        assert caplog.records == []
        assert (run.text, run.text) == ("", "")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "overloaded" in caplog.text
    assert replace(run, status="done").text == ""


async def test_the_text_of_a_waiting_run_warns_once(caplog):
    """A failed or waiting run whose `text` is read logs a warning once."""
    run = await Shed().agent([[call("cut", wood="oak")]]).run("go")
    assert (run.text, run.text) == ("", "")
    assert len(caplog.records) == 1
    assert run.requests[0].id in caplog.text


@pytest.mark.parametrize(("script", "warnings"), [(["Three."], 0), ([""], 0), ([[call("look", what="oak")]], 1)])
async def test_reading_the_text_of_a_run_warns_only_if_the_run_has_no_answer(script, warnings, caplog):
    """An answer may be empty; a run that was stopped without a word has none."""
    run = await Shed().agent(script, max_turns=1).run("go")
    assert isinstance(run.text, str)
    assert len(caplog.records) == warnings


async def test_a_missing_key_is_named_where_the_text_is_read(caplog, monkeypatch):
    """Without an API key, reading `run.text` must not give an empty text silently."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    shed = Shed()
    agent = shed.agent([])
    agent._options = replace(agent._options, provider=AnthropicProvider("claude-sonnet-4-5"))
    run = await agent.run("go")
    with pytest.raises(NoAnswer, match="set ANTHROPIC_API_KEY"):
        run.unwrap()
    assert run.text == ""
    assert "set ANTHROPIC_API_KEY" in caplog.text


@pytest.mark.long
def test_a_program_without_a_key_reports_the_missing_key_on_standard_error():
    """It must not print an empty line and exit with 0."""
    program = (
        "import asyncio\n"
        "from toolkit import Agent\n"
        "from toolkit.providers import AnthropicProvider\n"
        "run = asyncio.run(Agent(AnthropicProvider('claude-sonnet-4-5'), []).run('hi'))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}

    def start(last_line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program + last_line], env=environment, capture_output=True, text=True, check=False
        )

    printed = start("print(run.text)")
    assert "set ANTHROPIC_API_KEY" in printed.stderr
    unwrapped = start("print(run.unwrap())")
    assert unwrapped.returncode == 1
    assert "set ANTHROPIC_API_KEY" in unwrapped.stderr.splitlines()[-1]
