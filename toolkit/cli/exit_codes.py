"""
How the command line ends: one number for each thing that can happen next.
"""

from __future__ import annotations

from ..results import Kind
from ..verdicts import Word

__all__ = ["EXITS", "FOUND", "INTERRUPTED", "RUN_EXITS", "USAGE", "VERDICT_EXITS"]

FOUND = 1
"""`check` has found something, or `search` nothing."""

USAGE = 2
"""The command line, its target or a file that it names cannot be used."""

INTERRUPTED = 130
"""Somebody pressed Ctrl-C; what shells say of it."""

EXITS: dict[Kind, int] = {
    "ok": 0,
    "tool": 1,
    "bad_args": 3,
    "not_found": 4,
    "denied": 5,
    "safety": 6,
    "waiting": 7,
    "timeout": 8,
    "transient": 9,
    "cancelled": 10,
    "halted": 11,
    "internal": 12,
}
"""By the kind of a result."""

VERDICT_EXITS: dict[Word, int] = {"allow": EXITS["ok"], "ask": EXITS["waiting"], "deny": EXITS["denied"]}
"""By what `explain` says: as the call would end."""

RUN_EXITS: dict[str, int] = {
    "done": EXITS["ok"],
    "planned": EXITS["ok"],
    "waiting": EXITS["waiting"],
    "stopped": EXITS["halted"],
    "failed": 13,
}
"""By the status of an agent's run."""
