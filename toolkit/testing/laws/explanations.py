"""
Attach to each finding the explanation that the tool's author has given for it.

The author explains a finding beside the tool, in one sentence:

    @tool(read_only=True, metadata={"explained": {"ends-in-time": "It waits for the door bell."}})

A finding that is explained is still reported, but does not count as wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...spec import Tool
from .findings import Finding

__all__ = ["EXPLAINED_KEY", "attach_explanations"]

EXPLAINED_KEY = "explained"
"""The key in `metadata` of the explanations, which are a mapping from the name of a law or lint to a sentence."""


def attach_explanations(findings: Iterable[Finding], tools: Iterable[Tool]) -> Iterator[Finding]:
    """Yield *findings*, each with the explanation of its tool's author, or an empty text if there is none."""
    explanations = {tool.name: _read_explanations(tool) for tool in tools}
    for finding in findings:
        yield replace(finding, explanation=explanations.get(finding.tool, {}).get(finding.rule, ""))


def _read_explanations(tool: Tool) -> dict[str, str]:
    explanations = (tool.facts.metadata or {}).get(EXPLAINED_KEY)
    items = explanations.items() if isinstance(explanations, Mapping) else ()
    # An explanation of blanks becomes the empty text, which counts as none.
    return {rule: text.strip() for rule, text in items if isinstance(text, str)}
