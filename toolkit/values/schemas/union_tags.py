"""
Find the property that tells the members of a union apart, and the constants that it holds.

Such a property is called a tag here: `kind` in a union of objects with `{"kind": {"const": "circle"}}` and
`{"kind": {"enum": ["square", "box"]}}`. The schemas themselves are read, because a member whose tag has a default
reports no error about a tag that is missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..._plumbing.records import record
from .vocabulary import UNION_KEYWORDS, scalar_key, stated_types

__all__ = ["UnionTag", "find_tags", "resolve_members"]

_MAX_STEPS = 8
_MAX_LEAVES = 500
_SCALARS = (str, int, float, bool, type(None))


@record(frozen=True, slots=True)
class UnionTag:
    """
    A property that tells the members of a union apart.

    Attributes:
        key: The name of the property.
        choices: The constants of each member, by its index in the union. A member that is not an object has none.
        optional_members: The members that may be sent without the property.
        is_shared: Whether every member that is an object has the property.
    """

    key: str
    choices: Mapping[int, Sequence[Any]]
    optional_members: Sequence[int]
    is_shared: bool

    def find_member(self, value: Any) -> int | None:
        """Return the index of the member that has *value* as its constant, or None."""
        if not isinstance(value, _SCALARS):
            return None
        key = scalar_key(value)
        return next((index for index, constants in self.choices.items() if key in map(scalar_key, constants)), None)

    def all_choices(self) -> list[Any]:
        """Return the constants of all members, in the order of the members."""
        constants = itertools.chain(*self.choices.values())
        return list({scalar_key(constant): constant for constant in constants}.values())


def resolve_members(resolver: Any, members: Sequence[Any]) -> list[list[Mapping[str, Any]]]:
    """Return the schemas behind the references and inner unions of each member; an empty one if it is unknown."""
    return [list(itertools.islice(_iter_leaves(resolver, member, _MAX_STEPS), _MAX_LEAVES)) for member in members]


def _iter_leaves(resolver: Any, schema: Any, steps_left: int) -> Iterator[Mapping[str, Any]]:
    while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str) and steps_left > 0:
        try:
            target = resolver.lookup(schema["$ref"])
        except Exception:  # noqa: BLE001 -- the schema is foreign, and its tags only make a message better
            schema = None
        else:
            schema, resolver, steps_left = target.contents, target.resolver, steps_left - 1
    if not isinstance(schema, Mapping) or steps_left <= 0:
        yield {}
        return
    union = next((keyword for keyword in UNION_KEYWORDS if keyword in schema), None)
    if union is None or "properties" in schema:
        yield schema
    else:
        for member in schema[union]:
            yield from _iter_leaves(resolver, member, steps_left - 1)


def find_tags(members: Sequence[Sequence[Mapping[str, Any]]]) -> list[UnionTag]:
    """Return the tags of a union, the clearest first. *members* is what `resolve_members` returns."""
    objects = {
        index: [leaf for leaf in leaves if "object" in (stated_types(leaf) or ["object"])]
        for index, leaves in enumerate(members)
    }
    objects = {index: leaves for index, leaves in objects.items() if leaves}
    keys = dict.fromkeys(key for leaves in objects.values() for key in leaves[0].get("properties", ()))
    tags = [tag for key in keys if (tag := _read_tag(key, objects)) is not None]
    # A property with one constant in each member was meant as a tag. One with several may be so by chance.
    return sorted(tags, key=lambda tag: (not tag.is_shared, max(map(len, tag.choices.values()))))


def _read_tag(key: str, objects: Mapping[int, Sequence[Mapping[str, Any]]]) -> UnionTag | None:
    choices: dict[int, list[Any]] = {}
    optional_members: list[int] = []
    owners: dict[Any, int] = {}
    for index, leaves in objects.items():
        constants = [_constants_of(leaf.get("properties", {}).get(key)) for leaf in leaves]
        if not all(constants):
            # A member without the tag must not allow its key, because then the key could mean something else.
            are_closed = all(
                leaf.get("additionalProperties") is False and key not in leaf.get("properties", ()) for leaf in leaves
            )
            if any(constants) or not are_closed:
                return None
            continue
        choices[index] = list(itertools.chain(*constants))
        if any(owners.setdefault(scalar_key(constant), index) != index for constant in choices[index]):
            return None
        if not all(key in leaf.get("required", ()) for leaf in leaves):
            optional_members.append(index)
    return UnionTag(key, choices, optional_members, len(choices) == len(objects)) if len(choices) > 1 else None


def _constants_of(schema: Any) -> Sequence[Any]:
    """Return the constants that a property may hold, or an empty list if it may hold other values."""
    if not isinstance(schema, Mapping):
        return []
    constants = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return constants if all(isinstance(constant, _SCALARS) for constant in constants) else []
