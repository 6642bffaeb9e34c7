"""Calls of the page and of a program: what is shown of them, live and in full."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.clocks import until
from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Agent, Catalog, Context, Dispatcher, RetryPolicy, Secret, Session, ToolCall, Transient
from toolkit.hooks import Deny, Modify
from toolkit.inspector import History, Inspector
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser():
    """A page with the usual tools."""
    async with serving(build_inspector()) as browser:
        yield browser


async def test_a_call_goes_through_the_whole_dispatcher(browser):
    call = await browser.call("sum", a=1, b="3")
    assert (call["tool"], call["alias"], call["kind"], call["attempts"], call["repairs"]) == ("add", "sum", "ok", 1, 1)
    assert call["arguments"] == {"a": 1, "b": 3}
    assert call["result"]["value"] == 4
    assert len(call["result"]["repairs"]) == 1
    assert [step["what"] for step in call["steps"]] == ["started", "attempt", "ended"]
    assert call["seconds"] > 0
    assert call == await browser.get(f"calls/{call['number']}")


async def test_arguments_may_be_json_text(browser):
    answer = await browser.post("call", {"tool": "add", "arguments": '{"a": 1}'})
    assert answer["call"]["result"]["value"] == 3


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [("nothing", {}, "not_found"), ("add", {"a": "x"}, "bad_args"), ("fail", {"text": "no"}, "failed")],
)
async def test_a_failure_is_a_result_and_no_error_of_the_address(browser, name, arguments, kind):
    call = await browser.call(name, **arguments)
    assert call["kind"] == kind
    assert call["result"]["error"]["message"]


async def test_a_dispatcher_that_raises_bugs_leaves_the_call_in_the_history():
    dispatcher = Dispatcher(build_catalog(), raise_bugs=True)
    async with serving(build_inspector(dispatcher=dispatcher)) as browser:
        call = await browser.call("fail", text="no")
        assert call["kind"] == "internal"
        assert call["result"] is None


async def test_hooks_and_attempts_are_steps():
    catalog, dispatcher_attempts = Catalog(), []

    @catalog.tool(read_only=True)
    def flaky() -> str:
        """Work the second time."""
        dispatcher_attempts.append(1)
        if len(dispatcher_attempts) < 2:
            raise Transient("later")
        return "done"

    class Guard:
        def before(self, call):
            return Deny("not today") if call.name == "add" else Modify({})

    for tool in build_catalog():
        catalog.add(tool)
    retry = RetryPolicy(attempts=2, wait_initial=0.0)
    async with serving(build_inspector(dispatcher=Dispatcher(catalog, hooks=[Guard()], retry=retry))) as browser:
        tried = await browser.call("flaky")
        assert [step["text"] for step in tried["steps"] if step["what"] == "attempt"] == ["", "after Transient"]
        assert (tried["attempts"], len(tried["result"]["retries"])) == (2, 1)
        denied = await browser.call("add", a=1)
        assert denied["kind"] == "denied"
        assert [step["text"] for step in denied["steps"] if step["what"] == "hook"] == ["Guard: Deny: not today"]


async def test_secrets_are_masked_everywhere():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def login(user: str, key: Annotated[str, Secret()]) -> str:
        """Log in."""
        return f"{user} with {key} and hunter2"

    dispatcher = Dispatcher(catalog, redact=["hunter2"])
    async with serving(build_inspector(dispatcher=dispatcher)) as browser:
        call = await browser.call("login", user="ada", key="s3cret-value")
        text = json.dumps([call, await browser.get("calls"), await browser.get(f"calls/{call['number']}")])
        assert "s3cret-value" not in text
        assert "hunter2" not in text
        assert "ada" in text


async def test_calls_are_listed_newest_first_and_by_page(browser):
    for number in range(5):
        await browser.call("add", a=number)
    first = await browser.get("calls", limit=2)
    assert [row["number"] for row in first["calls"]] == [5, 4]
    assert (first["next"], first["total"]) == (4, 5)
    rest = await browser.get("calls", limit=10, before=first["next"])
    assert [row["number"] for row in rest["calls"]] == [3, 2, 1]
    assert rest["next"] is None


async def test_calls_can_be_filtered(browser):
    await browser.call("add", a=1)
    await browser.call("fail", text="no")
    await browser.call("nothing")
    waits = await browser.call("write_note", text="x")

    async def numbers(**filters):
        return [row["number"] for row in (await browser.get("calls", **filters))["calls"]]

    assert await numbers(tool="add") == [1]
    assert await numbers(kind="failed,not_found") == [3, 2]
    assert await numbers(failed=1) == [3, 2]
    assert await numbers(session=waits["session"]) == [4, 3, 2, 1]
    assert await numbers(session="other") == []
    assert await numbers(slow=1000) == []
    assert await numbers(kind="running") == []
    assert "`slow` has to be a number" in (await browser.get("calls", 400, slow="x"))["error"]


@pytest.mark.parametrize("number", ["0", "99", "9999999999999999999"])
async def test_a_call_that_is_not_there_is_not_found(browser, number):
    assert "there is no call" in (await browser.get(f"calls/{number}", 404))["error"]


async def test_a_running_call_is_seen_with_its_progress():
    catalog, release = Catalog(), asyncio.Event()

    @catalog.tool(read_only=True)
    async def work(key: Annotated[str, Secret()], context: Context) -> str:
        """Work until released."""
        context.report(3, 10, "a third")
        await release.wait()
        return "done"

    inspector = build_inspector(catalog)
    async with serving(inspector) as browser:
        task = asyncio.create_task(browser.call("work", key="s3cret-value"))
        await until(lambda: inspector.history.find_number and _find_progress(inspector))
        (row,) = (await browser.get("calls", kind="running"))["calls"]
        assert (row["kind"], row["progress"]) == (None, {"current": 3, "total": 10, "message": "a third"})
        details = await browser.get(f"calls/{row['number']}")
        assert details["result"] is None
        assert "s3cret-value" not in json.dumps(details)
        release.set()
        assert (await task)["kind"] == "ok"
        assert (await browser.get("calls", kind="running"))["calls"] == []


def _find_progress(inspector):
    page, _, _ = inspector.history.list_calls(lambda row: row.progress is not None, before=None, limit=1)
    return page


async def test_calls_of_another_conversation_can_be_made(browser):
    error = await browser.post("call", {"tool": "add", "arguments": {"a": 1}, "session": "unknown"}, 404)
    assert "leave `session` out" in error["error"]
    session = (await browser.get("about"))["session"]
    answer = await browser.post("call", {"tool": "add", "arguments": {"a": 1}, "session": session})
    assert answer["call"]["session"] == session


async def test_a_call_has_a_time_limit():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return ""

    async with serving(build_inspector(catalog)) as browser:
        answer = await browser.post("call", {"tool": "hang", "timeout_seconds": 0.05})
        assert answer["call"]["kind"] == "timeout"
        error = await browser.post("call", {"tool": "hang", "timeout_seconds": -1}, 400)
        assert "has to be above 0" in error["error"]


async def test_a_history_shows_the_calls_of_a_program_and_its_agent():
    """The agent may be older than the inspector."""
    history = History()
    dispatcher = Dispatcher(build_catalog(), hooks=[history], on_progress=history.on_progress)
    script = [[ToolCall("add", {"a": 1, "b": 1}, "c1"), ToolCall("add", {"a": 2, "b": 2}, "c2")], "Done."]
    agent = Agent(ScriptedProvider(script), dispatcher, session=Session(id="talk"))
    inspector = Inspector(dispatcher)
    assert inspector.history is history
    await agent.run("Add.")
    await dispatcher.call("add", {"a": 5})
    async with serving(inspector) as browser:
        rows = (await browser.get("calls"))["calls"]
        assert [(row["id"], row["session"], row["turn"]) for row in reversed(rows)][:2] == [
            ("c1", "talk", 1),
            ("c2", "talk", 1),
        ]
        assert rows[0]["session"] is None
        assert len(rows) == 3
        again = await browser.post("call", {"tool": "add", "arguments": {"a": 1}, "session": "talk"})
        assert again["call"]["session"] == "talk"


async def test_only_calls_of_the_extended_dispatcher_are_shown_without_a_history():
    dispatcher = Dispatcher(build_catalog())
    inspector = Inspector(dispatcher)
    await dispatcher.call("add", {"a": 1})
    await inspector.dispatcher.call("add", {"a": 2})
    async with serving(inspector) as browser:
        assert (await browser.get("calls"))["total"] == 1


async def test_an_application_can_be_mounted():
    inspector = build_inspector()
    app = Starlette(routes=[Mount("/inspect", inspector.app())])
    headers = {"authorization": f"Bearer {inspector.token}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
        assert (await client.get("/inspect/")).status_code == 200
        assert (await client.get("/inspect/api/about")).status_code == 401
        assert (await client.get("/inspect/api/about", headers=headers)).json()["name"] == "shop"


async def test_numbers_count_the_calls(browser):
    await browser.call("add", a=1)
    await browser.call("add", a="x")
    (numbers,) = (await browser.get("numbers"))["tools"]
    assert (numbers["tool"], numbers["calls"], numbers["failures"]) == ("add", 2, {"bad_args": 1})
    assert 0 < numbers["p50_seconds"] <= numbers["p95_seconds"] <= numbers["p99_seconds"]
