"""`toolkit serve`: the tools of a target as an MCP server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from toolkit.cli.commands.serve import parse_address, read_tokens
from toolkit.cli.failures import Failure

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

OAUTH = ("--auth-issuer", "https://login.example", "--auth-audience")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        (":80", ("127.0.0.1", 80)),
        ("9000", ("127.0.0.1", 9000)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
    ],
)
def test_an_address_is_a_host_and_a_port(text, address):
    """Without a host it is the loopback address."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["localhost", "", "a:b", "1.2.3.4:99999", "a:-1"])
def test_another_address_is_refused(text):
    """The message shows a right one."""
    with pytest.raises(Failure, match=r"write 127\.0\.0\.1:8000"):
        parse_address(text)


def test_a_file_has_a_token_on_each_line():
    """The name of its user may stand before it."""
    assert read_tokens("first\n\nada second\n") == {"first": "user", "second": "ada"}
    assert read_tokens(None) is None


@pytest.mark.parametrize("text", ["", "a b c"])
def test_a_malformed_file_of_tokens_is_refused(text):
    with pytest.raises(Failure, match="each line has a token"):
        read_tokens(text)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["--http", "0.0.0.0:8000"],
            "it needs to know its users; give --token-file, TOOLKIT_MCP_TOKEN or --auth-issuer",
        ),
        (["--http", "nowhere"], "is no address"),
        (["--http", "8000", "--token-file", "missing.txt"], "missing.txt cannot be read"),
        (["--auth-issuer", "https://login.example"], "send no tokens; give --http"),
        (["--stateless"], "--stateless: standard input and output are one connection; give --http"),
        (["--http", "8000", "--auth-issuer", "https://login.example"], "--auth-issuer and --auth-audience belong"),
        (["--http", "8000", *OAUTH, "api://shop"], "--auth-audience: give an address"),
        (["--http", "8000", *OAUTH, "https://shop.example/mcp", "--token-file", "short.txt"], "do not go with them"),
        (["--key-file", "missing.txt"], "--key-file: missing.txt cannot be read"),
        (["--mode", "plan", "--http", "8000", "--token-file", "short.txt"], "needs at least 16"),
        (["--key-file", "short.txt"], "error: a key needs at least 32 bytes, got 5"),
        (["--http", "8000", "--key-file", "short.txt"], "error: a key needs at least 32 bytes, got 5"),
    ],
)
def test_wrong_options_end_the_command(shop, words, problem):
    """The message names the option and the remedy; nothing is served."""
    shop.write("short.txt", "short")
    ran = shop.run("serve", "tools.py", *words)
    assert ran.code != 0
    assert problem in ran.err
    assert ran.out == ""


@pytest.mark.long
def test_tools_are_served_over_standard_input_and_output(shop):
    """Standard output has only messages. Output of the module goes to standard error."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": ENVELOPE}}
    ran = shop.process("serve", "tools.py:catalog", "--user", "ada", input="NaN\n" + json.dumps(request) + "\n")
    messages = [json.loads(line) for line in ran.out.splitlines()]
    assert messages[0]["error"]["message"].startswith("NaN is not JSON")
    assert "the module speaks" in ran.err
    assert ran.code == 0


@pytest.mark.parametrize("further", [[], [*OAUTH, "https://shop.example/mcp"]], ids=["", "oauth"])
def test_a_port_that_is_in_use_is_an_error(shop, further):
    """The message comes before any note that the server is there."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        ran = shop.run("serve", "tools.py", "--http", str(other.getsockname()[1]), *further)
    assert ran.code == 2
    assert "cannot listen on" in ran.err
    assert "serving" not in ran.err


@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.parametrize("waits_for", ["changes", "a call"])
async def test_a_server_that_is_stopped_ends_although_clients_wait(shop, waits_for):
    """A client that listens for changes, or whose call never ends, does not keep the process."""
    folder = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolkit", "serve", "tools.py", "--http", "127.0.0.1:0"),
        cwd=shop.folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(90):
            while not (address := re.search(rb"http://127.0.0.1:[1-9]\d*/mcp", await process.stderr.readline())):
                pass
            async with Client(address[0].decode(), mode="2026-07-28") as client:
                if waits_for == "changes":
                    async with client.listen(tools_list_changed=True):
                        process.send_signal(signal.SIGINT)
                        await process.wait()
                else:
                    call = asyncio.create_task(client.call_tool("sleep", {}))
                    await client.list_tools()
                    process.send_signal(signal.SIGINT)
                    await process.wait()
                    await asyncio.wait({call})
                    assert call.exception() is not None
        assert b"Traceback" not in await process.stderr.read()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.long
def test_a_file_of_servers_is_served_behind_the_rules(shop):
    """Two servers, each a process of its own: their tools have prefixes, and a rule takes one away."""
    entry = {"command": sys.executable, "args": ["-m", "toolkit", "serve", "tools.py"]}
    shop.write(".mcp.json", json.dumps({"mcpServers": {"first": entry, "second": entry}}))
    assert shop.run("mcp", "trust", ".mcp.json", "--yes").code == 0
    rules = ["--rule", "deny *_cancel", "--rule", "allow mcp:first/*"]

    async def use() -> None:
        words = ["-m", "toolkit", "serve", ".mcp.json", *rules]
        parameters = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(parameters), mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:2] == ["first_free_days", "first_order"]
            assert "second_free_days" in names
            assert not any(name.endswith("_cancel") for name in names)
            result = await client.call_tool("first_free_days", {"year": 2026})
            assert "2026-05-01" in result.content[0].text
            assert client.server_capabilities.resources is not None

    asyncio.run(use())
