"""A dispatcher finds tools, adopts calls and checks its options."""

from __future__ import annotations

import asyncio
from enum import Enum

import pytest

from tests.catalog_kit import build_plain_catalog
from toolkit.approvals import MemoryApprovals
from toolkit.calls.resources import PER_CALL
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError
from toolkit.hooks import LoopGuard, Proceed
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    return build_plain_catalog()


async def test_an_unknown_name_is_answered_with_the_nearest(catalog):
    """The model can recover; hooks cannot lose the answer, and see no tool."""
    tools = []

    class Careless:
        def after(self, call, result):
            tools.append(call.tool)
            return call.tool.facts

    class Tagging:
        async def after(self, call, result):
            return ToolResult(result.text + "\n(tagged)", None, result.kind, error=result.error)

    result = await Dispatcher(catalog, hooks=[Careless(), Tagging()]).call("ad", {}, id="7")
    assert result.kind == "not_found"
    assert result.text.startswith("error: unknown tool `ad`; did you mean `add`?")
    assert result.text.endswith("(tagged)")
    assert (result.call_id, result.tool, result.attempts, tools) == ("7", "ad", 0, [None])


async def test_a_cancellation_passes_through_the_hooks_of_an_unknown_name(catalog):

    class Hanging:
        async def after(self, call, result):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(Dispatcher(catalog, hooks=[Hanging()]).call("nope"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_unknown_name_is_masked_and_cut(catalog):
    """A model may invent a long name, or one with a secret."""
    dispatcher = Dispatcher(catalog, redact=["hunter2"], max_chars=100)
    assert "hunter2" not in (await dispatcher.call("hunter2")).text
    assert 90 < len((await dispatcher.call("x" * 5000)).text) <= 100


async def test_a_dispatcher_follows_changes_of_its_catalog(catalog):
    """Tools come, go and are replaced."""
    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("add", {"a": 1, "b": 1})).value == 2
    catalog.remove("add")
    assert (await dispatcher.call("add", {"a": 1, "b": 1})).kind == "not_found"

    @catalog.tool(name="add")
    async def other(a: int, b: int) -> int:
        """Add differently."""
        return 42

    assert (await dispatcher.call("add", {"a": 1, "b": 1})).value == 42


async def test_a_call_can_be_given_as_one_object(catalog):
    """Keyword arguments fill its empty fields, and the object of the caller is not changed."""
    calls = []

    class Watch:
        def before(self, call):
            calls.append((call.id, call.session_key, call.principal, call.turn, call.metadata))
            call.metadata["spoilt"] = True
            return Proceed()

    call = ToolCall("add", {"a": 1, "b": 2}, "7", turn=3, metadata={"k": 1})
    dispatcher = Dispatcher(catalog, hooks=[Watch()])
    result = await dispatcher.call(call, session=Session(id="s", principal="ada"), id="8")
    assert (result.value, result.call_id) == (3, "7")
    assert calls == [("7", "s", "ada", 3, {"k": 1, "spoilt": True})]
    assert (call.metadata, call.session, call.tool) == ({"k": 1}, None, None)


async def test_the_principal_of_the_call_wins_over_the_sessions(catalog):
    """Given with the call, or on it, or by the session."""
    principals = []

    class Watch:
        def before(self, call):
            principals.append(call.principal)
            return Proceed()

    dispatcher, session = Dispatcher(catalog, hooks=[Watch()]), Session(principal="ada")
    arguments = {"a": 1, "b": 2}
    await dispatcher.call("add", arguments, session=session)
    await dispatcher.call("add", arguments, session=session, principal="bob")
    await dispatcher.call(ToolCall("add", arguments, principal="eve"), session=session, principal="bob")
    await dispatcher.call_many([("add", arguments)], session=session, principal="bob")
    await dispatcher.call_many([("add", arguments)], session=session)
    assert principals == ["ada", "bob", "eve", "bob", "ada"]


async def test_a_name_may_be_any_kind_of_text(catalog):
    """Names in an enum, for instance."""

    class Names(str, Enum):
        ADD = "add"

    result = await Dispatcher(catalog).call(Names.ADD, {"a": 1, "b": 2})
    assert (result.kind, result.tool) in [("ok", "add")]


@pytest.mark.parametrize("wrong", [(5, None), (None, None), (ToolCall("add"), {"a": 1})])
async def test_a_value_that_is_not_a_call_is_a_type_error(catalog, wrong):
    with pytest.raises(TypeError):
        await Dispatcher(catalog).call(*wrong)


async def test_calls_without_an_id_get_different_ids(catalog):
    dispatcher = Dispatcher(catalog)
    first = await dispatcher.call("add", {"a": 1, "b": 2})
    second = await dispatcher.call(ToolCall("add", {"a": 1, "b": 2}))
    assert first.call_id
    assert second.call_id
    assert first.call_id != second.call_id


@pytest.mark.parametrize(
    "options",
    [
        {"max_concurrency": 0},
        {"max_chars": 10},
        {"max_bytes": 10},
        {"timeout_seconds": 0},
        {"cleanup_seconds": -1},
        {"cleanup_seconds": float("nan")},
        {"validation": "slow"},
    ],
)
def test_an_invalid_option_is_refused(catalog, options):
    with pytest.raises(ValueError, match="has to be"):
        Dispatcher(catalog, **options)


def test_a_missing_resource_is_reported_when_the_dispatcher_is_built(catalog):
    """The error has every tool that needs one. A resource that comes with each call is declared so."""

    @catalog.tool
    async def use(number: Inject[float], context: Context) -> float:
        """Use it."""
        return number

    with pytest.raises(DefinitionError, match="`use` wants float"):
        Dispatcher(catalog)
    Dispatcher(catalog, resources={float: PER_CALL})
    Dispatcher(catalog.provided({float: 1.0}))


def test_a_tool_with_an_undefined_name_does_not_prevent_a_dispatcher():
    """Its first call has the missing name."""
    catalog = Catalog()

    @catalog.tool
    async def broken(value: NotYet) -> int:  # noqa: F821 -- that is the point
        """Take what is not there."""
        return 1

    assert asyncio.run(Dispatcher(catalog).call("broken")).kind == "internal"


@pytest.mark.parametrize("wrong", ["catalog", None, 3])
def test_a_dispatcher_wants_a_catalog_or_functions(wrong):
    """Anything else is named by its type."""
    with pytest.raises(TypeError, match=rf"wants a catalog or functions, got {type(wrong).__name__}"):
        Dispatcher(wrong)


def test_a_dispatcher_says_how_one_tool_becomes_a_catalog():
    def wait() -> None:
        """Wait."""

    with pytest.raises(TypeError, match=r"got Tool; write `Catalog\(tool\)`"):
        Dispatcher(Tool.of(wait))


@pytest.mark.parametrize("wrap", [lambda function: function, lambda function: [function], lambda function: (function,)])
def test_a_dispatcher_accepts_functions_without_a_catalog(wrap):
    """An agent does, too."""

    def double(number: int) -> int:
        """Return twice the number."""
        return 2 * number

    assert Dispatcher(wrap(double)).call_sync("double", {"number": 4}).value == 8


def test_a_single_hook_in_place_of_a_list_is_refused_with_the_remedy(catalog):
    with pytest.raises(TypeError, match=r"`hooks` is a list, got one: write \[LoopGuard\("):
        Dispatcher(catalog, hooks=LoopGuard())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"permissions": "auto"}, r"write Permissions\('auto'\)"),
        ({"safety": False}, r"safety cannot be bool; give SafetyChecks"),
        ({"approvals": MemoryApprovals()}, r"approvals cannot be MemoryApprovals; give Approvals\(store\)"),
        ({"audit": "calls.jsonl"}, r"audit cannot be str; give AuditLog\(path\)"),
        ({"audit": AuditLog}, r"audit cannot be the class AuditLog; give AuditLog\(path\)"),
        ({"hooks": None}, r"`hooks` is a list, got None; for none write \[\]"),
        ({"retry": None}, r"retry cannot be None; give RetryPolicy\("),
        ({"retry": 3}, r"retry cannot be int; give RetryPolicy\("),
        ({"resources": [int]}, "resources cannot be list; give a dictionary"),
        ({"redact": 5}, "redact wants a list of rules"),
        ({"timeout_seconds": "9"}, "timeout_seconds cannot be str; give a number of seconds"),
        ({"max_chars": "9"}, "max_chars cannot be str; give a whole number of characters"),
        ({"max_bytes": 9.5}, "max_bytes cannot be float; give a whole number of bytes"),
        ({"max_concurrency": 2.5}, "max_concurrency cannot be float; give a whole number"),
        ({"on_progress": "log"}, "on_progress cannot be str; give a function"),
        ({"cleanup_seconds": None}, "cleanup_seconds cannot be None; give a number of seconds"),
        ({"clock": 0}, "clock cannot be int; give a function"),
        ({"sleep": None}, "sleep cannot be None; give a function"),
        ({"chance": 0.5}, "chance cannot be float; give a function"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused(options, message):
    with pytest.raises(TypeError, match=message):
        Dispatcher(Catalog(), **options)
