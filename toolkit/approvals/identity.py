"""
What makes a tool the same tool, and a call the same call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..origins import qualified_name, underlying
from ..rendering import as_json
from ..spec import Tool
from .canonical import canonical, digest

__all__ = ["canonical_arguments", "digest_of_call", "identity_of"]


def identity_of(tool: Tool) -> str:
    """The digest of what a person agreed to run: origin, name, schema, facts and version. Another tool has another."""
    approval = tool.facts.approval
    return digest(
        tool.origin,
        tool.name,
        qualified_name(underlying(tool.function)),
        canonical(as_json(tool.schema)),
        canonical(as_json(tool.facts.as_json())),
        tool.facts.version,
        approval if isinstance(approval, str) else "by arguments",
    )


def canonical_arguments(tool: Tool, decoded: Mapping[str, Any], sent: Any) -> Any:
    """*decoded*, defaults filled in, in JSON form again; as they were *sent* if some have no JSON form."""
    try:
        form = as_json(tool.encode(decoded))
        canonical(form)
    except Exception:  # noqa: BLE001 -- a default nobody can write down: the function fills it in again
        return as_json(sent)
    return form


def digest_of_call(identity: str, arguments: Any, session: str | None, principal: str | None) -> str:
    """What an approval is for: this tool, exactly these arguments, this conversation, this principal."""
    return digest(identity, canonical(arguments), session, principal)
