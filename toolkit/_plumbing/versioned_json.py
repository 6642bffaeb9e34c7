"""Check the JSON of a record that has a version, before the record is built from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["check_field_types", "split_version"]


def split_version(data: Any, subject: str, readable: Sequence[int]) -> tuple[int, dict[str, Any]]:
    """
    Return the version of *data* and its other fields.

    Args:
        data: A record as JSON.
        subject: The record in words for messages, such as "a result".
        readable: The versions that can be read.

    Raises:
        ValueError: *data* has another version or none.
    """
    version = data.get("version") if isinstance(data, Mapping) else None
    if type(version) is not int or version not in readable:
        noun = "version" if len(readable) == 1 else "versions"
        versions = f"{noun} {' and '.join(map(str, readable))}"
        raise ValueError(f"{subject} of version {version!r} cannot be read; {versions} can")
    return version, {name: value for name, value in data.items() if name != "version"}


def check_field_types(fields: Mapping[str, Any], subject: str, types: Mapping[str, tuple[type, ...]]) -> None:
    """
    Raise `ValueError` for a field that *types* does not name, or whose value is of no class that it names.

    A bool is an int in Python, but not in JSON. So a bool needs `bool` or `object` in *types*.
    """
    for name, value in fields.items():
        allowed = types.get(name, ())
        if not isinstance(value, allowed) or (isinstance(value, bool) and not {bool, object} & set(allowed)):
            raise ValueError(f"not {subject}: {name!r} cannot be {type(value).__name__}")
