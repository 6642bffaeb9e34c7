"""A credential for a server is masked in everything that the server sends."""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
from urllib.parse import quote

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp_types.jsonrpc import jsonrpc_message_adapter

from toolkit import Dispatcher
from toolkit.errors import DefinitionError, Transient
from toolkit.mcp import RemoteServer, Servers
from toolkit.mcp.importing.call_errors import build_local_error, read_local_error
from toolkit.mcp.importing.credentials import ServerCredentials
from toolkit.mcp.importing.stdio_transport import ErrorTail

from .hostile_http import NEW, OLD, run_server, text_result
from .kit import SCRIPT, hostile

SECRET = "s3cr3t/of+the server"


class OwnAuth(httpx2.Auth):
    """Adds a token to each request, as a login does."""

    def auth_flow(self, request):
        request.headers["Authorization"] = f"Bearer {SECRET}"
        yield request


@pytest.mark.parametrize(
    "auth",
    [
        SECRET,
        "",
        {"Authorization": f"Bearer {SECRET}"},
        {},
        [SECRET, ""],
        (SECRET,),
        (SECRET, None),
        (SECRET, "a", "b"),
        SECRET.encode(),
        lambda request: SECRET,
        False,
    ],
)
def test_an_auth_of_another_kind_is_refused_unseen(auth):
    """The error of the HTTP library would show it."""
    with pytest.raises(DefinitionError) as caught:
        Servers(web=RemoteServer("http://127.0.0.1:9/mcp", auth=auth))

    assert "web: `auth` has to be" in str(caught.value)
    assert '`headers={"Authorization": "Bearer ..."}`' in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("auth", [None, ("ada", SECRET), (SECRET, ""), OwnAuth()])
def test_an_auth_is_a_pair_or_an_object_of_the_http_library(auth):
    assert Servers(web=RemoteServer("http://127.0.0.1:9/mcp", auth=auth)).problems == []


class KeyInHeader(httpx2.Auth):
    """Adds a key in a header of its own."""

    def auth_flow(self, request):
        request.headers["X-Api-Key"] = WORD
        yield request


class KeyInQuery(httpx2.Auth):
    """Adds a key to the address."""

    def auth_flow(self, request):
        request.url = request.url.copy_add_param("access_token", SECRET)
        yield request


class KeyInCookie(httpx2.Auth):
    """Adds a key as a cookie."""

    def auth_flow(self, request):
        request.headers["Cookie"] = f"theme=dark; sid={WORD}"
        yield request


WORD = SECRET.replace(" ", "")  # some places allow no blank

GIVEN = {
    "a bearer token": (SECRET, {"headers": {"Authorization": f"Bearer {SECRET}"}}),
    "a token without a scheme": (WORD, {"headers": {"authorization": WORD}}),
    "a password": (
        SECRET,
        {"headers": {"Authorization": f"Basic {base64.b64encode(f'ada:{SECRET}'.encode()).decode()}"}},
    ),
    "a key of its own": (SECRET, {"headers": {"X-Api-Key": SECRET}}),
    "a cookie": (WORD, {"headers": {"Cookie": f"theme=dark; sid={WORD}"}}),
    "a key as the user name": (
        SECRET,
        {"headers": {"Authorization": f"Basic {base64.b64encode(f'{SECRET}:'.encode()).decode()}"}},
    ),
    "a token in a header of its own": (SECRET, {"headers": {"X-Auth-Token": f"Bearer {SECRET}"}}),
    "an auth": (SECRET, {"auth": OwnAuth()}),
    "an auth with a header of its own": (WORD, {"auth": KeyInHeader()}),
    "an auth with a query": (SECRET, {"auth": KeyInQuery()}),
    "an auth with a cookie": (WORD, {"auth": KeyInCookie()}),
    "a pair": (SECRET, {"auth": ("ada", SECRET)}),
    "a pair with the key as the user name": (SECRET, {"auth": (SECRET, "")}),
    "a token before the host": (SECRET, {"login": f"{quote(SECRET, safe='')}@"}),
    "a token as the user": (SECRET, {"login": f"{quote(SECRET, safe='')}:x-oauth-basic@"}),
    "a password before the host": (SECRET, {"login": f"ada:{quote(SECRET, safe='')}@"}),
    "a query": (SECRET, {"query": f"?api_key={quote(SECRET)}&verbose=certainly"}),
    "the first of two in a query": (SECRET, {"query": f"?key={quote(SECRET)}&key=another-one"}),
    "the second of two in a query": (SECRET, {"query": f"?key=another-one&key={quote(SECRET)}"}),
}


def send_text(handler, number, secret):
    handler.result(number, text_result(f"the token {secret} is unknown"))


def send_value(handler, number, secret):
    handler.result(number, {**text_result("see the value"), "structuredContent": {"seen": [{"token": secret}]}})


def send_failure(handler, number, secret):
    handler.result(number, {**text_result(f"the token {secret} is unknown"), "isError": True})


def send_error(handler, number, secret):
    handler.error(number, -32000, f"the token {secret} is unknown")


def send_link(handler, number, secret):
    link = {"type": "resource_link", "uri": f"https://docs.example/{secret.replace(' ', '')}", "name": f"with {secret}"}
    handler.result(number, {**text_result("a link"), "content": [link]})


def send_events(handler, number, secret):
    handler.events({"jsonrpc": "2.0", "id": number, "result": text_result(f"the token {secret} is unknown")})


ANSWERS = [send_text, send_value, send_failure, send_error, send_link, send_events]


@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("case", GIVEN)
def test_a_credential_for_an_address_is_masked(case, revision, caplog):
    """The credential may be stated in any place, and repeated in any field. The log of the HTTP library does not show it."""
    caplog.set_level(logging.INFO)
    secret, options = GIVEN[case]
    tools = {
        answer.__name__: lambda handler, number, _, answer=answer: answer(handler, number, secret) for answer in ANSWERS
    }

    with (
        run_server(revision, **tools) as server,
        Servers(web=build_server(server.url, **options)) as imported,
    ):
        dispatcher = Dispatcher(imported)
        texts = {name: str(dispatcher.call_sync(f"web_{name}", {}).to_json()) for name in tools}
        dispatcher.close()

    assert {name for name, text in texts.items() if "[redacted]" not in text} == set()
    assert {name for name, text in texts.items() if secret in text} == set()
    assert "HTTP Request: POST" in caplog.text
    assert [form for form in (secret, quote(secret), quote(secret, safe="")) if form in caplog.text] == []


def build_server(url, query="", login="", **options):
    """Return the server at *url*, with *query* after it and *login* before its host."""
    return RemoteServer(url.replace("://", f"://{login}") + query, **options)


SSE = {
    **{case: GIVEN[case][1] for case in ("a query", "a token before the host", "a password before the host")},
    "an auth with a query": {"auth": KeyInQuery()},
    "a long query": {"query": f"?verbose={'x' * 300}&api_key={quote(SECRET)}"},
}


@pytest.mark.parametrize("case", SSE)
def test_an_address_that_fails_is_shown_without_credentials(case, caplog):
    """The error of the HTTP library shows the whole address."""
    caplog.set_level(logging.DEBUG)
    with (
        run_server(NEW) as server,
        Servers(web=build_server(server.url, transport="sse", **SSE[case])) as tools,
    ):
        [problem] = tools.problems
        with pytest.raises(Transient) as caught:
            asyncio.run(tools.request("web", types.ListToolsRequest(), types.ListToolsResult))

    output = f"{problem} {caught.value} {caplog.text}"
    assert "405" in problem
    assert "[redacted]" in output
    assert [form for form in (SECRET, quote(SECRET), quote(SECRET, safe=""), quote(SECRET)[:8]) if form in output] == []


def test_headers_and_variables_that_are_not_credentials_are_not_masked():
    """Short values are not masked, either."""
    headers = {
        "X-Team": "lighthouse",
        "X-Api-Key": "beam",
        "Author": "ada lovelace",
        "X-Auth-User": "somebody",
        "X-Token-Type": "persistent",
    }
    sent = "the beam of the lighthouse, by ada lovelace, somebody persistent, who speaks english"

    def answer(handler, number, _):  # a cookie that the server sets is no credential by itself
        handler.result(number, text_result(sent), {"set-cookie": "language=english"})

    with (
        run_server(NEW, repeat=answer) as server,
        Servers(web=RemoteServer(server.url, headers=headers)) as tools,
    ):
        dispatcher = Dispatcher(tools)
        assert [dispatcher.call_sync("web_repeat", {}).text for _ in range(2)] == [sent, sent]
        dispatcher.close()


def test_progress_is_masked():
    reports = []

    def answer(handler, number, params):
        progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": f"with {SECRET}"}
        handler.events(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress},
            {"jsonrpc": "2.0", "id": number, "result": text_result("done")},
        )

    with run_server(NEW, t=answer) as server, Servers(web=RemoteServer(server.url, headers={"x-key": SECRET})) as tools:
        dispatcher = Dispatcher(tools, on_progress=reports.append)
        assert dispatcher.call_sync("web_t", {}).text == "done"
        dispatcher.close()

    assert [report.message for report in reports] == ["with [redacted]"]


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ([], {"GITHUB_TOKEN": SECRET}),
        ([f"--api-key={SECRET}"], {}),
        (["--api-key", SECRET], {}),
        ([f"API_KEY={SECRET}"], {}),
        (["--api-key", SECRET, "--api-key", "another one"], {}),
        (["--header", f"Authorization: Bearer {SECRET}"], {}),
        ([f"--header=Authorization: Bearer {SECRET}"], {}),
        ([f"postgres://reader:{quote(SECRET, safe='')}@db/app"], {}),
        ([f"https://host/sse?api_key={quote(SECRET)}"], {}),
        ([], {"API_TOKEN": f"Bearer {SECRET}"}),
        ([], {"AUTH_HEADER": f"Bearer {SECRET}"}),
        ([], {"AUTH_HEADER": f"Authorization: Bearer {SECRET}"}),
        ([], {"GITHUB_PAT": SECRET}),
        ([], {"MYSQL_PWD": SECRET}),
        ([], {"DATABASE_URL": f"postgres://reader:{quote(SECRET, safe='')}@db/app"}),
    ],
)
def test_a_credential_for_a_command_is_masked(words, env):
    command = [sys.executable, "-I", "-S", str(SCRIPT), "", *words]
    with Servers(
        local=RemoteServer(command, env={**env, "LEVEL": "very careful", "KEYCLOAK_URL": "very careful"})
    ) as tools:
        dispatcher = Dispatcher(tools)
        result = dispatcher.call_sync("local_echo", {"text": f"{SECRET} is unknown, and very careful"})
        dispatcher.close()

    assert result.text == "[redacted] is unknown, and very careful"


def test_the_error_output_of_a_server_is_masked():
    """A model reads it if the server cannot be reached."""
    with Servers(evil=hostile("crash", env={"CRASH_TOKEN": "cannot start"})) as tools:
        [problem] = tools.problems

    assert "[redacted]: no token" in problem
    assert "cannot start" not in problem


KEY = "100200"
UNSHOWN = {
    "requestState": f"state-{KEY}",
    "nextCursor": f"page {KEY}",
    "taskId": f"task-{KEY}",
    "progressToken": KEY,
    "requestId": KEY,
    "elicitationId": KEY,
    "progress": 100200,
    "total": 100200.0,
    "resultType": "complete",
    "_meta": {"progressToken": KEY, "io.modelcontextprotocol/related-task": {"taskId": KEY}},
}
SHOWN = {
    "content": [{"type": "text", "text": f"the key {KEY}"}],
    "structuredContent": {"key": KEY, "n": 100200, "requestState": KEY, "progress": 100200},
    "message": f"the key {KEY}",
    "statusMessage": f"the key {KEY}",
    "data": {"why": f"the key {KEY}"},
    "tools": [{"name": "t", "title": KEY, "description": KEY, "inputSchema": {"properties": {"a": {"default": KEY}}}}],
    "requestedSchema": {"properties": {"a": {"title": KEY}}},
}
OTHER_NUMBERS = {"structuredContent": {"id": 1002003, "ids": [9100200, 0.5]}, "message": "order 1002003"}


def mask(message):
    """Return *message* of a server that was given the key, as the program sees it."""
    parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
    ServerCredentials(RemoteServer("http://h/mcp", headers={"X-Api-Key": KEY})).mask_message(parsed)
    return parsed.model_dump(by_alias=True, exclude_unset=True)


PLACES = {
    "a result": lambda fields: mask({"id": 1, "result": fields})["result"],
    "a task": lambda fields: mask({"id": 1, "result": {"task": fields}})["result"]["task"],
    "a notice": lambda fields: mask({"method": "notifications/progress", "params": fields})["params"],
    "a request": lambda fields: mask({"id": 1, "method": "elicitation/create", "params": fields})["params"],
    "a question": lambda fields: mask(
        {"id": 1, "result": {"inputRequests": {KEY: {"method": "elicitation/create", "params": fields}}}}
    )["result"]["inputRequests"][KEY]["params"],
}


@pytest.mark.parametrize("place", PLACES)
def test_only_text_that_a_person_or_model_reads_is_masked(place):
    """The server needs its ids unchanged, and a number of progress has to stay a number."""
    assert PLACES[place](UNSHOWN) == UNSHOWN
    assert PLACES[place](OTHER_NUMBERS) == OTHER_NUMBERS
    masked = PLACES[place](SHOWN)
    assert [name for name, value in masked.items() if KEY in str(value)] == []
    assert [name for name, value in masked.items() if "[redacted]" not in str(value)] == []


@pytest.mark.parametrize("secret", ["secret", "happened", "retry_after_seconds", "message", "reason", "provider"])
def test_an_error_of_this_process_is_readable_with_any_credential(secret):
    """Its fields are not masked, because they come from this process."""
    auth = {"provider": "web", "scopes": [f"all of {secret}"], "reason": f"log in with {secret}"}
    error = build_local_error(f"refused {secret}", happened="no", auth=auth)
    parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": 1, "error": error})
    ServerCredentials(RemoteServer("http://h/mcp", headers={"X-Api-Key": secret})).mask_message(parsed)

    assert parsed.error.message == "refused [redacted]"
    local = read_local_error(parsed.error.code, parsed.error.data)
    assert local is not None
    assert local["auth"] == {"provider": "web", "scopes": ["all of [redacted]"], "reason": "log in with [redacted]"}


def test_the_state_of_a_call_returns_to_the_server():
    states = []

    def answer(handler, number, params):
        states.append(params.get("requestState"))
        if states == [None]:
            handler.result(number, {"resultType": "input_required", "requestState": f"with {SECRET}"})
        else:
            handler.result(number, text_result("done"))

    with run_server(NEW, t=answer) as server, Servers(web=RemoteServer(server.url, headers={"x-key": SECRET})) as tools:
        dispatcher = Dispatcher(tools)
        assert dispatcher.call_sync("web_t", {}).text == "done"
        dispatcher.close()

    assert states == [None, f"with {SECRET}"]


class Chunks:
    """A stream that has these chunks, and then ends."""

    def __init__(self, *chunks):
        self._chunks = [chunk.encode() for chunk in chunks]

    async def receive(self, max_bytes):
        if not self._chunks:
            raise anyio.EndOfStream
        return self._chunks.pop(0)


LONG = "".join(f"{number:x}." for number in range(1_200))  # as long as a token with many claims


@pytest.mark.parametrize(
    "chunks",
    [
        [f"refused {LONG}"],
        [f"refused {LONG[:2000]}", LONG[2000:], "\n"],
        ["x" * 100_000, f" refused {LONG}"],
        ["line\n" * 20_000, *LONG, " refused"],
        [f"{LONG} refused " * 40],
        [f"{LONG[:-10]}", f"{LONG[-10:]} refused " * 30, "é" * 70_000, f" refused {LONG}"],
    ],
)
def test_no_part_of_a_long_token_is_left_of_the_error_output(chunks):
    """It is masked before it is cut."""
    credentials = ServerCredentials(RemoteServer(["server"], env={"LONG_TOKEN": LONG}))
    errors = ErrorTail(credentials.mask_text)
    asyncio.run(errors.read(Chunks(*chunks)))

    assert "refused" in str(errors)
    assert len(str(errors)) <= 400
    assert [start for start in range(0, len(LONG), 8) if LONG[start : start + 8] in str(errors)] == []
