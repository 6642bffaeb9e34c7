"""Our server and an authorization server, used by our client and by that of the official SDK, over real HTTP."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult

from tests.mcp.serving.authorization_server import serving_issuer, sign
from tests.mcp.serving.kit import MODES, text_of
from toolkit import Catalog, Context, Dispatcher
from toolkit.mcp import Auth, RemoteServer, Servers, http_app
from toolkit.mcp.importing.http_client import read_login_request
from toolkit.mcp.importing.login import log_in
from toolkit.mcp.importing.logins import Logins, LoginStorage, build_client_metadata
from toolkit.mcp.importing.remote_server import read_server


def build_tools(issuer):
    """Make a server that wants tokens of *issuer*, which stands beside it."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def whoami(context: Context) -> str:
        """Say who is logged in."""
        return f"{context.request.principal} {sorted(context.request.scopes)}"

    @catalog.tool(read_only=True)
    async def audit() -> str:
        """Read the audit log."""
        return "audited"

    scopes = {"shop:read": "whoami", "shop:audit": "audit"}
    return http_app(Dispatcher(catalog), auth=Auth.jwt(issuer=issuer, audience=f"{issuer}/mcp", scopes=scopes))


@pytest.fixture(scope="module")
def served():
    """Serve one site for all tests of the module."""
    with serving_issuer(build_tools) as issuer:
        yield issuer


@pytest.fixture
def issuer(served):
    """Return the site, whose user agrees to everything."""
    served.scopes = None
    return served


def test_our_client_logs_in_and_calls(issuer, tmp_path):
    """It finds the authorization server by itself, and asks for all scopes of the server."""
    url, logins = f"{issuer.issuer}/mcp", Logins(tmp_path / "logins.json")

    async def main():
        await log_in(read_server("shop", url), logins, show=issuer.browse)
        async with Servers(shop=RemoteServer(url, logins=logins, trusted=True)) as tools:
            return tools.names(), await Dispatcher(tools).call("shop_whoami", {})

    names, result = asyncio.run(main())
    assert names == ["shop_whoami", "shop_audit"]
    assert result.text == "ada ['shop:audit', 'shop:read']"


def test_our_client_sees_only_the_tools_of_its_scopes(issuer, tmp_path):
    """The user gave one of the two scopes."""
    url, logins = f"{issuer.issuer}/mcp", Logins(tmp_path / "logins.json")
    issuer.scopes = {"shop:read"}

    async def main():
        await log_in(read_server("shop", url), logins, show=issuer.browse)
        async with Servers(shop=RemoteServer(url, logins=logins, trusted=True)) as tools:
            return tools.names()

    assert asyncio.run(main()) == ["shop_whoami"]


def test_our_client_understands_the_challenge_for_a_scope(issuer):
    """The call waits for a login that gives the scope."""
    url = f"{issuer.issuer}/mcp"
    token = sign(issuer.issuer, aud=url, scope="shop:read")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "audit"}}
    response = httpx.post(url, json=message, headers={"authorization": f"Bearer {token}"})
    assert response.status_code == 403
    request = read_login_request(response, read_server("shop", url))
    assert request["data"]["auth"]["scopes"] == ["shop:audit"]
    assert token not in response.text


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_the_client_of_the_sdk_steps_up(issuer, mode):
    """It gets a token with one scope, is refused, and comes back with a token for both."""
    url, queries, login = f"{issuer.issuer}/mcp", [], {}
    issuer.scopes = {"shop:read"}

    async def open_browser(address):
        response = await asyncio.to_thread(httpx.get, address)
        queries.append(parse_qs(urlsplit(response.headers["location"]).query))

    async def wait_for_code():
        return AuthorizationCodeResult(code=queries[-1]["code"][0], state=queries[-1]["state"][0])

    provider = OAuthClientProvider(
        url,
        build_client_metadata("http://127.0.0.1/callback"),
        LoginStorage(lambda: login, login.update),
        redirect_handler=open_browser,
        callback_handler=wait_for_code,
    )
    async with httpx2.AsyncClient(auth=provider) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["whoami"]
            issuer.scopes = None
            assert text_of(await client.call_tool("audit", {})) == "audited"
            assert text_of(await client.call_tool("whoami", {})) == "ada ['shop:audit', 'shop:read']"
    assert len(queries) == 2
