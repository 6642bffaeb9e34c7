"""
The agent: a model, its tools, and the loop that connects them.

The agent is optional. The dispatcher works without it.
"""

from __future__ import annotations

from .agent import Agent
from .budgets import Budget
from .events import (
    CatalogChanged,
    Compacted,
    Done,
    Event,
    Failed,
    Inner,
    Refused,
    Said,
    Summarized,
    SummaryFailed,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    Waiting,
)
from .expense import Spent
from .missing_answers import NoAnswer
from .prompts import PLAN_PROMPT, SUMMARY_PROMPT
from .run_fields import Status, Stop
from .run_inbox import NotRunning
from .run_seal import RunSeal, SealError
from .runs import Run, SubRun
from .steps import Steps
from .subruns import is_in_run, sub_run
from .summaries import Summary

__all__ = [
    "PLAN_PROMPT",
    "SUMMARY_PROMPT",
    "Agent",
    "Budget",
    "CatalogChanged",
    "Compacted",
    "Done",
    "Event",
    "Failed",
    "Inner",
    "NoAnswer",
    "NotRunning",
    "Refused",
    "Run",
    "RunSeal",
    "Said",
    "SealError",
    "Spent",
    "Status",
    "Steps",
    "Stop",
    "SubRun",
    "Summarized",
    "Summary",
    "SummaryFailed",
    "TextDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "TurnFinished",
    "Waiting",
    "is_in_run",
    "sub_run",
]
