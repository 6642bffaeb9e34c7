"""
Repairs before a refusal, and a note of each.

Models send a list as JSON text, `"5"` for an integer, one item for a list. Only
what the schema refused is touched, only where the schema says what was meant,
and only if everything then passes; otherwise the call is refused as it came.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import Problem
from .strictjson import flaws, loads, show

__all__ = ["Repaired", "repaired"]

_MOST_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Repaired:
    """Arguments that fit now, and what was done to them."""

    arguments: dict[str, Any]
    notes: tuple[str, ...]


def repaired(arguments: Any, judge: Any) -> Repaired | None:
    """*arguments* mended until *judge*, a jsonschema validator, has no errors; None if that cannot be had."""
    if not isinstance(arguments, dict) or flaws(arguments):
        return None
    mended = copy.deepcopy(arguments)
    notes: list[str] = []
    try:
        for _ in range(_MOST_ROUNDS):
            errors = list(judge.iter_errors(mended))
            if not errors:
                return Repaired(mended, tuple(notes)) if notes else None
            done = [_mend(error, mended, judge, notes) for error in errors]
            if not any(done):
                return None
    except Exception:  # noqa: BLE001 -- a repair is a courtesy; without it the refusal stands
        return None
    return None


def _mend(error: Any, root: dict[str, Any], judge: Any, notes: list[str]) -> bool:
    """Try to answer one error in place; whether something was done."""
    path = list(error.absolute_path)
    if error.validator == "additionalProperties" and path:
        return _rename_key(error, root, path, notes)
    if error.validator not in ("type", "anyOf", "oneOf", "enum", "const") or not path:
        return False
    holder = _at(root, path[:-1])
    key = path[-1]
    if (isinstance(holder, dict) and key not in holder) or holder is None:
        return False
    value = holder[key]
    if value is None and isinstance(key, str) and key not in _required_at(judge.schema, path, judge):
        del holder[key]
        notes.append(f"{Problem('', path).where}: left out, because null was sent for an optional parameter")
        return True
    for candidate, what in _candidates(value):
        if judge.evolve(schema=error.schema).is_valid(candidate):
            holder[key] = candidate
            notes.append(f"{Problem('', path).where}: took {what}")
            return True
    return _deepened(holder, key, value, error, judge, notes, path)


def _candidates(value: Any) -> Iterator[tuple[Any, str]]:
    """What *value* may have been meant to be, the most literal reading first."""
    parsed = _parsed(value)
    if parsed is not _NOTHING:
        yield parsed, f"the text {show(value)} as the JSON it holds"
    if not isinstance(value, list):
        yield [value], f"{show(value)} as a list of one item"
        if parsed is not _NOTHING and not isinstance(parsed, list):
            yield [parsed], f"the text {show(value)} as a list of one item"


_NOTHING = object()


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return _NOTHING
    try:
        parsed = loads(value)
    except ValueError:
        lowered = value.strip().lower()
        return {"true": True, "false": False, "null": None, "none": None}.get(lowered, _NOTHING)
    return _NOTHING if isinstance(parsed, str) or flaws(parsed) else parsed


def _deepened(holder: Any, key: Any, value: Any, error: Any, judge: Any, notes: list[str], path: list[Any]) -> bool:
    """JSON text that has the right shape but is not valid yet: the next round may mend what is inside."""
    parsed = _parsed(value)
    if not isinstance(parsed, (dict, list)) or error.validator != "type":
        return False
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    if ("object" if isinstance(parsed, dict) else "array") not in wanted:
        return False
    holder[key] = parsed
    notes.append(f"{Problem('', path).where}: took the text {show(value)} as the JSON it holds")
    return True


def _rename_key(error: Any, root: dict[str, Any], path: list[Any], notes: list[str]) -> bool:
    holder, wrong = _at(root, path[:-1]), path[-1]
    if not isinstance(holder, dict) or wrong not in holder:
        return False
    known = [name for name in error.schema.get("properties", {}) if _folded(name) == _folded(wrong)]
    # Two keys that would become one: nobody can tell which value was meant.
    twins = [name for name in holder if name != wrong and _folded(name) == _folded(wrong)]
    if len(known) != 1 or twins:
        return False
    holder[known[0]] = holder.pop(wrong)
    notes.append(f"{Problem('', [*path[:-1], known[0]]).where}: took the key {show(wrong)} for {show(known[0])}")
    return True


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _at(root: Any, path: list[Any]) -> Any:
    for key in path:
        if not isinstance(root, (dict, list)) or (isinstance(root, dict) and key not in root):
            return None
        root = root[key]
    return root


def _required_at(schema: Any, path: list[Any], judge: Any) -> list[str]:
    """The required keys of the object that holds the last key of *path*; everything, where that is not plain."""
    for key in path[:-1]:
        schema = _resolved(schema, judge)
        schema = schema.get("properties", {}).get(key, {}) if isinstance(key, str) else schema.get("items", {})
    schema = _resolved(schema, judge)
    if path[-1] not in schema.get("properties", {}):
        return [path[-1]]
    return list(schema.get("required", ()))


def _resolved(schema: Any, judge: Any) -> Any:
    if "$ref" in schema and schema["$ref"].startswith("#/$defs/"):
        return judge.schema["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return schema
