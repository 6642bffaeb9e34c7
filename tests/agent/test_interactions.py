"""
Whole conversations with the real built-in tools in a temporary folder: the interactions that the project grew from.
"""

from __future__ import annotations

import json

import httpx
import pytest

from toolkit.agent import Agent, Run, TextDelta
from toolkit.approvals import Approvals
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import AnthropicProvider, AssistantMessage, ScriptedProvider, ToolMessage, UserMessage
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path):
    """A workspace that holds nothing yet."""
    return Workspace(tmp_path)


def dispatcher(place, mode="auto", **options):
    return Dispatcher(builtin_catalog(place), permissions=Permissions(mode), safety=place.safety(), **options)


def last_results(request):
    return request.messages[-1].results


async def test_write_read_answer(place, tmp_path):
    """The model writes a file, reads it back and answers; each result is in the next request."""
    provider = ScriptedProvider(
        [
            [ToolCall("write", {"path": "test.txt", "content": "hello from agent"})],
            [ToolCall("read", {"path": "test.txt"})],
            lambda request: f"Done! It says: {last_results(request)[0].text}",
        ]
    )
    run = await Agent(provider, dispatcher(place)).run("write and read a file")

    assert (run.status, run.turns, run.spent.calls) == ("done", 3, 2)
    assert "hello from agent" in run.text
    assert (tmp_path / "test.txt").read_text() == "hello from agent"
    kinds = [type(message) for message in run.messages]
    assert kinds == [UserMessage, AssistantMessage, ToolMessage, AssistantMessage, ToolMessage, AssistantMessage]


async def test_run_a_command(place):
    """The output of a command reaches the model. The asker answers at once, so nothing pauses."""
    provider = ScriptedProvider(
        [[ToolCall("bash", {"command": "echo hello-from-bash"})], lambda request: last_results(request)[0].text]
    )
    asking = Approvals(ask=lambda request: Decision.approve(by="ada"))
    run = await Agent(provider, dispatcher(place, "default", approvals=asking)).run("say hello")
    assert run.status == "done"
    assert "hello-from-bash" in run.text


async def test_the_model_learns_that_a_tool_does_not_exist_and_recovers(place):
    """The result of the call names the nearest tools."""
    provider = ScriptedProvider(
        [[ToolCall("imaginary_tool", {})], [ToolCall("reed", {"path": "x"})], "Sorry, that tool does not exist."]
    )
    run = await Agent(provider, dispatcher(place)).run("do something")
    assert run.text == "Sorry, that tool does not exist."
    first, second = (last_results(request)[0] for request in provider.requests[1:])
    assert (first.kind, second.kind) == ("not_found", "not_found")
    assert "did you mean `read`" in second.text


async def test_the_model_reads_about_bad_arguments_and_failing_tools(place):
    """The model reads what was wrong, and may try another way."""
    provider = ScriptedProvider(
        [
            [ToolCall("read", {}), ToolCall("read", '{"path": '), ToolCall("read", {"path": "missing.txt"})],
            "I see.",
        ]
    )
    run = await Agent(provider, dispatcher(place)).run("read something")
    assert run.status == "done"
    assert [result.kind for result in last_results(provider.requests[1])] == ["bad_args", "bad_args", "failed"]


class Claude:
    """What a provider would answer over HTTP: it thinks, calls two tools at once, and answers."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        if len(self.bodies) == 1:
            content = [
                {"type": "thinking", "thinking": "Both at once.", "signature": "s1"},
                {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {"path": "a.txt", "content": "one"}},
                {"type": "tool_use", "id": "toolu_2", "name": "glob", "input": {"pattern": "*"}},
            ]
            return self.reply_with(content, "tool_use")
        return self.reply_with([{"type": "text", "text": "Done."}], "end_turn")

    @staticmethod
    def reply_with(content: list[dict], stop: str) -> httpx.Response:
        usage = {"input_tokens": 10, "output_tokens": 5}
        answer = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-x"}
        return httpx.Response(200, json={**answer, "content": content, "stop_reason": stop, "usage": usage})


async def test_a_real_provider_gets_back_its_reply_and_the_results(place):
    """Thinking with its signature, and the results of both calls in one message, also after a pause and a trip through JSON."""
    claude = Claude()
    async with httpx.AsyncClient(transport=httpx.MockTransport(claude)) as client:
        provider = AnthropicProvider("claude-x", api_key="k", client=client)
        agent = Agent(provider, dispatcher(place, "default"))
        run = Run.loads((await agent.run("write a file")).dumps())
        assert run.status == "waiting"
        run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, run.text, run.usage.total_tokens) == ("done", "Done.", 30)
    _, message, answered = claude.bodies[1]["messages"]
    assert message["content"][0] == {"type": "thinking", "thinking": "Both at once.", "signature": "s1"}
    assert [block["tool_use_id"] for block in answered["content"]] == ["toolu_1", "toolu_2"]
    assert "a.txt" in json.dumps(answered["content"][0])


async def test_a_streamed_answer_comes_in_pieces_and_whole_at_the_end(place):
    events = [event async for event in Agent(ScriptedProvider(["One two three."]), dispatcher(place)).stream("count")]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["One ", "two ", "three."]
    assert events[-1].run.text == "One two three."
