"""
Keep the names of enum members in a schema, beside their values.

A member is sent as its value. If that value is a number, its name says more, and messages show the names. A repair
accepts a name in place of the value. The names are under keywords of this package. No check reads these keywords, and
`copy_without_names` leaves them out of every schema that is shown.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any

from ..._lazy_names import lazy_pattern
from ..._plumbing.forks import unlock_properties_in_children
from .vocabulary import scalar_key

__all__ = [
    "FLAG_NAMES",
    "MEMBER_NAMES",
    "NO_VALUE",
    "TEXT_NAMES",
    "MemberNames",
    "copy_without_names",
    "find_named_value",
    "fold_name",
    "get_member_names",
]

MEMBER_NAMES = "x-toolkit-member-names"
"""The keyword for the `MemberNames` of an enum."""

TEXT_NAMES = "x-toolkit-text-names"
"""The keyword for the `MemberNames` of an enum whose values are texts. Only a repair reads it."""

FLAG_NAMES = "x-toolkit-flag-names"
"""The keyword for the `MemberNames` of a flag. A value is a sum of the values of its members."""

NO_VALUE = object()
"""The answer if a value cannot be read. None would be the JSON value null."""

_MAX_CHARS = 1000
_SEPARATORS = lazy_pattern(r"[\s_.-]+")
_BETWEEN_FLAGS = lazy_pattern(r"[\s|,+]+")


@unlock_properties_in_children
class MemberNames(dict[str, Any]):
    """The name of each member, aliases included, with the value that is sent for it."""

    def find(self, text: Any) -> Any:
        """
        Return the value of the member that *text* names, or `NO_VALUE`.

        The name may differ in case and separators, and may follow the name of its class: `Level.LOW`.
        """
        if not isinstance(text, str) or len(text) > _MAX_CHARS:
            return NO_VALUE
        for name in (text, text.rpartition(".")[2]):
            value = self.get(name, NO_VALUE)
            if value is NO_VALUE:
                value = self._values_by_folded_name.get(fold_name(name), NO_VALUE)
            if value is not NO_VALUE:
                return value
        return NO_VALUE

    def find_sum(self, text: Any) -> Any:
        """Return the sum that *text*, one or several names (`READ|WRITE`) or a list of names, stands for."""
        value = self.find(text)
        if value is not NO_VALUE:
            return value
        if isinstance(text, str) and len(text) <= _MAX_CHARS:
            text = _BETWEEN_FLAGS.split(text.strip())
        if not isinstance(text, list) or not 0 < len(text) <= len(self):
            return NO_VALUE
        values = [self.find(name) for name in text]
        return NO_VALUE if NO_VALUE in values else functools.reduce(int.__or__, values)

    def name_of(self, value: Any) -> str | None:
        """Return the first name of *value*, or None if it has none. Its other names are aliases."""
        return self._names_by_value.get(scalar_key(value)) if isinstance(value, Hashable) else None

    @functools.cached_property
    def _names_by_value(self) -> dict[tuple[bool, Any], str]:
        return {scalar_key(value): name for name, value in reversed(self.items())}

    @functools.cached_property
    def _values_by_folded_name(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in self.items():
            folded = fold_name(name)
            # If names that differ only in case have different values, none of them is found in this way.
            is_clear = values.setdefault(folded, value) == value and type(values[folded]) is type(value)
            values[folded] = value if is_clear else NO_VALUE
        return values


def get_member_names(schema: Mapping[str, Any], keyword: str) -> MemberNames | None:
    """Return the names under *keyword*. A schema that was written by hand has none, even if it has the keyword."""
    names = schema.get(keyword)
    return names if isinstance(names, MemberNames) else None


def find_named_value(schema: Mapping[str, Any], text: Any) -> Any:
    """Return the value that *text* names among the members that *schema* knows, or `NO_VALUE`."""
    names = get_member_names(schema, MEMBER_NAMES) or get_member_names(schema, TEXT_NAMES)
    if names is not None:
        return names.find(text)
    flags = get_member_names(schema, FLAG_NAMES)
    return NO_VALUE if flags is None else flags.find_sum(text)


def fold_name(name: str) -> str:
    """Return *name* without separators and in lower case."""
    return _SEPARATORS.sub("", name).lower()


def copy_without_names(schema: Any) -> Any:
    """Return a copy of *schema* without the names, at every depth."""
    if isinstance(schema, dict):
        return {
            # Most values are texts, which need no further call.
            keyword: value if type(value) is str else copy_without_names(value)
            for keyword, value in schema.items()
            if type(value) is not MemberNames
        }
    return [copy_without_names(item) for item in schema] if isinstance(schema, list) else schema
