"""
Our MCP server beside the high-level server of the official SDK and FastMCP's, if that is installed: one call, a list of
1,001 tools, the start until the first answer, and the memory of an open session.

In memory, the client of the official SDK makes the calls, so each number has the cost of that client in it. Over HTTP,
every server is a process of its own, and the client is a plain socket. What counts is the processor time, of this
process or of the server's, because a call over HTTP mostly waits for other processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from .timing import Row, print_table, ratio

__all__ = ["rows"]

OLD, NEW = "2025-11-25", "2026-07-28"
REVISIONS = (OLD, NEW)
ARGUMENTS = {"first": 2, "second": 3}
ROUNDS = 10
CALLS = 50
TOOLS = 1_001
STARTS = 5
SESSIONS = 300

_META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


def list_functions(count: int) -> list[Any]:
    """Return the one tool, and others like it until there are *count*."""

    def copy(number: int) -> Any:
        async def work(first: int, second: int) -> int:
            """Work on two numbers."""
            return first + second + number

        work.__name__ = work.__qualname__ = f"work_{number}"
        return work

    return [add, *(copy(number) for number in range(1, count))]


def list_servers() -> list[str]:
    """Return the names of the servers that can be measured here."""
    return ["toolkit", "sdk", *(["fastmcp"] if importlib.util.find_spec("fastmcp") else [])]


def build_dispatcher(count: int) -> Any:
    """Return our dispatcher for so many tools."""
    from toolkit import Catalog, Dispatcher

    catalog = Catalog()
    for function in list_functions(count):
        catalog.tool(function, read_only=True)
    return Dispatcher(catalog)


def build(name: str, count: int = 1) -> Any:
    """Return the server *name* with so many tools."""
    if name == "toolkit":
        from toolkit.mcp import build_server

        return build_server(build_dispatcher(count))
    if name == "sdk":
        from mcp.server.mcpserver import MCPServer

        server: Any = MCPServer("bench")
        for function in list_functions(count):
            server.add_tool(function)
        return server
    from fastmcp import FastMCP

    server = FastMCP("bench")
    for function in list_functions(count):
        server.tool(function)
    return server


def build_app(name: str, count: int) -> Any:
    """Return the ASGI application of the server *name*, as a program that deploys it gets it."""
    if name == "toolkit":
        from toolkit.mcp import http_app

        return http_app(build_dispatcher(count))
    server = build(name, count)
    return server.streamable_http_app() if name == "sdk" else server.http_app()


# In memory.


async def measure_in_memory(revision: str) -> dict[str, float]:
    """Return the microseconds of one call of each server, in the same process."""
    from mcp import Client

    mode = "legacy" if revision == OLD else revision
    async with contextlib.AsyncExitStack() as stack:
        candidates: dict[str, Callable[[], Awaitable[Any]]] = {}
        for name in list_servers():
            server = build(name)
            if name == "fastmcp":
                server = server._mcp_server  # noqa: SLF001 -- the client of the SDK takes its kind of server
            client = await stack.enter_async_context(Client(server, mode=mode))
            candidates[name] = lambda client=client: client.call_tool("add", ARGUMENTS)
        best = dict.fromkeys(candidates, float("inf"))
        for _ in range(ROUNDS):
            for name, call in candidates.items():
                start = time.process_time()
                for _ in range(CALLS):
                    result = await call()
                best[name] = min(best[name], (time.process_time() - start) / CALLS * 1e6)
                check(result.model_dump(by_alias=True))
    return best


def check(result: Any) -> None:
    """Raise an error if *result* is not that of the call, so that no refusal is measured."""
    [block] = result["content"]
    if block["text"] != "5":
        raise AssertionError(f"the call returned {block['text']!r}")


# Over HTTP.


class HttpClient:
    """A client that posts one request after the other over one connection."""

    def __init__(self, port: int, revision: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._host = f"127.0.0.1:{port}"
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = self._connection.makefile("rb")
        self._headers = {"MCP-Protocol-Version": revision}
        self._revision = revision
        if revision == OLD:
            start = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
            self.post({"id": 0, "method": "initialize", "params": start})
            self.post({"method": "notifications/initialized"})

    def call(self) -> Any:
        """Return the result of one call."""
        params: dict[str, Any] = {"name": "add", "arguments": ARGUMENTS}
        if self._revision == NEW:
            params["_meta"] = _META
        return self.post({"id": 1, "method": "tools/call", "params": params})["result"]

    def list_tools(self) -> int:
        """Ask for all pages of the list, and return how many tools they have."""
        count, cursor = 0, None
        while True:
            params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
            if self._revision == NEW:
                params["_meta"] = _META
            page = self.post({"id": 1, "method": "tools/list", "params": params})["result"]
            count, cursor = count + len(page["tools"]), page.get("nextCursor")
            if cursor is None:
                return count

    def post(self, message: dict[str, Any]) -> Any:
        """Return the answer to *message*; None if it has none."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = {
            "Host": self._host,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
            **self._headers,
        }
        if self._revision == NEW:
            headers |= {"Mcp-Method": message["method"], "Mcp-Name": "add"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._connection.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        return self._read_answer()

    def _read_answer(self) -> Any:
        status = self._reader.readline()
        headers = {}
        while line := self._reader.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if "mcp-session-id" in headers:
            self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        body = self._read_body(headers)
        if not status.split()[1].startswith(b"2"):
            raise AssertionError(f"{status!r}: {body!r}")
        if headers.get("content-type", "").startswith("text/event-stream"):
            body = b"".join(line[5:] for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip())
        return json.loads(body) if body.strip() else None

    def _read_body(self, headers: dict[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            return self._reader.read(int(headers.get("content-length", 0)))
        chunks = []
        while size := int(self._reader.readline(), 16):
            chunks.append(self._reader.read(size))
            self._reader.readline()
        self._reader.readline()
        return b"".join(chunks)


@contextlib.contextmanager
def running(name: str, count: int = 1) -> Iterator[tuple[int, int]]:
    """Yield the id and the port of a process that serves *name* with so many tools."""
    command = [sys.executable, "-m", "benchmarks.mcp_serving", "serve", name, str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
        finally:
            process.terminate()


def read_processor_seconds(process_id: int) -> float:
    """Return the processor time that the threads of a process have used so far."""
    threads = Path(f"/proc/{process_id}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


def read_memory(process_id: int) -> int:
    """Return the bytes that a process has in memory."""
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve(name: str, count: int) -> None:
    """Serve *name* with so many tools on a free port, and print the port."""
    import logging

    import uvicorn

    logging.disable(logging.INFO)  # lines for every session would be measured too

    from toolkit.web_server.running import open_listener

    listener = open_listener("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    server = uvicorn.Server(uvicorn.Config(build_app(name, count), log_level="error", timeout_keep_alive=600))
    asyncio.run(server.serve(sockets=[listener]))


def measure_over_http(revision: str) -> dict[str, float]:
    """Return the microseconds of one call of each server, in a process of its own."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in list_servers()}
        clients = {name: HttpClient(port, revision) for name, (_, port) in servers.items()}
        best = dict.fromkeys(clients, float("inf"))
        for _ in range(ROUNDS):
            for name, client in clients.items():
                before = read_processor_seconds(servers[name][0])
                for _ in range(CALLS):
                    result = client.call()
                spent = read_processor_seconds(servers[name][0]) - before
                best[name] = min(best[name], spent / CALLS * 1e6)
                check(result)
    return best


def measure_listing(revision: str) -> dict[str, float]:
    """Return the microseconds of one list of all tools of each server."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(running(name, TOOLS)) for name in list_servers()}
        clients = {name: HttpClient(port, revision) for name, (_, port) in servers.items()}
        for client in clients.values():
            assert client.list_tools() == TOOLS
        before = {name: read_processor_seconds(process_id) for name, (process_id, _) in servers.items()}
        for _ in range(ROUNDS):
            for client in clients.values():
                client.list_tools()
        spent = {name: read_processor_seconds(process_id) - before[name] for name, (process_id, _) in servers.items()}
    return {name: seconds / ROUNDS * 1e6 for name, seconds in spent.items()}


def measure_sessions() -> dict[str, float]:
    """Return the kilobytes of an open session of each server."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in list_servers()}
        kept = [HttpClient(port, OLD) for _, port in servers.values() for _ in range(20)]
        before = {name: read_memory(process_id) for name, (process_id, _) in servers.items()}
        kept += [HttpClient(port, OLD) for _ in range(SESSIONS) for _, port in servers.values()]
        grown = {name: read_memory(process_id) - before[name] for name, (process_id, _) in servers.items()}
    return {name: size / SESSIONS / 1024 for name, size in grown.items()}


LOW_LEVEL = """
import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

async def list_tools(context, params):
    return ListToolsResult(tools=[Tool(name="add", input_schema={"type": "object"})])

async def main():
    server = Server("bench", on_list_tools=list_tools)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())

anyio.run(main)
"""

OURS = """
from toolkit import Catalog, Dispatcher
from toolkit.mcp import serve

def add(first: int, second: int) -> int:
    "Add two numbers."
    return first + second

serve(Dispatcher(Catalog(add)))
"""


def measure_start() -> dict[str, float]:
    """Return the microseconds of processor time from the start of a process to its end after the first answer."""
    start = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start}) + "\n"
    times: dict[str, list[float]] = {"toolkit": [], "low-level SDK": []}
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        # An installed package has bytecode. A checkout may have none, and would be compiled at every start.
        environment["PYTHONPYCACHEPREFIX"] = folder
        for _ in range(STARTS + 1):
            for name, program in (("toolkit", OURS), ("low-level SDK", LOW_LEVEL)):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                command = [sys.executable, "-c", program]
                done = subprocess.run(
                    command, input=request, env=environment, capture_output=True, text=True, check=True
                )
                assert '"serverInfo"' in done.stdout
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {name: min(seconds[1:]) * 1e6 for name, seconds in times.items()}


def further_rows() -> list[Row]:
    """Return the rows that are about no call. The ratio is ours to that of the other server."""
    tables = [
        *((f"a list of {TOOLS:,} tools, {revision}", measure_listing(revision)) for revision in REVISIONS),
        ("start to the first answer", measure_start()),
        ("KB of an open session", measure_sessions()),
    ]
    return [
        (f"{name}, {title}", amount, None if name == "toolkit" else ratio(amounts["toolkit"], amount), "ours to it")
        for title, amounts in tables
        for name, amount in amounts.items()
    ]


def rows() -> list[Row]:
    """Return one row for each server, each way and each revision. The ratio is of calls in a second."""
    table: list[Row] = []
    for revision in REVISIONS:
        for way, best in (
            ("in memory", asyncio.run(measure_in_memory(revision))),
            ("over HTTP", measure_over_http(revision)),
        ):
            for name, microseconds in best.items():
                factor = None if name == "toolkit" else ratio(microseconds, best["toolkit"])
                to = f"{1e6 / microseconds:,.0f} calls in a second of processor time" + (
                    "" if factor is None else "; ours are so many times"
                )
                table.append((f"{name}, {way}, {revision}", microseconds, factor, to))
    return table


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        if sys.argv[1:2] != ["further"]:
            print_table("One call over MCP", rows())
        print_table("Lists, starts and sessions over MCP", further_rows())
