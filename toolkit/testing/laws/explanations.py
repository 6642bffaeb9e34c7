"""
Findings that the author of a tool has explained, beside the tool and in a sentence each:

    @tool(read_only=True, metadata={"explained": {"ends-in-time": "It waits for the door bell."}})

What is explained stays found, and is not counted as wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...spec import Tool
from .findings import Finding

__all__ = ["EXPLAINED", "explained"]

EXPLAINED = "explained"
"""Where in `metadata` the explanations are, by the name of the law or the lint."""


def explained(findings: Iterable[Finding], tools: Iterable[Tool]) -> Iterator[Finding]:
    """*findings*, each with what the author of its tool says to it."""
    given = {tool.name: _explanations(tool) for tool in tools}
    for finding in findings:
        yield replace(finding, explanation=given.get(finding.tool, {}).get(finding.rule, ""))


def _explanations(tool: Tool) -> dict[str, str]:
    found = (tool.facts.metadata or {}).get(EXPLAINED)
    listed = found.items() if isinstance(found, Mapping) else ()
    # What says nothing explains nothing.
    return {rule: text.strip() for rule, text in listed if isinstance(text, str)}
