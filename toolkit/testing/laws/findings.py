"""
What is wrong with a tool: which law or lint says so, where, and what would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...values.visible import visible

__all__ = ["Finding", "LawsBroken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One thing wrong with one tool.

    Attributes:
        tool: Its name.
        rule: The law or the lint, by its name: "round-trip".
        place: Where: a parameter, a fact, a file; empty for the tool as a whole.
        message: What is wrong.
        remedy: What would be right; for a lint a rewrite, ready to be copied where it can be.
        arguments: The smallest arguments that show it, if it takes some.
        explanation: Why it is to stay, in the words of the tool's author; empty if it is to be mended.
    """

    tool: str
    rule: str
    place: str = ""
    message: str
    remedy: str
    arguments: Any = None
    explanation: str = ""

    def __str__(self) -> str:
        where = f", {self.place}" if self.place else ""
        shown = "" if self.arguments is None else f"\n    arguments: {self.arguments!r}"
        last = f"explained: {self.explanation}" if self.explanation else f"remedy: {self.remedy}"
        # Names, messages and arguments may come from strangers, and this is read in terminals.
        return visible(f"`{self.tool}`{where}: {self.message} [{self.rule}]{shown}\n    {last}")

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return {
            "tool": self.tool,
            "rule": self.rule,
            "place": self.place,
            "message": self.message,
            "remedy": self.remedy,
            "arguments": self.arguments,
            "explanation": self.explanation,
        }


class LawsBroken(AssertionError):  # noqa: N818 -- named by what happened, as all our errors are
    """
    Tools that do not keep the laws; every finding is told.

    Attributes:
        findings: What was found, in the order of the tools and the laws.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__()

    def __str__(self) -> str:
        count = len(self.findings)
        rules = ", ".join(dict.fromkeys(finding.rule for finding in self.findings))
        return f"{count} law{'s are' if count > 1 else ' is'} broken: {rules}\n" + "\n".join(map(str, self.findings))
