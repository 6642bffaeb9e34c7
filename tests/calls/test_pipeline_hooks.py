"""Hooks on the path of a call."""

from __future__ import annotations

import asyncio

import pytest

from tests.calls.pipeline_kit import Custom, HookRecorder
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Ask, Deny, Halt, Modify, Proceed, Replace
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio


async def test_hooks_run_in_the_order_of_their_stages(catalog):
    """Before-hooks run in order, around-hooks from outside in, and after-hooks in order."""
    stages = []

    class Named:
        def __init__(self, name):
            self.name = name

        async def before(self, call):
            stages.append(f"before {self.name}")
            return Proceed()

        async def around(self, call, run):
            stages.append(f"into {self.name}")
            result = await run()
            stages.append(f"out of {self.name}")
            return result

        def after(self, call, result):
            stages.append(f"after {self.name}")
            return result

    await Dispatcher(catalog, hooks=[Named("a"), Named("b")]).call("add", {"a": 1})
    assert stages == [
        "before a",
        "before b",
        "into a",
        "into b",
        "out of b",
        "out of a",
        "after a",
        "after b",
    ]


@pytest.mark.parametrize("is_async", [False, True])
async def test_hooks_get_copies(catalog, is_async):
    """A hook that changes its copy of the call changes neither the tool's arguments nor the next hook's copy."""
    arguments = {"text": "hi"}
    copies = []

    def spoil(call):
        copies.append((call.id, dict(call.arguments)))
        call.arguments["text"] = "spoilt"
        call.arguments = {"text": "worse"}
        call.id, call.tool, call.principal, call.name = "forged", None, "root", "wipe"
        return Proceed()

    async def later(call):
        return spoil(call)

    class Spoiler:
        before = staticmethod(later if is_async else spoil)

        def after(self, call, result):
            copies.append(dict(call.arguments))
            call.arguments["text"] = "spoilt"
            return result

    dispatcher = Dispatcher(catalog, hooks=[Spoiler(), Spoiler()])
    result = await dispatcher.call("echo", arguments, id="7")
    assert (result.text, result.call_id, result.tool) == ("hi", "7", "echo")
    assert arguments == {"text": "hi"}
    assert [copy[1] if isinstance(copy, tuple) else copy for copy in copies] == [{"text": "hi"}] * 4


async def test_modify_changes_the_arguments_and_checks_them_again(catalog):
    """The next hook and the tool see the new arguments. Invalid ones are an error of the hook."""
    recorder = HookRecorder()
    result = await Dispatcher(catalog, hooks=[HookRecorder(Modify({"a": 5})), recorder]).call("add", {"a": 1})
    assert result.value == {"sum": 7}
    assert recorder.seen[0] == ("before", {"a": 5})
    wrong = await Dispatcher(catalog, hooks=[HookRecorder(Modify({"a": "x"}))]).call("add", {"a": 1})
    assert (wrong.kind, wrong.attempts) == ("internal", 0)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Deny("no"), "denied"),
        (Halt("stop"), "halted"),
        (Replace(5), "ok"),
        (Replace(ToolResult.failure("failed", "x")), "failed"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_deny_halt_and_replace_skip_the_later_stages(catalog, outcome, kind, is_async):
    """The remaining before-hooks, the around-hooks and the tool do not run. After-hooks see the result."""

    async def later(call):
        return outcome

    class First:
        before = staticmethod(later if is_async else lambda call: outcome)

    rest = HookRecorder()
    result = await Dispatcher(catalog, hooks=[First(), rest]).call("add", {"a": 1})
    assert (result.kind, result.attempts) == (kind, 0)
    assert rest.seen == [("after", kind)]


async def test_ask_waits_for_a_person_and_reasons_add_up(catalog):
    """The request holds what would run, defaults filled in, and every reason."""
    hooks = [HookRecorder(Ask("why")), HookRecorder(Modify({"a": 4})), HookRecorder(Ask("really"))]
    result = await Dispatcher(catalog, hooks=hooks).call("add", {"a": 1})
    assert (result.kind, result.is_error, result.attempts) == ("waiting", False, 0)
    assert result.request.arguments == {"a": 4, "b": 2}
    assert result.request.reason == "why; really"
    assert hooks[0].seen == [("before", {"a": 1}), ("after", "waiting")]


@pytest.mark.parametrize("approval", ["always", lambda arguments: arguments["b"] > 1])
async def test_the_verdict_is_about_the_final_arguments_also_for_a_replacement(approval):
    """A hook that replaces the result does not get around approval."""
    catalog = Catalog()

    @catalog.tool(approval=approval)
    async def pay(a: int, b: int = 1) -> int:
        """Pay."""
        return a

    hooks = [HookRecorder(Modify({"a": 1, "b": 2})), HookRecorder(Replace("free"))]
    result = await Dispatcher(catalog, hooks=hooks).call("pay", {"a": 1})
    assert result.kind == "denied"
    assert "needs approval" in result.text
    assert "a hook has replaced what it would do" in result.text


async def test_after_hooks_see_every_result(catalog):
    """Calls that were not found, refused or failed have results, too."""
    recorder = HookRecorder()
    dispatcher = Dispatcher(catalog, hooks=[recorder])
    for name, arguments in [("nope", {}), ("add", {}), ("fail", {}), ("add", {"a": 1})]:
        await dispatcher.call(name, arguments)
    assert [kind for stage, kind in recorder.seen if stage == "after"] == ["not_found", "bad_args", "failed", "ok"]


async def test_an_after_hook_receives_the_result_that_the_hook_before_changed(catalog):
    class Louder:
        def after(self, call, result):
            return ToolResult(result.text + "!", result.value)

    result = await Dispatcher(catalog, hooks=[Louder(), Louder()]).call("add", {"a": 1})
    assert (result.text, result.attempts) == ('{"sum":3}!!', 1)


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(1), asyncio.CancelledError(), Custom()])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("form", ["before", "around", "after"])
async def test_a_hook_that_raises_fails_the_call_closed(form, is_async, error):
    """
    After an error in a before-hook, the tool did not run. After one in an after-hook, the result says that it
    ran.
    """
    catalog, ran = Catalog(), []

    @catalog.tool
    async def act() -> str:
        """Act."""
        ran.append(True)
        return "secret"

    def fail(*arguments):
        raise error

    async def later(*arguments):
        raise error

    class Broken:
        pass

    hook = Broken()
    setattr(hook, form, later if is_async else fail)
    result = await Dispatcher(catalog, hooks=[hook]).call("act")
    assert (result.kind, "secret" in result.text, result.error.cause) == ("internal", False, error)
    assert (result.error.details["ran"], bool(ran)) == (form == "after", form == "after")


@pytest.mark.parametrize("form", ["before", "around", "after"])
async def test_a_hook_that_returns_none_fails_the_call_closed(catalog, form):
    """The message says what the hook has to return."""
    hook = HookRecorder()
    setattr(hook, form, lambda *arguments: None)
    result = await Dispatcher(catalog, hooks=[hook]).call("add", {"a": 1})
    assert (result.kind, f"{form}() has to return" in result.text) == ("internal", True)


async def test_raise_bugs_raises_a_bug_of_a_hook(catalog):
    """A test then shows its traceback."""

    class Broken:
        def before(self, call):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Dispatcher(catalog, hooks=[Broken()], raise_bugs=True).call("add", {"a": 1})


async def test_an_around_hook_need_not_run_the_tool(catalog):
    """Its own result stands."""

    class Instead:
        async def around(self, call, run):
            return ToolResult("instead")

    result = await Dispatcher(catalog, hooks=[Instead()]).call("fail")
    assert (result.text, result.attempts) == ("instead", 0)


async def test_an_around_hook_may_swallow_a_failure(catalog):
    """`run()` gives a result, never an exception."""

    class Optimist:
        async def around(self, call, run):
            result = await run()
            return ToolResult("fine") if result.is_error else result

    result = await Dispatcher(catalog, hooks=[Optimist()]).call("fail")
    assert (result.kind, result.text, result.attempts) == ("ok", "fine", 1)


@pytest.mark.parametrize(
    ("facts", "runs"), [({"read_only": True}, 2), ({}, 1), ({"destructive": True, "idempotent": True}, 1)]
)
async def test_an_around_hook_may_run_a_tool_twice_only_if_that_is_harmless(facts, runs):
    """Otherwise the hook has failed, and the result says that the tool ran."""
    catalog, ran = Catalog(), []

    @catalog.tool(**facts)
    async def act() -> int:
        """Act."""
        ran.append(True)
        return len(ran)

    class Twice:
        async def around(self, call, run):
            await run()
            return await run()

    result = await Dispatcher(catalog, hooks=[Twice()]).call("act")
    assert (len(ran), result.attempts) == (runs, runs)
    assert (result.kind == "ok") == (runs == 2)
