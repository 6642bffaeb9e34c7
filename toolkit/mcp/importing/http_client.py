"""
The HTTP client by which a server at an address is reached.

The SDK hides the status and the headers of an answer, reads answers of any size, and lets one failed request end the
connection of all others. This client looks at each answer first. A request that fails gets an answer that says so, and
fails alone. A demand for a login becomes a request for credentials that the call waits for.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import httpx2
from mcp_types.jsonrpc import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from ..._plumbing.wording import format_count
from ...catalogs.foreign_text import clean_text
from ...errors import Safety
from ...policies.classify import parse_retry_after
from ...policies.credentials import is_credential_header
from .call_errors import Happened, build_local_error
from .credentials import ServerCredentials
from .login_hosts import LoginHosts, read_whole
from .logins import Logins, StoredLogin
from .private_json import PrivateFileError
from .remote_server import RemoteServer

__all__ = ["McpHttpClient", "read_login_request"]

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
_CONNECT_SECONDS = 30.0
_PARAMETER = re.compile(r'(?<![A-Za-z_-])([A-Za-z_-]++)\s*+=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_MAX_HEADER_CHARS = 8192
_MAX_SCOPES = 50


class McpHttpClient(httpx2.AsyncClient):
    """
    A client for the address of *server*, whose `send` does not raise for a request of the protocol.

    *on_lost* is called if the server no longer knows the session. *credentials* are told what is sent.
    """

    def __init__(self, server: RemoteServer, on_lost: Callable[[], None], credentials: ServerCredentials) -> None:
        hooks = LoginHosts(server).hooks
        super().__init__(
            # Compressed answers are not accepted, because a small one may become a very large one.
            headers={**server.headers, "accept-encoding": "identity"},
            auth=server.auth or _find_login(server),
            transport=server.http_transport,
            event_hooks={**hooks, "request": [*hooks["request"], credentials.note_request]},
            # The call has a time limit of its own, and a stream of events may be silent for long.
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        )
        self._server = server
        self._on_lost = on_lost
        self._mask = credentials.mask_text

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """
        Send *request*. A failure becomes an answer that the SDK passes on to the call that is waiting for it.

        Raises:
            RequestError: The request failed, and the transport is SSE, in which it has no answer. The connection is
                over then, and its calls with it.
        """
        try:
            response = await super().send(request, **options)
        except (PrivateFileError, Safety) as error:
            refusal = build_local_error(str(error), happened="no", is_refusal=isinstance(error, Safety))
            return self._answer(request, refusal)
        except (httpx2.HTTPError, OSError) as error:
            happened: Happened = "no" if isinstance(error, (*_NOT_SENT, httpx2.LocalProtocolError)) else "maybe"
            return self._answer(request, build_local_error(self._describe(error, request), happened=happened))
        problem = self._find_refusal(request, response)
        if problem is None and not _has_type(response, "text/event-stream"):
            problem = await self._read_body(request, response)
        if problem is None:
            return response
        await response.aclose()
        return self._answer(request, problem, response.status_code)

    def _answer(self, request: httpx2.Request, error: dict[str, Any], status: int = 503) -> httpx2.Response:
        """Return the answer to *request* that carries *error*; a plain *status* if the request expects no answer."""
        if self._server.transport == "sse":
            self._on_lost()
            raise httpx2.RequestError(error["message"], request=request)
        request_id = _read_message(request).get("id")
        if request_id is None:  # a notification, or a request without a body
            return httpx2.Response(status, request=request)
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body, request=request)

    async def _read_body(self, request: httpx2.Request, response: httpx2.Response) -> dict[str, Any] | None:
        """Read the whole body of *response*, within limits. Return an error if it cannot be used."""
        max_bytes = self._server.limits.max_message_bytes
        try:
            if not await read_whole(response, max_bytes):
                limit = format_count(max_bytes, "byte")
                return build_local_error(f"the server's answer is larger than {limit}", happened="yes")
        except (httpx2.HTTPError, OSError) as error:
            return build_local_error(self._describe(error, request), happened="maybe")
        return _find_body_refusal(request, response, await response.aread())

    def _find_refusal(self, request: httpx2.Request, response: httpx2.Response) -> dict[str, Any] | None:
        """Return the error for an answer whose status the SDK would hide, or None."""
        status, host = response.status_code, request.url.host
        if response.headers.get("content-encoding", "identity") != "identity":
            return build_local_error("the server's answer is compressed, which was not asked for", happened="yes")
        if status in (401, 403):
            return read_login_request(response, self._server) or build_local_error(
                f"{host} refuses access (status {status})", happened="no", is_refusal=True
            )
        if status == 404 and "mcp-session-id" in request.headers:
            self._on_lost()
            return build_local_error("the server has ended the session", happened="no")
        is_json = _has_type(response, "application/json")
        if status == 429 or (status >= 500 and not is_json):
            return _build_status_error(request, response)
        if 200 <= status < 300 and _is_about_tools(request) and self._server.transport == "http":
            if status == 202:
                return build_local_error(f"{host} answered with status 202, without a result", happened="yes")
            if not is_json and not _has_type(response, "text/event-stream"):
                content_type = clean_text(response.headers.get("content-type", ""), 80)
                text = f"{host} answered with the content type {content_type!r}, not with JSON"
                return build_local_error(text, happened="yes")
        return None  # a status of failure with JSON may be a JSON-RPC error, which the SDK reads

    def _describe(self, error: Exception, request: httpx2.Request) -> str:
        if isinstance(error, httpx2.LocalProtocolError):  # its text repeats the header, which may hold a token
            return f"nothing was sent to {request.url.host}: a header has characters that HTTP does not allow"
        what = "cannot be reached" if isinstance(error, _NOT_SENT) else "broke off"
        return f"{request.url.host} {what}: {clean_text(self._mask(str(error)), 200) or type(error).__name__}"


def _find_login(server: RemoteServer) -> httpx2.Auth | None:
    """Return what sends the login of the user at *server*; None if the program gives a token itself."""
    has_token = any(name.lower() == "authorization" for name in server.headers)
    return None if has_token else StoredLogin(server.target, server.logins or Logins())


def _find_body_refusal(request: httpx2.Request, response: httpx2.Response, body: bytes) -> dict[str, Any] | None:
    """Return the error for an answer with a status of failure whose *body* is no JSON-RPC error, or None."""
    status = response.status_code
    if status < 400 or (_has_type(response, "application/json") and _is_rpc_error(body)):
        return None
    if status >= 500:
        return _build_status_error(request, response)
    if status == 404 and _is_about_tools(request):  # the SDK would say that the method is not known
        text = f"{request.url.host} answered with status 404; check whether the address is still right"
        return build_local_error(text, happened="no", is_refusal=True)
    return None


def _build_status_error(request: httpx2.Request, response: httpx2.Response) -> dict[str, Any]:
    """Return the error for an answer whose status says that the call may be tried later."""
    status = response.status_code
    return build_local_error(
        f"{request.url.host} answered with status {status}",
        happened="no" if status == 429 else "maybe",
        retry_after_seconds=parse_retry_after(response.headers),
    )


def _has_type(response: httpx2.Response, media_type: str) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith(media_type))


def _is_rpc_error(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(body, by_name=False), JSONRPCError)
    except ValidationError:
        return False


def _read_message(request: httpx2.Request) -> dict[str, Any]:
    """Return the JSON-RPC message in the body; empty if there is none."""
    try:
        message = json.loads(request.content or b"null")
    except (ValueError, httpx2.RequestNotRead):  # the request belongs to an authentication
        return {}
    return message if isinstance(message, dict) and "method" in message else {}


def _is_about_tools(request: httpx2.Request) -> bool:
    """Return whether *request* lists or calls tools. The SDK reads the answers to others to agree on a revision."""
    return str(_read_message(request).get("method")).startswith("tools/")


def read_login_request(response: Any, server: RemoteServer) -> dict[str, Any] | None:
    """
    Return the error for *response*, which has status 401 or 403, with a request for credentials.

    Return None if a login does not help: the server refuses what the user may not do. A program that gives the
    credentials itself is told where it gives them, because a login would not replace them.
    """
    header = ", ".join(response.headers.get_list("www-authenticate"))[:_MAX_HEADER_CHARS]
    parameters = {
        match[1].lower(): match[2] if match[2] is not None else match[3] for match in _PARAMETER.finditer(header)
    }
    lacks_scope = parameters.get("error") == "insufficient_scope"
    if response.status_code != 401 and not lacks_scope:
        return None
    if source := _find_credentials(server):
        what = "wants further permissions than those of" if lacks_scope else "refuses"
        text = (
            f"the server {server.name} {what} the credentials in {source}; they may have expired: give new ones there"
        )
        return build_local_error(text, happened="no", is_refusal=True)
    scopes = [clean_text(scope, 200) for scope in parameters.get("scope", "").split()[:_MAX_SCOPES]]
    what = "wants further permissions" if lacks_scope else "wants you to log in"
    # An address with a password or a query is not repeated, because messages are logged and shown to models.
    address = shlex.quote(server.where) if server.where == server.target else "ADDRESS"
    reason = f"the server {server.name} {what}: run `toolkit mcp login {address}`"
    if address == "ADDRESS":
        reason += " with its whole address"
    return build_local_error(reason, happened="no", auth={"provider": server.name, "scopes": scopes, "reason": reason})


def _find_credentials(server: RemoteServer) -> str | None:
    """Return where the program gives the credentials for *server*; None if the user logs in."""
    names = [f"`{name}`" for name in server.headers if is_credential_header(name)]
    if names:
        return f"the {'header' if len(names) == 1 else 'headers'} {', '.join(names)} (`headers=`)"
    return None if server.auth is None else "`auth=`"
