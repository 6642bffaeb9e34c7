"""Questions of a server reach the person of the call, marked as questions of that server."""

from __future__ import annotations

import asyncio
import json

import mcp_types as types
import pytest
from mcp.server import Server

from tests.clocks import wait_until
from toolkit import DECLINED, Dispatcher
from toolkit.approvals import Approvals, DenyAll
from toolkit.decisions import Decision
from toolkit.mcp import RemoteServer, Servers

COLOR = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}


def answering(answer, requests=None):
    """Return approvals whose person gives *answer* to each question."""

    def ask(request):
        if requests is not None:
            requests.append(request)
        return Decision.approve(answers={question.key: answer for question in request.questions})

    return Approvals(ask=ask)


def call(servers, approvals, name, arguments=None, **options):
    """Call a tool with a dispatcher of its own, and return the text of the result."""
    dispatcher = Dispatcher(servers, approvals=approvals)
    result = dispatcher.call_sync(name, arguments or {}, **options)
    dispatcher.close()
    return result.text


def test_a_question_reaches_the_person_of_the_call(servers):
    """The person sees which server asks, without hidden characters, and the answer reaches the server."""
    requests = []
    text = call(servers, answering({"color": "red"}, requests), "evil_question")

    assert json.loads(text) == {"action": "accept", "content": {"color": "red"}}
    [request] = requests
    assert (request.tool, request.origin) == ("evil_question", "mcp:evil")
    assert request.questions[0].message == "The MCP server evil asks: Which color?"
    assert request.questions[0].schema == COLOR


def test_a_question_with_hostile_choices_is_declined(servers):
    """The person would choose a value that is sent back as it is, and is not asked."""
    requests = []
    assert '"decline"' in call(servers, answering({"color": "<system>"}, requests), "evil_sly_question")
    assert requests == []


@pytest.mark.parametrize(
    ("approvals", "reason"),
    [
        (None, "the dispatcher has no asker; give it one with Dispatcher(..., approvals=Approvals(ask=...))"),
        (answering(DECLINED), ""),
        (answering({"color": 5}), "no answer fits in 3 tries"),
        (answering("red"), "no answer fits in 3 tries"),
        (Approvals(ask=lambda request: False), ""),
        (Approvals(ask=DenyAll()), "there is no person to ask"),
        (
            Approvals(ask=lambda request: True),
            "the asker agreed without an answer; return Decision.approve(answers=",
        ),
        (Approvals(ask=lambda request: None), "the asker left it open"),
        (Approvals(ask=lambda request: 1 / 0), "the asker or the audit log failed"),
        (
            Approvals(ask=lambda request: Decision.approve(answers={"question-1": {"color": "x"}}, principal="eve")),
            "the answer is on behalf of 'eve'",
        ),
    ],
    ids=[
        "no person",
        "declined",
        "wrong type",
        "no object",
        "denied",
        "nobody",
        "only agreed",
        "no answer",
        "failed",
        "another principal",
    ],
)
def test_a_question_without_an_answer_is_declined_with_a_note(servers, approvals, reason):
    """
    The server is told that the person declines, and the call goes on.

    If no person has declined, the result says so and why, because the server takes the decline for one of the user.
    """
    answer, *notes = call(servers, approvals, "evil_question").splitlines()
    assert json.loads(answer) == {"action": "decline"}
    begin = "[Note: no person has answered the question of the server evil: "
    assert [note.startswith(f"{begin}{reason}") for note in notes] == [True] * bool(reason)


@pytest.mark.parametrize(
    ("url", "answer", "action"),
    [
        ("https://login.example/a", True, "accept"),
        ("https://login.example/a", False, "decline"),
        ("file:///etc/passwd", True, "decline"),
        ("javascript:alert(1)", True, "decline"),
        ("http://login.example@evil.example/", True, "decline"),
    ],
)
def test_an_address_is_shown_and_never_opened(servers, url, answer, action):
    """The person sees the whole address and says whether they have opened it. Misleading ones are declined."""
    requests = []
    text = call(servers, answering(answer, requests), "evil_visit", {"text": url})

    answer, *notes = text.splitlines()
    assert json.loads(answer) == {"action": action}
    assert ["cannot be shown to a person safely" in note for note in notes] == [True] * (not url.startswith("https"))
    assert [url in request.questions[0].message for request in requests] == [True] * url.startswith("https")


def test_a_question_during_calls_of_several_people_is_declined(servers):
    """A request does not say which call it belongs to, so the wrong person could be asked."""
    requests = []
    dispatcher = Dispatcher(servers, approvals=answering({"color": "red"}, requests))

    async def call_both():
        waiting = asyncio.ensure_future(dispatcher.call("evil_hang", {}, principal="ada"))
        connection = servers._connections["evil"]
        await wait_until(lambda: connection._questions._links)
        text = (await dispatcher.call("evil_question", {}, principal="bob")).text
        waiting.cancel()
        return text.splitlines()

    answer, note = dispatcher.wait_for(call_both)
    assert (json.loads(answer), "calls of several people run" in note) == ({"action": "decline"}, True)
    assert requests == []
    dispatcher.close()


def asking_server(ask_again=False, **further):
    """Return a server of the newest revision that asks for a color in the result of its tool."""

    async def list_tools(context, params):
        return types.ListToolsResult(tools=[types.Tool(name="paint", input_schema={"type": "object"})])

    async def call_tool(context, params):
        answers = params.input_responses or {}
        if not answers or ask_again:
            question = types.ElicitRequestFormParams(message="Which color?", requested_schema=COLOR)
            requests = {"q": further.get("request", types.ElicitRequest(params=question))}
            return types.InputRequiredResult(input_requests=requests, request_state="state-1")
        text = json.dumps([params.request_state, answers["q"].model_dump(exclude_none=True)], sort_keys=True)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("asking", on_list_tools=list_tools, on_call_tool=call_tool)


def call_asking(server, approvals):
    """Call the tool of an asking server."""
    with Servers(asking=RemoteServer(server)) as tools:
        assert tools.problems == []
        dispatcher = Dispatcher(tools, approvals=approvals)
        result = dispatcher.call_sync("asking_paint", {})
        dispatcher.close()
        return result


def test_a_question_in_a_result_is_answered_and_the_call_sent_again():
    """In revision 2026-07-28 the question is the result, and the answer is in the next request."""
    state, answer = json.loads(call_asking(asking_server(), answering({"color": "red"})).text)

    assert state == "state-1"
    assert (answer["action"], answer["content"]) == ("accept", {"color": "red"})


def test_a_question_in_a_result_is_declined_without_a_person():
    """The server gets the decline, and decides itself."""
    text, note = call_asking(asking_server(), None).text.splitlines()

    assert json.loads(text)[1]["action"] == "decline"
    assert "no person has answered the question of the server asking: the dispatcher has no asker" in note


def test_a_server_that_never_stops_asking_fails_its_call():
    """The number of rounds is limited, and the call may have acted."""
    result = call_asking(asking_server(ask_again=True), answering({"color": "red"}))

    assert result.kind == "failed"
    assert "more than 10 times" in result.text


def test_a_server_that_wants_to_sample_a_model_fails_its_call():
    """A request for a model's answer is not met, and the message says what was wanted."""
    params = types.CreateMessageRequestParams(messages=[], max_tokens=5)
    result = call_asking(asking_server(request=types.CreateMessageRequest(params=params)), None)

    assert result.kind == "failed"
    assert "`sampling/createMessage`" in result.text


@pytest.mark.anyio
async def test_a_call_that_waits_for_a_person_when_the_servers_are_closed_may_have_happened():
    """The server had the request, so the call has neither been cancelled nor surely failed."""
    question = types.ElicitRequestFormParams(message="m", requested_schema=COLOR)

    async def list_tools(context, params):
        return types.ListToolsResult(tools=[types.Tool(name="t", input_schema={"type": "object"})])

    async def call_tool(context, params):
        return types.InputRequiredResult(input_requests={"q": types.ElicitRequest(params=question)}, request_state="s")

    question_arrived = asyncio.Event()

    async def ask(request):
        question_arrived.set()
        await asyncio.Event().wait()

    server = Server("x", on_list_tools=list_tools, on_call_tool=call_tool)
    async with Servers(x=RemoteServer(server)) as tools:
        dispatcher = Dispatcher(tools, approvals=Approvals(ask=ask))
        task = asyncio.create_task(dispatcher.call("x_t", {}))
        await asyncio.wait_for(question_arrived.wait(), 20)
    result = await asyncio.wait_for(task, 20)

    assert (result.kind, result.error.details["happened"]) == ("transient", "maybe")
    assert "the server x was closed during the call" in result.text
