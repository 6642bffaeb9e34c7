"""
The JSON object that describes a call, an agent or an event to a command, with the values of `Secret` parameters masked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from ...policies.redaction import MASK, Redaction, fold_name
from ...results import ToolCall, ToolResult
from ...session import Session
from ...values.rendering import as_json, replace_surrogates
from ...values.strictjson.checks import is_plain_json
from ..events import EVENTS, Event
from .answers import HookFailed

__all__ = [
    "EVENT_NAMES",
    "arguments_of",
    "describe_agent",
    "describe_call",
    "describe_event",
    "encode_event",
    "mask_secrets",
    "restore_secrets",
    "tool_name_of",
]

EVENT_NAMES: dict[type, str] = {kind: name for name, kind in EVENTS.items()}

_VERSION = 1
_MAX_INPUT_BYTES = 16 * 1024 * 1024

# What a command sees of the objects in an event. Of any other object it sees the class, because the rest may be secret.
_SHOWN = {
    "Decision": ("approved", "by", "reason"),
    "FlowInfo": ("name", "id"),
    "Reply": ("stop", "model", "usage"),
    "RunInfo": ("id", "verb", "provider", "model", "mode", "parent_id", "call_id"),
    "Tool": ("name",),
    "UserMessage": ("text",),
    "Verdict": ("word", "by"),
}

_FOR_PROGRAMS = ("redaction", "waited_in")
"""The fields of events that mean nothing to a command."""


def describe_call(call: ToolCall, arguments: Any, point: str, result: ToolResult | None = None) -> dict[str, Any]:
    """
    Return a call with these *arguments* as a command sees it, and after the call with its *result*.

    Raises:
        HookFailed: The arguments or the result cannot be shown as they are.
    """
    if point == "before" and not is_plain_json(arguments):
        raise HookFailed("the arguments are not plain JSON, so it cannot be shown what would run")
    data = {
        "version": _VERSION,
        "event": point,
        "tool": replace_surrogates(tool_name_of(call)),
        "arguments": mask_secrets(call, arguments),
        "call_id": as_json(call.id),
        "session": as_json(call.session_key) or None,
        "principal": as_json(call.principal),
    }
    if result is not None:
        if len(result.text) > _MAX_INPUT_BYTES:
            raise HookFailed(f"the result has {len(result.text):,} characters, which is too long to be shown")
        hidden = _secret_names(call)
        items = arguments.items() if hidden and isinstance(arguments, dict) else ()
        redaction = Redaction().with_secrets(value for key, value in items if fold_name(key) in hidden)
        # The result is masked before it becomes JSON, because a secret in bytes cannot be found in their base64.
        masked = redaction.mask_result(copy.copy(result))
        data["result"] = redaction.mask_value(as_json(masked.to_json()))
    return data


def describe_agent(
    point: str, session: Session | None, principal: str | None, details: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the start of an agent, or an event, as a command sees it, with its *details*."""
    return {
        "version": _VERSION,
        "event": point,
        "session": None if session is None else as_json(session.id),
        "principal": as_json(session.principal if principal is None and session is not None else principal),
        "details": as_json(dict(details or {})),
    }


def describe_event(event: Event) -> dict[str, Any]:
    """
    Return *event* as a command sees it. Its `details` have the fields of the event besides the call and its result.

    Raises:
        HookFailed: The result of the call is too long to be shown.
    """
    name, record = EVENT_NAMES[type(event)], {field.name: getattr(event, field.name) for field in fields(event)}
    call, result = record.pop("call", None), record.pop("result", None)
    details = {field: _show(value) for field, value in record.items() if field not in _FOR_PROGRAMS}
    if call is not None:
        return {**describe_call(call, arguments_of(call), name, result), "details": as_json(details)}
    about = record.get("run") or record.get("flow")
    return describe_agent(name, None if about is None else about.session, None, details)


def _show(value: Any) -> Any:
    """Return *value*, a field of an event, as a command sees it."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple):
        return [_show(item) for item in value]
    kind = type(value).__name__
    if kind in ("ApprovalRequest", "Usage"):
        return value.to_json()
    return {name: _show(getattr(value, name)) for name in _SHOWN[kind]} if kind in _SHOWN else kind


def encode_event(event_data: Mapping[str, Any]) -> bytes:
    """Return *event_data* as one line of JSON; raise `HookFailed` if it is too long for a command to read."""
    data = (json.dumps(event_data) + "\n").encode("ascii")
    if len(data) > _MAX_INPUT_BYTES:
        raise HookFailed(f"it would have to read {len(data):,} bytes, and {_MAX_INPUT_BYTES:,} is the most")
    return data


def tool_name_of(call: ToolCall) -> str:
    """Return the tool's own name, or the name that the model sent if there is no such tool."""
    if call.tool is not None:
        return str(call.tool.name)
    return call.name if isinstance(call.name, str) else type(call.name).__name__


def arguments_of(call: ToolCall) -> Any:
    """Return the arguments of a call as JSON, of any form, because the call may have been refused for them."""
    # `call.arguments` is not used here, because it makes a copy, which does not end for arguments that nest endlessly.
    actual = getattr(call, "actual_arguments", None)
    arguments = call.arguments if actual is None else actual
    return arguments if is_plain_json(arguments) else as_json(arguments)


def mask_secrets(call: ToolCall, arguments: Any) -> Any:
    """
    Return the *arguments* of a call with a mask in place of each `Secret` parameter, however its name is written.

    An argument that the tool does not have may be a secret under a wrong name, so it is masked too.
    """
    is_hidden = _find_hidden_names(call)
    if is_hidden is None:
        return arguments
    if not isinstance(arguments, dict):
        return MASK  # This is text that could not be parsed, so it is unknown where the secret is in it.
    return {key: MASK if is_hidden(key) else value for key, value in arguments.items()}


def _find_hidden_names(call: ToolCall) -> Callable[[str], bool] | None:
    """Return whether an argument of this name is masked, as a function; None if the tool has no secrets."""
    hidden = _secret_names(call)
    if not hidden:
        return None
    shown = frozenset(map(fold_name, call.tool.signature.schema.get("properties", {}))) - hidden
    return lambda name: fold_name(name) not in shown


def _secret_names(call: ToolCall) -> frozenset[str]:
    secrets = frozenset() if call.tool is None else call.tool.signature.secrets
    return frozenset(map(fold_name, secrets))


def restore_secrets(edited: Mapping[str, Any], arguments: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return *edited*, with the true value at each place where the command left a mask unchanged."""
    is_hidden = _find_hidden_names(call)
    if is_hidden is None:
        return dict(edited)
    return {
        key: arguments[key] if value == MASK and key in arguments and is_hidden(key) else value
        for key, value in edited.items()
    }
