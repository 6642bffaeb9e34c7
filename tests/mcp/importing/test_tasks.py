"""
Tools that a server runs as tasks.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from toolkit import Approvals, Decision, Dispatcher
from toolkit.mcp import RemoteServer, Servers

pytestmark = pytest.mark.anyio

SCRIPT = Path(__file__).with_name("task_server.py")


def start(*words):
    """Return the server that runs tasks."""
    return RemoteServer([sys.executable, "-I", "-S", str(SCRIPT), *words], revision="legacy")


@pytest.fixture(scope="module")
def servers():
    """Open the server for all tests of this module."""
    with Servers(jobs=start()) as tools:
        yield tools


async def list_cancelled(dispatcher):
    """Return the tasks that the server was asked to cancel."""
    return json.loads((await dispatcher.call("jobs_list_cancelled", {})).text)


async def wait_for_cancellation(dispatcher, before):
    """Wait until the server knows one more task that is no longer wanted."""
    async with asyncio.timeout(20):
        while (now := await list_cancelled(dispatcher)) == before:
            pass
    assert now == [*before, "hang"]


async def test_a_task_is_followed_to_its_result(servers):
    """The status of the task is polled, its messages are progress, and the result is fetched at the end."""
    reports = []
    result = await Dispatcher(servers, on_progress=reports.append).call("jobs_count", {})
    assert (result.kind, result.text) == ("ok", "count: 3 polls")
    assert [(report.progress, report.message) for report in reports] == [(1, "started"), (2, "step 0"), (3, "step 1")]


async def test_a_task_asks_its_user(servers):
    """A task that needs input asks while its result is waited for."""

    def answer(request):
        [question] = request.questions
        return Decision.approve(answers={question.key: {"color": "red"}})

    result = await Dispatcher(servers, approvals=Approvals(ask=answer)).call("jobs_ask", {})
    assert json.loads(result.text) == {"action": "accept", "content": {"color": "red"}}


async def test_a_cancelled_call_cancels_its_task(servers):
    """The server learns that its work is no longer wanted."""
    begun = asyncio.Event()
    dispatcher = Dispatcher(servers, on_progress=lambda report: begun.set())
    before = await list_cancelled(dispatcher)
    call = asyncio.create_task(dispatcher.call("jobs_hang", {}))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await wait_for_cancellation(dispatcher, before)


async def test_a_call_that_takes_too_long_cancels_its_task(servers):
    """The time limit of a call holds for the task as well."""
    dispatcher = Dispatcher(servers)
    before = await list_cancelled(dispatcher)
    result = await dispatcher.call("jobs_hang", {}, timeout_seconds=0.15)
    assert result.kind == "timeout"
    await wait_for_cancellation(dispatcher, before)


@pytest.mark.parametrize(
    ("tool", "kind", "words"),
    [
        ("break", "failed", "out of cheese"),
        ("give_up", "failed", "has cancelled the task of this call: too much work"),
        ("forget", "failed", "has started a task for this call, and no longer knows it: Task not found"),
        ("refuse", "bad_args", "no such topic"),
        ("malform", "failed", "is not valid MCP"),
        ("odd_status", "failed", "is not valid MCP"),
        ("answer_at_once", "ok", "task: {'ttl': 120001}"),
    ],
)
async def test_a_task_that_goes_wrong_says_why(servers, tool, kind, words):
    """The model reads what has become of the task."""
    result = await Dispatcher(servers).call(f"jobs_{tool}", {})
    assert result.kind == kind
    assert words in result.text


async def test_a_server_without_tasks_gets_a_plain_call():
    """The facts of a tool about tasks count only if its server offers them."""
    async with Servers(jobs=start("plain")) as tools:
        result = await Dispatcher(tools).call("jobs_count", {})
    assert result.text == "task: None"
