"""
Function tools for language models.

Decorate a plain function and it is a tool that any model can call. The walk
through the house: decorator → catalog → dispatcher → pipeline → results.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .catalog import Catalog, default_catalog
from .codecs import Codec, register_codec
from .context import Context, Inject, Progress, Secret
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

if TYPE_CHECKING:
    from .dispatcher import Dispatcher
    from .requests import ApprovalRequest
    from .resources import PER_CALL
    from .results import ToolCall, ToolResult
    from .retry import RetryPolicy, retrying
    from .session import Session

# What describing and checking do without, and what needs asyncio: loaded when it is first asked for.
_LATER = {
    "ApprovalRequest": "requests",
    "Dispatcher": "dispatcher",
    "PER_CALL": "resources",
    "RetryPolicy": "retry",
    "Session": "session",
    "ToolCall": "results",
    "ToolResult": "results",
    "retrying": "retry",
}

__all__ = [
    "PER_CALL",
    "ApprovalRequest",
    "BadArgs",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Codec",
    "Context",
    "Definition",
    "DefinitionError",
    "Dispatcher",
    "DuplicateTool",
    "Facts",
    "Inject",
    "Problem",
    "Progress",
    "ProviderError",
    "RetryPolicy",
    "Safety",
    "Secret",
    "Session",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "default_catalog",
    "register_codec",
    "retrying",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    return value
