"""
One call over MCP: our server beside the high-level server of the official SDK and FastMCP's, if that is installed.

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
import socket
import subprocess
import sys
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

_META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


def list_servers() -> list[str]:
    """Return the names of the servers that can be measured here."""
    return ["toolkit", "sdk", *(["fastmcp"] if importlib.util.find_spec("fastmcp") else [])]


def build(name: str) -> Any:
    """Return the server *name* with the one tool."""
    if name == "toolkit":
        from toolkit import Catalog, Dispatcher
        from toolkit.mcp import build_server

        catalog = Catalog()
        catalog.tool(add, read_only=True)
        return build_server(Dispatcher(catalog))
    if name == "sdk":
        from mcp.server.mcpserver import MCPServer

        server: Any = MCPServer("bench")
        server.add_tool(add)
        return server
    from fastmcp import FastMCP

    server = FastMCP("bench")
    server.tool(add)
    return server


def build_app(name: str) -> Any:
    """Return the ASGI application of the server *name*, as a program that deploys it gets it."""
    if name == "toolkit":
        from toolkit import Catalog, Dispatcher
        from toolkit.mcp import http_app

        catalog = Catalog()
        catalog.tool(add, read_only=True)
        return http_app(Dispatcher(catalog))
    server = build(name)
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
def running(name: str) -> Iterator[tuple[int, int]]:
    """Yield the id and the port of a process that serves *name*."""
    command = [sys.executable, "-m", "benchmarks.mcp_serving", "serve", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
        finally:
            process.terminate()


def read_processor_seconds(process_id: int) -> float:
    """Return the processor time that a process has used so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(name: str) -> None:
    """Serve *name* on a free port, and print the port."""
    import logging

    import uvicorn

    logging.disable(logging.INFO)  # lines for every session would be measured too

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    server = uvicorn.Server(uvicorn.Config(build_app(name), log_level="error", timeout_keep_alive=600))
    asyncio.run(server.serve(sockets=[listener]))


def measure_over_http(revision: str) -> dict[str, float]:
    """Return the microseconds of one call of each server, in a process of its own."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in list_servers()}
        clients = {name: HttpClient(port, revision) for name, (_, port) in servers.items()}
        for client in clients.values():
            check(client.call())
        before = {name: read_processor_seconds(process_id) for name, (process_id, _) in servers.items()}
        for _ in range(ROUNDS):
            for client in clients.values():
                for _ in range(CALLS):
                    result = client.call()
                check(result)
        spent = {name: read_processor_seconds(process_id) - before[name] for name, (process_id, _) in servers.items()}
    return {name: seconds / ROUNDS / CALLS * 1e6 for name, seconds in spent.items()}


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
        serve(sys.argv[2])
    else:
        print_table("One call over MCP", rows())
