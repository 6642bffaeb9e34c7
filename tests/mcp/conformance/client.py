"""
The client that the conformance suite tests: a program on `Servers` that calls the tools of the server at an address.

The suite gives the address as the last argument, and describes the scenario in variables of the environment. Started
as a program with the path of a socket, it waits there for scenarios; `relay.py` is what the suite starts.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from toolkit import Approvals, Decision, Dispatcher
from toolkit.mcp import RemoteServer, Servers
from toolkit.permissions import Permissions

from .relay import listen

REDIRECT = "http://localhost:3030/callback"
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
CALL_SECONDS = 60.0

SAMPLES: Mapping[str, Any] = {"string": "a", "number": 1.5, "integer": 1, "boolean": True, "array": [], "object": {}}


class MemoryTokens:
    """Keeps the tokens and the registration of the client while the program runs."""

    def __init__(self, registration: OAuthClientInformationFull | None) -> None:
        self._tokens: OAuthToken | None = None
        self._registration = registration

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._registration

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._registration = client_info


class LoginBrowser:
    """Plays the user who logs in: it opens the address and reads the redirect."""

    def __init__(self) -> None:
        self._query: dict[str, list[str]] = {}

    async def open(self, address: str) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(address, follow_redirects=False)
        self._query = parse_qs(urlsplit(response.headers["location"]).query)

    async def read_redirect(self) -> AuthorizationCodeResult:
        values = {key: self._query[key][0] if key in self._query else None for key in ("code", "state", "iss")}
        return AuthorizationCodeResult(**{**values, "code": values["code"] or ""})


def build_auth(url: str, context: Mapping[str, Any]) -> OAuthClientProvider:
    """Return what logs in if the server asks for it."""
    browser = LoginBrowser()
    registration = None
    if "client_id" in context:
        registration = OAuthClientInformationFull(
            client_id=context["client_id"],
            client_secret=context.get("client_secret"),
            redirect_uris=[REDIRECT],
            token_endpoint_auth_method="client_secret_basic" if "client_secret" in context else "none",
        )
    return OAuthClientProvider(
        url,
        OAuthClientMetadata(
            client_name="toolkit conformance client",
            redirect_uris=[REDIRECT],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        ),
        MemoryTokens(registration),
        redirect_handler=browser.open,
        callback_handler=browser.read_redirect,
        client_metadata_url=CLIENT_METADATA,
    )


def answer(request: Any) -> Decision:
    """Approve every call, and answer every question with the defaults of its form."""
    return Decision.approve(answers={question.key: fill_in(question.schema) for question in request.questions})


def fill_in(schema: Mapping[str, Any]) -> Any:
    """Return a value for *schema*: its default, or a sample of its type."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        required = schema.get("required", ())
        members = schema.get("properties", {}).items()
        return {name: fill_in(member) for name, member in members if name in required or "default" in member}
    return SAMPLES.get(str(schema.get("type")), "a")


async def main(url: str) -> int:
    """Call every tool of the server at *url*, or those that the scenario names. Return 1 if there is no server."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    is_modern = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28"
    server = RemoteServer(
        url, auth=build_auth(url, context), revision="auto" if is_modern else "legacy", timeout_seconds=CALL_SECONDS
    )
    async with Servers(None, {"peer": server}) as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("bypass"), approvals=Approvals(ask=answer))
        for problem in tools.problems:
            print("problem:", problem, file=sys.stderr)
        named = [(f"peer_{call['name']}", call["arguments"]) for call in context.get("toolCalls", ())]
        for name, arguments in named or [(tool.name, fill_in({"type": "object", **tool.schema})) for tool in tools]:
            result = await dispatcher.call(name, arguments)
            print(name, result.kind, result.text[:200], file=sys.stderr)
        return 1 if tools.problems else 0


if __name__ == "__main__":
    listen(sys.argv[1], lambda words: asyncio.run(main(words[-1])))
