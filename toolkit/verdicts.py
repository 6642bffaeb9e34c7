"""
Allow, ask or deny, and who says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Finding", "Source", "Verdict", "Word", "strictest"]

Word = Literal["allow", "ask", "deny"]
Source = Literal["check", "arguments", "rule", "approval", "hook", "open_world", "mode", "grant", "judge"]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What one rule, check, fact, hook or mode has to say about a call.

    Attributes:
        word: What it says.
        by: Who says it, as a person would look for it: "rule `bash(git push:*)`", "check `dangerous-command`".
        reason: Why, in one sentence.
        source: What sort of thing says it; "arguments" if the call itself is wrong and the model may correct it.
    """

    word: Word
    by: str
    reason: str
    source: Source = "rule"


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    Whether a call may run.

    Attributes:
        word: "allow", "ask" or "deny".
        by: What decided.
        reason: Why, for the person or the model that has to act on it.
        findings: Everything that had a say, the decisive ones first.
        warnings: What the rules may not have meant, for the person who wrote them; only `explain` looks for it.
    """

    word: Word
    by: str
    reason: str
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The whole story, one line for each that had a say."""
        also = [f"  {each.word} by {each.by}: {each.reason}" for each in self.findings if each.by != self.by]
        warnings = [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join([f"{self.word} by {self.by}: {self.reason}", *also, *warnings])


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several judges: that of the one who permits least, the first if they agree."""
    found = list(verdicts)
    decisive = max(found, key=lambda verdict: _STRICTNESS[verdict.word])
    others = [each for verdict in found if verdict is not decisive for each in verdict.findings]
    return replace(decisive, findings=(*decisive.findings, *(each for each in others if each not in decisive.findings)))


_STRICTNESS: dict[Word, int] = {"allow": 0, "ask": 1, "deny": 2}
