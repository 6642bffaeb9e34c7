"""
The conversion of tools, calls and results to and from each provider's format.

There is one file for each provider, and each has the same three functions. `definitions(catalog)` makes the tools for
the request, `calls(response)` reads the calls for the dispatcher, and `results(results)` makes the messages for the
next request. The functions are pure, and import no SDK:

    from toolkit import formats

    formats.anthropic.definitions(catalog)

They return definitions as a `Definitions` list. Its `notes` say what differs from what the caller asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..errors import CatalogError, find_nearest
from ..session import Session
from .base import Definitions, Note, Offering

if TYPE_CHECKING:
    from . import anthropic, bedrock, gemini, mcp, mistral, ollama, openai, openai_responses

__all__ = [
    "FORMATS",
    "Definitions",
    "Note",
    "Offering",
    "anthropic",
    "bedrock",
    "definitions_for",
    "gemini",
    "mcp",
    "mistral",
    "ollama",
    "openai",
    "openai_responses",
]

FORMATS = ("anthropic", "openai", "openai_responses", "gemini", "bedrock", "mistral", "ollama", "mcp")
"""The formats that exist. Each is the name of a module in this package."""


def __getattr__(name: str) -> Any:
    """Return the module of a format, which is loaded when it is first used."""
    if name in FORMATS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def definitions_for(
    format: str,  # noqa: A002 -- the usual name for this option
    catalog: Offering,
    session: Session | None = None,
    **options: Any,
) -> Definitions:
    """
    Return what the function `definitions` of the module *format* returns; *options* are options of this function.

    Raises:
        CatalogError: No format has this name.
    """
    if format not in FORMATS:
        near = find_nearest(format, FORMATS, max_items=1) if isinstance(format, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise CatalogError(f"there is no format {format!r}{hint} There are: {', '.join(FORMATS)}")
    module = importlib.import_module(f".{format}", __name__)
    definitions: Definitions = module.definitions(catalog, session, **options)
    return definitions
