"""
Anthropic's limits for strict tools: the number of tools, optional parameters and unions in one request.

Tools that are not deferred use the budget first. If they do not fit, the costliest of them are sent without strict mode
until the rest fits. Tools that are loaded later get what is left, in the order of loading. So loading a tool never
changes a definition that was sent before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...spec import Tool
from ..base import Note
from .dialects import ANTHROPIC
from .rewriting import rewrite_schema
from .shapes import count_optional_parameters, count_union_parameters

__all__ = ["Cost", "StrictBudget", "strict_schemas"]


@dataclass(frozen=True, slots=True)
class Cost:
    """The part of a request's budget that strict tools use."""

    tools: int = 0
    optional: int = 0
    unions: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tools + other.tools, self.optional + other.optional, self.unions + other.unions)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.tools - other.tools, self.optional - other.optional, self.unions - other.unions)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictBudget:
    """
    The limits for one request.

    https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits

    Attributes:
        tools: The most strict tools.
        optional: The most optional parameters of all strict tools together.
        unions: The most parameters with several types, of all strict tools together.
    """

    tools: int = 20
    optional: int = 24
    unions: int = 16

    def covers(self, cost: Cost) -> bool:
        return cost.tools <= self.tools and cost.optional <= self.optional and cost.unions <= self.unions

    def find_overruns(self, cost: Cost) -> tuple[bool, bool]:
        """Return whether *cost* has too many optional parameters, and whether it has too many unions."""
        return cost.optional > self.optional, cost.unions > self.unions

    def share(self, cost: Cost, overruns: tuple[bool, bool]) -> float:
        """
        Return the share of the budget that *cost* uses, counting only the limits in *overruns*.

        If only the number of tools is too large, both limits count.
        """
        shares = (cost.optional / max(self.optional, 1), cost.unions / max(self.unions, 1))
        return sum(share for share, counts in zip(shares, overruns, strict=True) if counts or not any(overruns))


def strict_schemas(tools: Sequence[Tool], budget: StrictBudget, notes: list[Note]) -> dict[str, dict[str, Any]]:
    """Return the schemas of those *tools* that are sent as strict, by name. *notes* says why the others are not."""
    candidates = [candidate for tool in tools if not tool.facts.defer and (candidate := _candidate(tool, notes))]
    chosen = _choose_affordable(candidates, budget)
    spent = sum((entry.cost for entry in chosen), Cost())
    later = [tool for tool in tools if tool.facts.defer]
    for index, tool in enumerate(later):
        if spent.tools == budget.tools:
            notes += [Note(later_tool.name, f"not strict: {_budget_text(budget)}") for later_tool in later[index:]]
            break
        candidate = _candidate(tool, notes)
        candidates += [candidate] if candidate else []
        if candidate and budget.covers(spent + candidate.cost):
            spent += candidate.cost
            chosen.append(candidate)
    names = {entry.name for entry in chosen}
    for entry in candidates:
        if entry.name not in names:
            size = f"this one has {entry.cost.optional} and {entry.cost.unions}"
            notes.append(Note(entry.name, f"not strict: {_budget_text(budget)}, and {size}"))
    return {entry.name: entry.schema for entry in chosen}


@dataclass(frozen=True, slots=True)
class _Candidate:
    name: str
    schema: dict[str, Any]
    cost: Cost


def _candidate(tool: Tool, notes: list[Note]) -> _Candidate | None:
    rewriting = rewrite_schema(tool.schema, ANTHROPIC)
    if rewriting.obstacles:
        notes.append(Note(tool.name, f"not strict: {rewriting.why_not}"))
        return None
    cost = Cost(1, count_optional_parameters(rewriting.schema), count_union_parameters(rewriting.schema))
    return _Candidate(tool.name, rewriting.schema, cost)


def _choose_affordable(candidates: Sequence[_Candidate], budget: StrictBudget) -> list[_Candidate]:
    """
    Return as many candidates as the budget covers, leaving out the costliest first.

    Among candidates with equal costs, the last one is left out first.
    """
    remaining = list(enumerate(candidates))
    spent = sum((candidate.cost for candidate in candidates), Cost())
    while not budget.covers(spent):
        overruns = budget.find_overruns(spent)
        shares = {index: budget.share(candidate.cost, overruns) for index, candidate in remaining}
        remaining.sort(key=lambda entry: (shares[entry[0]], entry[0]))
        while not budget.covers(spent) and budget.find_overruns(spent) == overruns:
            spent -= remaining.pop()[1].cost
    return [candidate for _, candidate in sorted(remaining, key=lambda entry: entry[0])]


def _budget_text(budget: StrictBudget) -> str:
    return (
        f"a request has room for {budget.tools} strict tools with {budget.optional} optional parameters and "
        f"{budget.unions} unions in all"
    )
