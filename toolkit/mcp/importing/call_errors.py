"""
Turns what the SDK raises for a call into the errors of this package.

A call that was never sent may be tried again. A call that was sent and got no answer may or may not have happened. A
call whose answer cannot be used has happened.
"""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR, URL_ELICITATION_REQUIRED
from pydantic import ValidationError

from ...decisions import AuthNeeded, AuthRequest
from ...errors import BadArgs, ToolError, Transient
from .foreign_text import clean_text, explain_address
from .local_errors import read_local_error

__all__ = ["UnusableAnswer", "explain_validation", "read_call_error"]

_MAX_CHARS = 2000


class UnusableAnswer(ToolError):  # noqa: N818 -- the name says what happened
    """Raised if a server answered a call, and the answer cannot be used. The call has happened."""


def read_call_error(error: MCPError, server: str, *, is_open: bool) -> ToolError:
    """
    Return the error of this package for *error*, which a call raised.

    Args:
        server: The name of the server.
        is_open: Whether the connection is still there. If it is not, a closed connection is the reason.
    """
    local = read_local_error(error.code, error.data)
    if local is not None:
        return _read_local(error.message, local, server)
    message = clean_text(str(error.message), _MAX_CHARS) or f"error {error.code}"
    if error.code == CONNECTION_CLOSED and (not is_open or _is_abandoned(error.message)):
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
        f"server {server}: {message}",
        happened=local["happened"],
        retry_after_seconds=local["retry_after_seconds"],
    )


def _is_abandoned(message: str) -> bool:
    """Return whether the SDK made the error, because the stream of an answer ended too early."""
    return message.startswith(("SSE stream ended", "SSE stream failed", "Connection closed"))


def _read_url_request(data: Any, server: str, message: str) -> ToolError:
    entries = data.get("elicitations") if isinstance(data, dict) else None
    url = entries[0].get("url") if isinstance(entries, list) and entries and isinstance(entries[0], dict) else None
    if not isinstance(url, str) or not url.startswith(("https://", "http://")) or explain_address(url):
        return ToolError(
            f"the server {server} wants something done at an address, and gives none that can be used: {message}"
        )
    return AuthNeeded(AuthRequest(provider=server, url=url, reason=f"the server {server} asks: {message}"))
