"""
Add up the rules of all families of types.

The family of types that are written as text is loaded with its first type, because it needs the modules of all of them.
"""

from __future__ import annotations

import os
import re
from typing import Any, get_origin

from .aliases import RULES as ALIASES
from .annotated import RULES as ANNOTATED
from .base import Codec, CodecRules, HintReader
from .choices import RULES as CHOICES
from .containers import RULES as CONTAINERS
from .foreign import RULES as FOREIGN
from .mappings import RULES as MAPPINGS
from .records import RULES as RECORDS
from .scalars import RULES as SCALARS
from .typed_dicts import RULES as TYPED_DICTS
from .unions import RULES as UNIONS

__all__ = ["ALL_RULES", "all_families"]

_FAMILIES: tuple[CodecRules, ...] = (
    FOREIGN,  # a class of pydantic or msgspec may also look like a record
    ALIASES,
    ANNOTATED,
    SCALARS,
    CHOICES,
    UNIONS,
    CONTAINERS,
    MAPPINGS,
    RECORDS,
    TYPED_DICTS,
)
"""The rules of each family but the types that are written as text, in the order in which their predicates are asked."""


def all_families() -> tuple[CodecRules, ...]:
    """Return the rules of each family."""
    return (*_FAMILIES, _text_rules())


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


ALL_RULES = CodecRules(
    {
        **{origin: factory for family in _FAMILIES for origin, factory in family.by_origin.items()},
        # These need no module that is not loaded anyway.
        **dict.fromkeys((bytes, bytearray, complex, os.PathLike, re.Pattern), _read_text_type),
    },
    [(_is_written_as_text, _read_text_type), *(entry for family in _FAMILIES for entry in family.by_predicate)],
)
