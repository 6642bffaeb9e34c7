"""The Claude Agent SDK against our server, without a model. Without the package this test is skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

sdk = pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed; it is a peer, and optional")

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "mcp" / "conformance" / "everything_server.py"
CONNECT_SECONDS = 60


@pytest.fixture
def anyio_backend():
    """The SDK runs on asyncio only."""
    return "asyncio"


async def test_the_agent_connects_and_lists_our_tools(tmp_path):
    """The agent starts our server, connects, and knows which tools change nothing."""
    home = str(tmp_path)
    server = {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-m", "toolkit", "serve", f"{SERVER}:tools"],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    # No model is asked, and nothing outside of this machine.
    variables = {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": home,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    options = sdk.ClaudeAgentOptions(mcp_servers={"ours": server}, env=variables, setting_sources=[], cwd=home)
    async with sdk.ClaudeSDKClient(options) as client:
        with anyio.fail_after(CONNECT_SECONDS):
            while (status := (await client.get_mcp_status())["mcpServers"][0])["status"] == "pending":
                await anyio.lowlevel.checkpoint()

    assert status["status"] == "connected"
    tools = {tool["name"]: tool["annotations"] for tool in status["tools"]}
    assert tools["test_simple_text"] == {"readOnly": True}
