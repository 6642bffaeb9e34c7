"""Shell hooks before a call: what they are shown, what they may say, and what their failure does."""

from __future__ import annotations

import json
import sys

import pytest

from tests.hooks.shell.bench import FAILURES
from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import ShellHook, ShellHooks
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


# What a hook is shown.


async def test_the_call_is_on_standard_input(bench):
    """A version, the event, the tool by its own name, the arguments, and where the call belongs."""
    session = Session(id="s1", principal="ada")
    await bench.dispatcher(bench.noting()).call("say", {"text": "yo"}, id="c1", session=session)
    event, environ = bench.read_event()
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


async def test_an_after_command_receives_the_result(bench):
    """The result is in the form that `ToolResult.from_json` reads."""
    await bench.dispatcher(bench.noting(on="after")).call("echo", {"text": "yo"})
    result = ToolResult.from_json(bench.read_event()[0]["result"])
    assert (result.kind, result.text, result.tool, result.attempts) == ("ok", "yo", "echo", 1)


async def test_the_environment_is_small(bench, monkeypatch):
    """Ours is not handed on, except for what is named."""
    monkeypatch.setenv("TOKEN_A", "a")
    monkeypatch.setenv("TOKEN_B", "b")
    monkeypatch.setenv("PATH", f".:{sys.prefix}/bin::bin:/usr/bin:/bin")
    await bench.dispatcher(bench.noting(env=["TOKEN_B", "TOKEN_C"])).call("echo", {})
    environ = bench.read_event()[1]
    assert environ["TOKEN_B"] == "b"
    assert not {"TOKEN_A", "TOKEN_C"} & environ.keys()
    assert environ["PATH"] == f"{sys.prefix}/bin:/usr/bin:/bin"


async def test_a_secret_is_masked_before_a_call(bench):
    """The command sees that there is one, and not what it is; the tool gets it."""
    result = await bench.dispatcher(bench.noting()).call("login", {"user": "ada", "api_key": "s3cr3t"})
    assert bench.read_event()[0]["arguments"] == {"user": "ada", "api_key": "[redacted]"}
    assert result.kind == "ok"
    assert bench.ran == [("ada", "s3cr3t")]


async def test_a_secret_is_masked_in_the_result_that_a_hook_sees(bench):
    """The tool quoted it; the command must not read it there."""
    await bench.dispatcher(bench.noting(on="after")).call("login", {"user": "ada", "api_key": "s3cr3t"})
    event = bench.read_event()[0]
    assert event["result"]["text"] == "ada:[redacted]"
    assert "s3cr3t" not in json.dumps(event)


@pytest.mark.parametrize(
    "arguments",
    ['{"user": "ada", "api_key": "s3cr3t"', {"user": 3, "API-Key": "s3cr3t", "x": 1}, ["s3cr3t"]],
    ids=["not JSON", "nearly named", "no object"],
)
async def test_a_secret_in_refused_arguments_is_masked(bench, arguments):
    """The refused arguments are shown after the call."""
    result = await bench.dispatcher(bench.noting(on="after")).call("login", arguments)
    assert result.kind == "bad_args"
    assert "s3cr3t" not in json.dumps(bench.read_event()[0])


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
    event, environ = bench.read_event()
    assert (result.kind, result.metadata) == ("not_found", None)
    assert event["tool"].startswith("no\0such\ntool?x")
    assert environ["HOOK_TOOL_NAME"].startswith("no\\x00such\\ntool\\ud800x")


async def test_very_deep_arguments_do_not_lose_the_result(bench):
    """They were refused, and the hook sees a cut form of them."""
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    result = await bench.dispatcher(bench.noting(on="after")).call("echo", {"text": deep})
    assert (result.kind, result.metadata) == ("bad_args", None)
    assert bench.read_event()[0]["arguments"].keys() == {"text"}


def deepest():
    """Return a list that is as deep as arguments may be."""
    value: object = 1
    for _ in range(62):
        value = [value]
    return value


async def test_arguments_of_the_maximal_depth_are_shown_whole(bench):
    """A hook sees every argument of a call that is going to run."""

    @bench.catalog.tool
    async def take(value: object) -> str:
        """Take anything."""
        return "taken"

    result = await bench.dispatcher(bench.noting()).call("take", {"value": deepest()})
    assert (result.text, bench.read_event()[0]["arguments"]["value"]) == ("taken", deepest())


# Which tools.


@pytest.mark.parametrize("tools", ["echo", "say", "e?ho", ["x", "sa*"], "*", "group:talk", "python/echo"])
async def test_every_name_of_a_tool_counts(bench, tools):
    """Its name, aliases, group and origin count, with wildcards as in rules."""
    result = await bench.dispatcher(ShellHook(on="before", tools=tools, command="exit 2")).call("echo", {})
    assert result.kind == "denied"


@pytest.mark.parametrize("tools", ["echo", "say"])
async def test_a_hook_follows_a_tool_that_was_renamed(bench, tools):
    """Every name it had before still counts."""
    catalog = Catalog(bench.catalog["echo"].renamed("shout"))
    hooks = ShellHooks([ShellHook(on="before", tools=tools, command="exit 2")])
    result = await Dispatcher(catalog, hooks=[hooks]).call("shout", {})
    assert result.kind == "denied"


async def test_an_alias_of_the_catalog_selects_a_hook(bench):
    """Only the call knows it, and not the tool."""
    bench.catalog.alias("parrot", "echo")
    result = await bench.dispatcher(ShellHook(on="before", tools="parrot", command="exit 2")).call("parrot", {})
    assert result.kind == "denied"


@pytest.mark.parametrize("tools", ["ech", "Echo", "group:files", "mcp:x/echo", "fail"])
async def test_a_hook_does_not_run_for_other_tools(bench, tools):
    hooks = ShellHooks([ShellHook(on=["before", "after"], tools=tools, command="exit 2")])
    result = await Dispatcher(bench.catalog, hooks=[hooks]).call("echo", {})
    assert result.kind == "ok"


# What it may say before a call.


async def test_exit_0_proceeds(bench):
    result = await bench.dispatcher(ShellHook(on="before", command="echo noise >&2")).call("echo", {})
    assert (result.kind, result.text) == ("ok", "hi")


async def test_exit_2_blocks_with_stderr_as_the_reason(bench):
    """The output of the command does not count."""
    hook = ShellHook(on="before", command="echo '{\"action\": \"proceed\"}'; echo 'not on Sundays' >&2; exit 2")
    result = await bench.dispatcher(hook).call("echo", {})
    assert (result.kind, result.error.message, bench.ran) == ("denied", "not on Sundays", [])


async def test_a_block_without_a_reason_has_a_message(bench):
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
    ids=lambda value: value.get("action") if isinstance(value, dict) else "",
)
async def test_an_action_has_the_effect_of_its_outcome(bench, answer, kind, text, ran):
    result = await bench.dispatcher(bench.saying(answer)).call("echo", {})
    assert (result.kind, bench.ran) == (kind, ran)
    assert text in result.text


async def test_modified_arguments_are_checked_again(bench):
    """A hook cannot have run what the schema refuses."""
    result = await bench.dispatcher(bench.saying({"action": "modify", "arguments": {"times": "x"}})).call("echo", {})
    assert (result.kind, bench.ran) == ("internal", [])


async def test_a_hook_sees_the_changes_of_earlier_hooks(bench):
    hooks = [bench.saying({"action": "modify", "arguments": {"text": "yo"}}), bench.noting()]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert (result.text, bench.read_event()[0]["arguments"]) == ("yo", {"text": "yo"})


async def test_a_denial_keeps_later_hooks_from_running(bench):
    """There is nothing left to judge."""
    await bench.dispatcher(ShellHook(on="before", command="exit 2"), bench.noting()).call("echo", {})
    assert not (bench.folder / "told.json").exists()


async def test_the_request_has_the_reasons_of_all_hooks_that_ask(bench):
    hooks = [bench.saying({"action": "ask", "reason": reason}, source="x") for reason in ("first", "second")]
    result = await bench.dispatcher(*hooks, approvals=Approvals(MemoryApprovals())).call("echo", {})
    assert result.request.reason == "first; second"


@pytest.mark.parametrize(
    "other",
    [{"action": "modify", "arguments": {"text": "yo"}}, {"action": "replace", "result": 1}],
    ids=["modify", "replace"],
)
async def test_an_ask_together_with_another_action_denies_the_call(bench, other):
    """The message says how to have both."""
    hooks = [bench.saying({"action": "ask", "reason": "sure?"}), bench.saying(other)]
    result = await bench.dispatcher(*hooks).call("echo", {})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "hooks=[*shell_hooks]" in result.error.message


async def test_hooks_given_one_by_one_change_and_ask(bench):
    """A person sees the arguments that the other hook changed."""
    ask, change = {"action": "ask", "reason": "sure?"}, {"action": "modify", "arguments": {"text": "yo"}}
    hooks = ShellHooks([bench.saying(ask), bench.saying(change)])
    result = await Dispatcher(bench.catalog, hooks=[*hooks]).call("echo", {})
    assert (result.kind, result.request.arguments["text"]) == ("waiting", "yo")


# Failure before a call.


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


async def test_the_output_of_a_failing_hook_is_in_the_result_and_not_in_the_log(bench, caplog):
    """The result is redacted, and the log is not."""
    hook = ShellHook(on="before", command="echo the password is swordfish >&2; exit 1")
    result = await bench.dispatcher(hook, redact=["swordfish"]).call("echo", {})
    assert "it exited with code 1: the password is [redacted]" in result.error.message
    assert "password" not in caplog.text


async def test_a_hook_that_takes_too_long_blocks(bench):
    """Its process is ended, and the message has the limit."""
    hook = ShellHook(on="before", command="exec sleep 600", timeout_seconds=0.05)
    result = await bench.dispatcher(hook).call("echo", {})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "it took longer than 0.05 s" in result.error.message


async def test_a_hook_does_not_have_to_read_its_input(bench):
    """The arguments may be of any length."""
    result = await bench.dispatcher(ShellHook(on="before", command="true")).call("echo", {"text": "x" * 3_000_000})
    assert result.kind == "ok"


async def test_long_arguments_go_through_whole(bench):
    """Input and output go on at once, without a deadlock."""
    hook = bench.hook("print(json.dumps(dict(action='modify', arguments=event['arguments'])))")
    result = await bench.dispatcher(hook, max_chars=10_000_000).call("echo", {"text": "é" * 500_000})
    assert result.value == "é" * 500_000


async def test_a_call_that_is_too_large_to_be_shown_is_blocked(bench):
    """A hook could not see it."""
    result = await bench.dispatcher(ShellHook(on="before", command="true")).call("echo", {"text": "\u4e00" * 3_000_000})
    assert (result.kind, bench.ran) == ("denied", [])
    assert "16,777,216 is the most" in result.error.message
