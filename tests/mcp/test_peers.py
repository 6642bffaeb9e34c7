"""
Programs that others wrote, at the other end: the reference servers and the Inspector.

They come from npm: `python -m tests.mcp.node_packages` fetches them. Without them these tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import Approvals, Decision, Dispatcher, Permissions
from toolkit.mcp import RemoteServer, Servers

from .node_packages import MissingNode, find_node, find_program

pytestmark = [pytest.mark.anyio, pytest.mark.long]

EVERYTHING = "@modelcontextprotocol/server-everything"
FILESYSTEM = "@modelcontextprotocol/server-filesystem"
INSPECTOR = "@modelcontextprotocol/inspector"
SERVER = Path(__file__).parent / "conformance" / "everything_server.py"
START_SECONDS = 60

SAMPLES = {"string": "a", "number": 1.5, "integer": 1, "boolean": True, "array": [], "object": {}}


def find(package, program):
    """Return the command that starts a program of npm, or skip the test and say what is missing."""
    try:
        return [find_node().program, str(find_program(package, program))]
    except MissingNode as missing:
        pytest.skip(str(missing))


def fill_in(schema):
    """Return a small value that the schema allows."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        required = schema.get("required", ())
        return {name: fill_in(member) for name, member in schema.get("properties", {}).items() if name in required}
    return max(1, schema["minimum"]) if "minimum" in schema else SAMPLES[schema.get("type", "string")]


def agree(request):
    """Approve every call, and answer every question with its defaults."""
    return Decision.approve(answers={question.key: fill_in(question.schema) for question in request.questions})


async def call_all(tools, samples):
    """Call every tool, and return the results by name."""
    dispatcher = Dispatcher(tools, permissions=Permissions("default"), approvals=Approvals(ask=agree))
    return {
        tool.name: await dispatcher.call(tool.name, {**fill_in(tool.schema), **samples.get(tool.name, {})})
        for tool in tools
    }


def wait_for_port(port, process):
    """Wait until the process accepts connections."""
    for _ in range(START_SECONDS * 10):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the server ended with exit code {process.wait(0.1)}")
    pytest.fail("the server does not listen")


@contextlib.contextmanager
def open_everything(way):
    """Yield what `Servers` gets for the reference server, which runs until the block ends."""
    command = find(EVERYTHING, "mcp-server-everything")
    if way == "stdio":
        yield RemoteServer([*command, "stdio"])
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [*command, "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, process)
        yield RemoteServer(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        process.wait(START_SECONDS)


@pytest.mark.parametrize("way", ["stdio", "HTTP"])
async def test_every_tool_of_the_reference_server_is_imported_and_called(way):
    """No tool is left out, and every call ends with what the tool returns."""
    with open_everything(way) as server:
        async with Servers(None, {"all": server}) as tools:
            assert tools.problems == []
            samples = {
                "all_get-sum": {"a": 2, "b": 3},
                "all_trigger-long-running-operation": {"duration": 0.2, "steps": 2},
                "all_gzip-file-as-resource": {"data": "data:text/plain,hello"},
                "all_trigger-url-elicitation": {"url": "https://example.com/form"},
            }
            results = await call_all(tools, samples)

    assert len(results) >= 10
    failed = {name: result.text for name, result in results.items() if result.kind != "ok"}
    assert failed == {}
    assert "Research Report" in results["all_simulate-research-query"].text  # it runs as a task
    assert "a" in results["all_echo"].text
    assert "5" in results["all_get-sum"].text
    assert results["all_get-tiny-image"].parts


async def test_every_tool_of_the_file_server_is_imported_and_called(tmp_path):
    """The file server reads, writes and lists in its folder, and refuses the world outside of it."""
    command = find(FILESYSTEM, "mcp-server-filesystem")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    path = str(tmp_path / "a.txt")
    samples = {
        name: {"path": path} for name in ("read_file", "read_text_file", "get_file_info", "edit_file", "write_file")
    }
    samples |= {
        name: {"path": str(tmp_path)}
        for name in ("list_directory", "list_directory_with_sizes", "directory_tree", "search_files")
    }
    samples["read_media_file"] = {"path": str(tmp_path / "a.png")}
    samples["read_multiple_files"] = {"paths": [path]}
    samples["create_directory"] = {"path": str(tmp_path / "new")}
    samples["move_file"] = {"source": str(tmp_path / "new"), "destination": str(tmp_path / "moved")}
    samples["edit_file"] |= {"edits": [{"oldText": "one", "newText": "1"}]}
    samples["write_file"] |= {"content": "one\ntwo\n"}
    samples["search_files"] |= {"pattern": "*.txt"}
    async with Servers(files=[*command, str(tmp_path)]) as tools:
        assert tools.problems == []
        results = await call_all(tools, {f"files_{name}": value for name, value in samples.items()})
        dispatcher = Dispatcher(tools, permissions=Permissions("bypass"))
        outside = await dispatcher.call("files_read_text_file", {"path": "/etc/passwd"})

    failed = {name: result.text for name, result in results.items() if result.kind != "ok"}
    assert failed == {}
    assert "one" in results["files_read_text_file"].text
    assert (tmp_path / "moved").is_dir()
    assert outside.is_error


def test_the_inspector_lists_and_calls_our_tools():
    """The Inspector's command line starts our server, lists its tools and calls one."""
    command = find(INSPECTOR, "mcp-inspector")
    server = [sys.executable, "-m", "toolkit", "serve", f"{SERVER}:tools"]

    def inspect(*words):
        run = subprocess.run(
            [*command, "--cli", *server, *words], capture_output=True, text=True, timeout=START_SECONDS, env=os.environ
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    names = [tool["name"] for tool in inspect("--method", "tools/list")["tools"]]
    answer = inspect("--method", "tools/call", "--tool-name", "test_simple_text")
    assert "test_simple_text" in names
    assert answer["content"] == [{"type": "text", "text": "This is a simple text response for testing."}]
