"""
Allow, ask or deny, and who says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Verdict", "Word"]

Word = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What one rule, check, fact, hook or mode has to say about a call.

    Attributes:
        word: What it says.
        by: Who says it, as a person would look for it: "rule `bash(git push:*)`", "check `dangerous-command`".
        reason: Why, in one sentence.
    """

    word: Word
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    Whether a call may run.

    Attributes:
        word: "allow", "ask" or "deny".
        by: What decided.
        reason: Why, for the person or the model that has to act on it.
        findings: Everything that had a say, the decisive ones first.
    """

    word: Word
    by: str
    reason: str
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"{self.word}: {self.reason} ({self.by})"
