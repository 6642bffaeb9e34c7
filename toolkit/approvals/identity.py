"""
Digests that tell whether a tool is the same tool, and a call the same call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from ..functions.callables import get_qualname, unwrap_function
from ..spec import Tool
from ..values.rendering import as_json
from ..values.strictjson.canonical import digest_parts, encode_canonical

__all__ = ["canonical_arguments", "digest_of_call", "digest_tools", "identity_of"]

_OWN_CODE = "python"


def identity_of(tool: Tool) -> str:
    """
    Return the digest of the tool that a person agreed to run: origin, name, schema, facts and version.

    The function's qualified name counts too. For a tool from elsewhere, the description counts as well, because it is
    all that a person knows about what the tool does. The docstring of a tool of this program may be edited, because a
    person relies on its code.
    """
    approval = tool.facts.approval
    # How results arrive says nothing about what the tool does.
    facts = {name: value for name, value in tool.facts.as_json().items() if name != "streaming"}
    # The digest of a tool of this program leaves out the description, so that older requests can still be answered.
    description_part = () if tool.origin == _OWN_CODE else (tool.description,)
    return digest_parts(
        tool.origin,
        tool.name,
        get_qualname(unwrap_function(tool.function)),
        encode_canonical(as_json(tool.schema)),
        encode_canonical(as_json(facts)),
        tool.facts.version,
        approval if isinstance(approval, str) else "by arguments",
        *description_part,
    )


def digest_tools(tools: Iterable[Tool]) -> str:
    """
    Return a digest of the names and schemas of those *tools* that are code of this program, in any order.

    Descriptions do not count, and nor do tools from elsewhere: they come and go while the program stays the same.
    """
    own_tools = sorted((tool for tool in tools if tool.origin == _OWN_CODE), key=attrgetter("name"))
    parts = [(tool.name, encode_canonical(_remove_descriptions(as_json(tool.schema)))) for tool in own_tools]
    return digest_parts(*itertools.chain.from_iterable(parts))[:12]


def _remove_descriptions(value: Any) -> Any:
    """Return a schema without its descriptions. A parameter that has this name has a schema, and not a text."""
    if isinstance(value, list):
        return [_remove_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _remove_descriptions(item)
        for key, item in value.items()
        if key != "description" or not isinstance(item, str)
    }


def canonical_arguments(tool: Tool, decoded: Mapping[str, Any], sent: Any) -> Any:
    """
    Return the *decoded* arguments in JSON form again, with defaults filled in.

    If some of them have no JSON form that reads back as the same, return the arguments as they were *sent*. A validator
    may turn "a,b" into a list, which it would not accept itself.
    """
    try:
        encoded = as_json(tool.encode(decoded))
        text = encode_canonical(encoded)
        reads_back = encode_canonical(as_json(tool.encode(tool.about.checker.check(encoded)))) == text
    except Exception:  # noqa: BLE001 -- a default has no JSON form; the function fills it in again
        return as_json(sent)
    return encoded if reads_back else as_json(sent)


def digest_of_call(identity: str, arguments: Any, session: str | None, principal: str | None) -> str:
    """Return the digest that an approval is for: this tool, exactly these arguments, this session, this principal."""
    return digest_parts(identity, encode_canonical(arguments), session, principal)
