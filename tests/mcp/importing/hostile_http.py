"""
A server that speaks MCP over HTTP on the loopback, and misbehaves where a test asks for it.

It uses the standard library and no SDK. `HttpServer.answers` maps the name of a tool to a function that writes the
answer. Each server speaks one protocol revision.
"""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OLD, NEW = "2025-11-25", "2026-07-28"


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Write nothing."""

    def do_GET(self):
        self.reply(405, b"")

    def do_DELETE(self):
        self.server.deleted += 1
        self.reply(200, b"")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((dict(self.headers), message))
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if number is None:
            self.reply(202, b"")
        elif self.server.gate is not None and self.server.gate(self):
            return
        elif method == "tools/call":
            self.server.answers[params["name"]](self, number, params)
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self.server.answers]
            self.result(number, {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"})
        else:
            self.shake_hands(number, method)

    def shake_hands(self, number, method):
        capabilities = {"tools": {"listChanged": False}}
        if method == "initialize" and self.server.revision == OLD:
            info = {"protocolVersion": OLD, "capabilities": capabilities, "serverInfo": {"name": "h", "version": "1"}}
            self.server.sessions += 1
            self.result(number, info, {"mcp-session-id": f"session-{self.server.sessions}"})
        elif method == "server/discover" and self.server.revision == NEW:
            info = {"supportedVersions": [NEW], "capabilities": capabilities}
            self.result(number, {**info, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"})
        else:
            self.error(number, -32601, "Method not found", 404 if self.server.revision == NEW else 200)

    def result(self, number, result, headers=None):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode(), headers)

    def error(self, number, code, text, status=200):
        error = {"code": code, "message": text}
        self.reply(status, json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())

    def reply(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = "connection" in (headers or {})

    def events(self, *events, is_cut=False):
        """Answer with a stream of events, each of which is a message or raw text."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            text = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"event: message\ndata: {text}\n\n".encode())
        self.close_connection = True

    def hang_up(self):
        """Close the connection without an answer."""
        self.close_connection = True
        self.connection.close()


def text_result(text):
    """Return the result of a tool that answers with *text*."""
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


class HttpServer(ThreadingHTTPServer):
    """The server, in a thread of its own."""

    daemon_threads = True

    def __init__(self, revision, answers, gate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.revision, self.answers, self.gate = revision, answers, gate
        self.requests, self.sessions, self.deleted = [], 0, 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def handle_error(self, request, client_address):
        """Say nothing about a client that has gone."""


@contextlib.contextmanager
def run_server(revision, gate=None, **answers):
    """Run a server with these tools while the block runs."""
    echo = lambda handler, number, params: handler.result(number, text_result(params["arguments"].get("text", "")))  # noqa: E731 -- as short as those of the tests
    server = HttpServer(revision, {"echo": echo, **answers}, gate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
