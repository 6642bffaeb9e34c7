"""Log in at a server in the browser, with the OAuth of the SDK and a callback on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import html
import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult
from mcp_types.version import LATEST_PROTOCOL_VERSION
from pydantic import ValidationError

from ..._plumbing.wording import format_seconds
from ...catalogs.foreign_text import clean_text
from ...errors import Safety, ToolError
from .login_hosts import LoginHosts
from .logins import LoginError, Logins, LoginStorage, build_client_metadata
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
    callback, hosts = _LoginCallback(), LoginHosts(server)

    async def show_address(url: str) -> None:
        try:
            await hosts.check(url)
        except ToolError as error:
            raise LoginError(clean_text(str(error), 400)) from None
        callback.expect(url)
        await asyncio.to_thread(show, url)

    async with callback.listening(port) as redirect_uri:
        # The login is kept in memory until it is complete, so that one that breaks off leaves the former one as it is.
        login: dict[str, Any] = {}
        if client_id is not None:
            redirects = {"redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"}
            login["client"] = {"client_id": client_id, **redirects}
        provider = OAuthClientProvider(
            server.target,
            build_client_metadata(redirect_uri),
            LoginStorage(lambda: login, login.update),
            redirect_handler=show_address,
            callback_handler=lambda: callback.wait(seconds),
        )
        await _ask_server(server, provider, hosts)
    if "tokens" not in login or "client" not in login:
        raise LoginError(f"{server.where} asks for no login, or not by OAuth; nothing was kept. {_HEADER_HINT}")
    # The metadata say where the tokens can be renewed, which the SDK would look up only for a new login.
    metadata = provider.context.oauth_metadata
    logins.forget(server.target)
    logins.save(server.target, **login, metadata=None if metadata is None else metadata.model_dump(mode="json"))


async def _ask_server(server: RemoteServer, provider: OAuthClientProvider, hosts: LoginHosts) -> None:
    """Send a request that the server refuses without a login. The SDK then runs the login."""
    timeout = httpx2.Timeout(_HTTP_SECONDS)
    headers = {**server.headers, "accept": "application/json, text/event-stream"}
    options: Any = {"timeout": timeout, "transport": server.http_transport, "event_hooks": hosts.hooks}
    try:
        async with (
            httpx2.AsyncClient(auth=provider, **options) as http,
            http.stream("POST", server.target, json=_QUESTION, headers=headers),
        ):
            pass  # what the server answers after the login is of no interest here
    except OAuthFlowError as error:
        raise LoginError(f"the login at {server.where} failed: {_explain_failure(error)}. {_HEADER_HINT}") from None
    except Safety as error:
        raise LoginError(clean_text(str(error), 400)) from None
    except (httpx2.HTTPError, OSError, ValidationError) as error:
        reason = "an answer or a header has another form than it should"
        if not isinstance(error, (httpx2.LocalProtocolError, ValidationError)):  # these repeat what they refuse
            reason = clean_text(str(error), 400) or type(error).__name__
        raise LoginError(f"{server.where} cannot be asked for a login: {reason}") from None


def _explain_failure(error: OAuthFlowError) -> str:
    """Return why a login failed. The answer of a page that gives tokens is not repeated: it may hold one."""
    if not isinstance(error, (OAuthTokenError, OAuthRegistrationError)):
        return clean_text(str(error), 400)
    text = str(error)
    head, code = re.match(r"[A-Za-z ]*(?::? ?\(?\d{3}\)?)?", text), re.search(r'"error"\s*:\s*"([a-z_]{1,40})"', text)
    return f"{head[0] if head else type(error).__name__}{f' ({code[1]})' if code else ''}"


class _LoginCallback:
    """A small web server on loopback that waits for the browser to come back."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._states: list[str] = []  # of the address that the user opens; empty until then

    def expect(self, url: str) -> None:
        """Take only the answer to *url*, which the user opens. Others can send requests to this port as well."""
        self._states = parse_qs(urlsplit(url).query).get("state", [])

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
        query = parse_qs(address.query)
        answer = {name: values[0] for name, values in query.items()}
        if not {"code", "error"} & answer.keys() or not self._states or query.get("state") != self._states:
            return "400 Bad Request", "This address is for the end of a login."
        if not self._answer.done():
            self._answer.set_result(answer)
        return "200 OK", "The login is over. You can close this page and go back to the terminal."
