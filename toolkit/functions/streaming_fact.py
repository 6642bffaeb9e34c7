"""
The fact `streaming`, which is read from the function unless its author states it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import DefinitionError
from ..facts import Facts
from .description import Description
from .signature import Style

__all__ = ["add_streaming"]


def add_streaming(facts: Facts, style: Style, about: Description, options: Mapping[str, Any]) -> Facts:
    """
    Return *facts* with `streaming` filled in: a generator function streams, unless its author states otherwise.

    *style* says how the function runs, and *options* are those that the author has given.

    Raises:
        DefinitionError: The author states that a function streams which cannot.
    """
    is_generator = style.endswith("generator")
    if options.get("streaming") is None:
        return replace(facts, streaming=True) if is_generator else facts
    if facts.streaming and not is_generator and (style == "async" or about.returns_no_stream):
        raise DefinitionError(
            f"{about.subject}: `streaming=True` is for a function that yields, and this one returns one value; "
            f"write `yield`, or leave the fact out"
        )
    return facts
