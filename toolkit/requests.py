"""
What a person is asked before a call may run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ApprovalRequest"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """
    A call that waits for a person's word; plain JSON, so it can be stored and shown elsewhere.

    Attributes:
        tool: The tool's name.
        arguments: What would run, in JSON form, defaults filled in; secrets masked.
        reason: Why somebody has to agree.
        preview: What the tool says it is about to do.
        repairs: What was mended in the arguments before.
        waits_for: The id of the call this one is held back for, if it does not wait for itself.
    """

    tool: str
    call_id: str
    reason: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    preview: str | None = None
    repairs: tuple[str, ...] = ()
    session: str | None = None
    principal: str | None = None
    waits_for: str | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain JSON with a version."""
        return {
            "version": _VERSION,
            "id": self.id,
            "tool": self.tool,
            "call_id": self.call_id,
            "reason": self.reason,
            "arguments": dict(self.arguments),
            "preview": self.preview,
            "repairs": list(self.repairs),
            "session": self.session,
            "principal": self.principal,
            "waits_for": self.waits_for,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ApprovalRequest:
        """The inverse of `to_json`; `ValueError` for a version or a shape nobody knows."""
        version = data.get("version") if isinstance(data, Mapping) else None
        if type(version) is not int or version != _VERSION:
            raise ValueError(f"an approval request of version {version!r} cannot be read; version {_VERSION} can")
        fields = {name: value for name, value in data.items() if name != "version"}
        for name, value in fields.items():
            if name not in _SHAPES or not isinstance(value, _SHAPES[name]):
                raise ValueError(f"not an approval request: {name!r} cannot be {type(value).__name__}")
        if missing := {"id", "tool", "call_id", "reason"} - fields.keys():
            # A request without its id would be given a new one, and nobody could answer it.
            raise ValueError(f"not an approval request: it lacks {', '.join(sorted(missing))}")
        return cls(**{**fields, "repairs": tuple(fields.get("repairs", ()))})


_SHAPES: dict[str, Any] = {
    **dict.fromkeys(("id", "tool", "call_id", "reason"), str),
    **dict.fromkeys(("preview", "session", "principal", "waits_for"), (str, type(None))),
    "arguments": dict,
    "repairs": list,
}
