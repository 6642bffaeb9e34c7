"""Add up the rules of all families of types, and make readers that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import aliases, annotated, choices, containers, foreign, mappings, records, scalars, texts, typed_dicts, unions
from .base import CodecRules, HintReader

__all__ = ["FAMILIES", "create_hint_reader"]

FAMILIES: tuple[CodecRules, ...] = (
    foreign.RULES,  # a class of pydantic or msgspec may also look like a record
    aliases.RULES,
    annotated.RULES,
    scalars.RULES,
    texts.RULES,
    choices.RULES,
    unions.RULES,
    containers.RULES,
    mappings.RULES,
    records.RULES,
    typed_dicts.RULES,
)
"""The rules of each family, in the order in which their predicates are asked."""

_ALL_RULES = CodecRules(
    {origin: factory for family in FAMILIES for origin, factory in family.by_origin.items()},
    [entry for family in FAMILIES for entry in family.by_predicate],
)


def create_hint_reader(
    global_names: Mapping[str, Any] | None = None, local_names: Mapping[str, Any] | None = None
) -> HintReader:
    """Return a reader that knows all types. It looks up forward references in the two namespaces."""
    return HintReader(_ALL_RULES, global_names, local_names)
