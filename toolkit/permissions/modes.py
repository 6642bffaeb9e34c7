"""
Modes, and a table of what each mode decides about each sort of call.
"""

from __future__ import annotations

from typing import Literal, get_args

from ..verdicts import Word

__all__ = ["JUDGED_INSIDE_KEY", "MODES", "TABLE", "Mode", "Row", "check_mode"]

Mode = Literal["plan", "default", "auto", "deny_unlisted", "bypass"]
"""A permission mode: what happens to a call that no rule names."""
Row = Literal["refused", "asked", "read_only", "write", "destructive"]

JUDGED_INSIDE_KEY = "toolkit.judged_inside"
"""
The key in the metadata of a tool that does nothing but make other calls, such as an agent.

Its value is a function that returns whether those calls are judged as the current one is. No mode asks about it then.
"""

MODES: tuple[Mode, ...] = get_args(Mode)
"""All modes, in the order of the columns of `TABLE`."""

_COLUMNS: dict[Row, tuple[Word, Word, Word, Word, Word]] = {
    # in the order of `MODES`: plan, default, auto, deny_unlisted, bypass
    "refused": ("deny", "deny", "deny", "deny", "deny"),
    "asked": ("ask", "ask", "ask", "deny", "allow"),
    "read_only": ("allow", "allow", "allow", "allow", "allow"),
    "write": ("deny", "ask", "allow", "deny", "allow"),
    "destructive": ("deny", "ask", "ask", "deny", "allow"),
}

TABLE: dict[Row, dict[Mode, Word]] = {row: dict(zip(MODES, words, strict=True)) for row, words in _COLUMNS.items()}
"""
The decision by the row of a call, and then by mode.

"refused" is a call with a deny rule or a safety refusal. "asked" is a call with an ask rule, a safety ask, the fact
`approval`, a hook's `Ask`, or the fact `open_world`. The other rows are the kinds of tools.
"""


def check_mode(mode: object) -> Mode:
    """Return *mode* if it is a mode; raise `ValueError` if not."""
    if mode not in MODES:
        raise ValueError(f"there is no mode {mode!r}; use one of {', '.join(MODES)}")
    return mode
