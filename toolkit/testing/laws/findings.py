"""
Findings: what is wrong with a tool, which law or lint found it, where it is, and how to mend it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...values.visible import make_visible

__all__ = ["Finding", "LawsBroken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One fault of one tool.

    Attributes:
        tool: The name of the tool.
        rule: The name of the law or lint that found the fault, such as "round-trip".
        place: The parameter, fact, file or line where the fault is; empty if it concerns the tool as a whole.
        message: What is wrong.
        remedy: How to mend it. For a lint this is a rewrite, ready to be copied where that is possible.
        arguments: The smallest arguments that show the fault; None if it shows without arguments.
        explanation: The reason of the tool's author to leave it as it is; empty if the author has given none.
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
        arguments_line = "" if self.arguments is None else f"\n    arguments: {self.arguments!r}"
        last = f"explained: {self.explanation}" if self.explanation else f"remedy: {self.remedy}"
        # Names, messages and arguments may come from untrusted code, and the text is shown in terminals.
        return make_visible(f"`{self.tool}`{where}: {self.message} [{self.rule}]{arguments_line}\n    {last}")

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON."""
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
    Raised if tools break laws. The message lists every finding.

    Attributes:
        findings: The findings, in the order of the tools and the laws.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__()

    def __str__(self) -> str:
        count = len(self.findings)
        rules = ", ".join(dict.fromkeys(finding.rule for finding in self.findings))
        return f"{count} law{'s are' if count > 1 else ' is'} broken: {rules}\n" + "\n".join(map(str, self.findings))
