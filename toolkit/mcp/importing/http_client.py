"""
The HTTP client by which a server at an address is reached.

The SDK hides the status and the headers of an answer, reads answers of any size, and lets one failed request end the
connection of all others. This client looks at each answer first. A request that fails gets an answer that says so, and
fails alone.
"""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from typing import Any

import httpx2
from mcp_types.jsonrpc import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from ..._plumbing.wording import format_count
from ...errors import Safety
from .foreign_text import clean_text
from .local_errors import Happened, build_local_error
from .login_hosts import LoginHosts
from .logins import Logins, StoredLogin
from .private_json import PrivateFileError
from .remote_server import RemoteServer

__all__ = ["McpHttpClient", "OnRefusal", "build_http_client"]

OnRefusal = Callable[[httpx2.Response], dict[str, Any] | None]
"""Called with an answer of status 401 or 403. It returns the JSON-RPC error to answer with, or None for the usual."""

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
_CONNECT_SECONDS = 30.0


def build_http_client(server: RemoteServer, on_lost: Callable[[], None], on_refusal: OnRefusal) -> McpHttpClient:
    """
    Return a client for the address of *server*.

    Args:
        on_lost: Called if the server no longer knows the session.
        on_refusal: Called with an answer of status 401 or 403.
    """
    return McpHttpClient(
        # Compressed answers are not accepted, because a small one may become a very large one.
        headers={**server.headers, "accept-encoding": "identity"},
        auth=server.auth or _find_login(server),
        transport=server.http_transport,
        event_hooks=LoginHosts(server).hooks,
        # The call has a time limit of its own, and a stream of events may be silent for long.
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        max_bytes=server.limits.max_message_bytes,
        on_lost=on_lost,
        on_refusal=on_refusal,
    )


def _find_login(server: RemoteServer) -> httpx2.Auth | None:
    """Return what sends the login of the user at *server*; None if the program gives a token itself."""
    has_token = any(name.lower() == "authorization" for name in server.headers)
    return None if has_token else StoredLogin(server.target, server.logins or Logins())


class McpHttpClient(httpx2.AsyncClient):
    """A client whose `send` never raises for a request of the protocol, and limits the size of the answer."""

    def __init__(self, *, max_bytes: int, on_lost: Callable[[], None], on_refusal: OnRefusal, **options: Any) -> None:
        super().__init__(**options)
        self._max_bytes = max_bytes
        self._on_lost = on_lost
        self._on_refusal = on_refusal

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send *request*. A failure becomes an answer that the SDK passes on to the call that is waiting for it."""
        try:
            response = await super().send(request, **options)
        except PrivateFileError as error:
            return self._answer(request, build_local_error(str(error), happened="no"), None)
        except Safety as error:
            return self._answer(request, build_local_error(str(error), happened="no", is_refusal=True), None)
        except (httpx2.HTTPError, OSError) as error:
            happened: Happened = "no" if isinstance(error, (*_NOT_SENT, httpx2.LocalProtocolError)) else "maybe"
            return self._answer(request, build_local_error(_describe(error, request), happened=happened), None)
        refusal = self._find_refusal(request, response)
        if refusal is not None:
            await response.aclose()
            return self._answer(request, refusal, response)
        return response if _is_event_stream(response) else await self._read_body(request, response)

    async def _read_body(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return *response* with its whole body, or an answer that says why the body cannot be read."""
        stream: Any = response.stream
        chunks, size = [], 0
        try:
            async for chunk in stream:
                size += len(chunk)
                if size > self._max_bytes:
                    limit = format_count(self._max_bytes, "byte")
                    error = build_local_error(f"the server's answer is larger than {limit}", happened="yes")
                    return self._answer(request, error, response)
                chunks.append(chunk)
        except (httpx2.HTTPError, OSError) as error:
            return self._answer(request, build_local_error(_describe(error, request), happened="maybe"), response)
        finally:
            await stream.aclose()
        body = b"".join(chunks)
        refusal = self._find_body_refusal(request, response, body)
        if refusal is not None:
            return self._answer(request, refusal, response)
        response.stream = httpx2.ByteStream(body)
        return response

    def _find_body_refusal(
        self, request: httpx2.Request, response: httpx2.Response, body: bytes
    ) -> dict[str, Any] | None:
        """Return the error for an answer with a status of failure whose *body* is no JSON-RPC error, or None."""
        status = response.status_code
        if status < 400 or (_is_json(response) and _is_rpc_error(body)):
            return None
        if status >= 500:
            return _build_status_error(request, response)
        if status == 404 and _is_about_tools(request):  # the SDK would say that the method is not known
            text = f"{request.url.host} answered with status 404; check whether the address is still right"
            return build_local_error(text, happened="no", is_refusal=True)
        return None

    def _find_refusal(self, request: httpx2.Request, response: httpx2.Response) -> dict[str, Any] | None:
        """Return the error for an answer whose status the SDK would hide, or None."""
        status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            return build_local_error("the server's answer is compressed, which was not asked for", happened="yes")
        if status in (401, 403):
            return self._on_refusal(response) or build_local_error(
                f"{request.url.host} refuses access (status {status})", happened="no", is_refusal=True
            )
        if status == 404 and "mcp-session-id" in request.headers:
            self._on_lost()
            return build_local_error("the server has ended the session", happened="no")
        if status == 429 or (status >= 500 and not _is_json(response)):
            return _build_status_error(request, response)
        if 200 <= status < 300 and _is_about_tools(request):
            if status == 202:
                return build_local_error(
                    f"{request.url.host} answered with status 202, without a result", happened="yes"
                )
            if not _is_json(response) and not _is_event_stream(response):
                content_type = response.headers.get("content-type", "")
                text = (
                    f"{request.url.host} answered with the content type {clean_text(content_type, 80)!r}, not with JSON"
                )
                return build_local_error(text, happened="yes")
        return None  # a status of failure with JSON may be a JSON-RPC error, which the SDK reads

    def _answer(
        self, request: httpx2.Request, error: dict[str, Any], response: httpx2.Response | None
    ) -> httpx2.Response:
        """Return the answer to *request* that carries *error*; a plain status if the request expects no answer."""
        request_id = _read_request_id(request)
        if request_id is None:
            return httpx2.Response(response.status_code if response is not None else 503, request=request)
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body, request=request)


def _build_status_error(request: httpx2.Request, response: httpx2.Response) -> dict[str, Any]:
    """Return the error for an answer whose status says that the call may be tried later."""
    status = response.status_code
    wait = _read_retry_after(response.headers.get("retry-after", ""))
    text = f"{request.url.host} answered with status {status}"
    return build_local_error(text, happened="no" if status == 429 else "maybe", retry_after_seconds=wait)


def _is_json(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith("application/json"))


def _is_rpc_error(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(body, by_name=False), JSONRPCError)
    except ValidationError:
        return False


def _is_event_stream(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith("text/event-stream"))


def _read_message(request: httpx2.Request) -> dict[str, Any]:
    """Return the JSON-RPC message in the body; empty if there is none."""
    try:
        message = json.loads(request.content or b"null")
    except (ValueError, httpx2.RequestNotRead):  # the request belongs to an authentication
        return {}
    return message if isinstance(message, dict) and "method" in message else {}


def _read_request_id(request: httpx2.Request) -> Any:
    """Return the id of the JSON-RPC request in the body, or None for a notification and for requests without body."""
    return _read_message(request).get("id")


def _is_about_tools(request: httpx2.Request) -> bool:
    """Return whether *request* lists or calls tools. The SDK reads the answers to others to agree on a revision."""
    return str(_read_message(request).get("method")).startswith("tools/")


def _read_retry_after(text: str) -> float | None:
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _describe(error: Exception, request: httpx2.Request) -> str:
    if isinstance(error, httpx2.LocalProtocolError):  # its text repeats the header, which may hold a token
        return f"nothing was sent to {request.url.host}: a header has characters that HTTP does not allow"
    what = "cannot be reached" if isinstance(error, _NOT_SENT) else "broke off"
    return f"{request.url.host} {what}: {clean_text(str(error), 200) or type(error).__name__}"
