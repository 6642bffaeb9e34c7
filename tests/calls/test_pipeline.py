"""The path of a call: from arguments to a result, its size, its secrets and its time."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

import pytest

from tests.calls.pipeline_kit import BOTH
from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.content import TextPart
from toolkit.context import Context, Secret
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Proceed, Replace
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio


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
async def test_arguments_that_do_not_fit_are_refused_with_the_reason(catalog, arguments, word, validation):
    """This holds in both validations, and the tool does not run."""
    result = await Dispatcher(catalog, validation=validation).call("add", arguments)
    assert result.kind == "bad_args"
    assert result.text.startswith("error: invalid arguments")
    assert word in result.text
    assert result.attempts == 0


async def test_a_repair_is_noted_and_can_be_switched_off(catalog):
    """The result has the repair, and `repair=False` refuses the call."""
    mended = await Dispatcher(catalog).call("add", {"a": "2"})
    assert mended.value == {"sum": 4}
    assert len(mended.repairs) == 1
    assert (await Dispatcher(catalog, repair=False).call("add", {"a": "2"})).kind == "bad_args"


async def test_the_result_of_a_call_by_an_alias_names_the_tool(catalog):
    result = await Dispatcher(catalog).call("plus", {"a": 1})
    assert (result.kind, result.tool) == ("ok", "add")


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_validate_function_of_the_author_counts(is_async):
    """It refuses arguments that the schema cannot exclude, and may be sync or async."""
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


async def test_a_tool_with_an_undefined_name_is_an_internal_error():
    """Its annotation has the name, and no exception is raised."""
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
async def test_a_result_of_a_tool_cannot_forge_fields_of_the_dispatcher(style):
    """Call id, tool, attempts, durations, repairs and retries are set by the dispatcher."""
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


async def test_a_long_text_is_cut_with_a_note(catalog):
    """`max_chars` bounds the text, and the limit of the tool wins. The end has the whole length."""

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
    """The arguments were not decoded."""
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


async def test_the_limit_of_a_call_bounds_after_hooks_after_the_cleanup_time(catalog):
    """They see late results, but not for ever."""
    dispatcher = Dispatcher(catalog, hooks=[Hanging("after")], cleanup_seconds=0.01)
    result = await dispatcher.call("add", {"a": 1}, timeout_seconds=0.01)
    assert (result.error.details, result.attempts) == ({"ran": True}, 1)


async def test_the_time_limit_of_a_call_includes_the_functions_of_the_author():
    """They include `validate` and `approval`, which may be async."""
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
async def test_a_system_exit_in_an_option_of_the_author_becomes_a_result(option):
    """A function that decides counts as a no."""
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


async def test_returned_parts_become_the_parts_and_text_of_the_result(catalog):
    @catalog.tool
    async def show() -> Any:
        """Show."""
        return [TextPart("a"), TextPart("b")]

    result = await Dispatcher(catalog).call("show")
    assert (result.text, len(result.parts)) == ("a\nb", 2)
