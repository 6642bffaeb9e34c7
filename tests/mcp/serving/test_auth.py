"""A server as a resource server of OAuth: what it says about itself, who may call what, and what tools see."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest
from mcp import Client

from tests.mcp.serving.authorization_server import AUDIENCE
from tests.mcp.serving.kit import ENVELOPE, HEADERS, NEW
from toolkit import Catalog, Context, Dispatcher, Permissions
from toolkit.errors import ToolkitWarning
from toolkit.mcp import Auth, build_server, http_app
from toolkit.permissions import Judge

pytestmark = pytest.mark.anyio

ISSUER = "https://login.example"
SCOPES = {"shop:read": ["list_*"], "shop:write": ["group:orders"]}
METADATA = "https://tools.example/.well-known/oauth-protected-resource/mcp"


def find_user(token):
    """Return the user and the scopes that the token itself states."""
    user, _, scopes = token.partition("+")
    return user, scopes.split("+") if scopes else ()


def build_auth(**options):
    """Make the check of tokens such as `ada+shop:read`, of an authorization server."""
    return Auth(find_user, **{"issuer": ISSUER, "resource": AUDIENCE, "scopes": SCOPES, **options})


@pytest.fixture
def requests():
    """What the tools saw of the requests."""
    return []


@pytest.fixture
def catalog(requests):
    """A tool for reading, one for writing, and one that no scope grants."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def list_orders(context: Context) -> str:
        """List the orders."""
        requests.append(context.request)
        return str(context)

    @catalog.tool(read_only=True, group="orders", aliases=["order"])
    async def place_order() -> str:
        """Place an order."""
        return "placed"

    @catalog.tool(read_only=True)
    async def audit() -> str:
        """Read the audit log."""
        return "secret"

    return catalog


async def send(app, method, params=None, *, token="ada+shop:read", url="http://127.0.0.1/mcp", verb="POST", **headers):
    """Send one request of the newer revision."""
    params = {"_meta": ENVELOPE, **(params or {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {**HEADERS, "mcp-method": method, **({"mcp-name": params["name"]} if "name" in params else {})}
    sent |= {} if token is None else {"authorization": f"Bearer {token}"}
    sent |= {name.replace("_", "-"): text for name, text in headers.items()}
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return await client.request(verb, url, content=json.dumps(message), headers=sent)


async def test_a_client_without_a_token_learns_where_to_log_in(catalog):
    """The challenge names the page that describes the server."""
    response = await send(http_app(Dispatcher(catalog), auth=build_auth()), "tools/list", token=None)
    assert (response.status_code, response.headers["www-authenticate"]) == (
        401,
        f'Bearer resource_metadata="{METADATA}"',
    )


@pytest.mark.parametrize("path", ["", "/", "/mcp"])
@pytest.mark.parametrize("verb", ["GET", "OPTIONS"])
async def test_the_page_about_the_server_needs_no_token(catalog, path, verb):
    """Web pages may read it, too."""
    app = http_app(Dispatcher(catalog), auth=build_auth())
    url = f"http://127.0.0.1/.well-known/oauth-protected-resource{path}"
    response = await send(app, "x", token=None, url=url, verb=verb, origin="https://chat.example")
    assert response.json() == {
        "resource": AUDIENCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["shop:read", "shop:write"],
        "bearer_methods_supported": ["header"],
    }
    assert response.headers["access-control-allow-origin"] == "*"


async def test_a_server_without_an_issuer_has_no_metadata_page(catalog):
    app = http_app(Dispatcher(catalog), auth=Auth.token("a-token-that-is-long-enough"))
    url = "http://127.0.0.1/.well-known/oauth-protected-resource/mcp"
    assert (await send(app, "x", token=None, url=url, verb="GET")).status_code == 404


@pytest.mark.parametrize("name", ["place_order", "order"])
async def test_a_missing_scope_is_a_challenge(catalog, name):
    """The answer names the scope for the tool, for every name of the tool."""
    app = http_app(Dispatcher(catalog), auth=build_auth())
    response = await send(app, "tools/call", {"name": name, "arguments": {}})
    assert response.status_code == 403
    assert response.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", error_description="the token lacks the scope shop:write", '
        f'scope="shop:write", resource_metadata="{METADATA}"'
    )


async def test_a_tool_that_no_scope_grants_is_denied(catalog):
    """No challenge would help, so the call itself is refused."""
    app = http_app(Dispatcher(catalog), auth=build_auth())
    response = await send(app, "tools/call", {"name": "audit", "arguments": {}})
    assert (response.status_code, response.json()["result"]["isError"]) == (200, True)
    assert "no scope grants it" in response.text


@pytest.mark.parametrize(
    ("token", "names"),
    [
        ("ada+shop:read", ["list_orders"]),
        ("ada+shop:write", ["place_order"]),
        ("ada+shop:read+shop:write", ["list_orders", "place_order"]),
        ("ada+other", []),
        ("ada", []),
    ],
)
async def test_users_see_the_tools_of_their_scopes(catalog, token, names):
    """The list belongs to the token of the request."""
    app = http_app(Dispatcher(catalog), auth=build_auth())
    response = await send(app, "tools/list", token=token)
    assert [tool["name"] for tool in response.json()["result"]["tools"]] == names


async def test_one_user_with_two_tokens_has_the_scopes_of_each_request(catalog):
    """A conversation of the user does not remember scopes."""
    app, names = http_app(Dispatcher(catalog), auth=build_auth()), []
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        for token in ("ada+shop:read+shop:write", "ada+shop:read", "ada+shop:write"):
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
            headers = {**HEADERS, "mcp-method": "tools/list", "authorization": f"Bearer {token}"}
            response = await client.post("http://127.0.0.1/mcp", json=message, headers=headers)
            names.append([tool["name"] for tool in response.json()["result"]["tools"]])
    assert names == [["list_orders", "place_order"], ["list_orders"], ["place_order"]]


async def test_requests_at_the_same_time_have_their_own_users(catalog, requests):
    """Each call sees its own request."""
    app = http_app(Dispatcher(catalog), auth=build_auth(), request_headers=["x-tenant"])
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": ENVELOPE, "name": "list_orders"}}

    async def call(client, number):
        headers = {**HEADERS, "mcp-method": "tools/call", "mcp-name": "list_orders", "x-tenant": f"tenant-{number}"}
        headers["authorization"] = f"Bearer user-{number}+shop:read+scope-{number}"
        return (await client.post("http://127.0.0.1/mcp", json=message, headers=headers)).status_code

    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        assert set(await asyncio.gather(*(call(client, number) for number in range(30)))) == {200}
    identities = {(request.principal, request.scopes, request.headers["x-tenant"]) for request in requests}
    assert identities == {
        (f"user-{number}", frozenset({"shop:read", f"scope-{number}"}), f"tenant-{number}") for number in range(30)
    }


async def test_judges_know_the_user_of_a_list(catalog):
    """The session of the list has the principal, and the list follows a judge that changes its mind."""
    friends = {"ada"}

    class Friends(Judge):
        def judge(self, request):
            return "allow" if request.principal in friends else "deny"

        def could_allow(self, tool, names, session=None):
            return session.principal in friends

    def start():
        return http_app(Dispatcher(catalog, permissions=Friends()), auth=find_user)

    async def count(token):
        return len((await send(start(), "tools/list", token=token)).json()["result"]["tools"])

    assert (await count("ada"), await count("bob")) == (3, 0)
    friends.add("bob")
    assert await count("bob") == 3


async def test_tools_see_the_request_and_logs_do_not(catalog, requests, caplog):
    """The principal, the scopes and the chosen headers, but no other header."""
    app = http_app(Dispatcher(catalog), auth=build_auth(), request_headers=["X-Tenant", "X-Missing"])
    with caplog.at_level(logging.DEBUG):
        response = await send(
            app, "tools/call", {"name": "list_orders", "arguments": {}}, X_Tenant="blue-42", X_Other="no"
        )
    [request] = requests
    assert (request.principal, request.scopes) == ("ada", {"shop:read"})
    assert request.headers == {"x-tenant": "blue-42"}
    assert "blue-42" not in f"{response.text} {caplog.text} {request!r}"
    assert "shop:read" not in f"{response.text} {request!r}"


async def test_a_repeated_header_for_tools_is_refused(catalog, requests):
    """One reader would use the first value, and another one the last."""
    app = http_app(Dispatcher(catalog), auth=build_auth(), request_headers=["x-tenant"])
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
    headers = [*HEADERS.items(), ("authorization", "Bearer ada"), ("x-tenant", "blue"), ("X-Tenant", "red")]
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        response = await client.post("http://127.0.0.1/mcp", content=json.dumps(message), headers=headers)
    assert (response.status_code, response.json()["error"]) == (400, "the header 'x-tenant' stands twice; send it once")


async def test_a_page_may_send_the_headers_for_tools(catalog):
    """A browser is told so before it sends them."""
    app = http_app(Dispatcher(catalog), request_headers=["x-tenant"])
    headers = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    async with app.running(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        response = await client.options("http://127.0.0.1/mcp", headers=headers)
    assert "x-tenant" in response.headers["access-control-allow-headers"].split(", ")


async def test_a_call_over_another_transport_has_no_request(catalog, requests):
    """There is no HTTP request, so there is nothing to see."""
    async with Client(build_server(Dispatcher(catalog)), mode=NEW) as client:
        await client.call_tool("list_orders", {})
    assert requests == [None]


async def test_a_server_with_scopes_still_asks(requests):
    """A dispatcher without permissions is served in mode `default`, also if scopes are judged."""
    catalog = Catalog()

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    app = http_app(Dispatcher(catalog), auth=build_auth(scopes={"shop:write": "write"}))
    response = await send(app, "tools/call", {"name": "write", "arguments": {}}, token="ada+shop:write")
    assert "elicitation" in response.text
    allowed = Dispatcher(catalog, permissions=Permissions("default", ["allow write"]))
    app = http_app(allowed, auth=build_auth(scopes={"shop:write": "write"}))
    assert "written" in (await send(app, "tools/call", {"name": "write"}, token="ada+shop:write")).text


async def test_prompts_need_a_scope(catalog):
    """They are functions that run as calls."""
    prompts = Catalog()

    @prompts.tool(read_only=True)
    def list_greetings() -> str:
        """Greet."""
        return "hello"

    def start():
        return http_app(Dispatcher(catalog), auth=build_auth(), prompts=prompts)

    listed = [(await send(start(), "prompts/list", token=token)).json() for token in ("ada+shop:read", "ada")]
    assert [len(answer["result"]["prompts"]) for answer in listed] == [1, 0]


@pytest.mark.parametrize("answer", [5, ["ada"], ("ada", "read"), ("ada", [], []), (5, [])])
async def test_a_function_that_returns_no_user_and_no_none_raises_a_type_error(answer):
    with pytest.raises(TypeError, match="returns a name, a tuple of a name and a list of scopes, or None"):
        await Auth(lambda token: answer).find_user("Bearer x")


@pytest.mark.parametrize("answer", [None, "", (None, []), ("", ["read"])])
async def test_a_request_is_refused_if_the_function_finds_no_user(catalog, answer):
    assert (await send(http_app(Dispatcher(catalog), auth=lambda token: answer), "tools/list")).status_code == 401


def test_a_scope_that_names_no_tool_is_a_warning(catalog):
    """The message suggests the right name."""
    with pytest.warns(ToolkitWarning, match="did you mean `place_order`"):
        http_app(Dispatcher(catalog), auth=build_auth(scopes={"shop:write": "place_orders"}))


JWT = {"issuer": ISSUER, "audience": AUDIENCE}
ASK = {"client_id": "a", "client_secret": "b", "audience": None}


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: Auth.token("short"), "has 5 characters, and needs at least 16"),
        (lambda: Auth.token({}), "tokens cannot be empty"),
        (lambda: Auth.token({"a-token-that-is-long-enough": ""}), "tokens cannot be empty, and nor can the names"),
        (lambda: Auth.token({"a-token-that-is-long-enough": None}), "the names of their users"),
        (lambda: Auth.token(["a-token-that-is-long-enough"]), "a dictionary from tokens to the names of their users"),
        (lambda: Auth("ada"), "a function from a token to its user, got str"),
        (lambda: Auth(find_user, issuer=ISSUER), "give resource="),
        (lambda: Auth(find_user, issuer="login", resource=AUDIENCE), "issuer is an address"),
        (lambda: Auth(find_user, resource="tools"), "resource is an address"),
        (lambda: Auth(find_user, scopes={"a b": "*"}), "a scope is a word without blanks"),
        (lambda: Auth(find_user, scopes={'a"': "*"}), "a scope is a word without blanks"),
        (lambda: Auth.jwt(issuer="login", audience=AUDIENCE), "issuer is an address"),
        (lambda: Auth.jwt(issuer=ISSUER, audience="api://shop"), "the audience is no address, so give resource="),
        (lambda: Auth.jwt(issuer=ISSUER, audience=None), "audience is a text that is not empty"),
        (lambda: Auth.jwt(issuer=None, audience=AUDIENCE), "issuer is an address"),
        (lambda: Auth.introspect(ISSUER, **{**ASK, "client_secret": None}), "client_id and client_secret are texts"),
        (lambda: Auth.jwt(issuer=ISSUER, audience=""), "audience is a text that is not empty"),
        (lambda: Auth.jwt(issuer=ISSUER, audience=[]), "audience is a text that is not empty"),
        (lambda: Auth.jwt(**JWT, jwks_url="keys"), "jwks_url is an address"),
        (lambda: Auth.jwt(**JWT, leeway_seconds=-1), "leeway_seconds is a number of seconds from 0 up"),
        (lambda: Auth.introspect("x", **ASK), "url is an address"),
        (lambda: Auth.introspect(ISSUER, **ASK, issuer=ISSUER), "give resource="),
        (lambda: Auth.introspect(ISSUER, **ASK, cache_seconds=True), "cache_seconds is a number of seconds"),
    ],
)
def test_wrong_options_are_refused(build, problem):
    """The message names the option and what to write."""
    with pytest.raises((TypeError, ValueError)) as error:
        build()
    assert problem in str(error.value)
