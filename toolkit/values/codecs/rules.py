"""
Add up the rules of all families of types, and make readers that follow them.

Many tools take and return nothing but scalars, so the other families are loaded for the first hint that is none. The
family of types that are written as text is loaded with its first type, because it needs the modules of all of them.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from typing import Any, get_origin

from .base import Codec, CodecRules, HintReader
from .scalars import RULES as SCALARS

__all__ = ["all_families", "all_rules", "create_hint_reader"]


@functools.cache
def _load_families() -> tuple[CodecRules, ...]:
    """Return the rules of each family but those of texts, in the order in which their predicates are asked."""
    from .aliases import RULES as ALIASES
    from .annotated import RULES as ANNOTATED
    from .choices import RULES as CHOICES
    from .containers import RULES as CONTAINERS
    from .foreign import RULES as FOREIGN
    from .mappings import RULES as MAPPINGS
    from .records import RULES as RECORDS
    from .unions import RULES as UNIONS

    # A class of pydantic or msgspec may also look like a record.
    return FOREIGN, ALIASES, ANNOTATED, SCALARS, CHOICES, UNIONS, CONTAINERS, MAPPINGS, RECORDS


def all_families() -> tuple[CodecRules, ...]:
    """Return the rules of each family."""
    return (*_load_families(), _text_rules())


def _text_rules() -> CodecRules:
    from .texts import RULES  # loading them takes longer than all the others, and many tools have none of these types

    return RULES


_TEXT_MODULES = frozenset({"datetime", "decimal", "ipaddress", "pathlib", "uuid"})


def _is_written_as_text(hint: Any) -> bool:
    """Return whether *hint* is one of the types in `texts`. It is loaded only for a type of the same module."""
    if not isinstance(hint, type) or str(hint.__module__).partition(".")[0] not in _TEXT_MODULES:
        return False
    return hint in _text_rules().by_origin


def _read_text_type(hint: Any, reader: HintReader) -> Codec:
    return _text_rules().by_origin[get_origin(hint) or hint](hint, reader)


@functools.cache
def all_rules() -> CodecRules:
    """Return the rules of all families together."""
    families = _load_families()
    by_origin = {origin: factory for family in families for origin, factory in family.by_origin.items()}
    # These need no module that is not loaded anyway.
    by_origin |= dict.fromkeys((bytes, bytearray, complex, os.PathLike, re.Pattern), _read_text_type)
    by_predicate = [entry for family in families for entry in family.by_predicate]
    return CodecRules(by_origin, [(_is_written_as_text, _read_text_type), *by_predicate])


_SCALARS_FIRST = CodecRules(
    SCALARS.by_origin, [(lambda hint: True, lambda hint, reader: all_rules().read_hint(hint, reader))]
)


def create_hint_reader(
    global_names: Mapping[str, Any] | None = None,
    local_names: Mapping[str, Any] | None = None,
    *,
    for_output: bool = False,
) -> HintReader:
    """Return a reader that knows all types. It looks up forward references in the two namespaces."""
    return HintReader(_SCALARS_FIRST, global_names, local_names, for_output=for_output)
