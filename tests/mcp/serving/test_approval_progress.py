"""Progress of a call that waits for an approval."""

from __future__ import annotations

import asyncio

import pytest
from mcp import MCPError

from tests.clocks import until
from tests.mcp.serving.approval_kit import KEY
from tests.mcp.serving.kit import (
    MODES,
    NEW,
    NO,
    YES,
    Person,
    call_once,
    connected,
)
from toolkit import Catalog, Context, Dispatcher
from toolkit.approvals import Approvals

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", MODES)
async def test_progress_arrives_after_an_approval(store, mode):
    """The call that runs after the answer reports to the request that brought the answer."""
    catalog, messages = Catalog(), []

    @catalog.tool
    async def work(context: Context) -> str:
        """Work."""
        context.report(1, 2, "half")
        return "done"

    async def note(progress, total, message):
        messages.append(message)

    async with connected(Dispatcher(catalog), mode, Person(YES)) as client:
        await client.call_tool("work", {}, progress_callback=note)
        await until(lambda: messages)
    assert messages == ["half"]


def follow(messages):
    """Return a callback for progress that notes the messages."""

    async def note(progress, total, message):
        messages.append(message)

    return note


async def test_progress_reaches_no_client_of_another_process(store):
    """A call that one process asked about and another one runs does not meet the calls of that other process."""
    catalog, messages = Catalog(), {"ada": [], "bob": []}
    has_started, is_wiping, has_read = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @catalog.tool
    async def wipe(context: Context) -> str:
        """Wipe."""
        context.report(1, 2, "wiping")
        is_wiping.set()
        await has_read.wait()
        return "wiped"

    @catalog.tool(read_only=True)
    async def read(context: Context) -> str:
        """Read."""
        has_started.set()
        await is_wiping.wait()
        context.report(1, 2, "a secret")
        has_read.set()
        return "read"

    def start():
        return connected(Dispatcher(catalog, approvals=Approvals(store)), NEW, Person(NO), key=KEY)

    async with start() as first, start() as second:
        question = await call_once(first, "wipe", {})
        reading = asyncio.create_task(second.call_tool("read", {}, progress_callback=follow(messages["ada"])))
        await has_started.wait()
        await second.session.call_tool(
            *("wipe", {}),
            input_responses={"approval": YES},
            request_state=question.request_state,
            progress_callback=follow(messages["bob"]),
        )
        await reading
        await until(lambda: messages["ada"] and messages["bob"])
    assert messages == {"ada": ["a secret"], "bob": ["wiping"]}


async def test_progress_goes_on_when_a_second_answer_is_refused(store):
    """Several answers arrive at once. The one that counts gets all progress, and the others get none."""
    catalog, messages, is_over = Catalog(), [[] for _ in range(5)], asyncio.Event()

    @catalog.tool
    async def work(context: Context) -> str:
        """Work."""
        context.report(1, 2, "half")
        await is_over.wait()
        context.report(2, 2, "whole")
        return "done"

    async with connected(Dispatcher(catalog, approvals=Approvals(store)), NEW, Person(NO)) as client:
        state = (await call_once(client, "work", {})).request_state
        options = {"input_responses": {"approval": YES}, "request_state": state, "allow_input_required": True}
        answers = [
            asyncio.create_task(client.session.call_tool("work", {}, progress_callback=follow(notes), **options))
            for notes in messages
        ]
        await until(lambda: sum(answer.done() for answer in answers) == 4)
        is_over.set()
        results = await asyncio.gather(*answers, return_exceptions=True)
        [winner] = [index for index, result in enumerate(results) if not isinstance(result, MCPError)]
        await until(lambda: len(messages[winner]) == 2)
    assert messages == [["half", "whole"] if index == winner else [] for index in range(5)]
