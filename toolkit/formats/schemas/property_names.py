"""
The names of parameters as they are sent to a provider that accepts only plain names.

Such a provider refuses the whole request because of a single other name. So such a name is sent as a plain name, and
the call's arguments get the original name again. These providers check only the top level of a schema, and so does this
module.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...spec import Tool
from ..base import Note
from .merging import flatten_top_level

__all__ = ["restore_own_names", "use_plain_names"]

_MAX_NAME_CHARS = 64
_PLAIN = re.compile(rf"[A-Za-z0-9_.-]{{1,{_MAX_NAME_CHARS}}}")
_ILLEGAL_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")


def use_plain_names(schema: dict[str, Any], tool: Tool, notes: list[Note]) -> dict[str, Any]:
    """Return *schema* of *tool* with plain names at its top level. A note in *notes* lists the changed names."""
    plain_names = _plain_names(schema.get("properties", ()))
    if not plain_names:
        return schema
    changed = ", ".join(f"`{own[:_MAX_NAME_CHARS]}` as `{plain}`" for own, plain in plain_names.items())
    notes.append(Note(tool.name, f"the provider takes plain names of parameters only; sent are {changed}"))
    renamed = {
        **schema,
        "properties": {
            plain_names.get(name, name): property_schema for name, property_schema in schema["properties"].items()
        },
    }
    if "required" in schema:
        renamed["required"] = [plain_names.get(name, name) for name in schema["required"]]
    return renamed


def restore_own_names(arguments: Any, tool: Tool) -> Any:
    """Return the *arguments* of a call under the tool's own names. Anything but an object is returned unchanged."""
    if not isinstance(arguments, dict):
        return arguments
    plain_names = _plain_names(flatten_top_level(tool.schema)[0].get("properties", ()))
    own = {plain: name for name, plain in plain_names.items() if name not in arguments}
    return {own.get(name, name): value for name, value in arguments.items()} if own else arguments


def _plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return a plain name for each name that is not plain. It differs from all other names."""
    names = list(names)
    used = {name for name in names if _PLAIN.fullmatch(name)}
    plain_names: dict[str, str] = {}
    numbers: dict[str, Iterator[int]] = {}  # by the start of a name: those that are not taken
    for name in names:
        if name not in used:
            start = _ILLEGAL_CHARACTER.sub("_", name)[: _MAX_NAME_CHARS - 5] or "_"
            numbered = (f"{start}_{number}" for number in numbers.setdefault(start, itertools.count(2)))
            plain_names[name] = next(plain for plain in itertools.chain([start], numbered) if plain not in used)
            used.add(plain_names[name])
    return plain_names
