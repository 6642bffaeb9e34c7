"""
Violations: what is wrong with a tool, which law or lint found it, where it is, and how to correct it.

The author of a tool can state a known violation beside the tool, with the reason to leave it:

    @tool(read_only=True, metadata={"known_violations": {"ends-in-time": "It waits for the door bell."}})

A known violation is still reported, but does not count as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..._plumbing.wording import format_count
from ...functions.callables import find_source_location
from ...spec import Tool
from ...values.visible import make_visible

__all__ = ["KNOWN_VIOLATIONS_KEY", "Fault", "LawsBroken", "Violation", "report_fault", "show_cut"]

KNOWN_VIOLATIONS_KEY = "known_violations"
"""The key in `metadata` of the known violations: a mapping from the name of a law or lint to a sentence."""


_MAX_SHOWN_CHARS = 1_000


def show_cut(value: Any, max_chars: int = _MAX_SHOWN_CHARS) -> str:
    """Return *value* as Python writes it, cut if it is long. The violation itself keeps the whole value."""
    text = repr(value)
    return text if len(text) <= max_chars else f"{text[:max_chars]}... ({len(text):,} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """
    One fault of one tool.

    Attributes:
        tool: The name of the tool.
        rule: The name of the law or lint that found the fault, such as "round-trip".
        place: The parameter, fact, file or line where the fault is; empty if it concerns the tool as a whole.
        message: What is wrong.
        remedy: How to correct it. For a lint this is a rewrite, ready to be copied where that is possible.
        arguments: The smallest arguments that show the fault; None if it shows without arguments.
        explanation: The reason that `known_violations` gives for leaving it; empty if there is none.
        location: The file and line of the tool's function, such as "tools.py:12"; empty if Python does not know them.
    """

    tool: str
    rule: str
    place: str = ""
    message: str
    remedy: str
    arguments: Any = None
    explanation: str = ""
    location: str = ""

    def __str__(self) -> str:
        where = f", {self.place}" if self.place else ""
        arguments_line = "" if self.arguments is None else f"\n    arguments: {show_cut(self.arguments)}"
        location_line = f"\n    at {self.location}" if self.location else ""
        last = f"known: {self.explanation}" if self.explanation else f"remedy: {self.remedy}"
        # Names, messages and arguments may come from untrusted code, and the text is shown in terminals.
        return make_visible(
            f"`{self.tool}`{where}: {self.message} [{self.rule}]{location_line}{arguments_line}\n    {last}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the violation as plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Fault(NamedTuple):
    """What a law or a lint finds out about a tool: the fields of a `Violation` that do not follow from the tool."""

    rule: str
    message: str
    remedy: str
    place: str = ""
    arguments: Any = None


class LawsBroken(AssertionError):  # noqa: N818 -- named by what happened, as all our errors are
    """
    Raised if tools break laws. The message lists every violation.

    Attributes:
        violations: The violations, in the order of the tools and the laws.
    """

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__()

    def __str__(self) -> str:
        counts = Counter(violation.rule for violation in self.violations)
        rules = ", ".join(f"{rule} ({count} times)" if count > 1 else rule for rule, count in counts.items())
        verb = "are" if len(counts) > 1 else "is"
        return "\n".join([f"{format_count(len(counts), 'law')} {verb} broken: {rules}", *map(str, self.violations)])


def report_fault(tool: Tool, fault: Fault) -> Violation:
    """Return *fault* as a violation, with the place of the tool's function and the reason that its author gives."""
    explanation = _read_explanations(tool).get(fault.rule, "")
    return Violation(tool=tool.name, **fault._asdict(), explanation=explanation, location=_find_location(tool))


def _find_location(tool: Tool) -> str:
    """
    Return the file and line of the tool's function; the file relative to the working folder if it is inside it.

    A tool of an MCP server was written elsewhere, so its origin is returned.
    """
    if tool.origin.startswith("mcp:"):
        return tool.origin
    file, line = find_source_location(tool.function)
    if file.startswith("<"):  # a builtin, or a class without a `__call__` of its own
        return ""
    path = Path(file)
    with suppress(ValueError, OSError):  # outside the working folder, or the folder was removed
        path = path.relative_to(Path.cwd())
    return f"{path}:{line}"


def _read_explanations(tool: Tool) -> dict[str, str]:
    explanations = (tool.facts.metadata or {}).get(KNOWN_VIOLATIONS_KEY)
    items = explanations.items() if isinstance(explanations, Mapping) else ()
    # A reason of blanks becomes the empty text, which counts as none.
    return {rule: text.strip() for rule, text in items if isinstance(text, str)}
