"""
Digests that tell whether a tool is the same tool, and a call the same call.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ..functions.callables import get_qualname, unwrap_function
from ..spec import Tool
from ..values.rendering import as_json
from ..values.strictjson.canonical import digest_parts, encode_canonical
from .records import Record

__all__ = [
    "canonical_arguments",
    "describe_tool",
    "digest_of_call",
    "digest_tools",
    "explain_change",
    "identity_of",
    "is_unaltered",
]

_OWN_CODE = "python"
T = TypeVar("T")


def _cache_by_tool(compute: Callable[[Tool], T]) -> Callable[[Tool], T]:
    """Return *compute* with a cache. A tool never changes, and every request needs what is computed of its tool."""
    cache: WeakKeyDictionary[Tool, T] = WeakKeyDictionary()

    @functools.wraps(compute)
    def find(tool: Tool) -> T:
        if tool not in cache:
            cache[tool] = compute(tool)
        return cache[tool]

    return find


@_cache_by_tool
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
    parts = {
        (tool.name, encode_canonical(_remove_descriptions(as_json(tool.schema))))
        for tool in tools
        if tool.origin == _OWN_CODE
    }
    return digest_parts(*itertools.chain.from_iterable(sorted(parts)))[:12]


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


@_cache_by_tool
def describe_tool(tool: Tool) -> Mapping[str, Any]:
    """Return what a person who agrees to run *tool* relies on, as short JSON: digests of the texts, and the facts."""
    facts = {name: value for name, value in as_json(tool.facts.as_json()).items() if name != "streaming"}
    properties = as_json(tool.schema).get("properties", {})
    return {
        "description": digest_parts(tool.description)[:16],
        "parameters": {name: digest_parts(encode_canonical(part))[:16] for name, part in properties.items()},
        "required": sorted(as_json(tool.schema).get("required", ())),
        "facts": facts,
    }


def explain_change(before: Mapping[str, Any], tool: Tool) -> str:
    """Return what has changed in *tool* since `describe_tool` returned *before*, in words; empty if nothing has."""
    now = describe_tool(tool)
    old, new = before.get("parameters", {}), now["parameters"]
    changes = [f"the parameter `{name}` is new" for name in new if name not in old]
    changes += [f"the parameter `{name}` is gone" for name in old if name not in new]
    changes += [f"the schema of `{name}` is another one" for name in new if old.get(name, new[name]) != new[name]]
    changes += [
        f"`{name}` {'has to' if name in now['required'] else 'need not'} be given"
        for name in old
        if name in new and (name in now["required"]) != (name in before.get("required", ()))
    ]
    old_facts, facts = before.get("facts", {}), now["facts"]
    changes += [
        f"`{name}` was {json.dumps(old_facts.get(name))} and is {json.dumps(facts.get(name))}"
        for name in sorted({*old_facts, *facts})
        if old_facts.get(name) != facts.get(name)
    ]
    if before.get("description") != now["description"]:
        changes.append("its description is another one")
    return f"`{tool.name}` has changed since a person agreed: {', '.join(changes)}" if changes else ""


def canonical_arguments(tool: Tool, decoded: Mapping[str, Any], sent: Any) -> Any:
    """
    Return the *decoded* arguments in JSON form again, with defaults filled in.

    If some of them have no JSON form that reads back as the same, return the arguments as they were *sent*. A validator
    may turn "a,b" into a list, which it would not accept itself. A secret of pydantic is masked in its JSON form.
    """
    if isinstance(sent, dict) and _are_as_sent(decoded, sent):
        return dict(decoded)
    try:
        encoded = as_json(tool.encode(decoded))
        text = encode_canonical(encoded)
        again = tool.about.checker.check(encoded)
        reads_back = encode_canonical(as_json(tool.encode(again))) == text and all(
            again[name] == decoded[name]
            for name, value in (sent.items() if isinstance(sent, Mapping) else ())
            if name in encoded and encoded[name] != value
        )
    except Exception:  # noqa: BLE001 -- a default has no JSON form; the function fills it in again
        return as_json(sent)
    return encoded if reads_back else as_json(sent)


def _are_as_sent(decoded: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
    """Return whether *decoded* holds the very numbers and texts that were *sent*, so that nothing has to be encoded."""
    return sent.keys() == decoded.keys() and all(
        value is sent[name] and (type(value) in (int, bool, NoneType) or (type(value) is str and value.isascii()))
        for name, value in decoded.items()
    )


def digest_of_call(identity: str, arguments: Any, session: str | None, principal: str | None) -> str:
    """Return the digest that an approval is for: this tool, exactly these arguments, this session, this principal."""
    return digest_parts(identity, encode_canonical(arguments), session, principal)


def is_unaltered(record: Record, tool: Tool) -> bool:
    """Return whether *record* is about exactly this tool, and holds the arguments that it was made for."""
    request = record.request
    if identity_of(tool) != record.identity:
        return False
    try:
        return request.digest == digest_of_call(record.identity, record.arguments, request.session, request.principal)
    except ValueError:
        return False  # arguments without a canonical form were never part of a request
