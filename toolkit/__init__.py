"""
Function tools for language models.

`@tool` turns a plain function into a tool that any model can call. A call passes through these modules, in this
order: decorator → catalog → dispatcher → pipeline → results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy_names import lazy_getattr as _lazy_getattr
from .access import Access, Command, Reads, Url, Writes
from .catalog import Catalog, default_catalog
from .catalogs.snapshot import Change
from .catalogs.views import CatalogView
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
from .spec import Tool

if TYPE_CHECKING:
    from .agent import Agent
    from .approvals import ApprovalError, Approvals, SQLiteApprovals, TerminalPrompt
    from .calls.resources import PER_CALL
    from .catalogs.search.embeddings import EmbeddingRanker
    from .catalogs.search.finder import SearchResult, SearchResults
    from .content import AudioPart, FilePart, ImagePart, JsonPart, ResourcePart, TextPart
    from .decisions import ApprovalRequest, AuthNeeded, AuthRequest, Decision
    from .dispatcher import Dispatcher
    from .functions.tool_definition import Definition
    from .permissions import PermissionGate, Permissions, Rule
    from .policies.audit import AuditError, AuditLog
    from .policies.retry import RetryPolicy, retrying
    from .questions import DECLINED, Question
    from .results import ToolCall, ToolResult
    from .safety import SafetyChecks
    from .session import Session
    from .values.codecs.base import Codec
    from .values.codecs.foreign import register_codec
    from .verdicts import Verdict

__all__ = [
    "DECLINED",
    "PER_CALL",
    "Access",
    "Agent",
    "ApprovalError",
    "ApprovalRequest",
    "Approvals",
    "AudioPart",
    "AuditError",
    "AuditLog",
    "AuthNeeded",
    "AuthRequest",
    "BadArgs",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Codec",
    "Command",
    "Context",
    "Decision",
    "Definition",
    "DefinitionError",
    "Dispatcher",
    "DuplicateTool",
    "EmbeddingRanker",
    "Facts",
    "FilePart",
    "ImagePart",
    "Inject",
    "JsonPart",
    "PermissionGate",
    "Permissions",
    "Problem",
    "Progress",
    "ProviderError",
    "Question",
    "Reads",
    "ResourcePart",
    "RetryPolicy",
    "Rule",
    "SQLiteApprovals",
    "Safety",
    "SafetyChecks",
    "SearchResult",
    "SearchResults",
    "Secret",
    "Session",
    "TerminalPrompt",
    "TextPart",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "Url",
    "Verdict",
    "Writes",
    "default_catalog",
    "register_codec",
    "retrying",
    "tool",
]


# These names are loaded when a program first uses them. Describing and checking tools does not need them, and some
# of them need asyncio.
__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("ApprovalError", "Approvals", "SQLiteApprovals", "TerminalPrompt"), "approvals"),
        **dict.fromkeys(("ApprovalRequest", "AuthNeeded", "AuthRequest", "Decision"), "decisions"),
        **dict.fromkeys(("AuditError", "AuditLog"), "policies.audit"),
        **dict.fromkeys(("AudioPart", "FilePart", "ImagePart", "JsonPart", "ResourcePart", "TextPart"), "content"),
        **dict.fromkeys(("DECLINED", "Question"), "questions"),
        **dict.fromkeys(("SearchResult", "SearchResults"), "catalogs.search.finder"),
        **dict.fromkeys(("PermissionGate", "Permissions", "Rule"), "permissions"),
        **dict.fromkeys(("ToolCall", "ToolResult"), "results"),
        **dict.fromkeys(("RetryPolicy", "retrying"), "policies.retry"),
        "Agent": "agent",
        "Codec": "values.codecs.base",
        "Definition": "functions.tool_definition",
        "Dispatcher": "dispatcher",
        "EmbeddingRanker": "catalogs.search.embeddings",
        "PER_CALL": "calls.resources",
        "SafetyChecks": "safety",
        "Session": "session",
        "Verdict": "verdicts",
        "register_codec": "values.codecs.foreign",
    },
    remedies={
        **dict.fromkeys(("Runner", "AgentExecutor"), "an agent runs itself: `Agent(provider, tools).run_sync(prompt)`"),
        **dict.fromkeys(("function_tool", "BaseTool", "StructuredTool", "FunctionTool"), "write `@tool`"),
        **dict.fromkeys(("RunContext", "RunContextWrapper", "ToolContext"), "a tool has a parameter of type `Context`"),
        **dict.fromkeys(("ModelRetry", "ToolException"), "raise `ToolError` or `BadArgs`, and the model reads why"),
        **dict.fromkeys(("TestModel", "FunctionModel"), "write `from toolkit.providers import ScriptedProvider`"),
        **dict.fromkeys(("FastMCP", "MCPServer"), "write `from toolkit.mcp import serve`"),
        "UsageLimits": "write `from toolkit.agent import Budget`",
    },
)
