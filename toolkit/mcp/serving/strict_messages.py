"""
JSON-RPC messages that are strict JSON.

The parsers of the SDK accept NaN, and of two equal keys they silently take the last one. A call could then run with
other arguments than a person or a log saw, so such a message is refused before the SDK reads it.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from mcp_types import PARSE_ERROR

from ...values.strictjson.checks import loads, read_object

__all__ = ["build_error_message", "find_message_id", "has_wrong_id", "parse_message"]


def parse_message(data: bytes) -> Any:
    """Return the JSON value in *data*; raise `ValueError` if it is not strict JSON."""
    with contextlib.suppress(UnicodeDecodeError):
        if (message := read_object(data.decode())) is not None:
            return message
    return loads(data)


def has_wrong_id(message: Any) -> bool:
    """
    Return whether *message* is a request with an id that no answer can have.

    The SDK takes it for a notification and drops it, so its client would wait for ever.
    """
    if not isinstance(message, dict) or not {"id", "method"} <= message.keys() or type(message["id"]) in (int, str):
        return False
    return message["id"] is not None or not str(message["method"]).startswith("notifications/")


def find_message_id(data: bytes) -> str | int | None:
    """Return the id of the request in *data*, so that its sender learns that it failed; None if it cannot be read."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    number = message.get("id") if isinstance(message, dict) else None
    return number if isinstance(number, (str, int)) and not isinstance(number, bool) else None


def build_error_message(message_id: str | int | None, text: str, code: int = PARSE_ERROR) -> bytes:
    """Return the JSON text of an error response."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}
    return json.dumps(message).encode()
