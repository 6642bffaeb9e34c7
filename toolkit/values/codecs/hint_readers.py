"""
Make readers that know all types.

Scalars are read at once. The rules of the other families are loaded for the first hint that is none, because many tools
take and return nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Codec, CodecRules, HintReader
from .scalars import RULES as SCALARS

__all__ = ["create_hint_reader"]


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
    return HintReader(_RULES, global_names, local_names, for_output=for_output)


def _read_other_hint(hint: Any, reader: HintReader) -> Codec:
    from .rules import ALL_RULES

    return ALL_RULES.read_hint(hint, reader)


_RULES = CodecRules(SCALARS.by_origin, [(lambda hint: True, _read_other_hint)])
