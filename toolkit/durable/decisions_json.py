"""
Decisions of people as JSON, for the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..decisions import Decision, Grant
from ..questions import DECLINED

__all__ = ["decision_from_json", "decision_to_json"]

_VERSION = 1


def decision_to_json(decision: Decision, *, decided_at: float | None = None) -> dict[str, Any]:
    """
    Return *decision* as plain JSON with a version. An answer that was declined is in a list of its own.

    *decided_at* takes the place of the time in the decision, because its request may expire before it is read.
    """
    if not isinstance(decision, Decision):
        raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
    data: dict[str, Any] = {"version": _VERSION, "approved": decision.approved}
    texts = {"reason": decision.reason or None, "by": decision.by, "principal": decision.principal}
    data |= {name: text for name, text in texts.items() if text is not None}
    decided_at = decision.decided_at if decided_at is None else decided_at
    if decided_at is not None:
        data["decided_at"] = decided_at
    if decision.arguments is not None:
        data["arguments"] = dict(decision.arguments)
    if decision.grant is not None:
        data["grant"] = {member.name: getattr(decision.grant, member.name) for member in fields(decision.grant)}
    if decision.answers is not None:
        data["answers"] = {key: answer for key, answer in decision.answers.items() if answer is not DECLINED}
        data["declined"] = [key for key, answer in decision.answers.items() if answer is DECLINED]
    return data


def decision_from_json(data: Mapping[str, Any]) -> Decision:
    """
    Return the decision that `decision_to_json` wrote.

    Raises:
        ValueError: *data* is not a decision, or of another version.
    """
    if not isinstance(data, Mapping) or data.get("version") != _VERSION:
        raise ValueError(f"not a decision of version {_VERSION}: {data!r:.60}")
    names = ("approved", "reason", "by", "principal", "arguments", "decided_at")
    values = {name: data[name] for name in names if name in data}
    try:
        if "grant" in data:
            values["grant"] = Grant(**data["grant"])
        if "answers" in data:
            values["answers"] = {**data["answers"], **dict.fromkeys(data["declined"], DECLINED)}
        return Decision(**values)
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a decision: {error}") from None
