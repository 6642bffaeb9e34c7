"""A server on loopback that wants a login, together with the authorization server for it."""

from __future__ import annotations

import contextlib
import threading
from urllib.parse import parse_qs, urlencode

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route

from toolkit import Catalog, Dispatcher
from toolkit.mcp import http_app


class OAuthSite:
    """
    A tool server at `url`, and the pages of an authorization server beside it.

    Attributes:
        valid: The access tokens that count now.
        renewable: The refresh tokens that count now.
        grants: What was asked of the token page, in order.
        refusal: What the user says in the browser, if not yes.
        token: The access token to give, if it is not a usual one.
    """

    def __init__(self):
        self.valid, self.renewable, self.grants = set(), set(), []
        self.refusal = self.token = None
        self.expires_in = 3600
        self.url = self.base = ""
        self._number = 0

    def build_app(self):
        """Return the application with all pages."""
        catalog = Catalog()

        @catalog.tool(read_only=True)
        async def whoami() -> str:
            """Say who is logged in."""
            return "ada"

        tools = http_app(Dispatcher(catalog), auth=lambda token: "ada" if token in self.valid else None)
        pages = [
            Route("/.well-known/oauth-protected-resource/mcp", self._describe_resource),
            Route("/.well-known/oauth-authorization-server", self._describe_authorization),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/new-token", self._give_token, methods=["POST"]),
            Mount("/", tools),
        ]
        return Starlette(routes=pages, lifespan=lambda app: tools.running())

    def browse(self, url):
        """Open *url* as a browser does, which follows redirects."""
        return httpx.get(url, follow_redirects=True)

    async def _describe_resource(self, request):
        return JSONResponse({"resource": self.url, "authorization_servers": [self.base], "scopes_supported": ["read"]})

    async def _describe_authorization(self, request):
        pages = {"authorization": "authorize", "token": "new-token", "registration": "register"}
        return JSONResponse(
            {
                "issuer": self.base,
                **{f"{name}_endpoint": f"{self.base}/{page}" for name, page in pages.items()},
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        )

    async def _register(self, request):
        return JSONResponse({**await request.json(), "client_id": "toolkit-1"}, status_code=201)

    async def _authorize(self, request):
        query = request.query_params
        answer = {"code": "code-1"} if self.refusal is None else {"error": self.refusal}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode({**answer, 'state': query['state']})}")

    async def _give_token(self, request):
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.grants.append(form["grant_type"])
        if form["grant_type"] == "refresh_token" and form["refresh_token"] not in self.renewable:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        self._number += 1
        access, refresh = f"access-{self._number}", f"refresh-{self._number}"
        self.valid, self.renewable = {access}, {refresh}
        return JSONResponse(
            {
                "access_token": access if self.token is None else self.token,
                "refresh_token": refresh,
                "token_type": "Bearer",
                "expires_in": self.expires_in,
                "scope": "read",
            }
        )


@contextlib.contextmanager
def serving_site():
    """Serve a site until the end of the block."""
    site = OAuthSite()
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            site.base = f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"
            site.url = f"{site.base}/mcp"
            started.set()

    server = Server(uvicorn.Config(site.build_app(), host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield site
    finally:
        server.should_exit = True
        thread.join(30)
