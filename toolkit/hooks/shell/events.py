"""
What a command is shown of a call or an agent: one JSON object, with the values of `Secret` parameters masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...policies.redaction import MASK, Redaction
from ...results import ToolCall, ToolResult
from ...session import Session
from ...values.rendering import as_json, cleaned
from ...values.strictjson.checks import is_plain
from .answers import HookFailed
from .records import Event

__all__ = ["agent_shown", "arguments_of", "call_shown", "encoded", "name_of", "with_secrets_back"]

_VERSION = 1
_MOST_INPUT = 16 * 1024 * 1024


def call_shown(call: ToolCall, arguments: Any, event: Event, result: ToolResult | None = None) -> dict[str, Any]:
    """A call with these *arguments*, and after it its *result*; `HookFailed` if it cannot be shown as it is."""
    if event == "before" and not is_plain(arguments):
        raise HookFailed("the arguments are not plain JSON, so it cannot be shown what would run")
    shown = {
        "version": _VERSION,
        "event": event,
        "tool": cleaned(name_of(call)),
        "arguments": _masked(call, arguments),
        "call_id": as_json(call.id),
        "session": as_json(call.session_key) or None,
        "principal": as_json(call.principal),
    }
    if result is not None:
        if len(result.text) > _MOST_INPUT:
            raise HookFailed(f"the result has {len(result.text):,} characters, which is too long to be shown")
        shown["result"] = _redaction(call, arguments).value(as_json(result.to_json()))
    return shown


def agent_shown(
    event: Event, session: Session | None, principal: str | None, details: Mapping[str, Any] | None
) -> dict[str, Any]:
    """An agent's start or end; *details* are whatever the agent says of itself."""
    return {
        "version": _VERSION,
        "event": event,
        "session": None if session is None else as_json(session.id),
        "principal": as_json(session.principal if principal is None and session is not None else principal),
        "details": as_json(dict(details or {})),
    }


def encoded(shown: Mapping[str, Any]) -> bytes:
    """*shown* as one line of JSON; `HookFailed` if nobody should have to read so much."""
    data = (json.dumps(shown) + "\n").encode("ascii")
    if len(data) > _MOST_INPUT:
        raise HookFailed(f"it would have to read {len(data):,} bytes, and {_MOST_INPUT:,} is the most")
    return data


def name_of(call: ToolCall) -> str:
    """The tool's own name; what was asked for, if there is no such tool."""
    if call.tool is not None:
        return str(call.tool.name)
    return call.name if isinstance(call.name, str) else type(call.name).__name__


def arguments_of(call: ToolCall) -> Any:
    """The arguments of a call that may have been refused for them: whatever they are, as JSON."""
    # Not by `call.arguments`: the copy that this makes has no bottom if they have none.
    actual = getattr(call, "actual", None)
    found = call.arguments if actual is None else actual
    return found if is_plain(found) else as_json(found)


def _hidden(call: ToolCall) -> frozenset[str]:
    secrets = frozenset() if call.tool is None else call.tool.signature.secrets
    return frozenset(map(_folded, secrets))


def _folded(key: Any) -> str:
    # As repair compares them: what a model nearly named is as secret.
    return re.sub(r"[\W_]+", "", str(key)).lower()


def _masked(call: ToolCall, arguments: Any) -> Any:
    hidden = _hidden(call)
    if not hidden:
        return arguments
    if not isinstance(arguments, dict):
        return MASK  # text that could not be read: nobody knows where in it the secret is
    return {key: MASK if _folded(key) in hidden else value for key, value in arguments.items()}


def _redaction(call: ToolCall, arguments: Any) -> Redaction:
    hidden = _hidden(call)
    named = arguments.items() if hidden and isinstance(arguments, dict) else ()
    return Redaction().with_secrets(value for key, value in named if _folded(key) in hidden)


def with_secrets_back(given: Mapping[str, Any], arguments: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """*given*, with the true value wherever the command left a mask as it was."""
    hidden = _hidden(call)
    return {
        key: arguments[key] if value == MASK and key in arguments and _folded(key) in hidden else value
        for key, value in given.items()
    }
