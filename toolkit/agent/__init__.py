"""
The agent: a model, its tools, and the loop that connects them.

The agent is optional. The dispatcher works without it.
"""

from __future__ import annotations

from ..steps.base import Steps
from ..steps.expense import Expense
from .agent import Agent
from .budgets import Budget
from .conversation.run_inbox import NotRunning
from .conversation.summaries import Summary
from .events import (
    CatalogChanged,
    Compacted,
    Done,
    Event,
    HandedOver,
    ProviderChanged,
    Refused,
    RunFailed,
    RunWaits,
    SubRunEvent,
    Summarized,
    SummaryFailed,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    UserInput,
)
from .prompts import PLAN_PROMPT, SUMMARY_PROMPT
from .saved.missing_answers import NoAnswer
from .saved.run_fields import Status, Stop
from .saved.run_seal import RunSeal, SealError
from .saved.runs import Run, SubRun
from .subruns import is_in_run, sub_run

__all__ = [
    "PLAN_PROMPT",
    "SUMMARY_PROMPT",
    "Agent",
    "Budget",
    "CatalogChanged",
    "Compacted",
    "Done",
    "Event",
    "Expense",
    "HandedOver",
    "NoAnswer",
    "NotRunning",
    "ProviderChanged",
    "Refused",
    "Run",
    "RunFailed",
    "RunSeal",
    "RunWaits",
    "SealError",
    "Status",
    "Steps",
    "Stop",
    "SubRun",
    "SubRunEvent",
    "Summarized",
    "Summary",
    "SummaryFailed",
    "TextDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "TurnFinished",
    "UserInput",
    "is_in_run",
    "sub_run",
]
