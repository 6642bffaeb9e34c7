"""A server may ask its user before it gives a resource or a prompt, as it may during a call of a tool."""

from __future__ import annotations

import pytest

from toolkit import DECLINED, Approvals, Catalog, Context, Decision, Dispatcher
from toolkit.mcp import RemotePrompts, RemoteResources, RemoteServer, Servers, build_server
from toolkit.testing import connect

pytestmark = pytest.mark.anyio

READS = [("memos_read_resource", {"uri": "memo://today"}), ("memos_get_prompt", {"name": "ask_name"})]


async def ask_name(context: Context) -> str:
    """Greet."""
    name = await context.ask("name", "Who are you?")
    return "hello, stranger" if name is DECLINED else f"hello, {name}"


def build_memos(*, read_only=True):
    """Return a server whose resource and prompt ask for a name, and for approval unless they are *read_only*."""
    tools = Catalog()
    tools.tool(ask_name, read_only=read_only)
    return build_server(Dispatcher(Catalog()), prompts=tools, resources={"memo://today": tools["ask_name"]})


async def read(name, arguments, revision, approvals=None, **options):
    """Return the result of a call of *name*, which reads from the server, and the questions that a person got."""
    async with Servers(memos=RemoteServer(build_memos(**options), revision=revision, trusted=True)) as servers:
        readers = servers.merged(RemoteResources([servers]).catalog, RemotePrompts([servers]).catalog)
        return await Dispatcher(readers, approvals=approvals).call(name, arguments)


@pytest.mark.parametrize("revision", ["2026-07-28", "legacy"])
@pytest.mark.parametrize(("name", "arguments"), READS)
class TestReads:
    async def test_a_question_reaches_the_asker(self, name, arguments, revision):
        questions = []

        def answer(request):
            questions.extend(question.message for question in request.questions)
            return Decision.approve(answers={question.key: {"answer": "Ada"} for question in request.questions})

        result = await read(name, arguments, revision, Approvals(ask=answer))
        assert (result.kind, result.text.splitlines()[-1]) == ("ok", "hello, Ada")
        assert [question.splitlines()[0] for question in questions] == ["The MCP server memos asks: Who are you?"]

    async def test_a_question_without_an_asker_is_declined_with_a_note(self, name, arguments, revision):
        result = await read(name, arguments, revision)
        assert result.kind == "ok"
        assert "hello, stranger" in result.text
        assert "[Note: no person has answered the question of the server memos: the dispatcher has no" in result.text

    async def test_a_refusal_of_a_server_that_could_not_ask_says_why(self, name, arguments, revision):
        """The server asks for an approval, and refuses the read without one."""
        result = await read(name, arguments, revision, read_only=False)
        assert result.kind == "failed"
        assert "denied: the user declined" in result.reason
        assert "[Note: no person has answered the question of the server memos: the dispatcher has no" in result.reason


@pytest.mark.parametrize("revision", ["2026-07-28", "legacy"])
async def test_a_gateway_passes_on_what_is_read_after_a_declined_question(revision):
    server = RemoteServer(build_memos(), revision=revision, trusted=True)
    async with (
        Servers(memos=server) as servers,
        connect(Dispatcher(servers), answer=True, servers=[servers]) as client,
    ):
        contents = (await client.read_resource("memo://today")).contents
        messages = (await client.get_prompt("memos_ask_name")).messages
    assert contents[0].text == messages[0].content.text == "hello, stranger"
