"""Serving over HTTP: who may connect, what is read, and for whom calls are made."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import textwrap

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clocks import until
from tests.mcp.serving.kit import ENVELOPE, HEADERS, MODES, NEW, OLD, YES, Person, text_of
from toolkit import Catalog, Context, Dispatcher
from toolkit.mcp import Auth, http_app
from toolkit.mcp.serving.strict_messages import has_wrong_id

pytestmark = pytest.mark.anyio

TOKEN = "a-token-that-is-long-enough"


@pytest.fixture
def calls():
    """The arguments and principals of the calls that ran."""
    return []


@pytest.fixture
def dispatcher(calls):
    """One tool that notes for whom it is called."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def whoami(context: Context, value: float = 0) -> str:
        """Say who calls."""
        calls.append((value, context.call.principal, context.session.id))
        return str(context.call.principal)

    return Dispatcher(catalog)


def body_of(arguments="{}"):
    """Return a call of the tool in the newer revision, with arguments as JSON text."""
    params = {"_meta": ENVELOPE, "name": "whoami", "arguments": "HERE"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).replace('"HERE"', arguments)


async def post(app, body=None, *, host="127.0.0.1:8000", path="/mcp", **headers):
    """Send one request to the application."""
    names = {**HEADERS, "mcp-method": "tools/call", "mcp-name": "whoami"}
    names |= {key.replace("_", "-"): value for key, value in headers.items()}
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return await client.post(f"http://{host}{path}", content=body or body_of(), headers=names)


async def test_a_request_on_loopback_is_served(dispatcher, calls):
    """Without a token there is no principal, and each call is a conversation of its own."""
    response = await post(http_app(dispatcher))
    assert response.json()["result"]["content"] == [{"type": "text", "text": "None"}]
    assert [principal for _, principal, _ in calls] == [None]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "[::1]:9000", "LOCALHOST"])
async def test_every_name_of_this_machine_is_accepted(dispatcher, host):
    """The loopback address has several names."""
    assert (await post(http_app(dispatcher), host=host)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost.evil.example:8000"}, 421),
        ({"origin": "chrome-extension://localhost"}, 403),
        ({"origin": "file://localhost"}, 403),
        ({"origin": "//localhost"}, 403),
        ({"origin": "localhost"}, 403),
        ({"origin": "http://evil@localhost"}, 403),
        ({"origin": "http://localhost/evil"}, 403),
        ({"origin": "http://localhost:80:80"}, 403),
        ({"origin": "http://[::1]evil"}, 403),
        ({"origin": "http://localhost http://evil.example"}, 403),
        ({"origin": "http://"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://[not an address"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://chat.example"}, 200),
    ],
)
async def test_a_foreign_host_or_origin_is_refused(dispatcher, calls, headers, status):
    """A web page of another site cannot use a server on this machine, even if its name leads here."""
    app = http_app(dispatcher, origins=["https://chat.example"])
    assert (await post(app, **headers)).status_code == status
    assert len(calls) == (status == 200)


@pytest.mark.parametrize(
    "host",
    [
        "evil@localhost",
        "evil:x@localhost:80",
        "localhost/evil",
        "localhost?evil",
        "localhost#evil",
        "localhost\\evil",
        "localhost:80:80",
        "localhost:",
        "localhost:x",
        "localhost,evil",
        "localhost evil",
        "[::1]evil",
        "[::1",
        "::1]",
        "[[::1]]",
        "[::1%25lo]",
        "0x7f.1",
        "127.1",
        "",
        "[localhost]",
    ],
)
async def test_a_host_header_that_names_more_than_this_machine_is_refused(dispatcher, calls, host):
    """A header that names this machine and something else is read in two ways."""
    assert (await post(http_app(dispatcher), Host=host)).status_code == 421
    assert calls == []


async def ask_for_permission(app, origin):
    """Send what a browser sends before the request of a page, which has no token."""
    headers = {"origin": origin, "access-control-request-method": "POST"}
    headers["access-control-request-headers"] = "authorization,content-type,mcp-param-city,x-other"
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return await client.options("http://127.0.0.1/mcp", headers=headers)


def list_permissions(response):
    """Return the headers of a response that are about web pages of other origins."""
    return {name: value for name, value in response.headers.items() if name.startswith(("access-control-", "vary"))}


@pytest.mark.parametrize("origin", ["https://chat.example", "http://localhost:3000"])
async def test_a_page_of_an_allowed_origin_may_use_the_server_in_a_browser(dispatcher, calls, origin):
    """The browser gets the permission before it has sent the token, and lets the page read every response."""

    def start():
        return http_app(dispatcher, auth=Auth.token(TOKEN), origins=["https://chat.example/"])

    response = await ask_for_permission(start(), origin)
    assert (response.status_code, response.content) == (204, b"")
    permissions = list_permissions(response)
    assert permissions["access-control-allow-methods"] == "GET, POST, DELETE"
    names = permissions["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "content-type", "mcp-protocol-version", "mcp-session-id", "mcp-param-city"} <= {*names}
    assert "x-other" not in names

    readable = {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate",
        "vary": "Origin",
    }
    assert readable.items() <= permissions.items()
    refused = await post(start(), origin=origin)
    assert (refused.status_code, list_permissions(refused)) == (401, readable)
    served = await post(start(), origin=origin, authorization=f"Bearer {TOKEN}")
    assert (served.status_code, list_permissions(served)) == (200, readable)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("send", "status"),
    [
        (lambda app: ask_for_permission(app, "https://evil.example"), 403),
        (lambda app: ask_for_permission(app, "https://chat.example.evil.example"), 403),
        (lambda app: post(app, origin="https://evil.example"), 403),
        (lambda app: post(app), 200),
    ],
    ids=["preflight of another origin", "preflight of a longer name", "post of another origin", "post without origin"],
)
async def test_other_pages_and_programs_get_no_permission(dispatcher, send, status):
    """A page of another origin and a request without an origin get no header about origins."""
    response = await send(http_app(dispatcher, origins=["https://chat.example"]))
    assert (response.status_code, list_permissions(response)) == (status, {})


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN])
async def test_a_request_without_a_token_is_refused(dispatcher, calls, header):
    """The answer says what is needed, and the tool does not run."""
    headers = {} if header is None else {"authorization": header}
    response = await post(http_app(dispatcher, auth=Auth.token(TOKEN)), **headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert "bearer token is needed" in response.json()["error"]
    assert calls == []


@pytest.mark.parametrize("token", ["wrong-token-of-some-length", f"{TOKEN}x", "x" * 20_000])
async def test_a_wrong_token_is_refused(dispatcher, calls, token):
    """The answer does not repeat it."""
    response = await post(http_app(dispatcher, auth=Auth.token(TOKEN)), authorization=f"Bearer {token}")
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]
    assert token not in f"{response.headers} {response.text}"
    assert calls == []


async def find_user(token):
    """Look up a token, as in a database."""
    return "eve" if token == TOKEN else None


@pytest.mark.parametrize(
    ("auth", "user"),
    [
        (Auth.token(TOKEN), "user"),
        (Auth.token({TOKEN: "ada", TOKEN + "2": "bob"}), "ada"),
        (find_user, "eve"),
        ({TOKEN: "a"}.get, "a"),
        (lambda token: ("ada", ["read"]), "ada"),
    ],
)
async def test_the_user_of_the_token_is_the_principal(dispatcher, calls, auth, user):
    """A token has one user; the server can be on any address."""
    app = http_app(dispatcher, host="0.0.0.0", auth=auth)
    response = await post(app, host="tools.example", authorization=f"bearer {TOKEN}")
    assert response.json()["result"]["content"][0]["text"] == user
    assert calls[0][1] == user


async def test_an_unknown_token_of_a_function_is_refused(dispatcher):
    """The function answers None for a token that it does not know."""
    app = http_app(dispatcher, auth=find_user)
    assert (await post(app, authorization="Bearer another")).status_code == 401


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"host": "0.0.0.0"}, "needs to know its users; give auth="),
        ({"host": "tools.example"}, "needs to know its users"),
        ({"host": ""}, "host is the address"),
        ({"auth": TOKEN}, "auth is Auth.jwt(...), Auth.introspect(...), Auth.token(...) or a function"),
        ({"request_headers": "x-tenant"}, "`request_headers` is a list of names"),
        ({"request_headers": ["x tenant"]}, "is no name of a header"),
        ({"request_headers": ["Authorization"]}, "'authorization' is for the server alone"),
        ({"path": "mcp"}, "path starts with a slash"),
        ({"max_body_bytes": 0}, "has to be above 0"),
        ({"body_seconds": 0}, "has to be above 0"),
        ({"origins": "https://chat.example"}, "`origins` is a list"),
        ({"page_size": 0}, "page_size is a whole number above 0"),
        ({"page_size": "1"}, "page_size cannot be"),
        ({"pagesize": 1}, "did you mean `page_size`"),
        ({"key": b"short"}, "a key needs at least 32 bytes, got 5"),
        ({"key": []}, "a seal needs a key; make one with secrets.token_bytes(32)"),
        ({"key": 5}, "a key has to be bytes or text, got int"),
        ({"answer_seconds": 0}, "more than 0 seconds"),
    ],
)
def test_wrong_options_are_refused(dispatcher, options, problem):
    """The message names the option and what to write."""
    with pytest.raises((ValueError, TypeError), match=re.escape(problem)):
        http_app(dispatcher, **options)


def test_a_catalog_in_place_of_a_dispatcher_is_refused():
    with pytest.raises(TypeError, match=r"write Dispatcher\(catalog\)"):
        http_app(Catalog())


@pytest.mark.parametrize("version", [NEW, "2025-11-25"])
@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        ('{"value": NaN}', "NaN is not JSON"),
        ('{"value": Infinity}', "Infinity is not JSON"),
        ('{"value": 1, "value": 2}', "stands twice"),
        ("{", "not JSON"),
    ],
)
async def test_a_body_that_is_not_strict_json_is_refused(dispatcher, calls, arguments, flaw, version):
    """It may have two values for one key, and no tool gets either."""
    response = await post(http_app(dispatcher), body_of(arguments), mcp_protocol_version=version)
    assert response.status_code == 400
    assert flaw in response.json()["error"]["message"]
    assert calls == []


@pytest.mark.parametrize("version", [NEW, "2025-11-25"])
@pytest.mark.parametrize("number", ["null", "true", "1.5", "[1]", "{}"])
async def test_a_request_with_an_id_that_no_answer_can_have_is_refused(dispatcher, calls, number, version):
    """It would look like a notification, and its client would wait for ever."""
    body = f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/list", "params": {{}}}}'.encode()
    response = await post(http_app(dispatcher), body, mcp_protocol_version=version)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "the id of a request is a text or a whole number"


def test_a_notification_may_have_an_empty_id():
    """Some clients write it into every message."""
    assert not has_wrong_id({"jsonrpc": "2.0", "id": None, "method": "notifications/initialized"})


async def test_a_body_that_is_too_long_is_refused(dispatcher, calls):
    """A body of 50 MB is refused by its length, before it is read."""
    response = await post(http_app(dispatcher), b" " * 50_000_000)
    assert response.status_code == 413
    assert "at most 4,194,304 bytes" in response.json()["error"]
    assert calls == []


@pytest.mark.parametrize("digits", [20, 21, 5000])
async def test_a_length_of_many_digits_is_refused(dispatcher, calls, digits):
    """A length that is no usable number is too long, too."""
    response = await post(http_app(dispatcher), content_length="9" * digits)
    assert response.status_code == 413
    assert calls == []


async def test_a_body_that_does_not_say_its_length_is_read_up_to_the_limit(dispatcher):
    """A client that sends on and on is refused after the limit."""
    app = http_app(dispatcher, max_body_bytes=1000)
    read = 0

    async def receive():
        nonlocal read
        read += 100
        return {"type": "http.request", "body": b" " * 100, "more_body": True}

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    async with app.running():
        await app(scope, receive, send)
    assert sent[0]["status"] == 413
    assert read <= 1200


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "content-length", "mcp-protocol-version"])
async def test_a_header_that_affects_a_decision_may_not_be_repeated(dispatcher, calls, name):
    """One reader uses the first of two values, and another one the last."""
    sent = []
    headers = [(b"host", b"localhost"), (name.encode(), b"localhost"), (name.encode(), b"evil.example")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    app = http_app(dispatcher, auth=Auth.token(TOKEN))
    async with app.running():
        await app(scope, None, lambda message: _note(sent, message))
    assert sent[0]["status"] == 400
    assert f"the header {name!r} stands twice" in json.loads(sent[1]["body"])["error"]


async def test_another_path_is_not_found(dispatcher):
    """The answer names the right one."""
    response = await post(http_app(dispatcher, path="/tools/"), path="/mcp")
    assert (response.status_code, response.text) == (404, "the address of the MCP server is /tools/")
    assert (await post(http_app(dispatcher, path="/tools/"), path="/tools")).status_code == 200


async def test_an_application_that_is_not_started_is_an_error(dispatcher):
    """A web server without a lifespan, or an outer application, has to start it."""
    app = http_app(dispatcher)
    with pytest.raises(RuntimeError, match=r"async with app\.running\(\)"):
        await app({"type": "http", "method": "GET", "path": "/mcp", "headers": []}, None, None)
    sent = []

    async def send(message):
        sent.append(message)

    await app({"type": "websocket"}, None, send)
    assert sent == [{"type": "websocket.close", "code": 1000}]


async def test_the_application_starts_and_stops_with_the_web_server(dispatcher):
    """It answers the messages of the lifespan protocol."""
    app, sent, messages = http_app(dispatcher), [], asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan"}, messages.get, lambda message: _note(sent, message)))
    messages.put_nowait({"type": "lifespan.startup"})
    await until(lambda: sent)
    messages.put_nowait({"type": "lifespan.shutdown"})
    await task
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    messages.put_nowait({"type": "lifespan.startup"})
    with pytest.raises(RuntimeError, match="once per instance"):
        await app({"type": "lifespan"}, messages.get, lambda message: _note(sent, message))
    assert sent[-1]["type"] == "lifespan.startup.failed"


async def _note(messages, message):
    messages.append(message)


async def test_users_have_one_conversation_each_and_others_one_for_each_call(dispatcher, calls):
    """In the newer revision a conversation belongs to a user, also in another process with the same key."""
    tokens, key = {TOKEN: "ada", TOKEN + "2": "bob"}, b"k" * 32
    for token in (TOKEN, TOKEN + "2", TOKEN):
        await post(http_app(dispatcher, auth=Auth.token(tokens), key=key), authorization=f"Bearer {token}")
    ada, bob, again = [session for *_, session in calls]
    assert ada == again != bob
    await post(http_app(dispatcher, auth=Auth.token(tokens), key=b"z" * 32), authorization=f"Bearer {TOKEN}")
    await post(http_app(dispatcher))
    await post(http_app(dispatcher))
    assert len({session for *_, session in calls}) == 5


SERVER = """
import sys
import uvicorn
from toolkit import Catalog, Context, Dispatcher
from toolkit.mcp import Auth, http_app

catalog = Catalog()

@catalog.tool
async def write(text: str, context: Context) -> str:
    "Write."
    return f"{text} by {context.call.principal}"

uvicorn.run(http_app(Dispatcher(catalog), auth=Auth.token({TOKEN: "ada"})), port=0, log_level="info")
"""


@pytest.mark.long
@pytest.mark.parametrize("mode", [OLD, NEW])
async def test_a_client_calls_a_server_in_another_process(tmp_path, mode):
    """Over HTTP, with a token, a person is asked and the call runs for the user of the token."""
    script = tmp_path / "server.py"
    script.write_text(f"TOKEN = {TOKEN!r}\n" + textwrap.dedent(SERVER))
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    environment = {**os.environ, "PYTHONPATH": folder}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(90):
            while not (match := re.search(rb"http://127.0.0.1:\d+", await process.stderr.readline())):
                pass
            headers = {"Authorization": f"Bearer {TOKEN}"}
            person = Person(YES)
            async with httpx2.AsyncClient(headers=headers) as http:
                transport = streamable_http_client(f"{match[0].decode()}/mcp", http_client=http)
                async with Client(transport, mode=mode, elicitation_callback=person) as client:
                    assert text_of(await client.call_tool("write", {"text": "a"})) == "a by ada"
        assert "on behalf of: ada" in person.questions[0].message
    finally:
        process.kill()
        await process.wait()


def test_both_revisions_are_tested():
    """The modes of the tests are the two revisions."""
    assert set(MODES) == {OLD, NEW}
