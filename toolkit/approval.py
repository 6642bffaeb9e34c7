"""
Whether a person has to agree to a call, and what they are asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from .redaction import MASK
from .rendering import as_json, as_text, described
from .requests import ApprovalRequest
from .results import ToolCall
from .spec import Tool

__all__ = ["asked_of"]


async def asked_of(
    tool: Tool, call: ToolCall, decoded: Mapping[str, Any], asked: str | None, repairs: Sequence[str]
) -> ApprovalRequest | None:
    """The request a person has to answer before *tool* runs with *decoded*; None if nobody has to."""
    reason = await _reason(tool, decoded) if asked is None else asked or "a hook asked for it"
    if reason is None:
        return None
    try:
        arguments = as_json(tool.encode(decoded))
    except Exception:  # noqa: BLE001 -- a default that has no JSON form is shown as text
        arguments = as_json(dict(decoded))
    for name in tool.signature.secrets & arguments.keys():
        arguments[name] = MASK
    return ApprovalRequest(
        tool=tool.name,
        call_id=call.id,
        reason=reason,
        arguments=arguments,
        preview=await _preview(tool, decoded),
        repairs=tuple(repairs),
        session=None if call.session is None else call.session.id,
        principal=call.principal,
    )


async def _reason(tool: Tool, decoded: Mapping[str, Any]) -> str | None:
    approval = tool.facts.approval
    if approval == "never":
        return None
    if approval == "always":
        return f"`{tool.name}` needs approval every time"
    try:
        found: Any = approval(dict(decoded))
        needed = await found if inspect.isawaitable(found) else found
    except Exception as error:  # noqa: BLE001 -- who cannot tell whether to ask, asks
        return f"`{tool.name}` could not tell whether it needs approval ({type(error).__name__})"
    return f"`{tool.name}` needs approval for these arguments" if needed else None


async def _preview(tool: Tool, decoded: Mapping[str, Any]) -> str | None:
    if tool.facts.preview is None:
        return None
    try:
        found = tool.facts.preview(dict(decoded))
        return as_text(as_json(await found if inspect.isawaitable(found) else found))
    except Exception as error:  # noqa: BLE001 -- a preview is shown, not needed; its failure is shown too
        return f"no preview: {described(error)}"
