"""
Check whether any call of a tool could ever run, to decide which tools a search may show.

The arguments are not known yet, so the answer is yes if in doubt. Each call is judged again when it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..approvals.identity import identity_of
from ..session import Session
from ..spec import Tool
from ..verdicts import Word
from .modes import TABLE, Mode
from .rules import Rule

__all__ = ["is_possible"]


def is_possible(tool: Tool, rules: Sequence[Rule], mode: Mode, mode_word: Word, session: Session | None) -> bool:
    """
    Return whether a call of *tool* may run, or may be asked about, under the *rules* that concern it.

    *mode_word* is what the mode decides about such a tool if no rule, fact or hook applies.
    """
    if any(rule.word == "deny" and rule.is_total for rule in rules):
        return False
    if TABLE["asked"][mode] != "deny":  # Where people can be asked, only plan mode refuses a tool for good.
        return not (mode == "plan" and mode_word == "deny")
    if session is not None and any(grant.tool == identity_of(tool) for grant in session.grants):
        return True
    is_allowed = any(rule.word == "allow" for rule in rules)
    is_asked = tool.facts.approval == "always" or any(rule.word == "ask" and rule.is_total for rule in rules)
    return not is_asked and (is_allowed or (mode_word == "allow" and not tool.facts.open_world))
