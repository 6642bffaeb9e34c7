"""
Failures that this side of a connection reports in place of an answer from the server.

A request waits for an answer with its id. If no such answer can come (the connection broke, the answer is too large),
the transport answers the request itself with a JSON-RPC error. The data of such an error holds a secret of this
process, so that a server cannot make one.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias

__all__ = ["LOCAL_CODE", "Happened", "build_local_error", "read_local_error"]

Happened: TypeAlias = Literal["no", "maybe", "yes"]
"""Whether the server has acted on the request: it never got it, it may have got it, or it has answered it."""

LOCAL_CODE = -32019
"""A code from the range that the protocol leaves to implementations."""

_SECRET = secrets.token_hex(16)


def build_local_error(
    message: str, *, happened: Happened, retry_after_seconds: float | None = None, **details: Any
) -> dict[str, Any]:
    """Return the `error` of a JSON-RPC answer that `read_local_error` recognises."""
    data = {"secret": _SECRET, "happened": happened, "retry_after_seconds": retry_after_seconds, **details}
    return {"code": LOCAL_CODE, "message": message, "data": data}


def read_local_error(code: int, data: Any) -> dict[str, Any] | None:
    """Return the data of an error that this process has made; return None for an error from a server."""
    is_ours = code == LOCAL_CODE and isinstance(data, dict) and data.get("secret") == _SECRET
    return data if is_ours else None
