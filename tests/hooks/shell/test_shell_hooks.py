"""
Shell hooks around real calls: what they are shown, what they may say, and what their failure does.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.hooks import Deny, Halt, Proceed, ShellHook, ShellHooks
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


class Bench:
    """A catalog whose tools note that they ran, and a folder for what hooks write down."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.ran: list[object] = []
        self.catalog = Catalog()

        @self.catalog.tool(aliases=["say"], group="talk")
        async def echo(text: str = "hi", times: int = 1) -> str:
            """Say it."""
            self.ran.append((text, times))
            return text * times

        @self.catalog.tool
        async def login(user: str, api_key: Annotated[str, Secret]) -> str:
            """Log in, and quote the key."""
            self.ran.append((user, api_key))
            return f"{user}:{api_key}"

        @self.catalog.tool
        async def fail() -> str:
            """Fail."""
            raise ToolError("it broke")

    def dispatcher(self, *hooks, **options) -> Dispatcher:
        return Dispatcher(self.catalog, hooks=[ShellHooks(hooks)], **options)

    def hook(self, code: str, **options) -> ShellHook:
        """A hook in Python; `event` is what it was told."""
        source = f"import json, os, sys\nevent = json.load(sys.stdin)\n{code}"
        return ShellHook(**{"on": "before", "command": [sys.executable, "-Ic", source], "cwd": self.folder, **options})

    def saying(self, answer: object, **options) -> ShellHook:
        """A hook that prints *answer* as JSON."""
        return self.hook(f"print({json.dumps(json.dumps(answer))})", **options)

    def noting(self, **options) -> ShellHook:
        """A hook that writes down what it was told, with its environment."""
        return self.hook("json.dump([event, dict(os.environ)], open('told.json', 'w'))", **options)

    def told(self):
        return json.loads((self.folder / "told.json").read_text())


@pytest.fixture
def bench(tmp_path):
    """Tools that did not run yet."""
    return Bench(tmp_path)


# What a hook is shown.


async def test_the_call_is_on_standard_input(bench):
    """A version, the event, the tool by its own name, the arguments, and where the call belongs."""
    session = Session(id="s1", principal="ada")
    await bench.dispatcher(bench.noting()).call("say", {"text": "yo"}, id="c1", session=session)
    event, environ = bench.told()
    assert event == {
        "version": 1,
        "event": "before",
        "tool": "echo",
        "arguments": {"text": "yo"},
        "call_id": "c1",
        "session": "s1",
        "principal": "ada",
    }
    assert (environ["HOOK_EVENT"], environ["HOOK_TOOL_NAME"]) == ("before", "echo")


async def test_after_a_call_the_result_is_shown_too(bench):
    """In the form that `ToolResult.from_json` reads."""
    await bench.dispatcher(bench.noting(on="after")).call("echo", {"text": "yo"})
    result = ToolResult.from_json(bench.told()[0]["result"])
    assert (result.kind, result.text, result.tool, result.attempts) == ("ok", "yo", "echo", 1)


async def test_the_environment_is_small(bench, monkeypatch):
    """Ours is not handed on, except for what is named."""
    monkeypatch.setenv("TOKEN_A", "a")
    monkeypatch.setenv("TOKEN_B", "b")
    monkeypatch.setenv("PATH", f".:{sys.prefix}/bin::bin:/usr/bin:/bin")
    await bench.dispatcher(bench.noting(env=["TOKEN_B", "TOKEN_C"])).call("echo", {})
    environ = bench.told()[1]
    assert environ["TOKEN_B"] == "b"
    assert not {"TOKEN_A", "TOKEN_C"} & environ.keys()
    assert environ["PATH"] == f"{sys.prefix}/bin:/usr/bin:/bin"


async def test_a_secret_is_masked_before_a_call(bench):
    """The command sees that there is one, and not what it is; the tool gets it."""
    result = await bench.dispatcher(bench.noting()).call("login", {"user": "ada", "api_key": "s3cr3t"})
    assert bench.told()[0]["arguments"] == {"user": "ada", "api_key": "[redacted]"}
    assert result.kind == "ok"
    assert bench.ran == [("ada", "s3cr3t")]


async def test_a_secret_is_masked_in_the_result_that_a_hook_sees(bench):
    """The tool quoted it; the command must not read it there."""
    await bench.dispatcher(bench.noting(on="after")).call("login", {"user": "ada", "api_key": "s3cr3t"})
    event = bench.told()[0]
    assert event["result"]["text"] == "ada:[redacted]"
    assert "s3cr3t" not in json.dumps(event)


@pytest.mark.parametrize(
    "arguments",
    ['{"user": "ada", "api_key": "s3cr3t"', {"user": 3, "API-Key": "s3cr3t", "x": 1}, ["s3cr3t"]],
    ids=["not JSON", "nearly named", "no object"],
)
async def test_a_secret_in_refused_arguments_is_masked(bench, arguments):
    """What was refused is shown after the call, and may hold the secret all the same."""
    result = await bench.dispatcher(bench.noting(on="after")).call("login", arguments)
    assert result.kind == "bad_args"
    assert "s3cr3t" not in json.dumps(bench.told()[0])


async def test_a_mask_that_comes_back_stands_for_the_secret(bench):
    """A hook that changes one argument and hands back the others does not lose the key."""
    hook = bench.hook(
        "event['arguments']['user'] = 'bob'; print(json.dumps(dict(action='modify', arguments=event['arguments'])))"
    )
    await bench.dispatcher(hook).call("login", {"user": "ada", "api_key": "s3cr3t"})
    assert bench.ran == [("bob", "s3cr3t")]


async def test_a_name_that_no_tool_has_cannot_break_the_environment(bench):
    """The model made it up; it is shown, and no hook fails because of it."""
    result = await bench.dispatcher(bench.noting(on="after")).call("no\0such\ntool\ud800" + "x" * 300_000, {})
    event, environ = bench.told()
    assert (result.kind, result.metadata) == ("not_found", None)
    assert event["tool"].startswith("no\0such\ntool?x")
    assert environ["HOOK_TOOL_NAME"].startswith("no\\x00such\\ntool\\ud800x")


async def test_arguments_without_a_bottom_do_not_lose_the_result(bench):
    """They were refused, and what the hook is shown of them ends somewhere."""
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    result = await bench.dispatcher(bench.noting(on="after")).call("echo", {"text": deep})
    assert (result.kind, result.metadata) == ("bad_args", None)
    assert bench.told()[0]["arguments"].keys() == {"text"}


def deepest():
    """As deep as arguments may be."""
    value: object = 1
    for _ in range(62):
        value = [value]
    return value


async def test_arguments_as_deep_as_they_may_be_are_shown_whole(bench):
    """Nothing is cut from what is going to run."""

    @bench.catalog.tool
    async def take(value: object) -> str:
        """Take anything."""
        return "taken"

    result = await bench.dispatcher(bench.noting()).call("take", {"value": deepest()})
    assert (result.text, bench.told()[0]["arguments"]["value"]) == ("taken", deepest())


# Which tools.


@pytest.mark.parametrize("tools", ["echo", "say", "e?ho", ["x", "sa*"], "*", "group:talk", "python/echo"])
async def test_every_name_of_a_tool_counts(bench, tools):
    """Its own and its aliases, with wildcards; and its group and origin, as in rules."""
    result = await bench.dispatcher(ShellHook(on="before", tools=tools, command="exit 2")).call("echo", {})
    assert result.kind == "denied"


@pytest.mark.parametrize("tools", ["echo", "say"])
async def test_a_hook_follows_a_tool_that_was_renamed(bench, tools):
    """Every name it had before still counts."""
    catalog = Catalog(bench.catalog["echo"].renamed("shout"))
    hooks = ShellHooks([ShellHook(on="before", tools=tools, command="exit 2")])
    result = await Dispatcher(catalog, hooks=[hooks]).call("shout", {})
    assert result.kind == "denied"


async def test_a_name_that_the_catalog_gave_counts_when_it_is_called(bench):
    """The tool does not know of it, and the call does."""
    bench.catalog.alias("parrot", "echo")
    result = await bench.dispatcher(ShellHook(on="before", tools="parrot", command="exit 2")).call("parrot", {})
    assert result.kind == "denied"


@pytest.mark.parametrize("tools", ["ech", "Echo", "group:files", "mcp:x/echo", "fail"])
async def test_other_tools_are_left_alone(bench, tools):
    """The command does not run for them."""
    hooks = ShellHooks([ShellHook(on=["before", "after"], tools=tools, command="exit 2")])
    result = await Dispatcher(bench.catalog, hooks=[hooks]).call("echo", {})
    assert result.kind == "ok"


# What it may say before a call.


async def test_exit_0_proceeds(bench):
    """Whatever it says on its standard error."""
    result = await bench.dispatcher(ShellHook(on="before", command="echo noise >&2")).call("echo", {})
    assert (result.kind, result.text) == ("ok", "hi")


async def test_exit_2_blocks_with_stderr_as_the_reason(bench):
    """And what it printed does not count."""
    hook = ShellHook(on="before", command="echo '{\"action\": \"proceed\"}'; echo 'not on Sundays' >&2; exit 2")
    result = await bench.dispatcher(hook).call("echo", {})
    assert (result.kind, result.error.message, bench.ran) == ("denied", "not on Sundays", [])


async def test_a_block_without_a_reason_says_so(bench):
    """The model is not left with an empty message."""
    result = await bench.dispatcher(ShellHook(on="before", command="exit 2")).call("echo", {})
    assert result.error.message == "a hook refused it, and gave no reason"


@pytest.mark.parametrize(
    ("answer", "kind", "text", "ran"),
    [
        ({"action": "proceed"}, "ok", "hi", [("hi", 1)]),
        ({"action": "modify", "arguments": {"text": "yo", "times": 2}}, "ok", "yoyo", [("yo", 2)]),
        ({"action": "deny", "reason": "no"}, "denied", "denied: no", []),
        ({"action": "halt", "reason": "stop"}, "halted", "halted: stop", []),
        ({"action": "replace", "result": {"a": [1]}}, "ok", '{"a":[1]}', []),
        ({"action": "ask", "reason": "sure?"}, "waiting", "sure?", []),
    ],
    ids=lambda each: each.get("action") if isinstance(each, dict) else "",
)
async def test_an_action_does_what_it_says(bench, answer, kind, text, ran):
    """As the outcome of the same name does."""
    result = await bench.dispatcher(bench.saying(answer)).call("echo", {})
    assert (result.kind, bench.ran) == (kind, ran)
    assert text in result.text


async def test_modified_arguments_are_checked_again(bench):
    """A hook cannot have run what the schema refuses."""
    result = await bench.dispatcher(bench.saying({"action": "modify", "arguments": {"times": "x"}})).call("echo", {})
    assert (result.kind, bench.ran) == ("internal", [])


async def test_hooks_run_in_order_and_see_what_earlier_ones_did(bench):
    """The second is shown the arguments that the first made."""
    hooks = [bench.saying({"action": "modify", "arguments": {"text": "yo"}}), bench.noting()]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert (result.text, bench.told()[0]["arguments"]) == ("yo", {"text": "yo"})


async def test_a_denial_keeps_later_hooks_from_running(bench):
    """There is nothing left to judge."""
    await bench.dispatcher(ShellHook(on="before", command="exit 2"), bench.noting()).call("echo", {})
    assert not (bench.folder / "told.json").exists()


async def test_several_reasons_to_ask_are_all_told(bench):
    """No question is lost."""
    hooks = [bench.saying({"action": "ask", "reason": reason}, source="x") for reason in ("first", "second")]
    result = await bench.dispatcher(*hooks, approvals=Approvals(MemoryApprovals())).call("echo", {})
    assert result.request.reason == "first; second"


@pytest.mark.parametrize(
    "other",
    [{"action": "modify", "arguments": {"text": "yo"}}, {"action": "replace", "result": 1}],
    ids=["modify", "replace"],
)
async def test_what_cannot_be_said_at_once_is_refused(bench, other):
    """An ask is never lost; the message says how to have both."""
    hooks = [bench.saying({"action": "ask", "reason": "sure?"}), bench.saying(other)]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "hooks=[*shell_hooks]" in result.error.message


async def test_hooks_given_one_by_one_change_and_ask(bench):
    """What a person sees is what the other hook made of it."""
    ask, change = {"action": "ask", "reason": "sure?"}, {"action": "modify", "arguments": {"text": "yo"}}
    hooks = ShellHooks([bench.saying(ask), bench.saying(change)])
    result = await Dispatcher(bench.catalog, hooks=[*hooks]).call("echo", {})
    assert (result.kind, result.request.arguments["text"]) == ("waiting", "yo")


# Failure before a call.

FAILURES = {
    "exits otherwise": ("exit 3", "it exited with code 3"),
    "crashes": ("kill -SEGV $$", "it was ended by SIGSEGV"),
    "prints nonsense": ("echo all good", "what it printed cannot be read"),
    "prints binary": (r"printf '\377\000\376'", "not UTF-8"),
    "is not there": ("/no/such/program", "it exited with code 127"),
    "is not there, as a list": (
        ["/no/such/program"],
        "it could not be started (No such file or directory: /no/such/program)",
    ),
    "is not executable": (["/etc/passwd"], "it could not be started (Permission denied: /etc/passwd)"),
    "unknown action": ('echo \'{"action": "denny"}\'', "did you mean `deny`?"),
}


@pytest.mark.parametrize(("command", "problem"), FAILURES.values(), ids=FAILURES)
async def test_a_failing_hook_blocks(bench, caplog, command, problem):
    """The call does not run; the model is told why, and the user is told how to mend it."""
    result = await bench.dispatcher(ShellHook(on="before", command=command)).call("echo", {})
    assert (result.kind, bench.ran) == ("denied", [])
    assert problem in result.error.message
    assert result.error.message.startswith("shell hook 1 failed, so this was blocked: ")
    assert 'on_failure = "allow"' in result.error.message
    assert [record.name for record in caplog.records] == ["toolkit.hooks"]


@pytest.mark.parametrize(("command", "problem"), FAILURES.values(), ids=FAILURES)
async def test_a_failing_hook_may_be_allowed_to(bench, caplog, command, problem):
    """The call runs, and the failure is in the log."""
    result = await bench.dispatcher(ShellHook(on="before", command=command, on_failure="allow")).call("echo", {})
    assert result.kind == "ok"
    assert problem in caplog.text


async def test_what_a_failing_hook_printed_is_told_but_not_logged(bench, caplog):
    """The log has no mask; the result has the dispatcher's."""
    hook = ShellHook(on="before", command="echo the password is swordfish >&2; exit 1")
    result = await bench.dispatcher(hook, redact=["swordfish"]).call("echo", {})
    assert "it exited with code 1: the password is [redacted]" in result.error.message
    assert "password" not in caplog.text


async def test_a_hook_that_takes_too_long_blocks(bench):
    """It is ended, and says so."""
    hook = ShellHook(on="before", command="exec sleep 600", timeout_seconds=0.05)
    result = await bench.dispatcher(hook).call("echo", {})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "it took longer than 0.05 s" in result.error.message


async def test_a_hook_need_not_read_its_input(bench):
    """However long the arguments are."""
    result = await bench.dispatcher(ShellHook(on="before", command="true")).call("echo", {"text": "x" * 3_000_000})
    assert result.kind == "ok"


async def test_long_arguments_go_through_whole(bench):
    """In and out at once, without a deadlock."""
    hook = bench.hook("print(json.dumps(dict(action='modify', arguments=event['arguments'])))")
    result = await bench.dispatcher(hook, max_chars=10_000_000).call("echo", {"text": "é" * 500_000})
    assert result.value == "é" * 500_000


async def test_a_call_that_is_too_large_to_be_shown_is_blocked(bench):
    """What the hook could not see does not run."""
    result = await bench.dispatcher(ShellHook(on="before", command="true")).call("echo", {"text": "\u4e00" * 3_000_000})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "16,777,216 is the most" in result.error.message


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


async def test_a_withheld_result_of_what_never_ran_does_not_say_that_it_did(bench):
    """Only its reason is told."""
    hook = ShellHook(on="after", command="echo private >&2; exit 2")
    result = await bench.dispatcher(hook).call("echo", {"times": "x"})
    assert (result.error.message, result.error.details) == ("private", {"ran": False})


@pytest.mark.parametrize(
    ("command", "problem"),
    [*FAILURES.values(), ('echo \'{"action": "ask", "reason": "x"}\'', "write one of proceed, replace, deny, halt")],
    ids=[*FAILURES, "asks too late"],
)
async def test_a_failing_hook_leaves_the_result_and_is_reported(bench, caplog, command, problem):
    """In the log, and in the result's metadata."""
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
    """What it put where reports go is replaced; its own metadata stays."""

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
    assert bench.told()[0]["result"]["kind"] == "waiting"


async def test_a_result_that_is_too_long_to_be_shown_is_left(bench):
    """And that is reported."""
    result = await bench.dispatcher(ShellHook(on="after", command="true")).call(
        "echo", {"text": "x" * 1_000_000, "times": 17}
    )
    assert result.kind == "ok"
    assert "too long to be shown" in result.metadata["hooks"][0]["problem"]


# Where an agent starts.


async def test_agent_hooks_are_told_of_the_session(bench):
    """With whatever the agent says about itself."""
    hooks = ShellHooks([bench.noting(on="agent_start")])
    session = Session(id="s1", principal="ada")
    assert await hooks.agent_started(session, details={"model": "m"}) == Proceed()
    event, environ = bench.told()
    assert event == {
        "version": 1,
        "event": "agent_start",
        "session": "s1",
        "principal": "ada",
        "details": {"model": "m"},
    }
    assert (environ["HOOK_EVENT"], environ["HOOK_TOOL_NAME"]) == ("agent_start", "")
    assert await hooks.agent_started(principal="bob") == Proceed()
    assert (bench.told()[0]["session"], bench.told()[0]["principal"]) == (None, "bob")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo closed >&2; exit 2", "closed"),
        ('echo \'{"action": "halt", "reason": "closed"}\'', "closed"),
        ("exit 1", "shell hook 1 failed, so this was blocked: it exited with code 1"),
        ('echo \'{"action": "ask", "reason": "x"}\'', "write one of proceed, deny, halt"),
    ],
)
async def test_an_agent_that_may_not_start_is_halted(command, reason):
    """By a hook's word, or by its failure."""
    outcome = await ShellHooks([ShellHook(on="agent_start", command=command)]).agent_started()
    assert isinstance(outcome, Halt)
    assert reason in outcome.reason


async def test_an_agent_starts_though_a_hook_failed_that_may():
    """And the hooks after it are asked."""
    hooks = [
        ShellHook(on="agent_start", command="exit 1", on_failure="allow"),
        ShellHook(on="agent_start", command="exit 2"),
    ]
    assert await ShellHooks(hooks[:1]).agent_started() == Proceed()
    assert isinstance(await ShellHooks(hooks).agent_started(), Halt)


# Events.


async def test_a_command_is_told_when_a_person_is_asked(bench):
    """With the call, and with the request as a person sees it."""
    bench.catalog.tool(name="sign", approval="always")(sign)
    hook = bench.noting(on="person_asked", tools="sign")
    result = await bench.dispatcher(hook).call("sign", {"paper": "deed", "key": "hunter2"}, id="c1")
    event, environ = bench.told()
    assert (event["event"], event["tool"], event["call_id"]) == ("person_asked", "sign", "c1")
    assert event["arguments"] == {"paper": "deed", "key": "[redacted]"}
    assert event["details"]["request"]["id"] == result.request.id
    assert "hunter2" not in json.dumps(event)
    assert (environ["HOOK_EVENT"], environ["HOOK_TOOL_NAME"]) == ("person_asked", "sign")


def sign(paper: str, key: Annotated[str, Secret]) -> str:
    """Sign a paper."""
    return paper


async def test_a_command_is_told_how_a_call_ends_that_no_tool_has(bench):
    """The event has the result, and the kind beside it."""
    await bench.dispatcher(bench.noting(on="call_ended")).call("nope", {"a": 1})
    event = bench.told()[0]
    assert (event["tool"], event["arguments"], event["result"]["kind"]) == ("nope", {"a": 1}, "not_found")
    assert event["details"] == {"kind": "not_found", "error": None, "verdict": None}


async def test_a_command_for_other_tools_is_not_told(bench):
    """The patterns hold for events too."""
    await bench.dispatcher(bench.noting(on="call_ended", tools="login")).call("echo", {})
    assert not (bench.folder / "told.json").exists()


@pytest.mark.parametrize(
    ("command", "problem"), [("exit 1", "it exited with code 1"), ("exit 2", "there is nothing to block any more")]
)
async def test_a_failure_at_an_event_is_reported(bench, caplog, command, problem):
    """It changes nothing, and the hooks after it are told."""
    result = await bench.dispatcher(ShellHook(on="call_ended", command=command), bench.noting(on="call_ended")).call(
        "echo", {}
    )
    assert (result.text, result.metadata) == ("hi", None)
    assert f"shell hook 1 failed: {problem}" in caplog.text.replace("it exited with code 2, and ", "")
    assert bench.told()[0]["event"] == "call_ended"


def test_hooks_without_events_are_no_listeners(bench):
    """So a call does not pay for events."""
    assert bench.dispatcher(ShellHook(on=["before", "after"], command="true")).settings.chain.listeners == ()


async def test_a_command_has_its_own_time_at_an_event(bench):
    """The limit for listeners of half a minute does not cut it."""
    hooks = ShellHooks([ShellHook(on="call_ended", command="true", timeout_seconds=600)])
    assert hooks.event_seconds > 600


# Many at once, and nobody waiting.


async def test_hooks_of_several_calls_run_beside_one_another(bench):
    """Each waits until all have started: one after the other they would wait for ever."""
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


# What is configured.


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on": "befor"}, "on: 'befor' is not known; did you mean `before`?"),
        ({"on": []}, "on: has to be one or more of before, after, agent_start, call_started, "),
        ({"on": 3}, "on: has to be one or more of"),
        ({"tools": []}, "tools: has to be a name or a list"),
        ({"tools": ["a b"]}, "tools: 'a b' cannot be right"),
        ({"tools": [1]}, "tools: has to be a name or a list"),
        ({"command": " "}, "command: has to be a command"),
        ({"command": []}, "command: has to be a command"),
        ({"command": ["x", 1]}, "command: has to be a command"),
        ({"command": "a\0b"}, "command: cannot hold a NUL character"),
        ({"timeout_seconds": 0}, "timeout_seconds: has to be a number of seconds above 0"),
        ({"timeout_seconds": True}, "timeout_seconds: has to be"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds: has to be"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds: has to be"),
        ({"timeout_seconds": "30"}, "timeout_seconds: has to be"),
        ({"on_failure": "blok"}, "on_failure: 'blok' is not known; did you mean `block`?"),
        ({"on_failure": ["block"]}, "on_failure: ['block'] is not known; write one of block, allow"),
        ({"env": ["A=b"]}, "env: 'A=b' is not the name of a variable"),
        ({"env": {"A": "b"}}, "env: has to be a list of names"),
    ],
)
def test_a_hook_that_cannot_be_right_is_refused(options, problem):
    """When it is made, with the remedy."""
    with pytest.raises(ValueError) as caught:
        ShellHook(**{"on": "before", "command": "true", **options})
    assert problem in str(caught.value)


def test_all_mistakes_are_told_at_once():
    """One error lists all of them."""
    with pytest.raises(ValueError) as caught:
        ShellHook(on="x", command="", timeout_seconds=-1)
    assert str(caught.value).count("; ") >= 2
    assert all(name in str(caught.value) for name in ("on:", "command:", "timeout_seconds:"))


def test_shell_hooks_are_loaded_when_somebody_asks():
    """Most programs have none."""
    code = "import sys, toolkit.hooks; sys.exit('toolkit.hooks.shell.shell_hooks' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_hooks_are_hooks():
    """A dictionary is no hook."""
    with pytest.raises(TypeError, match="made of ShellHook"):
        ShellHooks([{"on": "before"}])


async def test_a_call_by_hand_is_shown_too(bench):
    """Outside a dispatcher the hook is an object like any other."""
    call = ToolCall("echo", {"text": "x"}, tool=bench.catalog["echo"])
    assert await ShellHooks([ShellHook(on="before", command="exit 2")]).before(call) == Deny(
        "a hook refused it, and gave no reason"
    )
    result = await ShellHooks([bench.noting(on="after")]).after(call, ToolResult("y"))
    assert (result.text, bench.told()[0]["arguments"]) == ("y", {"text": "x"})


@pytest.mark.parametrize(
    "command", ["exit 1", 'echo \'{"action": "replace", "result": 1}\''], ids=["fails", "replaces"]
)
async def test_a_result_that_others_hold_is_not_changed(command):
    """The hook's is a copy."""
    given = ToolResult("x", "x")
    found = await ShellHooks([ShellHook(on="after", command=command)]).after(ToolCall("t"), given)
    assert found is not given
    assert (given.text, given.value, given.metadata) == ("x", "x", None)


async def test_hooks_given_one_by_one_keep_their_numbers(bench):
    """A failure names the hook as it stands in the list."""
    hooks = ShellHooks([ShellHook(on="before", command="true"), ShellHook(on="before", command="exit 1")])
    result = await Dispatcher(bench.catalog, hooks=[*hooks]).call("echo", {})
    assert result.reason.startswith("shell hook 2 failed, so this was blocked: it exited with code 1")


async def test_a_call_that_is_not_json_is_blocked(bench):
    """What cannot be shown as it is does not run."""
    call = ToolCall("echo", {"text": object()}, tool=bench.catalog["echo"])
    outcome = await ShellHooks([ShellHook(on="before", command="true")]).before(call)
    assert isinstance(outcome, Deny)
    assert "not plain JSON" in outcome.reason


async def test_a_name_that_is_no_text_is_shown_as_its_type(bench):
    """The caller gets a result, and the hook is shown the call."""
    result = await ShellHooks([bench.noting(on="after")]).after(ToolCall(7), ToolResult("y"))
    assert (result.metadata, bench.told()[0]["tool"]) == (None, "int")


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_what_a_hook_is_shown_is_what_would_run(value):
    """Whatever it is, it comes through JSON and the pipe as it was."""
    with tempfile.TemporaryDirectory() as folder:
        hooks = ShellHooks([ShellHook(on="before", command="cat >told", cwd=folder)])
        assert asyncio.run(hooks.before(ToolCall("t", {"value": value}))) == Proceed()
        assert json.loads(Path(folder, "told").read_text())["arguments"] == {"value": value}
