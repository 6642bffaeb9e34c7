"""
Clients that others wrote, behind a proxy that sends each request to the next of two processes.

The client of the TypeScript SDK comes from npm (`python -m tests.mcp.node_packages`). langchain's adapters need version 1
of the package `mcp`, so they have an environment of their own, `.venv-langchain`, which `.ci/run` makes. Without them
these tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.mcp.serving.processes import balanced

from .node_packages import MissingNode, find_node, find_package, packages_folder

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SDK = "@modelcontextprotocol/sdk"
LANGCHAIN = Path(__file__).parents[2] / ".venv-langchain" / "bin" / "python"

TYPESCRIPT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "peer", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[1])));
const sums = [];
for (let number = 0; number < 8; number++) {
    const result = await client.callTool({ name: "add", arguments: { a: number, b: 1 } });
    sums.push(Number(result.content[0].text));
}
const waiting = await client.callTool({ name: "write", arguments: { text: "tea" } });
console.log(JSON.stringify({ sums, waiting: waiting.content[0].text }));
await client.close();
"""

PYTHON = """
import asyncio, json, sys
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main():
    client = MultiServerMCPClient({"shop": {"transport": "streamable_http", "url": sys.argv[1]}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    answers = [await tools["add"].ainvoke({"a": number, "b": 1}) for number in range(8)]
    sums = [int(answer if isinstance(answer, str) else answer[0]["text"]) for answer in answers]
    try:
        waiting = str(await tools["write"].ainvoke({"text": "tea"}))
    except ToolException as error:
        waiting = str(error)
    print(json.dumps({"sums": sums, "waiting": waiting}))

asyncio.run(main())
"""


def find_command(peer):
    """Return the command that runs the script of a client, and the folder to run it in."""
    if peer == "TypeScript SDK":
        try:
            find_package(SDK)
            return [find_node().program, "--input-type=module", "-e", TYPESCRIPT], packages_folder()
        except MissingNode as missing:
            pytest.skip(str(missing))
    if not LANGCHAIN.exists():
        pytest.skip("there is no .venv-langchain; `.ci/run` makes it")
    return [str(LANGCHAIN), "-c", PYTHON], Path.cwd()


@pytest.mark.parametrize("peer", ["TypeScript SDK", "langchain"])
async def test_a_client_of_another_library_is_served_by_two_processes(tmp_path, peer):
    """
    Eight calls have eight answers, and a call that has to ask says where a person answers.

    langchain's client opens a connection for each call. Its requests go to both processes in turns, but the calls are
    those of one.
    """
    command, folder = find_command(peer)
    async with balanced(tmp_path, 2, "--stateless") as (address, _):
        process = await asyncio.create_subprocess_exec(
            *command, f"{address}/mcp", cwd=folder, stdout=asyncio.subprocess.PIPE
        )
        written, _ = await process.communicate()
        assert process.returncode == 0
        answers = json.loads(written)
    assert answers["sums"] == list(range(1, 9))
    assert "/mcp/requests/" in answers["waiting"]
    processes = set((tmp_path / "pids").read_text().split())
    assert len(processes) == 2 or peer == "langchain"
