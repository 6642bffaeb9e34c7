"""Calls of a dispatcher that a tool of another dispatcher uses."""

import asyncio

import pytest

from tests.telemetry.kept_spans import KeptSpans, linked_ids
from toolkit import Catalog, Decision, Dispatcher, Permissions, Session
from toolkit.hooks import CallStarted
from toolkit.telemetry import TraceFile

pytestmark = pytest.mark.anyio

FIRST_CALLS = {
    "call": lambda inner: inner.call("fetch"),
    "call_many": lambda inner: inner.call_many([("fetch", {})]),
    "call_sync": lambda inner: asyncio.to_thread(inner.call_sync, "fetch"),
    "with a session": lambda inner: inner.call("fetch", session=Session(), timeout_seconds=5),
    "in the background": lambda inner: inner.call("fetch_later", session=Session()),
    "in between": lambda inner: inner.call("pass_on"),
}


class Watch:
    """A hook of the inner dispatcher alone."""

    def __init__(self):
        self.names = []

    def on_event(self, event):
        if isinstance(event, CallStarted):
            self.names.append(event.call.name)


@pytest.fixture
async def inner():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def fetch() -> str:
        """Fetch something."""
        return "fetched"

    @catalog.tool(read_only=True, background=True)
    async def fetch_later() -> str:
        """Fetch something in the background."""
        return "fetched"

    @catalog.tool(read_only=True)
    async def pass_on() -> str:
        """Call one more tool."""
        return (await dispatcher.call("fetch")).text

    async with Dispatcher(catalog, hooks=[Watch()]) as dispatcher:
        yield dispatcher


def build_outer(inner, start, **options):
    """Return a dispatcher with the tool `work`, which uses *inner*."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def work() -> str:
        """Use the other dispatcher."""
        await start(inner)
        return "done"

    return Dispatcher(catalog, **options)


@pytest.mark.parametrize("way", FIRST_CALLS)
async def test_its_calls_are_recorded_as_a_part_of_the_tool(recording, inner, way):
    """This holds although it knows nothing of the telemetry. Its own hooks are told once."""
    async with build_outer(inner, FIRST_CALLS[way], telemetry=recording.hook()) as outer:
        for _ in range(2):
            assert (await outer.call("work")).text == "done"
        between = " / execute_tool pass_on" if way == "in between" else ""
        name = "fetch_later" if way == "in the background" else "fetch"
        assert recording.tree.count(f"execute_tool work{between} / execute_tool {name}") == 2
        [watch] = inner.settings.chain.hooks
        assert watch.names.count(name) == 2


async def test_each_telemetry_records_the_calls_of_its_own_tools(recording, inner):
    other = KeptSpans()
    start = FIRST_CALLS["call"]
    async with (
        build_outer(inner, start, telemetry=recording.hook()) as one,
        build_outer(inner, start, telemetry=other.hook()) as two,
        build_outer(inner, start) as silent,
    ):
        for outer in (one, two, one, silent):
            await outer.call("work")
        await inner.call("fetch")
    assert recording.tree.count("execute_tool work / execute_tool fetch") == 2
    assert other.tree.count("execute_tool work / execute_tool fetch") == 1
    assert (len(recording.spans), len(other.spans)) == (4, 2)


async def test_the_telemetry_of_both_dispatchers_records_a_call_once(recording, inner):
    hook = recording.hook()
    async with inner.extended(telemetry=hook) as own, build_outer(own, FIRST_CALLS["call"], telemetry=hook) as outer:
        await outer.call("work")
    assert recording.tree == ["execute_tool work", "execute_tool work / execute_tool fetch"]


@pytest.mark.parametrize("has_file", [False, True], ids=["one recorder", "a file beside it"])
async def test_a_resume_in_the_tool_is_recorded_and_linked_to_the_call_that_waited(recording, tmp_path, has_file):
    """A request keeps one span: that of the first recorder, in an inner dispatcher too."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    def burn() -> str:
        """Burn something."""
        return "burnt"

    async def start(inner):
        waiting = await inner.call("burn")
        assert (await inner.resume(waiting, Decision.approve(by="ada"))).text == "burnt"

    hooks = [TraceFile(tmp_path / "trace.jsonl")] if has_file else []
    async with (
        Dispatcher(catalog, permissions=Permissions("default")) as inner,
        build_outer(inner, start, telemetry=recording.hook(), hooks=hooks) as outer,
    ):
        assert (await outer.call("work")).text == "done"
    assert recording.tree == ["execute_tool work", *["execute_tool work / execute_tool burn"] * 2]
    waited, resumed = recording.named("execute_tool burn")
    assert linked_ids(resumed) == [(waited.context.trace_id, waited.context.span_id)]
