"""An OAuth authorization server on loopback: it signs tokens, and is asked about them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time
from urllib.parse import parse_qs, urlencode

import httpx
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route

AUDIENCE = "https://tools.example/mcp"
RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
WEAK_RSA_KEY = rsa.generate_private_key(65537, 1024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
_FORMATS = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}


def describe_key(key, kid, **fields):
    """Return the public part of *key* as it stands in a JWKS."""
    algorithm = next((cls for kind, cls in _FORMATS.items() if isinstance(key, kind)), OKPAlgorithm)
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **fields}


def sign(issuer, key=RSA_KEY, algorithm="RS256", kid="rsa", **claims):
    """Return a token of Ada that is good for a minute. A claim that is None is left out, and so is such a key id."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 60, **claims}
    headers = {} if kid is None else {"kid": kid}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers=headers)


def forge(token, secret=None):
    """Return *token* without a signature, or signed with *secret*, as if it were no public key."""
    header = {"alg": "none" if secret is None else "HS256", "kid": "rsa"}
    start = f"{_encode(json.dumps(header).encode())}.{token.split('.')[1]}"
    signature = b"" if secret is None else hmac.new(secret, start.encode(), hashlib.sha256).digest()
    return f"{start}.{_encode(signature)}"


def _encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class AuthorizationServer:
    """
    The pages of an authorization server. Its user agrees to everything.

    Attributes:
        issuer: The address.
        keys: The keys as the JWKS shows them.
        requests: The paths of the requests that came.
        scopes: The scopes that the user may have; all that are asked for if it is None.
        answers: What the introspection page says about a token.
        secrets: The `Authorization` headers that the introspection page got.
        tools: The application beside the pages.
    """

    def __init__(self, issuer, build_tools=None):
        self.issuer = issuer
        self.keys = [describe_key(RSA_KEY, "rsa"), describe_key(EC_KEY, "ec"), describe_key(ED_KEY, "ed")]
        self.requests, self.scopes, self.answers, self.secrets = [], None, {}, []
        self.tools = None if build_tools is None else build_tools(issuer)
        self._asked = {}

    def build_app(self):
        """Return the application with all pages."""
        pages = [
            Route("/.well-known/oauth-authorization-server", self._describe),
            Route("/keys", self._list_keys),
            Route("/introspect", self._introspect, methods=["POST"]),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/token", self._give_token, methods=["POST"]),
        ]
        if self.tools is None:
            return Starlette(routes=pages)
        return Starlette(routes=[*pages, Mount("/", self.tools)], lifespan=lambda app: self.tools.running())

    def browse(self, url):
        """Open *url* as a browser does, which follows redirects."""
        return httpx.get(url, follow_redirects=True)

    async def _describe(self, request):
        self.requests.append(request.url.path)
        pages = {"authorization": "authorize", "token": "token", "registration": "register"}
        return JSONResponse(
            {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/keys",
                **{f"{name}_endpoint": f"{self.issuer}/{page}" for name, page in pages.items()},
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        )

    async def _list_keys(self, request):
        self.requests.append(request.url.path)
        return JSONResponse({"keys": self.keys})

    async def _introspect(self, request):
        self.requests.append(request.url.path)
        self.secrets.append(request.headers["authorization"])
        form = parse_qs((await request.body()).decode())
        return JSONResponse(self.answers.get(form["token"][0], {"active": False}))

    async def _register(self, request):
        return JSONResponse({**await request.json(), "client_id": "toolkit-1"}, status_code=201)

    async def _authorize(self, request):
        query = request.query_params
        code = f"code-{len(self._asked)}"
        self._asked[code] = query.get("scope", "").split(), query["resource"]
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")

    async def _give_token(self, request):
        form = parse_qs((await request.body()).decode())
        scopes, resource = self._asked.pop(form["code"][0])
        scope = " ".join(scope for scope in scopes if self.scopes is None or scope in self.scopes)
        token = sign(self.issuer, aud=resource, scope=scope)
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 60, "scope": scope})


@contextlib.contextmanager
def serving_issuer(build_tools=None):
    """Serve an authorization server until the end of the block, beside the tools that *build_tools* makes for it."""
    listener = socket.create_server(("127.0.0.1", 0))
    issuer = AuthorizationServer(f"http://127.0.0.1:{listener.getsockname()[1]}", build_tools)
    started = threading.Event()

    class WebServer(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = WebServer(uvicorn.Config(issuer.build_app(), log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield issuer
    finally:
        server.should_exit = True
        thread.join(30)
