"""
Function tools for language models.

Decorate a plain function and it is a tool that any model can call. The walk
through the house: decorator → catalog → dispatcher → pipeline → results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access import Access, Command, Reads, Url, Writes
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
from .later import later as _later
from .spec import Definition, Tool
from .tables import Change
from .views import CatalogView

if TYPE_CHECKING:
    from .agent import Agent
    from .approvals import ApprovalError, Approvals, SQLiteApprovals, TerminalPrompt
    from .audit import AuditError, AuditLog
    from .dispatcher import Dispatcher
    from .finding import Findings, Found
    from .parts import FilePart, ImagePart, JsonPart, TextPart
    from .permissions import PermissionGate, Permissions, Rule
    from .requests import ApprovalRequest, AuthNeeded, AuthRequest, Decision
    from .resources import PER_CALL
    from .results import ToolCall, ToolResult
    from .retry import RetryPolicy, retrying
    from .safety import SafetyChecks
    from .session import Session
    from .verdicts import Verdict

__all__ = [
    "PER_CALL",
    "Access",
    "Agent",
    "ApprovalError",
    "ApprovalRequest",
    "Approvals",
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
    "Facts",
    "FilePart",
    "Findings",
    "Found",
    "ImagePart",
    "Inject",
    "JsonPart",
    "PermissionGate",
    "Permissions",
    "Problem",
    "Progress",
    "ProviderError",
    "Reads",
    "RetryPolicy",
    "Rule",
    "SQLiteApprovals",
    "Safety",
    "SafetyChecks",
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


# What describing and checking do without, and what needs asyncio: loaded when it is first asked for.
__getattr__ = _later(
    __name__,
    {
        **dict.fromkeys(("ApprovalError", "Approvals", "SQLiteApprovals", "TerminalPrompt"), "approvals"),
        **dict.fromkeys(("ApprovalRequest", "AuthNeeded", "AuthRequest", "Decision"), "requests"),
        **dict.fromkeys(("AuditError", "AuditLog"), "audit"),
        **dict.fromkeys(("FilePart", "ImagePart", "JsonPart", "TextPart"), "parts"),
        **dict.fromkeys(("Findings", "Found"), "finding"),
        **dict.fromkeys(("PermissionGate", "Permissions", "Rule"), "permissions"),
        **dict.fromkeys(("ToolCall", "ToolResult"), "results"),
        **dict.fromkeys(("RetryPolicy", "retrying"), "retry"),
        "Agent": "agent",
        "Dispatcher": "dispatcher",
        "PER_CALL": "resources",
        "SafetyChecks": "safety",
        "Session": "session",
        "Verdict": "verdicts",
    },
)
