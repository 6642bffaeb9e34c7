"""
The Claude Agent SDK against our server. A server on loopback plays the model. Without the package this is skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
from pathlib import Path

import anyio
import pytest

from tests.mcp.conformance.everything_server import tools as everything
from tests.providers.protocols import Turn
from tests.providers.stub import KEY, serving
from toolkit import Catalog, Dispatcher
from toolkit.mcp import Auth, build_server, http_app
from toolkit.results import ToolCall

sdk = pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed; it is a peer, and optional")

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "mcp" / "conformance" / "everything_server.py"
TOKEN = "a-token-of-the-agent"
RUN_SECONDS = 120

ORDERS = '''
from pathlib import Path

from toolkit import tool


@tool
def order(item: str) -> str:
    """Order an item."""
    with Path(__file__).with_name("orders.txt").open("a") as file:
        file.write(item)
    return f"ordered {item}"
'''


@pytest.fixture
def anyio_backend():
    """The SDK runs on asyncio only."""
    return "asyncio"


def build_options(home, server, model_url="http://127.0.0.1:9", **further):
    """Make the options of an agent that has no tools but ours, and reaches nothing outside of this machine."""
    variables = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_API_KEY": "",
        "ANTHROPIC_AUTH_TOKEN": KEY,
        "ANTHROPIC_BASE_URL": model_url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return sdk.ClaudeAgentOptions(
        mcp_servers={"ours": server},
        env=variables,
        setting_sources=[],
        strict_mcp_config=True,
        tools=[],
        allowed_tools=["mcp__ours"],
        cwd=str(home),
        **further,
    )


def start_by_command(target):
    """Return the configuration of a server that the agent starts."""
    words = ["-m", "toolkit", "serve", str(target)]
    return {"type": "stdio", "command": sys.executable, "args": words, "env": {"PYTHONPATH": str(ROOT)}}


def answer_questions(home, content):
    """Return settings in which the user answers every question with *content*, and the file with the question."""
    answer = {"hookEventName": "Elicitation", "action": "accept", "content": content}
    (home / "answer.json").write_text(json.dumps({"hookSpecificOutput": answer}))
    question, folder = home / "question.json", shlex.quote(str(home))
    command = f"cat > {folder}/question.json; cat {folder}/answer.json"
    hook = {"matcher": "", "hooks": [{"type": "command", "command": command}]}
    return json.dumps({"hooks": {"Elicitation": [hook]}}), question


async def ask_for_call(home, server, tool, arguments=None, **further):
    """Let the model call one tool. The blocks that the agent got, and those that the model got."""
    calls = (ToolCall(f"mcp__ours__{tool}", arguments or {}, "toolu_1"),)
    results = []
    async with serving(Turn(calls=calls), Turn(text="It is done.")) as model:
        with anyio.fail_after(RUN_SECONDS):
            async with sdk.ClaudeSDKClient(build_options(home, server, model.url, **further)) as client:
                await client.query("Call the tool.")
                async for message in client.receive_response():
                    if isinstance(message, sdk.UserMessage):
                        results += message.content
    sent = [
        block
        for message in model.heard[-1].body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return results, sent


async def test_the_agent_connects_and_lists_our_tools(tmp_path):
    """The agent starts our server, connects, and knows which tools change nothing."""
    options = build_options(tmp_path, start_by_command(f"{SERVER}:tools"))
    async with sdk.ClaudeSDKClient(options) as client:
        with anyio.fail_after(RUN_SECONDS):
            while (status := (await client.get_mcp_status())["mcpServers"][0])["status"] == "pending":
                await anyio.lowlevel.checkpoint()

    assert status["status"] == "connected"
    tools = {tool["name"]: tool["annotations"] for tool in status["tools"]}
    assert tools["test_simple_text"] == {"readOnly": True}


@contextlib.asynccontextmanager
async def open_server(way):
    """Yield the configuration of our server for the agent, which can use it in three ways."""
    if way == "command":
        yield start_by_command(f"{SERVER}:tools")
    elif way == "object":
        yield {"type": "sdk", "name": "ours", "instance": build_server(Dispatcher(everything))}
    else:
        import uvicorn

        app = http_app(Dispatcher(everything), auth=Auth.token({TOKEN: "ada"}))
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
        running = asyncio.create_task(server.serve())
        while not server.started:
            await anyio.lowlevel.checkpoint()
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": headers}
        finally:
            server.should_exit = True
            await running


@pytest.mark.parametrize("way", ["command", "address", "object"])
async def test_the_model_of_the_agent_calls_our_tool(tmp_path, way):
    """The call reaches our tool, and its result reaches the model."""
    async with open_server(way) as server:
        [block], [sent] = await ask_for_call(tmp_path, server, "test_simple_text")

    text = "This is a simple text response for testing."
    assert not block.is_error
    assert block.content == [{"type": "text", "text": text}]
    assert sent["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize("approves", [True, False])
async def test_the_user_of_the_agent_is_asked_for_approval(tmp_path, approves):
    """A call that changes something asks the user of the agent with its arguments, and runs only if they approve."""
    (tmp_path / "orders.py").write_text(ORDERS)
    settings, question = answer_questions(tmp_path, {"approve": approves})
    server = start_by_command(tmp_path / "orders.py")
    [block], [sent] = await ask_for_call(tmp_path, server, "order", {"item": "tea"}, settings=settings)

    message = json.loads(question.read_text())["message"]
    assert "order" in message
    assert "tea" in message
    orders = tmp_path / "orders.txt"
    if approves:
        assert sent["content"] == [{"type": "text", "text": "ordered tea"}]
        assert orders.read_text() == "tea"
    else:
        assert block.is_error
        assert "denied" in str(sent["content"])
        assert not orders.exists()


async def test_a_question_of_our_tool_reaches_the_user_of_the_agent(tmp_path):
    """The tool asks with `context.ask`, and gets the answer."""
    settings, question = answer_questions(tmp_path, {"name": "Ada"})
    server = start_by_command(f"{SERVER}:tools")
    _, [sent] = await ask_for_call(tmp_path, server, "test_input_required_result_elicitation", settings=settings)

    assert json.loads(question.read_text())["message"] == "What is your name?"
    assert sent["content"] == [{"type": "text", "text": "Hello, Ada!"}]


async def test_an_agent_that_cannot_ask_gets_a_refusal(tmp_path):
    """The agent does not pass on the questions of a server object, so the call is refused, and the model reads why."""
    catalog = Catalog()
    orders = []

    @catalog.tool
    def order() -> None:
        """Order an item."""
        orders.append("tea")

    server = {"type": "sdk", "name": "ours", "instance": build_server(Dispatcher(catalog))}
    [block], [sent] = await ask_for_call(tmp_path, server, "order")

    assert block.is_error
    assert "denied" in str(sent["content"])
    assert orders == []
