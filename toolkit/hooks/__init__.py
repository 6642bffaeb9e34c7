"""
Hooks around every call: their possible outcomes (`base`), the events that they are told (`events`), and the built-in
hooks, one in each file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .base import Ask, Chain, Deny, Halt, Modify, Outcome, Proceed, Replace, Run

if TYPE_CHECKING:  # because few programs use all of them, and some load files, rules and processes
    from .cache import Cache
    from .events import (
        AttemptStarted,
        CallEnded,
        CallRetried,
        CallStarted,
        CatalogChanged,
        ConversationSummarized,
        Event,
        FlowEnded,
        FlowInfo,
        FlowStarted,
        HookDecided,
        ModelAnswered,
        ModelAsked,
        PersonAnswered,
        PersonAsked,
        PromptReceived,
        RunEnded,
        RunInfo,
        RunStarted,
        SubRunEnded,
        SubRunStarted,
    )
    from .log import Log
    from .loop_guard import LoopGuard
    from .rate_limit import RateLimit
    from .shell.shell_hooks import ShellHook, ShellHooks
    from .stats import Stats, ToolStats

__all__ = [
    "Ask",
    "AttemptStarted",
    "Cache",
    "CallEnded",
    "CallRetried",
    "CallStarted",
    "CatalogChanged",
    "Chain",
    "ConversationSummarized",
    "Deny",
    "Event",
    "FlowEnded",
    "FlowInfo",
    "FlowStarted",
    "Halt",
    "HookDecided",
    "Log",
    "LoopGuard",
    "ModelAnswered",
    "ModelAsked",
    "Modify",
    "Outcome",
    "PersonAnswered",
    "PersonAsked",
    "Proceed",
    "PromptReceived",
    "RateLimit",
    "Replace",
    "Run",
    "RunEnded",
    "RunInfo",
    "RunStarted",
    "ShellHook",
    "ShellHooks",
    "Stats",
    "SubRunEnded",
    "SubRunStarted",
    "ToolStats",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(__all__, "events"),
        **dict.fromkeys(("ShellHook", "ShellHooks"), "shell.shell_hooks"),
        **dict.fromkeys(("Stats", "ToolStats"), "stats"),
        "Cache": "cache",
        "Log": "log",
        "LoopGuard": "loop_guard",
        "RateLimit": "rate_limit",
    },
)
