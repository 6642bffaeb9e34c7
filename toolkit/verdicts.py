"""
The verdict about a call (allow, ask or deny), and the findings that led to it.
"""

from __future__ import annotations

from typing import Literal

from ._plumbing.records import record
from ._plumbing.wording import format_dollars

__all__ = ["Finding", "Source", "Verdict", "Word", "allow_any_call"]

Word = Literal["allow", "ask", "deny"]
"""What a judge says about a call."""
Source = Literal["check", "arguments", "rule", "approval", "hook", "open_world", "mode", "grant", "judge"]
"""What a finding comes from."""


@record(frozen=True, slots=True)
class Finding:
    """
    What one rule, check, fact, hook or mode says about a call.

    Attributes:
        word: "allow", "ask" or "deny".
        by: The source, as a person would search for it: "rule `bash(git push:*)`", "check `dangerous-command`".
        reason: Why, in one sentence.
        source: The kind of source. "arguments" means that the call itself is wrong and the model may correct it.
    """

    word: Word
    by: str
    reason: str
    source: Source = "rule"


@record(frozen=True, slots=True)
class Verdict:
    """
    Whether a call may run.

    Attributes:
        word: "allow", "ask" or "deny".
        by: The source that decided.
        reason: Why, for the person or the model that has to act on it.
        findings: All findings, the decisive ones first.
        warnings: Rules that may not do what their author meant, for that author. Only `explain` looks for them.
        cost: What the call costs in US dollars, if its tool says so. Only `explain` fills it in.
    """

    word: Word
    by: str
    reason: str
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    cost: float | None = None

    def __str__(self) -> str:
        """Return the whole verdict as text, with one line for each finding, the cost and each warning."""
        also = [
            f"  {finding.word} by {finding.by}: {finding.reason}" for finding in self.findings if finding.by != self.by
        ]
        cost = [] if self.cost is None else [f"  costs {format_dollars(self.cost)}"]
        warnings = [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join([f"{self.word} by {self.by}: {self.reason}", *also, *cost, *warnings])


def allow_any_call(session: object, arguments: object) -> bool:
    """Return True for any *session* and *arguments*: the gate of a plain tool, in a dispatcher without judges."""
    return True
