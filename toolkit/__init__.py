"""
Function tools for language models.

Decorate a plain function and it is a tool that any model can call. The walk
through the house: decorator → catalog → spec → describe → validation.
"""

from __future__ import annotations

from .catalog import Catalog, default_catalog
from .codecs import Codec, register_codec
from .context import Context, Inject
from .decorator import tool
from .errors import (
    BadArgs,
    CatalogError,
    DefinitionError,
    DuplicateTool,
    Problem,
    ProviderError,
    Safety,
    ToolError,
    ToolkitError,
    ToolkitWarning,
    Transient,
    UnknownTool,
)
from .facts import Facts
from .spec import Definition, Tool
from .views import CatalogView, Change

__all__ = [
    "BadArgs",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Codec",
    "Context",
    "Definition",
    "DefinitionError",
    "DuplicateTool",
    "Facts",
    "Inject",
    "Problem",
    "ProviderError",
    "Safety",
    "Tool",
    "ToolError",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "default_catalog",
    "register_codec",
    "tool",
]
