"""What a part of the endurance run reports."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Report"]

_MOST_SHOWN = 5


@dataclass
class Report:
    """
    What one part did.

    Attributes:
        line: What was done and measured, in one line.
        violations: What must not have happened.
    """

    line: str
    violations: list[str] = field(default_factory=list)

    def print_lines(self, part: str, seconds: float) -> None:
        """Print the line of *part*, which took so many *seconds*, and the first violations beneath it, all at once."""
        verdict = "no violation" if not self.violations else f"{len(self.violations):,} VIOLATIONS"
        lines = [f"{part}: {self.line}; {seconds:.0f} s; {verdict}"]
        lines += [f"    {violation[:500]}" for violation in self.violations[:_MOST_SHOWN]]
        print("\n".join(lines), flush=True)
