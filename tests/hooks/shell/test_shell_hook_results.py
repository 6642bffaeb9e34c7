"""Shell hooks after a call, at the start of an agent, at events, and many at once."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Annotated

import pytest

from tests.hooks.shell.bench import FAILURES
from toolkit.context import Secret
from toolkit.hooks import Halt, Proceed, ShellHook, ShellHooks
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


# After a call.


async def test_a_result_can_be_replaced(bench):
    """Text and value are the hook's; how the call ended is not."""
    result = await bench.dispatcher(bench.saying({"action": "replace", "result": {"n": 1}}, on="after")).call(
        "echo", {}
    )
    assert (result.kind, result.text, result.value, result.attempts) == ("ok", '{"n":1}', {"n": 1}, 1)


async def test_a_replaced_failure_stays_one(bench):
    """A hook may word it otherwise, and cannot call it a success."""
    result = await bench.dispatcher(bench.saying({"action": "replace", "result": "oh"}, on="after")).call("fail", {})
    assert (result.kind, result.text, result.error.message) == ("failed", "oh", "it broke")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("echo private >&2; exit 2", "denied"),
        ('echo \'{"action": "deny", "reason": "private"}\'', "denied"),
        ('echo \'{"action": "halt", "reason": "private"}\'', "halted"),
    ],
)
async def test_a_result_can_be_withheld(bench, command, kind):
    """The model does not get it, and is told that the tool ran."""
    result = await bench.dispatcher(ShellHook(on="after", command=command)).call("echo", {"text": "pw"})
    assert (result.kind, result.value, result.error.details) == (kind, None, {"ran": True})
    assert result.error.message.startswith("the tool ran, but a hook ")
    assert "private" in result.text
    assert "pw" not in result.text


async def test_a_withheld_result_of_a_call_that_never_ran_does_not_say_that_it_ran(bench):
    """It has only the reason of the hook."""
    hook = ShellHook(on="after", command="echo private >&2; exit 2")
    result = await bench.dispatcher(hook).call("echo", {"times": "x"})
    assert (result.error.message, result.error.details) == ("private", {"ran": False})


@pytest.mark.parametrize(
    ("command", "problem"),
    [*FAILURES.values(), ('echo \'{"action": "ask", "reason": "x"}\'', "write one of proceed, replace, deny, halt")],
    ids=[*FAILURES, "asks too late"],
)
async def test_a_failing_hook_keeps_the_result_and_is_reported(bench, caplog, command, problem):
    """The report is in the log and in the metadata of the result."""
    result = await bench.dispatcher(ShellHook(on="after", command=command)).call("echo", {"text": "yo"})
    (note,) = result.metadata["hooks"]
    assert (result.kind, result.text, result.value) == ("ok", "yo", "yo")
    assert (note["event"], note["hook"]) == ("after", "shell hook 1")
    assert problem in note["problem"]
    assert "shell hook 1 failed" in caplog.text


async def test_every_failure_is_reported(bench):
    """The hooks after one that failed run all the same, and a withheld result keeps the reports."""
    hooks = [ShellHook(on="after", command=f"exit {code}") for code in (3, 4, 2)]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert result.kind == "denied"
    assert [note["problem"] for note in result.metadata["hooks"]] == ["it exited with code 3", "it exited with code 4"]


async def test_a_tool_cannot_break_the_report(bench):
    """A value of the tool in the place of reports is replaced, and its other metadata stays."""

    @bench.catalog.tool
    async def odd() -> ToolResult:
        """Have odd metadata."""
        return ToolResult("x", metadata={"hooks": "none", "mine": 1})

    result = await bench.dispatcher(ShellHook(on="after", command="exit 1")).call("odd", {})
    assert (len(result.metadata["hooks"]), result.metadata["mine"]) == (1, 1)


async def test_a_result_that_waits_is_shown_and_left(bench):
    """A hook may read the result, and cannot lose the question."""
    hooks = [
        bench.saying({"action": "ask", "reason": "sure?"}),
        ShellHook(on="after", command="exit 2"),
        bench.noting(on="after"),
    ]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert (result.kind, result.request.reason) == ("waiting", "sure?")
    assert "neither replaced nor withheld" in result.metadata["hooks"][0]["problem"]
    assert bench.read_event()[0]["result"]["kind"] == "waiting"


async def test_a_result_that_is_too_long_for_a_hook_stays_unchanged_with_a_report(bench):
    result = await bench.dispatcher(ShellHook(on="after", command="true")).call(
        "echo", {"text": "x" * 1_000_000, "times": 17}
    )
    assert result.kind == "ok"
    assert "too long to be shown" in result.metadata["hooks"][0]["problem"]


# Where an agent starts.


async def test_agent_hooks_receive_the_session(bench):
    """The event has all that the agent says about itself."""
    hooks = ShellHooks([bench.noting(on="agent_start")])
    session = Session(id="s1", principal="ada")
    assert await hooks.agent_started(session, details={"model": "m"}) == Proceed()
    event, environ = bench.read_event()
    assert event == {
        "version": 1,
        "event": "agent_start",
        "session": "s1",
        "principal": "ada",
        "details": {"model": "m"},
    }
    assert (environ["HOOK_EVENT"], environ["HOOK_TOOL_NAME"]) == ("agent_start", "")
    assert await hooks.agent_started(principal="bob") == Proceed()
    assert (bench.read_event()[0]["session"], bench.read_event()[0]["principal"]) == (None, "bob")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo closed >&2; exit 2", "closed"),
        ('echo \'{"action": "halt", "reason": "closed"}\'', "closed"),
        ("exit 1", "shell hook 1 failed, so this was blocked: it exited with code 1"),
        ('echo \'{"action": "ask", "reason": "x"}\'', "write one of proceed, deny, halt"),
    ],
)
async def test_a_hook_can_halt_an_agent(command, reason):
    """The hook says so, or fails."""
    outcome = await ShellHooks([ShellHook(on="agent_start", command=command)]).agent_started()
    assert isinstance(outcome, Halt)
    assert reason in outcome.reason


async def test_an_agent_starts_though_a_hook_failed_that_may():
    """The hooks after it are asked."""
    hooks = [
        ShellHook(on="agent_start", command="exit 1", on_failure="allow"),
        ShellHook(on="agent_start", command="exit 2"),
    ]
    assert await ShellHooks(hooks[:1]).agent_started() == Proceed()
    assert isinstance(await ShellHooks(hooks).agent_started(), Halt)


# Events.


async def test_a_command_receives_the_event_that_a_person_is_asked(bench):
    """The event has the call, and the request as a person sees it."""
    bench.catalog.tool(name="sign", approval="always")(sign)
    hook = bench.noting(on="person_asked", tools="sign")
    result = await bench.dispatcher(hook).call("sign", {"paper": "deed", "key": "hunter2"}, id="c1")
    event, environ = bench.read_event()
    assert (event["event"], event["tool"], event["call_id"]) == ("person_asked", "sign", "c1")
    assert event["arguments"] == {"paper": "deed", "key": "[redacted]"}
    assert event["details"]["request"]["id"] == result.request.id
    assert "hunter2" not in json.dumps(event)
    assert (environ["HOOK_EVENT"], environ["HOOK_TOOL_NAME"]) == ("person_asked", "sign")


def sign(paper: str, key: Annotated[str, Secret]) -> str:
    """Sign a paper."""
    return paper


async def test_a_command_receives_the_end_of_a_call_of_an_unknown_tool(bench):
    """The event has the result, and its kind."""
    await bench.dispatcher(bench.noting(on="call_ended")).call("nope", {"a": 1})
    event = bench.read_event()[0]
    assert (event["tool"], event["arguments"], event["result"]["kind"]) == ("nope", {"a": 1}, "not_found")
    assert event["details"] == {"kind": "not_found", "error": None, "verdict": None}


async def test_a_command_for_other_tools_does_not_receive_an_event(bench):
    """The patterns hold for events too."""
    await bench.dispatcher(bench.noting(on="call_ended", tools="login")).call("echo", {})
    assert not (bench.folder / "told.json").exists()


@pytest.mark.parametrize(
    ("command", "problem"), [("exit 1", "it exited with code 1"), ("exit 2", "there is nothing to block any more")]
)
async def test_a_failure_at_an_event_is_reported(bench, caplog, command, problem):
    """It changes nothing, and later hooks still get the event."""
    result = await bench.dispatcher(ShellHook(on="call_ended", command=command), bench.noting(on="call_ended")).call(
        "echo", {}
    )
    assert (result.text, result.metadata) == ("hi", None)
    assert f"shell hook 1 failed: {problem}" in caplog.text.replace("it exited with code 2, and ", "")
    assert bench.read_event()[0]["event"] == "call_ended"


def test_hooks_without_events_are_not_listeners(bench):
    """So a call does not pay for events."""
    assert bench.dispatcher(ShellHook(on=["before", "after"], command="true")).settings.chain.listeners == ()


async def test_the_time_limit_of_a_command_counts_at_an_event(bench):
    """The limit of half a minute for other listeners does not cut it."""
    hooks = ShellHooks([ShellHook(on="call_ended", command="true", timeout_seconds=600)])
    assert hooks.event_seconds > 600


# Many hooks at once, and calls that were cancelled.


async def test_hooks_of_several_calls_run_beside_one_another(bench):
    """Each waits until all have started, so one after the other would never end."""
    script = "touch $$.here; while [ $(ls *.here | wc -l) -lt 8 ]; do sleep 0.01; done"
    hook = ShellHook(on="before", command=script, cwd=bench.folder, timeout_seconds=60)
    dispatcher = bench.dispatcher(hook)
    results = await asyncio.gather(*(dispatcher.call("echo", {}) for _ in range(8)))
    assert {result.kind for result in results} == {"ok"}


async def test_a_cancelled_call_ends_its_hook(bench):
    """The whole group; the pipe that its members hold open closes when the last of them is gone."""
    fifo = bench.folder / "alive"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    hook = ShellHook(on="before", command="exec >alive; echo up; sleep 600 & sleep 600", cwd=bench.folder)
    call = asyncio.ensure_future(bench.dispatcher(hook).call("echo", {}))
    await until_readable(reader)
    assert os.read(reader, 10) == b"up\n"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_readable(reader)
    assert os.read(reader, 10) == b""
    os.close(reader)
    assert bench.ran == []


async def until_readable(file: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(file, ready.set)
    async with asyncio.timeout(20):
        await ready.wait()
    loop.remove_reader(file)


async def test_a_deadline_of_the_dispatcher_ends_a_hook(bench):
    """The call's own time counts also while a hook runs."""
    hook = ShellHook(on="before", command="exec sleep 600")
    result = await bench.dispatcher(hook).call("echo", {}, timeout_seconds=0.1)
    assert (result.kind, bench.ran) == ("timeout", [])


def test_hooks_run_for_calls_without_a_loop(bench):
    """`call_sync` has a loop of its own."""
    result = bench.dispatcher(ShellHook(on="before", command="exit 2")).call_sync("echo", {})
    assert result.kind == "denied"
