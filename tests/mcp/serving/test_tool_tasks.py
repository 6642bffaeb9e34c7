"""Calls that run as tasks, with the client of the SDK and an extension that follows tasks to their end."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import httpx
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from tests.clocks import wait_until
from tests.mcp.serving.kit import NEW, OLD, YES, Person, connected, text_of
from toolkit import Catalog, Context, Dispatcher, Permissions, ToolResult
from toolkit.mcp import Auth, http_app
from toolkit.mcp.serving.tool_tasks import EXTENSION

pytestmark = pytest.mark.anyio


HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": NEW,
}
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}},
}


class Handle(types.Result):
    """A task, as the answer to a call has it."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"
    task_id: str


class State(types.Result):
    """A task, as `tasks/get` shows it."""

    model_config = ConfigDict(extra="allow")


class Params(types.RequestParams):
    """The parameters of a request about a task."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskRequest(types.Request[Params, str]):
    """A request about a task."""

    name_param = "taskId"


async def ask(session, method, task_id, **further):
    """Return the answer to a request about a task, as a dictionary."""
    request = TaskRequest(method=f"tasks/{method}", params=Params(task_id=task_id, **further))
    answer = await session.send_request(request, State)
    return answer.model_dump(by_alias=True, exclude_none=True)


class Following(ClientExtension):
    """Follows each task to its end, and answers its questions with *answers*."""

    identifier = EXTENSION

    def __init__(self, *answers):
        self._answers = list(answers)
        self.states = []
        self.keys = []

    def claims(self):
        return [ResultClaim(result_type="task", model=Handle, resolve=self._resolve)]

    async def _resolve(self, handle, context):
        while (state := await ask(context.session, "get", handle.task_id))["status"] in ("working", "input_required"):
            self.states.append(state["status"])
            if state["status"] == "input_required":
                self.keys += state["inputRequests"]
                answer = {"action": "accept", "content": self._answers.pop(0)}
                responses = dict.fromkeys(state["inputRequests"], answer)
                ack = await ask(context.session, "update", handle.task_id, input_responses=responses)
                assert ack["resultType"] == "complete"
            await asyncio.sleep(0)
        self.states.append(state["status"])
        assert set(state) & {"result", "error"} == ({"result"} if state["status"] == "completed" else set())
        return types.CallToolResult.model_validate(state.get("result", {"content": []}), by_name=False)


@pytest.fixture
def bench():
    """A catalog of tools that may run in the background, and events that hold them up."""

    class Bench:
        catalog = Catalog()
        may_end = asyncio.Event()
        cancelled = asyncio.Event()

    @Bench.catalog.tool(read_only=True, background=True)
    async def work(parts: int, context: Context) -> int:
        """Work on some parts."""
        context.report(1, parts, "half")
        try:
            await Bench.may_end.wait()
        except asyncio.CancelledError:
            Bench.cancelled.set()
            raise
        return parts * 2

    @Bench.catalog.tool(read_only=True, background=True)
    async def interview(context: Context) -> str:
        """Ask twice under the same words."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        first = await context.ask("first", "Who?", schema)
        second = await context.ask("second", "And who else?", schema)
        return f"{first['name']} and {second['name']}"

    @Bench.catalog.tool(read_only=True, background=True)
    async def pair(context: Context) -> str:
        """Ask two questions at once."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        answers = await asyncio.gather(context.ask("first", "Who?", schema), context.ask("second", "Who else?", schema))
        return " and ".join(answer["name"] for answer in answers)

    @Bench.catalog.tool(read_only=True, background=True)
    async def vanish() -> ToolResult:
        """Say that there is no such tool."""
        return ToolResult.failure("not_found", "gone")

    @Bench.catalog.tool(background=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @Bench.catalog.tool(read_only=True, background=True)
    async def fail() -> str:
        """Fail."""
        raise RuntimeError("no stock")

    @Bench.catalog.tool(read_only=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    Bench.may_end.set()
    return Bench


def with_tasks(bench, *answers, person=None, **options):
    """Return a client with the extension, and the extension."""
    following = Following(*answers)
    dispatcher = Dispatcher(bench.catalog, permissions=Permissions("default"))
    return connected(dispatcher, NEW, person, client={"extensions": [following]}, **options), following


@pytest.mark.parametrize(
    ("options", "extensions"), [({}, {EXTENSION: {}}), ({"key": "k" * 32}, None), ({"stateless": True}, None)]
)
async def test_a_server_of_one_process_announces_the_extension(bench, options, extensions):
    async with Client(http_app(Dispatcher(bench.catalog), **options).server, mode="auto") as client:
        assert client.server_capabilities.extensions == extensions


async def read_until(client, task_id, *, not_status="working"):
    """Wait for the first state of a task that is another one."""
    return await wait_until(lambda: read_other(client, task_id, not_status))


async def read_other(client, task_id, not_status):
    """Return the state of a task; None if it is still the same."""
    state = await ask(client.session, "get", task_id)
    return None if state["status"] == not_status else state


async def start(client, name, arguments):
    """Start a task, and return its state."""
    handle = await client.session.call_tool(name, arguments, allow_claimed=True)
    return handle.model_dump(by_alias=True)


async def test_a_tool_that_may_run_in_the_background_is_a_task(bench):
    """The value arrives as in every other call, and a tool without the fact is no task."""
    opened, following = with_tasks(bench)
    async with opened as client:
        assert (await client.call_tool("work", {"parts": 4})).structured_content == {"result": 8}
        assert following.states[-1] == "completed"
        following.states.clear()
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        assert following.states == []


async def test_a_task_reports_its_state(bench):
    """The last report of the tool is its message, and times are those of the protocol."""
    bench.may_end.clear()
    opened, _ = with_tasks(bench)
    async with opened as client:
        handle = await start(client, "work", {"parts": 1})
        assert (handle["resultType"], handle["status"], handle["ttlMs"]) == ("task", "working", None)
        state = await ask(client.session, "get", handle["taskId"])
        assert (state["resultType"], state["status"]) == ("complete", "working")
        message = state.get("statusMessage") or handle.get("statusMessage")
        assert "half" in message
        assert state["createdAt"].endswith("Z")
        assert not {"task", "ttl", "pollInterval", "requestState"} & state.keys()
        bench.may_end.set()
        state = await read_until(client, handle["taskId"])
        assert state["result"]["structuredContent"] == {"result": 2}
        assert state["ttlMs"] >= 3_600_000


async def test_a_task_is_cancelled(bench):
    """A second request to cancel it is answered like the first."""
    bench.may_end.clear()
    opened, _ = with_tasks(bench)
    async with opened as client:
        task_id = (await start(client, "work", {"parts": 1}))["taskId"]
        assert (await ask(client.session, "cancel", task_id))["resultType"] == "complete"
        await bench.cancelled.wait()
        state = await read_until(client, task_id)
        assert state["status"] == "cancelled"
        assert (await ask(client.session, "cancel", task_id))["resultType"] == "complete"


async def test_questions_of_a_task_are_answered_by_updates(bench):
    """Each question has its own key. An invalid answer asks again."""
    opened, following = with_tasks(bench, {"name": "Ada"}, {"name": 3}, {"name": "Bob"}, person=Person(YES))
    async with opened as client:
        assert text_of(await client.call_tool("interview", {})) == "Ada and Bob"
        assert len(set(following.keys)) == len(following.keys) == 3
        assert following.states.count("input_required") == 3


async def test_questions_of_a_task_are_answered_one_by_one(bench):
    """The task waits for the others, and lists no question that has an answer."""
    opened, _ = with_tasks(bench, person=Person(YES))
    async with opened as client:
        task_id = (await start(client, "pair", {}))["taskId"]
        first, second = (await read_until(client, task_id))["inputRequests"]
        answer = {"action": "accept", "content": {"name": "Ada"}}
        await ask(client.session, "update", task_id, input_responses={first: answer})
        assert [*(await ask(client.session, "get", task_id))["inputRequests"]] == [second]
        await ask(client.session, "update", task_id, input_responses={second: answer})
        state = await read_until(client, task_id)
        assert state["result"]["content"][0]["text"] == "Ada and Ada"


@pytest.mark.parametrize("answer", [{"action": "accept", "content": {"name": "Eve"}}, {"ignored": True}, None])
async def test_an_answer_with_another_key_is_ignored(bench, answer):
    """The question stays open, until the task is cancelled. The answer may have any form."""
    opened, _ = with_tasks(bench, person=Person(YES))
    async with opened as client:
        task_id = (await start(client, "interview", {}))["taskId"]
        state = await read_until(client, task_id)
        await ask(client.session, "update", task_id, input_responses={"other": answer})
        assert (await ask(client.session, "get", task_id))["inputRequests"].keys() == state["inputRequests"].keys()
        await ask(client.session, "cancel", task_id)
        assert (await ask(client.session, "get", task_id))["status"] == "cancelled"
        await ask(client.session, "update", task_id, input_responses=dict.fromkeys(state["inputRequests"], answer))
        assert (await ask(client.session, "get", task_id))["status"] == "cancelled"


async def test_a_question_to_a_client_that_cannot_ask_ends_the_task(bench):
    opened, _ = with_tasks(bench)
    async with opened as client:
        result = await client.call_tool("interview", {})
        assert result.is_error


async def test_a_call_is_approved_before_its_task_begins(bench):
    """The person is asked once, by the loop of the client that answers questions."""
    person = Person(YES)
    opened, following = with_tasks(bench, person=person)
    async with opened as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
        assert len(person.questions) == 1
        assert following.states[-1] == "completed"


async def test_a_tool_that_fails_has_completed_its_task(bench):
    """The protocol keeps `failed` for errors of its own."""
    opened, following = with_tasks(bench)
    async with opened as client:
        result = await client.call_tool("fail", {})
        assert result.is_error
        assert following.states[-1] == "completed"


@pytest.mark.parametrize("mode", [OLD, NEW])
async def test_a_client_without_the_extension_waits_for_its_call(bench, mode):
    """It cannot use the methods for tasks either."""
    async with connected(Dispatcher(bench.catalog), mode) as client:
        assert (await client.call_tool("work", {"parts": 4})).structured_content == {"result": 8}
        with pytest.raises(MCPError) as caught:
            await ask(client.session, "get", "x")
        assert caught.value.error.code == (types.METHOD_NOT_FOUND if mode == OLD else -32021)


async def test_a_task_belongs_to_its_user(bench):
    """For other users it does not exist, even if they know its id."""
    bench.may_end.clear()
    tokens = {"the-token-of-ada-1234": "ada", "the-token-of-bob-1234": "bob"}
    app = http_app(Dispatcher(bench.catalog), auth=Auth.token(tokens))
    transport = httpx.ASGITransport(app)
    async with app.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost:80") as client:

        async def send(token, method, **params):
            headers = {
                **HEADERS,
                "mcp-method": method,
                "mcp-name": [*params.values()][0],
                "authorization": f"Bearer {token}",
            }
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
            response = await client.post("/mcp", json=message, headers=headers)
            return json.loads(response.text[response.text.index("{") :])

        ada, bob = tokens
        call = await send(ada, "tools/call", name="work", arguments={"parts": 2})
        task_id = call["result"]["taskId"]
        for method in ("tasks/get", "tasks/cancel"):
            assert "there is no task" in (await send(bob, method, taskId=task_id))["error"]["message"]
        assert (await send(ada, "tasks/get", taskId=task_id))["result"]["status"] == "working"
        mismatch = await send(ada, "tasks/get", name="another", taskId=task_id)
        assert mismatch["error"]["code"] == types.HEADER_MISMATCH
        await send(ada, "tasks/cancel", taskId=task_id)
        await bench.cancelled.wait()


@pytest.mark.parametrize("method", ["list", "result"])
async def test_the_methods_of_earlier_tasks_are_not_known(bench, method):
    opened, _ = with_tasks(bench)
    async with opened as client:
        with pytest.raises(MCPError) as caught:
            await ask(client.session, method, "x")
        assert caught.value.error.code == types.METHOD_NOT_FOUND


async def test_a_task_of_a_removed_tool_has_failed(bench):
    """The protocol keeps `failed` for errors of its own."""
    opened, _ = with_tasks(bench)
    async with opened as client:
        task_id = (await start(client, "vanish", {}))["taskId"]
        state = await read_until(client, task_id)
        assert (state["status"], state["error"]["code"]) == ("failed", types.INVALID_PARAMS)


async def test_a_server_of_several_processes_offers_no_tasks(bench):
    """Another process could be asked about the task."""
    opened, following = with_tasks(bench, key="k" * 32)
    async with opened as client:
        assert (await client.call_tool("work", {"parts": 4})).structured_content == {"result": 8}
        assert following.states == []
