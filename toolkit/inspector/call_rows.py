"""A call as the inspector keeps it: a small row for lists, and what is known about it in full, within limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..content import Part
from ..errors import DefinitionError
from ..hooks.shell.events import arguments_of, mask_secrets
from ..policies.redaction import MASK
from ..results import ToolCall, ToolResult
from ..values.rendering import as_json

__all__ = ["CallRow", "LiveCall", "describe_result", "fits", "show_arguments"]

MAX_CHARS = 200_000
"""How many characters a text, and the JSON of a value, may have in what is kept of a call."""

_MAX_STEPS = 200


@dataclass(slots=True, kw_only=True)
class CallRow:
    """
    A call in a list.

    Attributes:
        number: Its place in the history, from 1.
        kind: How it ended; None while it runs.
        request: The request for a person that it has made or was answered by.
        source: "live", or "audit" for a call of an audit log.
    """

    number: int
    id: str
    tool: str
    session: str | None = None
    turn: int | None = None
    alias: str | None = None
    kind: str | None = None
    started_at: float | None = None
    seconds: float = 0.0
    attempts: int = 0
    repairs: int = 0
    chars: int = 0
    cost: float = 0.0
    request: str | None = None
    progress: dict[str, Any] | None = None
    source: str = "live"

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class LiveCall:
    """A call that runs: its row, the call as hooks see it, and what has happened so far."""

    row: CallRow
    call: ToolCall
    steps: list[dict[str, Any]] = field(default_factory=list)
    told_at: float = 0.0

    def add_step(self, at: float, what: str, text: str = "", **fields: Any) -> None:
        """Note what happens. A call that retries for ever has its first steps only."""
        if len(self.steps) < _MAX_STEPS or what == "ended":
            self.steps.append({"at": at, "what": what, "text": text, **fields})

    def describe(self) -> dict[str, Any]:
        """Return what is known while the call runs."""
        arguments, cut = show_arguments(self.call)
        about = {"principal": self.call.principal, "verdict": None, "result": None}
        return {**self.row.to_json(), "arguments": arguments, **about, "cut": cut, "steps": self.steps}


def show_arguments(call: ToolCall) -> tuple[Any, list[str]]:
    """Return the arguments of *call* without its secrets, and "arguments" if they are too long to be kept."""
    try:
        arguments = mask_secrets(call, arguments_of(call))
    except DefinitionError:  # a type in the signature is not defined yet, so any argument may be secret
        arguments = MASK
    return (arguments, []) if fits(arguments) else (None, ["arguments"])


def describe_result(result: ToolResult | None) -> tuple[dict[str, Any] | None, list[str]]:
    """Return *result* as plain JSON within the limits, and the names of the fields that were cut."""
    if result is None:
        return None, []
    error, cut = result.error, []
    fields: dict[str, Any] = {
        "kind": result.kind,
        "text": result.text[:MAX_CHARS],
        "value": result.value,
        "error": None if error is None else {"message": error.message[:MAX_CHARS], "details": error.details},
        "parts": [_describe_part(part) for part in result.parts],
        "request": None if result.request is None else result.request.id,
        "repairs": list(result.repairs),
        "retries": list(result.retries),
        "truncated": result.truncated,
        "metadata": result.metadata or {},
    }
    if len(result.text) > MAX_CHARS:
        cut.append("text")
    for name in ("value", "error", "parts", "repairs", "retries", "metadata"):
        if not fits(fields[name]):
            fields[name] = [] if isinstance(fields[name], list) else None
            cut.append(name)
    return fields, cut


def _describe_part(part: Part) -> dict[str, Any]:
    """Return what a part is. The bytes of images and sounds are only counted."""
    data = getattr(part, "data", None)
    size = {"bytes": len(data)} if isinstance(data, bytes) else {}
    names = ("text", "value", "uri", "media_type", "name")
    kind = type(part).__name__.removesuffix("Part").lower()
    return {"type": kind, **{name: getattr(part, name) for name in names if hasattr(part, name)}, **size}


def fits(value: Any, max_chars: int = MAX_CHARS) -> bool:
    """Return whether the JSON of *value* has at most about *max_chars* characters. It is not written for that."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            max_chars -= len(item) + 2
        elif isinstance(item, dict):
            max_chars -= sum(len(str(key)) + 4 for key in item) if 4 * len(item) <= max_chars else max_chars + 1
        elif isinstance(item, (list, tuple)):
            max_chars -= 2 * len(item) + 2
        elif item is None or isinstance(item, (bool, int, float)):
            max_chars -= 4 if not isinstance(item, int) else item.bit_length() // 3 + 1
        else:
            item = as_json(item)
            waiting.append(item)
            continue
        if max_chars < 0:
            return False
        if isinstance(item, (dict, list, tuple)):
            waiting += item.values() if isinstance(item, dict) else item
    return True
