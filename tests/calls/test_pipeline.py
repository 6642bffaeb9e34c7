"""
The path of one call: what each stage does, and what the next one sees.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

import httpx
import pytest

from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.content import TextPart
from toolkit.context import Context, Secret
from toolkit.dispatcher import Dispatcher
from toolkit.errors import BadArgs, Safety, ToolError, Transient
from toolkit.hooks import Ask, Deny, Halt, Modify, Proceed, Replace
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(attempts=3, wait_initial=0)
GONE = httpx.Response(404)
BOTH = pytest.mark.parametrize("validation", ["fast", "jsonschema"])


@pytest.fixture
def catalog():
    """A catalog with three plain tools."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["plus"])
    async def add(a: int, b: int = 2) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    @catalog.tool
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @catalog.tool
    async def fail(message: str = "no") -> str:
        """Fail."""
        raise ToolError(message)

    return catalog


class Recorder:
    """A hook of all three forms that writes down what it sees."""

    def __init__(self, outcome: Any = None) -> None:
        self.outcome = Proceed() if outcome is None else outcome
        self.seen: list[Any] = []

    def before(self, call: ToolCall) -> Any:
        self.seen.append(("before", call.arguments))
        return self.outcome

    async def around(self, call: ToolCall, run: Any) -> ToolResult:
        self.seen.append(("around", call.arguments))
        return await run()

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        self.seen.append(("after", result.kind))
        return result


# From arguments to a result.


@BOTH
async def test_a_typed_call_round_trips(catalog, validation):
    """Structured values are compact JSON in the text and themselves in the value."""
    result = await Dispatcher(catalog, validation=validation).call("add", {"a": 2, "b": 3})
    assert (result.kind, result.text, result.value) == ("ok", '{"sum":5}', {"sum": 5})
    assert (result.tool, result.attempts, result.is_error) == ("add", 1, False)


@BOTH
@pytest.mark.parametrize("arguments", ['{"a": 2}', b'{"a": 2}', bytearray(b'{"a": 2}'), {"a": 2}])
async def test_arguments_may_be_json_text(catalog, arguments, validation):
    """An object and its JSON text are the same call."""
    result = await Dispatcher(catalog, validation=validation).call("add", arguments)
    assert result.value == {"sum": 4}


@BOTH
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({}, "a: required"),
        ({"a": "x"}, "a: expected an integer"),
        ({"a": 1, "c": 1}, "c"),
        ("{", "not JSON"),
        ("[1]", "expected an object"),
        ([1], "expected an object"),
        ('"text"', "expected an object"),
    ],
)
async def test_what_does_not_fit_is_refused_with_words(catalog, arguments, word, validation):
    """The model is told what was wrong in both validations, and nothing ran."""
    result = await Dispatcher(catalog, validation=validation).call("add", arguments)
    assert result.kind == "bad_args"
    assert result.text.startswith("error: invalid arguments")
    assert word in result.text
    assert result.attempts == 0


async def test_a_repair_is_noted_and_can_be_switched_off(catalog):
    """What was mended is in the result; `repair=False` refuses instead."""
    mended = await Dispatcher(catalog).call("add", {"a": "2"})
    assert mended.value == {"sum": 4}
    assert len(mended.repairs) == 1
    assert (await Dispatcher(catalog, repair=False).call("add", {"a": "2"})).kind == "bad_args"


async def test_an_alias_runs_the_tool_under_its_own_name(catalog):
    """The result names the tool, not the alias."""
    result = await Dispatcher(catalog).call("plus", {"a": 1})
    assert (result.kind, result.tool) == ("ok", "add")


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_authors_own_check_counts(is_async):
    """`validate` refuses what the schema cannot say, sync or async."""
    catalog = Catalog()

    def even(arguments):
        return None if arguments["n"] % 2 == 0 else "n: has to be even"

    async def later(arguments):
        return even(arguments)

    @catalog.tool(validate=later if is_async else even)
    async def halve(n: int) -> int:
        """Halve an even number."""
        return n // 2

    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("halve", {"n": 4})).value == 2
    refused = await dispatcher.call("halve", {"n": 3})
    assert (refused.kind, "even" in refused.text) == ("bad_args", True)


async def test_a_tool_that_waits_for_a_name_says_so():
    """An annotation with an undefined name is an internal error, not an exception."""
    catalog = Catalog()

    @catalog.tool
    async def broken(value: NotYet) -> int:  # noqa: F821 -- that is the point
        """Take what is not there."""
        return 1

    result = await Dispatcher(catalog).call("broken", {"value": 1})
    assert (result.kind, "NotYet" in result.text) == ("internal", True)


async def test_check_output_holds_the_value_against_the_schema():
    """A value that the annotation does not allow is an error, unless the dispatcher does not check."""
    catalog = Catalog()

    @catalog.tool
    async def count() -> int:
        """Count."""
        return "many"  # type: ignore[return-value]

    assert (await Dispatcher(catalog).call("count")).kind == "failed"
    assert (await Dispatcher(catalog, check_output=False).call("count")).kind == "ok"


# What only the dispatcher knows.


@pytest.mark.parametrize("style", ["async", "sync"])
async def test_a_tools_own_result_cannot_forge_what_the_dispatcher_knows(style):
    """Call id, tool, attempts, durations, repairs and retries are ours whatever a tool returns."""
    catalog = Catalog()
    forged = ToolResult("hi", 1, call_id="x", tool="y", attempts=9, duration_seconds=99.0, repairs=["r"], retries=["s"])

    async def later() -> ToolResult:
        """Lie."""
        return forged

    def now() -> ToolResult:
        """Lie."""
        return forged

    catalog.tool(name="lie")(later if style == "async" else now)
    result = await Dispatcher(catalog).call("lie", id="mine")
    assert (result.call_id, result.tool, result.attempts) == ("mine", "lie", 1)
    assert (list(result.repairs), list(result.retries), result.duration_seconds < 9) == ([], [], True)
    assert result is not forged


@pytest.mark.parametrize("form", ["before", "around", "after"])
async def test_a_hooks_result_is_copied_and_stamped(catalog, form):
    """A hook may give the same result to every call; each caller gets one of its own."""
    forged = ToolResult("hi", {"n": [1]}, call_id="x", tool="y", attempts=9)

    class Forger:
        pass

    hook = Forger()
    hook.before = lambda call: Replace(forged) if form == "before" else Proceed()
    if form == "around":

        async def around(call, run):
            return forged

        hook.around = around
    if form == "after":
        hook.after = lambda call, result: forged
    dispatcher = Dispatcher(catalog, hooks=[hook])
    first = await dispatcher.call("add", {"a": 1}, id="1")
    second = await dispatcher.call("add", {"a": 1}, id="2")
    assert (first.call_id, second.call_id, first.tool) == ("1", "2", "add")
    assert first.attempts == (1 if form == "after" else 0)
    assert forged.call_id == "x"
    first.value["n"].append(2)
    assert second.value == {"n": [1]}


# Size and secrets.


async def test_a_long_text_is_cut_and_says_so(catalog):
    """`max_chars` bounds the text, the tool's own bound wins, and the end tells the whole length."""

    @catalog.tool(max_chars=60)
    async def long() -> str:
        """Say much."""
        return "x" * 500

    result = await Dispatcher(catalog, max_chars=100).call("long")
    assert result.text == "x" * 22 + "...\n[truncated: 22 of 500 characters]"
    assert (len(result.text) <= 60, result.truncated) == (True, True)
    assert 90 < len((await Dispatcher(catalog, max_chars=100).call("echo", {"text": "y" * 500})).text) <= 100


async def test_secrets_are_masked_before_the_text_is_cut():
    """No half of a secret is left at the cut, and masking does not make the text longer than allowed."""
    catalog = Catalog()

    @catalog.tool(max_chars=80)
    async def login(key: Annotated[str, Secret]) -> str:
        """Log in."""
        return "x" * 40 + key * 20

    result = await Dispatcher(catalog).call("login", {"key": "hunter2hunter2"})
    assert "hunter2" not in result.text
    assert len(result.text) <= 80


@pytest.mark.parametrize("arguments", [{"key": "hunter2", "n": "x"}, '{"key": "hunter2", "n": []}'])
async def test_secrets_of_a_refused_call_are_masked_too(arguments):
    """Nothing was decoded, and still nothing leaks."""
    catalog = Catalog()

    @catalog.tool
    async def login(key: Annotated[str, Secret], n: int) -> str:
        """Log in."""
        return key

    class Leak:
        def after(self, call, result):
            return ToolResult.failure("failed", f"key was {call.arguments}")

    result = await Dispatcher(catalog, hooks=[Leak()]).call("login", arguments)
    assert "hunter2" not in result.text


async def test_secrets_are_masked_in_the_log(caplog):
    """The traceback of a failure quotes its message, so it is masked as well."""
    catalog = Catalog()

    @catalog.tool
    async def login(key: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ValueError(f"bad key {key}")

    with caplog.at_level(logging.WARNING, logger="toolkit"):
        result = await Dispatcher(catalog).call("login", {"key": "hunter2"})
    assert "hunter2" not in result.text
    assert "hunter2" not in caplog.text
    assert "ValueError" in caplog.text


# Errors.


class Custom(BaseException):
    """What no tool should raise."""


@pytest.mark.parametrize("timeout_seconds", [None, 60.0])
@pytest.mark.parametrize("style", ["async", "thread", "loop"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolError("no"), "failed"),
        (BadArgs("no"), "bad_args"),
        (Safety("no"), "safety"),
        (Transient("no"), "transient"),
        (ValueError("no"), "failed"),
        (SystemExit(3), "failed"),
        (asyncio.CancelledError(), "cancelled"),
        (Custom("no"), "failed"),
        (RecursionError("no"), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_whatever_a_tool_raises_is_a_result(error, kind, style, timeout_seconds):
    """Every failure has its kind and its cause, wherever the tool runs, limited or not."""
    catalog = Catalog()

    async def later() -> None:
        """Fail."""
        raise error

    def now() -> None:
        """Fail."""
        raise error

    catalog.tool(name="fail", thread=style == "thread", destructive=True)(later if style == "async" else now)
    async with Dispatcher(catalog, retry=QUICK) as dispatcher:
        result = await dispatcher.call("fail", timeout_seconds=timeout_seconds)
    assert (result.kind, result.attempts) == (kind, 1)
    assert result.is_error
    assert type(result.error.cause) is type(error)


async def test_an_exception_that_may_be_a_bug_is_logged_once_with_its_traceback(catalog, caplog):
    @catalog.tool(read_only=True)
    async def stumble() -> None:
        """Fail."""
        raise KeyError("home")

    with caplog.at_level(logging.WARNING, logger="toolkit"):
        await Dispatcher(catalog, retry=QUICK).call("stumble")
    assert [(record.getMessage(), record.exc_info[0]) for record in caplog.records] == [
        ("`stumble` failed: KeyError", KeyError)
    ]


@pytest.mark.parametrize(
    ("error", "attempts", "line"),
    [
        (httpx.ConnectError("nobody home"), 3, "`stumble` failed (transient): ConnectError: nobody home"),
        (TimeoutError("too slow"), 3, "`stumble` failed (transient): TimeoutError: too slow"),
        (FileNotFoundError("no tea.txt"), 1, "`stumble` failed: FileNotFoundError: no tea.txt"),
        (
            httpx.HTTPStatusError("404\nSee the manual", request=httpx.Request("GET", "http://x"), response=GONE),
            1,
            "`stumble` failed: HTTPStatusError: 404 See the manual",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize(("level", "has_traceback"), [(logging.INFO, False), (logging.DEBUG, True)])
async def test_a_failure_that_a_library_reports_is_logged_in_one_line(
    catalog, caplog, error, attempts, line, level, has_traceback
):
    """However often it was tried; the traceback is logged at level DEBUG."""

    @catalog.tool(read_only=True)
    async def stumble() -> None:
        """Fail."""
        raise error

    with caplog.at_level(level, logger="toolkit"):
        result = await Dispatcher(catalog, retry=QUICK).call("stumble")
    assert result.attempts == attempts
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", line)]
    assert ("in stumble" in caplog.text) == has_traceback


async def test_the_cause_is_what_the_tool_raised_with_its_own_cause():
    """Neither classifying nor retrying cuts the chain of exceptions."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def flaky() -> None:
        """Fail."""
        raise Transient("later") from KeyError("inner")

    result = await Dispatcher(catalog, retry=QUICK).call("flaky")
    assert type(result.error.cause) is Transient
    assert type(result.error.cause.__cause__) is KeyError
    with pytest.raises(Transient):
        result.unwrap()


async def test_a_real_cancellation_passes_on(catalog):
    """A cancellation that the caller requested is no result."""
    started = asyncio.Event()

    @catalog.tool
    async def hang() -> None:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(Dispatcher(catalog).call("hang"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interrupt_passes_on(catalog):
    """KeyboardInterrupt ends the program, not the call."""

    @catalog.tool
    async def interrupt() -> None:
        """Press Ctrl-C."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Dispatcher(catalog).call("interrupt"))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Dispatcher(catalog, timeout_seconds=60).call("interrupt"))


async def test_raise_bugs_raises_what_nobody_classified(catalog):
    """A bug is raised; an error of the tool, and what the classifier knows, stay results."""

    @catalog.tool
    async def bug() -> None:
        """Divide by zero."""
        1 / 0  # noqa: B018

    @catalog.tool(destructive=True)
    async def reset() -> None:
        """Lose the connection."""
        raise ConnectionResetError

    dispatcher = Dispatcher(catalog, raise_bugs=True)
    with pytest.raises(ZeroDivisionError):
        await dispatcher.call("bug")
    assert (await dispatcher.call("fail")).kind == "failed"
    assert (await dispatcher.call("reset")).kind == "transient"


async def test_a_rule_that_fails_does_not_lose_the_call(catalog, caplog):
    """A mistake in `classify` is logged, and the built-in table decides."""

    @catalog.tool
    async def bug() -> None:
        """Fail."""
        raise ValueError("no")

    def rule(error):
        raise RuntimeError("in the rule")

    result = await Dispatcher(catalog, classify=rule).call("bug")
    assert result.kind == "failed"
    assert "in the rule" in caplog.text


# Retries.


async def test_a_transient_failure_is_tried_again_after_a_wait():
    """Until it works; the result says how often, and why."""
    catalog, clock, tries = Catalog(), Clock(), []

    @catalog.tool
    async def flaky(items: list[int]) -> int:
        """Fail twice, and spoil the arguments."""
        items.append(0)
        tries.append(len(items))
        if len(tries) < 3:
            raise Transient("not yet", retry_after_seconds=2)
        return len(items)

    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep, chance=lambda: 1.0)
    result = await dispatcher.call("flaky", {"items": [1]})
    assert (result.value, result.attempts, tries) == (2, 3, [2, 2, 2])
    assert clock.slept == [2, 2]
    assert len(result.retries) == 2


@pytest.mark.parametrize(
    ("facts", "happened", "attempts"),
    [
        ({}, "no", 3),
        ({}, "maybe", 1),
        ({"idempotent": True}, "maybe", 3),
        ({"read_only": True}, "maybe", 3),
        ({"destructive": True}, "no", 1),
        ({"destructive": True, "idempotent": True}, "maybe", 1),
    ],
)
async def test_a_retry_never_doubles_an_effect(facts, happened, attempts):
    """What may have happened is tried again only if that is harmless; destructive tools never."""
    catalog = Catalog()

    @catalog.tool(**facts)
    async def pay() -> None:
        """Pay."""
        raise Transient("lost", happened=happened)

    result = await Dispatcher(catalog, retry=QUICK).call("pay")
    assert (result.kind, result.attempts) == ("transient", attempts)
    doubtful = happened == "maybe" and not facts.get("read_only")
    assert ("may or may not have happened" in result.text) == doubtful
    assert "not tried again" in result.retries[-1]


async def test_retries_stay_inside_the_deadline():
    """A wait that would outlast the call is not begun."""
    catalog, clock = Catalog(), Clock()

    @catalog.tool
    async def busy() -> None:
        """Ask for patience."""
        raise Transient("busy", retry_after_seconds=20)

    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep)
    result = await dispatcher.call("busy", timeout_seconds=10)
    assert (result.attempts, clock.slept) == (1, [])
    assert "no time left" in result.retries[-1]


# Hooks on the path.


async def test_stages_come_in_order(catalog):
    """Before in order, around outside in, after in order; each form once."""
    seen = []

    class Named:
        def __init__(self, name):
            self.name = name

        async def before(self, call):
            seen.append(f"before {self.name}")
            return Proceed()

        async def around(self, call, run):
            seen.append(f"into {self.name}")
            result = await run()
            seen.append(f"out of {self.name}")
            return result

        def after(self, call, result):
            seen.append(f"after {self.name}")
            return result

    await Dispatcher(catalog, hooks=[Named("a"), Named("b")]).call("add", {"a": 1})
    assert seen == [
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
    """Whatever a hook does to the call it sees, the tool gets what was sent, and the next hook sees that."""
    arguments = {"text": "hi"}
    seen = []

    def spoil(call):
        seen.append((call.id, dict(call.arguments)))
        call.arguments["text"] = "spoilt"
        call.arguments = {"text": "worse"}
        call.id, call.tool, call.principal, call.name = "forged", None, "root", "wipe"
        return Proceed()

    async def later(call):
        return spoil(call)

    class Spoiler:
        before = staticmethod(later if is_async else spoil)

        def after(self, call, result):
            seen.append(dict(call.arguments))
            call.arguments["text"] = "spoilt"
            return result

    dispatcher = Dispatcher(catalog, hooks=[Spoiler(), Spoiler()])
    result = await dispatcher.call("echo", arguments, id="7")
    assert (result.text, result.call_id, result.tool) == ("hi", "7", "echo")
    assert arguments == {"text": "hi"}
    assert [each[1] if isinstance(each, tuple) else each for each in seen] == [{"text": "hi"}] * 4


async def test_modify_changes_what_runs_and_is_checked_again(catalog):
    """The next hook and the tool see the new arguments; invalid ones are the hook's fault."""
    recorder = Recorder()
    result = await Dispatcher(catalog, hooks=[Recorder(Modify({"a": 5})), recorder]).call("add", {"a": 1})
    assert result.value == {"sum": 7}
    assert recorder.seen[0] == ("before", {"a": 5})
    wrong = await Dispatcher(catalog, hooks=[Recorder(Modify({"a": "x"}))]).call("add", {"a": 1})
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
async def test_deny_halt_and_replace_skip_what_follows(catalog, outcome, kind, is_async):
    """The remaining before-hooks, the around-hooks and the tool do not run; after-hooks see the result."""

    async def later(call):
        return outcome

    class First:
        before = staticmethod(later if is_async else lambda call: outcome)

    rest = Recorder()
    result = await Dispatcher(catalog, hooks=[First(), rest]).call("add", {"a": 1})
    assert (result.kind, result.attempts) == (kind, 0)
    assert rest.seen == [("after", kind)]


async def test_ask_waits_for_a_person_and_reasons_add_up(catalog):
    """The request holds what would run, defaults filled in, and every reason."""
    hooks = [Recorder(Ask("why")), Recorder(Modify({"a": 4})), Recorder(Ask("really"))]
    result = await Dispatcher(catalog, hooks=hooks).call("add", {"a": 1})
    assert (result.kind, result.is_error, result.attempts) == ("waiting", False, 0)
    assert result.request.arguments == {"a": 4, "b": 2}
    assert result.request.reason == "why; really"
    assert hooks[0].seen == [("before", {"a": 1}), ("after", "waiting")]


@pytest.mark.parametrize("approval", ["always", lambda arguments: arguments["b"] > 1])
async def test_the_verdict_is_taken_on_the_final_arguments_also_for_a_replacement(approval):
    """A hook that replaces the result does not get around approval."""
    catalog = Catalog()

    @catalog.tool(approval=approval)
    async def pay(a: int, b: int = 1) -> int:
        """Pay."""
        return a

    hooks = [Recorder(Modify({"a": 1, "b": 2})), Recorder(Replace("free"))]
    result = await Dispatcher(catalog, hooks=hooks).call("pay", {"a": 1})
    assert result.kind == "denied"
    assert "needs approval" in result.text
    assert "a hook has replaced what it would do" in result.text


async def test_after_hooks_see_every_result(catalog):
    """Also of calls that were not found, refused, failed."""
    recorder = Recorder()
    dispatcher = Dispatcher(catalog, hooks=[recorder])
    for name, arguments in [("nope", {}), ("add", {}), ("fail", {}), ("add", {"a": 1})]:
        await dispatcher.call(name, arguments)
    assert [kind for stage, kind in recorder.seen if stage == "after"] == ["not_found", "bad_args", "failed", "ok"]


async def test_after_hooks_may_change_the_result_and_the_next_sees_that(catalog):
    """Each after-hook works on what the last one gave."""

    class Louder:
        def after(self, call, result):
            return ToolResult(result.text + "!", result.value)

    result = await Dispatcher(catalog, hooks=[Louder(), Louder()]).call("add", {"a": 1})
    assert (result.text, result.attempts) == ('{"sum":3}!!', 1)


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(1), asyncio.CancelledError(), Custom()])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("form", ["before", "around", "after"])
async def test_a_hook_that_raises_fails_the_call_closed(form, is_async, error):
    """Before: the tool did not run. After: the result says that it ran."""
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
async def test_a_hook_that_gives_nothing_fails_the_call_closed(catalog, form):
    """None is no outcome and no result, and the message says what was wanted."""
    hook = Recorder()
    setattr(hook, form, lambda *arguments: None)
    result = await Dispatcher(catalog, hooks=[hook]).call("add", {"a": 1})
    assert (result.kind, f"{form}() has to return" in result.text) == ("internal", True)


async def test_raise_bugs_raises_a_hooks_bug_too(catalog):
    """In tests one wants to see where a hook is broken."""

    class Broken:
        def before(self, call):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Dispatcher(catalog, hooks=[Broken()], raise_bugs=True).call("add", {"a": 1})


async def test_an_around_hook_need_not_run_the_tool(catalog):
    """Its result stands, and nothing ran."""

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
async def test_run_twice_runs_twice_only_if_that_is_harmless(facts, runs):
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


# Time for the whole call.


class Hanging:
    """A hook that never answers, in one of its forms."""

    def __init__(self, form: str) -> None:
        setattr(self, form, self._hang)

    async def _hang(self, *arguments: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("form", ["before", "around"])
async def test_a_calls_limit_bounds_hooks(catalog, form):
    """A hook that hangs does not hold a call that has a limit."""
    result = await Dispatcher(catalog, hooks=[Hanging(form)]).call("add", {"a": 1}, timeout_seconds=0.01)
    assert (result.kind, result.attempts) == ("timeout", 0)


async def test_a_calls_limit_bounds_after_hooks_once_cleanup_time_is_over(catalog):
    """They see results that came late, but not for ever."""
    dispatcher = Dispatcher(catalog, hooks=[Hanging("after")], cleanup_seconds=0.01)
    result = await dispatcher.call("add", {"a": 1}, timeout_seconds=0.01)
    assert (result.error.details, result.attempts) == ({"ran": True}, 1)


async def test_a_calls_limit_bounds_the_authors_functions():
    """Also `validate` and `approval`, which may be async."""
    catalog = Catalog()

    async def hang(arguments):
        await asyncio.Event().wait()

    catalog.tool(name="a", validate=hang)(_nothing)
    catalog.tool(name="b", approval=hang)(_nothing)
    dispatcher = Dispatcher(catalog)
    for name in "ab":
        result = await dispatcher.call(name, timeout_seconds=0.01)
        assert (result.kind, result.attempts) == ("timeout", 0)


async def _nothing() -> None:
    """Do nothing."""


async def test_no_time_left_is_a_timeout_that_never_ran():
    """A hook may use up all the time without suspending."""
    catalog, clock = Catalog(), Clock()
    catalog.tool(name="act", destructive=True)(_nothing)

    class Slow:
        def before(self, call):
            clock.now += 100
            return Proceed()

    result = await Dispatcher(catalog, hooks=[Slow()], clock=clock).call("act", timeout_seconds=10)
    assert (result.kind, result.attempts, result.duration_seconds) == ("timeout", 0, 100)


@pytest.mark.parametrize("option", ["validate", "approval", "preview"])
async def test_an_authors_function_that_exits_is_no_way_out(option):
    """SystemExit from an option's function becomes a result, or is taken for a no."""
    catalog = Catalog()

    def leave(arguments):
        raise SystemExit

    options = {"approval": "always"} if option == "preview" else {}
    catalog.tool(name="act", **options, **{option: leave})(_nothing)
    result = await Dispatcher(catalog).call("act")
    assert (result.kind in ("internal", "waiting", "bad_args"), result.attempts) == (True, 0)


async def test_the_walks_context_sees_a_copy_of_the_call():
    """A tool that changes the call it is shown changes nothing."""
    catalog = Catalog()

    @catalog.tool
    async def peek(items: list[int], context: Context) -> int:
        """Spoil the call."""
        context.call.arguments["items"].append(9)
        context.call.id = "forged"
        return len(items)

    arguments = {"items": [1]}
    result = await Dispatcher(catalog).call("peek", arguments, id="7")
    assert (result.value, result.call_id, arguments) == (1, "7", {"items": [1]})


async def test_parts_and_plain_values_are_rendered(catalog):
    """A tool may return parts."""

    @catalog.tool
    async def show() -> Any:
        """Show."""
        return [TextPart("a"), TextPart("b")]

    result = await Dispatcher(catalog).call("show")
    assert (result.text, len(result.parts)) == ("a\nb", 2)
