"""
Turns what the SDK raises for a call into the errors of this package.

A call that was never sent may be tried again. A call that was sent and got no answer may or may not have happened. A
call whose answer cannot be used has happened.

A request waits for an answer with its id. If no such answer can come (the connection broke, the answer is too large),
the transport answers the request itself with a local error. Its data holds a secret of this process, so that a server
cannot make one.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR, URL_ELICITATION_REQUIRED
from pydantic import ValidationError

from ...catalogs.foreign_text import clean_text, is_plain_link
from ...decisions import AuthNeeded, AuthRequest
from ...errors import BadArgs, ToolError, Transient

__all__ = [
    "Happened",
    "UnusableAnswer",
    "build_local_error",
    "explain_validation",
    "read_call_error",
    "read_local_error",
]

Happened: TypeAlias = Literal["no", "maybe", "yes"]
"""Whether the server has acted on the request: it never got it, it may have got it, or it has answered it."""

_LOCAL_CODE = -32019
"""A code from the range that the protocol leaves to implementations."""

_SECRET = secrets.token_hex(16)
_ABANDONED = ("SSE stream ended", "SSE stream failed", "Connection closed")
_MAX_CHARS = 2000


class UnusableAnswer(ToolError):  # noqa: N818 -- the name says what happened
    """Raised if a server answered a call, and the answer cannot be used. The call has happened."""


def build_local_error(
    message: str, *, happened: Happened, retry_after_seconds: float | None = None, **details: Any
) -> dict[str, Any]:
    """Return the `error` of a JSON-RPC answer that `read_local_error` recognises."""
    data = {"secret": _SECRET, "happened": happened, "retry_after_seconds": retry_after_seconds, **details}
    return {"code": _LOCAL_CODE, "message": message, "data": data}


def read_local_error(code: int, data: Any) -> dict[str, Any] | None:
    """Return the data of an error that this process has made; return None for an error from a server."""
    is_ours = code == _LOCAL_CODE and isinstance(data, dict) and data.get("secret") == _SECRET
    return data if is_ours else None


def read_call_error(error: MCPError, server: str, *, is_open: bool) -> ToolError:
    """Return the error of this package for *error*, which a call raised. *is_open* says if the connection is there."""
    local = read_local_error(error.code, error.data)
    if local is not None:
        return _read_local(error.message, local, server)
    message = clean_text(str(error.message), _MAX_CHARS) or f"error {error.code}"
    # The SDK makes such an error if the stream of an answer ended too early.
    if error.code == CONNECTION_CLOSED and (not is_open or error.message.startswith(_ABANDONED)):
        if error.message.startswith("SSE stream failed"):
            return UnusableAnswer(f"the answer of the server {server} cannot be read: {message}")
        return Transient(f"the connection to the server {server} was lost during the call", happened="maybe")
    if error.code == PARSE_ERROR:
        return UnusableAnswer(f"the answer of the server {server} is not valid MCP: {message}")
    if error.code == INVALID_PARAMS:
        return BadArgs(f"the server {server} refuses the arguments: {message}")
    if error.code == METHOD_NOT_FOUND:
        return ToolError(f"the server {server} no longer knows this tool: {message}")
    if error.code == URL_ELICITATION_REQUIRED:
        return _read_url_request(error.data, server, message)
    return ToolError(f"the server {server} answered with an error: {message}")


def explain_validation(error: ValidationError, server: str) -> UnusableAnswer:
    """Return the error for an answer that is not what the protocol promises."""
    entries = error.errors(include_input=False, include_url=False)[:3]
    reasons = "; ".join(f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in entries)
    return UnusableAnswer(f"the answer of the server {server} is not valid MCP: {clean_text(reasons, 400)}")


def _read_local(message: str, local: dict[str, Any], server: str) -> ToolError:
    if auth := local.get("auth"):
        return AuthNeeded(AuthRequest(**{**auth, "scopes": tuple(auth.get("scopes", ()))}))
    if local.get("is_refusal"):  # it would be refused again
        return ToolError(f"server {server}: {message}")
    if local["happened"] == "yes":
        return UnusableAnswer(f"the answer of the server {server} cannot be used: {message}")
    return Transient(
        f"server {server}: {message}", happened=local["happened"], retry_after_seconds=local["retry_after_seconds"]
    )


def _read_url_request(data: Any, server: str, message: str) -> ToolError:
    entries = data.get("elicitations") if isinstance(data, dict) else None
    url = entries[0].get("url") if isinstance(entries, list) and entries and isinstance(entries[0], dict) else None
    if not isinstance(url, str) or not is_plain_link(url):
        return ToolError(
            f"the server {server} wants something done at an address, and gives none that can be used: {message}"
        )
    return AuthNeeded(AuthRequest(provider=server, url=url, reason=f"the server {server} asks: {message}"))
