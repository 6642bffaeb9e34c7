"""
Names of parameters on the wire, where a provider takes plain ones only.

A single other name has the whole request refused, so it is sent as a plain one
and given back. Such providers look at the top of a schema only, and so does this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...spec import Tool
from ..base import Note
from .merging import flattened

__all__ = ["own_properties", "plain_properties"]

_LONGEST = 64
_PLAIN = re.compile(rf"[A-Za-z0-9_.-]{{1,{_LONGEST}}}")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def plain_properties(schema: dict[str, Any], tool: Tool, notes: list[Note]) -> dict[str, Any]:
    """*schema*, in which *tool* is sent, with plain names at its top; *notes* are told which were changed."""
    sent = _sent(schema.get("properties", ()))
    if not sent:
        return schema
    changed = ", ".join(f"`{own[:_LONGEST]}` as `{plain}`" for own, plain in sent.items())
    notes.append(Note(tool.name, f"the provider takes plain names of parameters only; sent are {changed}"))
    made = {**schema, "properties": {sent.get(name, name): each for name, each in schema["properties"].items()}}
    if "required" in schema:
        made["required"] = [sent.get(name, name) for name in schema["required"]]
    return made


def own_properties(arguments: Any, tool: Tool) -> Any:
    """*arguments* of a call under the tool's own names; anything but an object is as it was."""
    if not isinstance(arguments, dict):
        return arguments
    sent = _sent(flattened(tool.schema)[0].get("properties", ()))
    own = {plain: name for name, plain in sent.items() if name not in arguments}
    return {own.get(name, name): each for name, each in arguments.items()} if own else arguments


def _sent(names: Iterable[str]) -> dict[str, str]:
    """The plain names of those that are not, each different from all others."""
    names = list(names)
    taken = {name for name in names if _PLAIN.fullmatch(name)}
    made: dict[str, str] = {}
    for name in names:
        if name not in taken:
            start = _OTHER.sub("_", name)[: _LONGEST - 5] or "_"
            numbered = (f"{start}_{number}" for number in range(2, len(names) + 2))
            made[name] = next(plain for plain in (start, *numbered) if plain not in taken)
            taken.add(made[name])
    return made
