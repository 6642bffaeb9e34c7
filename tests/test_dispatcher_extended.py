"""
An extended dispatcher has other tools, more hooks and more judges, and shares the rest with the first one.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
import weakref

import pytest

from tests.catalog_kit import build_plain_catalog
from tests.clocks import until
from toolkit import Approvals, Catalog, Context, DefinitionError, Dispatcher, Inject, Permissions
from toolkit.decisions import Decision
from toolkit.hooks import Deny, Proceed
from toolkit.permissions import Judge
from toolkit.policies.audit import AuditLog

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    return build_plain_catalog()


@pytest.fixture
def dispatcher(catalog):
    """The first dispatcher."""
    with Closing(Dispatcher(catalog)) as dispatcher:
        yield dispatcher


class Closing:
    """Closes a dispatcher at the end of a block."""

    def __init__(self, dispatcher):
        self.dispatcher = dispatcher

    def __enter__(self):
        return self.dispatcher

    def __exit__(self, *exception):
        self.dispatcher.close()


class Named:
    """A hook that notes its name."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def before(self, call):
        self.log.append(self.name)
        return Proceed()


# What differs.


async def test_the_tools_are_those_of_the_other_catalog(catalog, dispatcher):
    """The first one keeps its own."""
    extended = dispatcher.extended(catalog.filtered(lambda tool: tool.facts.read_only))
    assert (await extended.call("add", {"a": 1, "b": 2})).value == 3
    assert (await extended.call("shout", {"text": "hi"})).kind == "not_found"
    assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"


async def test_an_extension_without_a_catalog_has_the_same_tools(dispatcher):
    assert dispatcher.extended().catalog is dispatcher.catalog


async def test_the_extension_follows_its_catalog(catalog, dispatcher):
    """A tool that is replaced is called as it is now."""
    extended = dispatcher.extended(catalog.prefixed("x."))
    assert (await extended.call("x.add", {"a": 1, "b": 2})).value == 3

    async def add(a: int, b: int) -> int:
        """Subtract."""
        return a - b

    catalog.add(add, replace=True)
    assert (await extended.call("x.add", {"a": 1, "b": 2})).value == -1


async def test_hooks_run_after_those_of_the_first(catalog):
    """Calls of the first do not meet them."""
    log = []
    first = Dispatcher(catalog, hooks=[Named("first", log)])
    extended = first.extended(hooks=[Named("second", log)]).extended(hooks=[Named("third", log)])
    await extended.call("add", {"a": 1, "b": 2})
    assert log == ["first", "second", "third"]
    log.clear()
    await first.call("add", {"a": 1, "b": 2})
    assert log == ["first"]


async def test_listeners_of_both_dispatchers_receive_an_event(catalog):
    """The first one receives it first, and a listener that fails does not silence the next."""
    log = []

    def fail(progress):
        log.append("first")
        raise ValueError("no")

    extended = Dispatcher(catalog, on_progress=fail).extended(on_progress=lambda progress: log.append("second"))
    await extended.call("shout", {"text": "hi"})
    assert log == ["first", "second"]


@pytest.mark.parametrize("permissions", [None, Permissions("bypass")], ids=["none", "bypass"])
async def test_judges_can_only_forbid_more(catalog, permissions):
    """A tool that the new judge forbids is denied, and not offered; the first runs it."""

    class Quiet(Judge):
        def judge(self, request):
            return "deny" if request.tool.name == "shout" else "allow"

        def could_allow(self, tool, names, session=None):
            return tool.name != "shout"

    first = Dispatcher(catalog, permissions=permissions)
    extended = first.extended(permissions=Quiet())
    assert (await extended.call("shout", {"text": "hi"})).kind == "denied"
    assert extended.permitted().names() == ["add"]
    assert (await first.call("shout", {"text": "hi"})).text == "HI"


async def test_a_judge_of_the_extension_cannot_allow_a_call_that_the_first_denies(catalog):
    class Generous:
        def judge(self, request):
            return "allow"

    first = Dispatcher(catalog, permissions=Permissions("plan"))
    assert (await first.extended(permissions=[Generous()]).call("shout", {"text": "hi"})).kind == "denied"


async def test_added_permissions_do_not_answer_a_question_of_the_first(catalog):
    """The author of the tool wants a person, and the first dispatcher has no mode that would do without."""

    @catalog.tool(approval="always")
    async def launch() -> str:
        """Launch."""
        return "launched"

    first = Dispatcher(catalog)
    extended = first.extended(permissions=Permissions("bypass", ["allow launch"]))
    assert [(await instance.call("launch")).kind for instance in (first, extended)] == ["waiting", "waiting"]


async def test_an_added_rule_opens_no_port(catalog):
    """Only the rules of the first dispatcher can."""
    url, opened = "https://example.com:8443/", []

    @catalog.tool
    def look(context: Context) -> None:
        """Look whether the port is open."""
        opened.append(context.permissions.opens_port(url))

    rules = Permissions("bypass", [f"allow look({url}*)"])
    await Dispatcher(catalog).extended(permissions=rules).call("look")
    await Dispatcher(catalog, permissions=rules).extended(permissions=Permissions("bypass")).call("look")
    assert opened == [False, True]


# What is refused.


def test_an_option_that_both_dispatchers_share_is_refused(dispatcher):
    """It would change the first."""
    with pytest.raises(TypeError, match="retry"):
        dispatcher.extended(retry=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"catalog": "shop"}, "wants a catalog"),
        ({"hooks": None}, "`hooks` is a list"),
        ({"hooks": [object()]}, "is not a hook"),
        ({"permissions": object()}, "cannot give permission"),
        ({"on_progress": 1}, "on_progress cannot be int"),
    ],
)
def test_wrong_options_of_an_extension_are_refused(dispatcher, options, message):
    with pytest.raises(TypeError, match=message):
        dispatcher.extended(**options)


def test_a_tool_without_its_resource_is_refused(dispatcher):
    """The resources are those of the first."""

    def ping(connection: Inject[threading.Event]) -> str:
        """Ping."""
        return "pong"

    with pytest.raises(DefinitionError, match="`ping` wants"):
        dispatcher.extended(Catalog(ping))
    with Closing(Dispatcher(Catalog(), resources={threading.Event: threading.Event()})) as first:
        assert first.extended(Catalog(ping)).call_sync("ping").text == "pong"


def test_a_rule_about_a_tool_that_only_the_first_has_is_not_a_mistake(catalog):
    """The rules were checked with the catalog that they were written for."""
    first = Dispatcher(catalog, permissions=Permissions("default", ["allow shout"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first.extended(catalog.filtered(lambda tool: tool.name == "add"))


# What is shared.


async def test_approvals_are_shared(catalog):
    """A request of the one can be answered at the other, also if the store is the default one."""
    first = Dispatcher(catalog, permissions=Permissions("default"))
    waiting = await first.extended().call("shout", {"text": "hi"})
    assert waiting.kind == "waiting"
    assert (await first.resume(waiting.request.id, Decision.approve())).text == "HI"


async def test_calls_without_an_id_get_different_ones(catalog, tmp_path):
    """The audit log of both can tell them apart."""
    log = tmp_path / "calls.audit.jsonl"
    first = Dispatcher(catalog, audit=AuditLog(log))
    extended = first.extended()
    for dispatcher in (first, extended, first):
        await dispatcher.call("add", {"a": 1, "b": 2})
    ids = [line["call_id"] for line in AuditLog.read(log) if line["event"] == "outcome"]
    assert len(set(ids)) == 3


async def test_calls_that_cannot_be_stopped_are_counted_together(catalog):
    """They hold the threads of both."""
    release = threading.Event()

    @catalog.tool(timeout_seconds=0.05)
    def hang() -> None:
        """Hang."""
        release.wait(30)

    first = Dispatcher(catalog)
    extended = first.extended()
    assert (await extended.call("hang")).kind == "timeout"
    assert [(instance.abandoned, instance.abandoned_threads) for instance in (first, extended)] == [(1, 1), (1, 1)]
    release.set()
    await until(lambda: first.abandoned == 0)
    first.close()


def test_both_have_one_loop_for_sync_callers(dispatcher):
    """A client that one call makes works in the next."""
    loops = []

    @dispatcher.catalog.tool
    async def note() -> None:
        """Note the loop."""
        loops.append(asyncio.get_running_loop())

    extended = dispatcher.extended()
    for instance in (extended, dispatcher):
        assert instance.call_sync("note").kind == "ok"
    assert loops[0] is loops[1]


# Who closes what.


async def test_closing_the_extension_leaves_the_first_open(catalog, dispatcher):
    """It ends its own sync calls, and its subscription to the catalog."""
    watchers = len(catalog._watchers)
    extended = dispatcher.extended()
    further = extended.extended()
    extended.close()
    extended.close()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        extended.call_sync("add", {"a": 1, "b": 2})
    further.close()
    assert len(catalog._watchers) == watchers
    assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"
    assert dispatcher.call_sync("shout", {"text": "hi"}).text == "HI"


async def test_leaving_the_context_of_the_extension_leaves_the_first_open(dispatcher):
    async with dispatcher.extended() as extended:
        assert (await extended.call("shout", {"text": "hi"})).text == "HI"
    assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"


async def test_closing_the_first_closes_both(catalog):
    """This holds also if only the extension has been used."""
    first = Dispatcher(catalog)
    extended = first.extended()
    assert extended.call_sync("shout", {"text": "hi"}).text == "HI"
    first.close()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        extended.call_sync("add", {"a": 1, "b": 2})
    assert "closed" in (await extended.call("shout", {"text": "hi"})).text


async def test_the_threads_last_as_long_as_the_extension(catalog):
    """A caller need not keep the first."""
    first = Dispatcher(catalog)
    reference, extended = weakref.ref(first), first.extended()
    del first
    gc.collect()
    assert reference() is None
    assert (await extended.call("shout", {"text": "hi"})).text == "HI"
    assert extended.call_sync("shout", {"text": "hi"}).text == "HI"


async def test_an_extension_that_was_collected_leaves_no_subscription(catalog, dispatcher):
    """A catalog may outlive thousands of them."""
    watchers = len(catalog._watchers)
    extended = dispatcher.extended()
    await extended.call("add", {"a": 1, "b": 2})
    assert len(catalog._watchers) == watchers + 1
    del extended
    gc.collect()
    assert len(catalog._watchers) == watchers
    assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"


# A function of the caller's own for each call of a batch.


async def test_a_batch_can_be_run_by_another_function(dispatcher):
    """The order stays, and calls that are never started do not reach it."""
    log = []

    async def run_call(call):
        log.append(call.name)
        return await dispatcher.call(call, timeout_seconds=5)

    calls = [("add", {"a": 1, "b": 1}), ("shout", {"text": "hi"}), ("nothing", {})]
    results = await dispatcher.call_many(calls, run_call=run_call)
    assert [result.text.splitlines()[0] for result in results[:2]] == ["2", "HI"]
    assert (log, results[2].kind) == (["add", "shout", "nothing"], "not_found")


async def test_a_hook_of_the_extension_may_deny(dispatcher):
    class No:
        def before(self, call):
            return Deny("not here")

    result = await dispatcher.extended(hooks=[No()]).call("add", {"a": 1, "b": 1})
    assert (result.kind, "not here" in result.text) == ("denied", True)


async def test_the_approvals_of_a_dispatcher_are_public(catalog):
    """`dispatcher.approvals` is the object that was given, shared by extended dispatchers, or the default in memory."""
    approvals = Approvals(ask=lambda request: Decision.approve(by="ada"))
    with Closing(Dispatcher(catalog, approvals=approvals)) as dispatcher:
        assert dispatcher.approvals is approvals
        assert dispatcher.extended().approvals is approvals


async def test_the_default_approvals_hold_waiting_requests(catalog):
    """They are in the store of `dispatcher.approvals`."""
    with Closing(Dispatcher(catalog, permissions=Permissions("default"))) as dispatcher:
        extended = dispatcher.extended()
        result = await extended.call("shout", {"text": "hi"})
        assert result.request is not None
        record = dispatcher.approvals.store.get(result.request.id)
        assert record is not None
        assert record.request.tool == "shout"
        assert extended.approvals is dispatcher.approvals
