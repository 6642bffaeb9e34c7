"""Check the JSON of a record that has a version, before the record is built from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["check_field_types", "remove_version"]


def remove_version(data: Any, subject: str, version: int) -> dict[str, Any]:
    """Return the fields of *data* besides its version; raise `ValueError` about *subject* if it is another version."""
    actual = data.get("version") if isinstance(data, Mapping) else None
    if type(actual) is not int or actual != version:
        raise ValueError(f"{subject} of version {actual!r} cannot be read; version {version} can")
    return {name: value for name, value in data.items() if name != "version"}


def check_field_types(fields: Mapping[str, Any], subject: str, types: Mapping[str, tuple[type, ...]]) -> None:
    """
    Raise `ValueError` for a field that *types* does not name, or whose value is of no class that it names.

    A bool is an int in Python, but not in JSON. So a bool needs `bool` or `object` in *types*.
    """
    for name, value in fields.items():
        allowed = types.get(name, ())
        if not isinstance(value, allowed) or (isinstance(value, bool) and not {bool, object} & set(allowed)):
            raise ValueError(f"not {subject}: {name!r} cannot be {type(value).__name__}")
