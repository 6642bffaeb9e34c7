"""
What makes a tool the same tool, and a call the same call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..functions.callables import qualified_name, underlying
from ..spec import Tool
from ..values.rendering import as_json
from ..values.strictjson.canonical import canonical, digest

__all__ = ["canonical_arguments", "digest_of_call", "identity_of"]

_OWN_CODE = "python"


def identity_of(tool: Tool) -> str:
    """
    Return the digest of what a person agreed to run: origin, name, schema, facts and version.

    The description of a tool from elsewhere counts too: there it is all that a person knows of what the tool does.
    The docstring of a tool of this program may be edited; its code is what a person relies on.
    """
    approval = tool.facts.approval
    # A tool of this program has the digest without a description, so requests from before stay answerable.
    described = () if tool.origin == _OWN_CODE else (tool.description,)
    return digest(
        tool.origin,
        tool.name,
        qualified_name(underlying(tool.function)),
        canonical(as_json(tool.schema)),
        canonical(as_json(tool.facts.as_json())),
        tool.facts.version,
        approval if isinstance(approval, str) else "by arguments",
        *described,
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
