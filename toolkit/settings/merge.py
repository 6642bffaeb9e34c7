"""
Merge the parts of all layers: decide which of them count, and what the value of each key is.

A later layer replaces a single value, and adds entries to a list or a table. A project that the user does not trust may
only tighten; the table in `keys` says for each key what that means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .keys import KEYS, SettingKey, is_stricter_mode
from .records import SettingPart, shown_value

__all__ = ["merge_parts"]


def merge_parts(
    parts: Iterable[SettingPart], why_not_trusted: Callable[[], str | None]
) -> tuple[list[SettingPart], dict[str, Any]]:
    """
    Return *parts* with the reason on each that does not count, and the value of each key.

    Args:
        parts: The parts in the order of their layers, without the defaults.
        why_not_trusted: A function that returns why the user does not trust the project, or None if the user does. It
            is called only if a part of the project needs the trust.
    """
    judged: list[SettingPart] = []
    values: dict[str, Any] = {}
    for key in KEYS.values():
        value = key.default
        judged.append(SettingPart(key=key.name, value=value, layer="default"))
        for part in parts:
            if part.key != key.name:
                continue
            why = part.why_ignored or (_find_objection(key, part, value, why_not_trusted))
            judged.append(replace(part, why_ignored=why))
            if not why:
                value = _combine(key, value, part)
        values[key.name] = value
    judged += [part for part in parts if part.key not in KEYS]
    return [part for part in judged if part.layer != "default" or part.value not in ((), {})], values


def _find_objection(key: SettingKey, part: SettingPart, value: Any, why_not_trusted: Callable[[], str | None]) -> str:
    """Return why *part* does not count after *value*; the text is empty if it counts."""
    if part.layer != "project" or key.project == "adds":
        return ""
    is_tighter = (key.project == "smaller" and _is_at_most(part.value, value)) or (
        key.project == "stricter" and is_stricter_mode(part.value, value)
    )
    why = None if is_tighter else why_not_trusted()
    if why is None or key.project in ("trusted", "never"):
        return why or ""
    return f"it is not stricter than {shown_value(value)}; {why}"


def _is_at_most(limit: float | None, other: float | None) -> bool:
    """Return whether *limit* is as small as *other* or smaller; None is no limit."""
    return other is None or (limit is not None and limit <= other)


def _combine(key: SettingKey, value: Any, part: SettingPart) -> Any:
    if isinstance(key.default, dict):
        return {**value, part.name: part.value}
    if key.kind in ("list", "tables"):
        return value if part.value in value else (*value, part.value)
    return part.value
