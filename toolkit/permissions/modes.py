"""
What each mode makes of a call, as data.
"""

from __future__ import annotations

from typing import Literal, get_args

from ..facts import Facts
from ..verdicts import Word

__all__ = ["MODES", "TABLE", "Mode", "Row", "checked_mode", "row_of"]

Mode = Literal["plan", "default", "auto", "dont_ask", "bypass"]
Row = Literal["refused", "asked", "read_only", "write", "destructive"]

MODES: tuple[Mode, ...] = get_args(Mode)

_COLUMNS: dict[Row, tuple[Word, Word, Word, Word, Word]] = {
    #                plan     default  auto     dont_ask bypass
    "refused": ("deny", "deny", "deny", "deny", "deny"),
    "asked": ("ask", "ask", "ask", "deny", "allow"),
    "read_only": ("allow", "allow", "allow", "allow", "allow"),
    "write": ("deny", "ask", "allow", "deny", "allow"),
    "destructive": ("deny", "ask", "ask", "deny", "allow"),
}

TABLE: dict[Row, dict[Mode, Word]] = {row: dict(zip(MODES, words, strict=True)) for row, words in _COLUMNS.items()}
"""
By what a call is, and by mode.

"refused" is a deny rule or a safety refusal; "asked" an ask rule, a safety ask, `approval`, a hook's `Ask`,
`open_world`. The others are the kinds of tools.
"""


def row_of(facts: Facts, *, is_contained: bool = False) -> Row:
    """What sort of tool it is; what cannot reach beyond its workspace changes something, and destroys nothing else."""
    if facts.read_only:
        return "read_only"
    return "destructive" if facts.destructive and not is_contained else "write"


def checked_mode(mode: object) -> Mode:
    """*mode*, if it is one."""
    if mode not in MODES:
        raise ValueError(f"there is no mode {mode!r}; use one of {', '.join(MODES)}")
    return mode
