"""
Hooks around every call: what they may say (`base`), and the built-in ones, one concern a file.
"""

from __future__ import annotations

from .base import Ask, Chain, Deny, Halt, Modify, Outcome, Proceed, Replace, Run
from .cache import Cache
from .log import Log
from .loop_guard import LoopGuard
from .rate_limit import RateLimit
from .stats import Stats, ToolStats

__all__ = [
    "Ask",
    "Cache",
    "Chain",
    "Deny",
    "Halt",
    "Log",
    "LoopGuard",
    "Modify",
    "Outcome",
    "Proceed",
    "RateLimit",
    "Replace",
    "Run",
    "Stats",
    "ToolStats",
]
