"""
What each provider wants to be told of tools, and how it says what it wants called.

One file a provider, each with the same three functions: `definitions(catalog)`
for the request, `calls(response)` for the dispatcher, `results(results)` for the
next request. They are pure, and import no SDK:

    from toolkit.formats import anthropic

`Definitions`, the list they give, has `notes` on what is not as it was asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import CatalogError, nearest
from ..session import Session
from .base import Definitions, Note, Offering

__all__ = ["FORMATS", "Definitions", "Note", "Offering", "definitions_for"]

FORMATS = ("anthropic", "openai", "openai_responses", "gemini", "bedrock", "mistral", "ollama", "mcp")
"""The formats there are, each the name of a module in here."""


def definitions_for(
    format: str,  # noqa: A002 -- what everyone calls it
    catalog: Offering,
    session: Session | None = None,
    **options: Any,
) -> Definitions:
    """What `definitions` of the one named *format* gives; *options* are its own."""
    if format not in FORMATS:
        near = nearest(format, FORMATS, most=1) if isinstance(format, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise CatalogError(f"there is no format {format!r}{hint} There are: {', '.join(FORMATS)}")
    module = importlib.import_module(f".{format}", __name__)
    made: Definitions = module.definitions(catalog, session, **options)
    return made
