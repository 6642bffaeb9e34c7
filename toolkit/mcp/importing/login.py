"""
Log in at a server in the browser, with the OAuth of the SDK and a callback on loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull
from mcp_types.version import LATEST_PROTOCOL_VERSION
from pydantic import ValidationError

from ..._plumbing.wording import format_seconds
from ...errors import ToolkitError
from .foreign_text import clean_text
from .logins import Logins, LoginStorage, build_client_metadata
from .remote_server import RemoteServer

__all__ = ["LoginError", "log_in"]

_PATH = "/callback"
_MAX_LINE_BYTES = 16_384
_HTTP_SECONDS = 30.0
_QUESTION = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "toolkit", "version": "1"},
    },
}

_HEADER_HINT = (
    "If you have a token for it, write it as a header of the server in toolkit.toml: "
    'headers = { Authorization = "Bearer ${TOKEN}" }'
)


class LoginError(ToolkitError):
    """Raised if a login does not come to its end; the message says why."""


async def log_in(
    server: RemoteServer,
    logins: Logins,
    *,
    show: Callable[[str], Any],
    port: int = 0,
    client_id: str | None = None,
    seconds: float = 300.0,
) -> None:
    """
    Log in at *server*, and keep the tokens in *logins*.

    Args:
        show: Called with the address that the user has to open in a browser.
        port: The port of the callback on 127.0.0.1; 0 takes a free one.
        client_id: The id of a client that was registered by hand, for servers that register none by themselves.
        seconds: How long the user may take.

    Raises:
        LoginError: The server wants no login, the user said no or took too long, or an answer cannot be used.
    """
    callback = _LoginCallback()
    async with callback.listening(port) as redirect_uri:
        storage = _NewLogin(client_id, redirect_uri)
        provider = OAuthClientProvider(
            server.target,
            build_client_metadata(redirect_uri),
            storage,
            redirect_handler=lambda url: _show_address(url, show),
            callback_handler=lambda: callback.wait(seconds),
        )
        await _ask_server(server, provider)
    if storage.tokens is None or storage.client is None:
        raise LoginError(f"{server.where} asks for no login, or not by OAuth; nothing was kept. {_HEADER_HINT}")
    logins.forget(server.target)
    kept = LoginStorage(logins, server.target)
    await kept.set_client_info(storage.client)
    await kept.set_tokens(storage.tokens)
    kept.save_metadata(provider.context)


async def _ask_server(server: RemoteServer, provider: OAuthClientProvider) -> None:
    """Send a request that the server refuses without a login. The SDK then runs the login."""
    timeout = httpx2.Timeout(_HTTP_SECONDS)
    headers = {**server.headers, "accept": "application/json, text/event-stream"}
    try:
        async with (
            httpx2.AsyncClient(auth=provider, timeout=timeout, transport=server.http_transport) as http,
            http.stream("POST", server.target, json=_QUESTION, headers=headers),
        ):
            pass  # what the server answers after the login is of no interest here
    except OAuthFlowError as error:
        reason = clean_text(str(error), 400)
        raise LoginError(f"the login at {server.where} failed: {reason}. {_HEADER_HINT}") from None
    except (httpx2.HTTPError, OSError, ValidationError) as error:
        reason = clean_text(str(error), 400) or type(error).__name__
        raise LoginError(f"{server.where} cannot be asked for a login: {reason}") from None


async def _show_address(url: str, show: Callable[[str], Any]) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise LoginError(f"the server wants an address opened that is none of the web: {clean_text(url, 200)}")
    await asyncio.to_thread(show, url)


class _NewLogin:
    """Keeps a login in memory until it is complete, so that one that breaks off leaves the former one as it is."""

    def __init__(self, client_id: str | None, redirect_uri: str) -> None:
        self.tokens: Any = None
        self.client: OAuthClientInformationFull | None = None
        if client_id is not None:
            self.client = OAuthClientInformationFull.model_validate(
                {"client_id": client_id, "redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"}
            )

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _LoginCallback:
    """A small web server on loopback that waits for the browser to come back."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    @contextlib.asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[str]:
        """Listen, and yield the address to come back to."""
        try:
            listener = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_MAX_LINE_BYTES)
        except OSError as error:
            raise LoginError(f"port {port} cannot be listened on: {error.strerror or error}; give another") from None
        async with listener:
            yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}{_PATH}"

    async def wait(self, seconds: float) -> AuthorizationCodeResult:
        """Wait for the browser, and return what the authorization server sent with it."""
        try:
            answer = await asyncio.wait_for(self._answer, seconds)
        except TimeoutError:
            raise LoginError(f"no login came back within {format_seconds(seconds)}; try again") from None
        if "error" in answer:
            reason = answer.get("error_description") or answer["error"]
            raise LoginError(f"the login was refused: {clean_text(reason, 400)}")
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_HTTP_SECONDS):
                words = (await reader.readline()).decode("ascii", "replace").split()
                while (await reader.readline()).strip():
                    pass  # the headers
                status, text = self._take(words)
                body = f"<!doctype html><title>toolkit</title><p>{html.escape(text)}</p>".encode()
                head = f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n"
                writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    def _take(self, words: list[str]) -> tuple[str, str]:
        """Take the answer from the first line of a request, and return what the browser shows."""
        address = urlsplit(words[1]) if len(words) == 3 and words[0] == "GET" else None
        if address is None or address.path != _PATH:
            return "404 Not Found", "There is nothing here."
        answer = {name: values[0] for name, values in parse_qs(address.query).items()}
        if not {"code", "error"} & answer.keys():
            return "400 Bad Request", "This address is for the end of a login."
        if not self._answer.done():
            self._answer.set_result(answer)
        return "200 OK", "The login is over. You can close this page and go back to the terminal."
