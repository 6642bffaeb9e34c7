"""The exit codes of the command line: one number for each outcome that a caller may treat differently."""

from __future__ import annotations

from ..results import Kind
from ..verdicts import Word

__all__ = ["EXITS", "FOUND", "INTERRUPTED", "RUN_EXITS", "USAGE", "VERDICT_EXITS"]

FOUND = 1
"""The exit code if `check` has found something, or `search` has found nothing."""

USAGE = 2
"""The exit code if the command line, its target or a file that it names cannot be used."""

INTERRUPTED = 130
"""The exit code if the user pressed Ctrl-C; shells use the same number."""

EXITS: dict[Kind, int] = {
    "ok": 0,
    "failed": 1,
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
"""The exit codes by the kind of a result."""

VERDICT_EXITS: dict[Word, int] = {"allow": EXITS["ok"], "ask": EXITS["waiting"], "deny": EXITS["denied"]}
"""The exit codes of `explain` by its verdict: the same code with which the call would end."""

RUN_EXITS: dict[str, int] = {
    "done": EXITS["ok"],
    "planned": EXITS["ok"],
    "waiting": EXITS["waiting"],
    "stopped": EXITS["halted"],
    "running": EXITS["halted"],  # it was saved before it ended, and not continued
    "failed": 13,
}
"""The exit codes by the status of an agent's run."""
