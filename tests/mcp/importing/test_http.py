"""Servers at an address, in both revisions: what goes wrong with a request fails that call alone."""

from __future__ import annotations

import gzip
import json

import httpx2
import pytest

from toolkit import Dispatcher
from toolkit.mcp import RemoteServer, ServerLimits, Servers

from .hostile_http import NEW, OLD, run_server, text_result

BOTH = pytest.mark.parametrize("revision", [OLD, NEW])


def call(server, **options):
    """Call the tool `echo` of a server at an address."""
    with Servers(web=RemoteServer(server.url, **options)) as tools:
        assert tools.problems == []
        dispatcher = Dispatcher(tools)
        result = dispatcher.call_sync("web_echo", {"text": "hello"})
        dispatcher.close()
        return result


@BOTH
def test_a_call_over_http(revision):
    """The headers that are given arrive, and closing ends the session where there is one."""
    with run_server(revision) as server:
        assert call(server, headers={"x-key": "k"}).text == "hello"

    assert {headers.get("x-key") for headers, _ in server.requests} == {"k"}
    assert server.deleted == (1 if revision == OLD else 0)


@BOTH
def test_an_answer_as_a_stream_of_events(revision):
    """Progress comes before the result, and a line that is no message spoils nothing."""
    reports = []

    def answer(handler, number, params):
        token = params["_meta"]["progressToken"]
        progress = {"progressToken": token, "progress": 1, "message": "half"}
        handler.events(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress},
            {"jsonrpc": "2.0", "id": number, "result": text_result("streamed")},
        )

    with run_server(revision, t=answer) as server, Servers(web=server.url) as tools:
        dispatcher = Dispatcher(tools, on_progress=reports.append)
        assert dispatcher.call_sync("web_t", {}).text == "streamed"
        dispatcher.close()

    assert [report.message for report in reports] == ["half"]


FAILURES = {
    "hang up": (lambda handler, number, params: handler.hang_up(), "transient", "maybe", "broke off"),
    "cut body": (
        lambda handler, number, params: handler.reply(200, b"{", {"content-length": "50", "connection": "close"}),
        "transient",
        "maybe",
        "broke off",
    ),
    "cut stream": (lambda handler, number, params: handler.events(), "transient", "maybe", "lost during the call"),
    "status 500": (
        lambda handler, number, params: handler.reply(500, b"", {"content-type": "text/html"}),
        "transient",
        "maybe",
        "status 500",
    ),
    "status 503": (
        lambda handler, number, params: handler.reply(503, b'{"message": "busy"}', {"retry-after": "7"}),
        "transient",
        "maybe",
        "status 503",
    ),
    "status 429": (
        lambda handler, number, params: handler.reply(429, b"", {"retry-after": "7"}),
        "transient",
        "no",
        "status 429",
    ),
    "large": (
        lambda handler, number, params: handler.result(number, text_result("x" * 200_000)),
        "failed",
        None,
        "larger than 100,000 bytes",
    ),
    "large event": (
        lambda handler, number, params: handler.events(
            {"jsonrpc": "2.0", "id": number, "result": text_result("x" * 200_000)}
        ),
        "failed",
        None,
        "cannot be read",
    ),
    "garbage": (lambda handler, number, params: handler.reply(200, b"<html>"), "failed", None, "not valid MCP"),
    "garbage event": (lambda handler, number, params: handler.events("<html>"), "failed", None, "not valid MCP"),
    "deep": (lambda handler, number, params: handler.reply(200, b"[" * 10_000), "failed", None, "not valid MCP"),
    "compressed": (
        lambda handler, number, params: handler.reply(200, gzip.compress(b"x"), {"content-encoding": "gzip"}),
        "failed",
        None,
        "compressed",
    ),
    "html": (
        lambda handler, number, params: handler.reply(200, b"<html>", {"content-type": "text/html"}),
        "failed",
        None,
        "content type",
    ),
    "refused": (
        lambda handler, number, params: handler.reply(403, b"", {"content-type": "text/html"}),
        "failed",
        None,
        "refuses access (status 403)",
    ),
    "error body": (
        lambda handler, number, params: handler.error(number, -32603, "broken", 500),
        "failed",
        None,
        "broken",
    ),
    "redirect": (
        lambda handler, number, params: handler.reply(307, b"", {"location": "http://127.0.0.1:1/else"}),
        "failed",
        None,
        "not followed",
    ),
    "nothing": (lambda handler, number, params: handler.reply(202, b""), "failed", None, "202"),
}

RAN = {"large", "large event", "garbage", "garbage event", "deep", "compressed", "html", "nothing"}
"""The failures of calls that have happened."""


@pytest.fixture(scope="module", params=[OLD, NEW])
def failing(request):
    """Open one server with a tool for each failure, for all tests of the module."""
    answers = {name.replace(" ", "_"): answer for name, (answer, *_) in FAILURES.items()}
    limits = ServerLimits(max_message_bytes=100_000, wait_initial=0.01)
    with run_server(request.param, **answers) as server, Servers(web=RemoteServer(server.url, limits=limits)) as tools:
        yield tools


@pytest.mark.parametrize("failure", FAILURES)
def test_a_bad_answer_fails_only_its_own_call(failing, failure):
    """The result names the reason, says whether the call may have happened, and the next call works."""
    _, kind, happened, words = FAILURES[failure]
    dispatcher = Dispatcher(failing)
    result = dispatcher.call_sync(f"web_{failure.replace(' ', '_')}", {})
    assert dispatcher.call_sync("web_echo", {"text": "still here"}).text == "still here"
    dispatcher.close()

    assert result.kind == kind
    assert words in result.text
    assert result.error.details.get("happened") == happened
    assert (result.error.details.get("ran") is True) == (failure in RAN)


def test_a_missing_address_does_not_mean_a_missing_tool():
    """A status 404 without session and without a JSON-RPC error has its own message."""
    with run_server(NEW, t=lambda handler, number, params: handler.reply(404, b"gone")) as server:
        with Servers(web=server.url) as tools:
            dispatcher = Dispatcher(tools)
            result = dispatcher.call_sync("web_t", {})
            dispatcher.close()
        server.gate = lambda handler: handler.headers.get("mcp-method") == "tools/list" and not handler.reply(404, b"")
        with Servers(web=server.url) as tools:
            problems = tools.problems

    assert result.kind == "failed"
    assert "answered with status 404" in result.text
    assert "no longer knows" not in result.text
    assert problems == ["web: 127.0.0.1 answered with status 404; check whether the address is still right"]


def test_a_server_that_is_not_there_is_a_problem():
    """No connection means no tools, and the reason is told."""
    with Servers(web="http://127.0.0.1:1/mcp") as tools:
        [problem] = tools.problems

    assert problem.startswith("web: 127.0.0.1 cannot be reached")


@pytest.mark.long
def test_a_new_session_replaces_one_that_the_server_has_ended():
    """The call that notices it has not happened. The next call has a new session."""

    def forget_first(handler):
        if handler.headers.get("mcp-session-id") == "session-1" and handler.server.is_forgetful:
            handler.reply(404, b"")
            return True
        return False

    with run_server(OLD, forget_first) as server:
        server.is_forgetful = False
        with Servers(web=RemoteServer(server.url, limits=ServerLimits(wait_initial=0.01))) as tools:
            dispatcher = Dispatcher(tools)
            server.is_forgetful = True
            first = dispatcher.call_sync("web_echo", {"text": "a"})
            second = dispatcher.call_sync("web_echo", {"text": "b"})
            dispatcher.close()

    assert (first.kind, first.error.details["happened"]) == ("transient", "no")
    assert second.text == "b"
    assert server.sessions == 2


@pytest.mark.long
def test_an_auth_of_the_program_is_used():
    """The program's own `httpx2.Auth` signs each request."""
    with run_server(OLD) as server:
        call(server, auth=httpx2.BasicAuth("ada", "x"))

    assert all("Authorization" in headers for headers, _ in server.requests)


def test_a_transport_of_the_program_is_used():
    """The program's own transport carries the requests. A server without tools is no problem."""
    methods = []

    def answer(request):
        message = json.loads(request.content)
        methods.append(message.get("method"))
        if message.get("method") == "server/discover":
            result = {
                "supportedVersions": [NEW],
                "capabilities": {},
                "ttlMs": 0,
                "cacheScope": "private",
                "resultType": "complete",
            }
            return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": result})
        error = {"code": -32601, "message": "Method not found"}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "error": error})

    with Servers(web=RemoteServer("http://x.example/mcp", http_transport=httpx2.MockTransport(answer))) as tools:
        assert tools.problems == []

    assert methods == ["server/discover", "tools/list"]


def test_a_call_whose_headers_are_stale_is_sent_again_after_a_new_list():
    """The server refused it unseen, so it is sent once more."""

    def answer(handler, number, params):
        handler.server.tries += 1
        if handler.server.tries == 1:
            handler.error(number, -32020, "headers do not match", 400)
        else:
            handler.result(number, text_result(f"try {handler.server.tries}"))

    with run_server(NEW, t=answer) as server, Servers(web=server.url) as tools:
        server.tries = 0
        dispatcher = Dispatcher(tools)
        assert dispatcher.call_sync("web_t", {}).text == "try 2"
        dispatcher.close()

    assert [message["method"] for _, message in server.requests].count("tools/list") == 2
