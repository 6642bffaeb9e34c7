"""Add up the rules of all families of types, and make readers that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .aliases import RULES as ALIASES
from .annotated import RULES as ANNOTATED
from .base import CodecRules, HintReader
from .choices import RULES as CHOICES
from .containers import RULES as CONTAINERS
from .foreign import RULES as FOREIGN
from .mappings import RULES as MAPPINGS
from .records import RULES as RECORDS
from .scalars import RULES as SCALARS
from .texts import RULES as TEXTS
from .typed_dicts import RULES as TYPED_DICTS
from .unions import RULES as UNIONS

__all__ = ["FAMILIES", "create_hint_reader"]

FAMILIES: tuple[CodecRules, ...] = (
    FOREIGN,  # a class of pydantic or msgspec may also look like a record
    ALIASES,
    ANNOTATED,
    SCALARS,
    TEXTS,
    CHOICES,
    UNIONS,
    CONTAINERS,
    MAPPINGS,
    RECORDS,
    TYPED_DICTS,
)
"""The rules of each family, in the order in which their predicates are asked."""

_ALL_RULES = CodecRules(
    {origin: factory for family in FAMILIES for origin, factory in family.by_origin.items()},
    [entry for family in FAMILIES for entry in family.by_predicate],
)


def create_hint_reader(
    global_names: Mapping[str, Any] | None = None,
    local_names: Mapping[str, Any] | None = None,
    *,
    for_output: bool = False,
) -> HintReader:
    """
    Return a reader that knows all types. It looks up forward references in the two namespaces.

    With *for_output*, its codecs are those of return values.
    """
    return HintReader(_ALL_RULES, global_names, local_names, for_output=for_output)
