"""
Joins skills with the tools that they use: which facts each skill may state, and which skills cannot be used.

The facts of a skill follow from its tools. A skill is read-only if all of its tools are, and destructive if one of them
is. The file of a skill can only state stricter facts. A skill cannot have a name that a tool or an earlier skill has. A
skill that lists another skill must also list the tools of that skill, because a skill may not pass on tools that it may
not call itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..agent.prompts import EXIT_PLAN
from ..catalogs.foreign_names import fold_name, reason_against
from ..catalogs.snapshot import Table, is_foreign
from ..errors import find_nearest
from ..spec import Tool
from .records import Skill, SkillProblem, skill_of

__all__ = ["JoinedTable", "SkillJoiner"]

_Claims: TypeAlias = tuple[str, bool, bool]
"""A name, whether it is read-only, and whether it is destructive."""

_RESERVED = frozenset((EXIT_PLAN, "tool_search"))
"""Names of tools that an agent provides itself, so a skill file must not take them."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTable(Table):
    """Tools and skills, and the problems of the skills that were left out."""

    problems: tuple[SkillProblem, ...] = ()


class SkillJoiner:
    """Joins skills with tools. It returns the same tool objects as before if it can, because listeners compare them."""

    def __init__(self) -> None:
        self._tools_by_key: dict[tuple[Tool, bool, bool], Tool] = {}

    def __call__(self, tools: Table, drafts: Iterable[Tool]) -> JoinedTable:
        """Return *tools*, followed by the skills in *drafts* that have everything they need."""
        problems: list[SkillProblem] = []
        skills = all_skills = _drop_taken_names(tools, drafts, problems)
        while unfit_skills := {
            name: reasons
            for name, draft in skills.tools.items()
            if (reasons := _find_problems(draft, tools, skills, all_skills))
        }:
            # A skill that lists one of these skills cannot have it, so all skills are checked again.
            problems += [problem for reasons in unfit_skills.values() for problem in reasons]
            skills = _build_table(draft for name, draft in skills.tools.items() if name not in unfit_skills)
        keys = {name: (draft, *_derive_facts(draft, tools, skills)) for name, draft in skills.tools.items()}
        earlier = self._tools_by_key
        finished = {name: earlier.get(key) or _complete_tool(*key) for name, key in keys.items()}
        self._tools_by_key = {keys[name]: tool for name, tool in finished.items()}
        return JoinedTable({**tools.tools, **finished}, {**tools.aliases, **skills.aliases}, tuple(problems))


def _build_table(drafts: Iterable[Tool]) -> Table:
    tools = {draft.name: draft for draft in drafts}
    return Table(tools, {alias: name for name, draft in tools.items() for alias in draft.facts.aliases})


def _drop_taken_names(tools: Table, drafts: Iterable[Tool], problems: list[SkillProblem]) -> Table:
    """Return the skills whose names are not taken by a tool, the agent or an earlier skill."""
    accepted: dict[str, Tool] = {}
    holders = dict.fromkeys(_RESERVED, "the agent itself")
    folded = {fold_name(name): name for name in (*tools.tools, *tools.aliases)}
    for draft in drafts:
        skill = _require_skill(draft)
        clashes = []
        for name in dict.fromkeys((draft.name, *draft.facts.aliases)):
            tool = tools.resolve(name)
            holder = holders.get(name) if tool is None else f"the tool `{tool.name}`"
            reason = None if holder is None else f"is taken by {holder}"
            if reason is None and is_foreign(draft):
                reason = _why_misleading(name, folded)
            if reason is not None:
                key = "name" if name == draft.name else "aliases"
                clashes.append(_build_problem(skill, key, f"`{name}` {reason}; choose another name"))
        problems += clashes
        if not clashes:
            accepted[draft.name] = draft
            holders |= dict.fromkeys((draft.name, *draft.facts.aliases), f"the skill in {skill.path}")
            folded |= {fold_name(name): name for name in (draft.name, *draft.facts.aliases)}
    return _build_table(accepted.values())


def _why_misleading(name: str, folded: Mapping[str, str]) -> str | None:
    """Return why a skill of a project cannot be called *name*, or None. *folded* holds the names before it."""
    twin = folded.get(fold_name(name))
    if twin is not None:
        return f"differs from `{twin}` only in case or separators"
    reason = reason_against(name)
    return None if reason is None else f"is reserved: {reason}"


def _find_problems(draft: Tool, tools: Table, skills: Table, all_skills: Table) -> list[SkillProblem]:
    """Return why a skill cannot be used with *tools* and with *skills*, which are left of *all_skills*."""
    skill = _require_skill(draft)
    problems = []
    listed = {name: tools.find(name) or skills.find(name) for name in skill.tools}
    for name, listed_tool in listed.items():
        inner = None if listed_tool is None else skill_of(listed_tool)
        if listed_tool is None:
            problems.append(_build_problem(skill, f"tools.{name}", _explain_missing(name, tools, all_skills)))
        elif inner is not None:
            used = {used_name: tools.find(used_name) or skills.find(used_name) for used_name in inner.tools}
            lacking = ", ".join(f"`{used_name}`" for used_name, tool in used.items() if tool not in listed.values())
            if lacking:
                problems.append(
                    _build_problem(skill, f"tools.{name}", f"the skill `{name}` uses {lacking}; list that here too")
                )
    reached = _collect_claims(skill, tools, skills)
    for claim, value, words, guilty in (
        ("read_only", True, "is not read-only", [name for name, is_read_only, _ in reached if not is_read_only]),
        ("destructive", False, "is destructive", [name for name, _, is_destructive in reached if is_destructive]),
    ):
        if guilty and skill.stated.get(claim) is value:
            remedy = f"remove this line, or `{guilty[0]}` from `tools`"
            problems.append(
                _build_problem(skill, claim, f"`{guilty[0]}` {words}, and a skill is what its tools are; {remedy}")
            )
    return problems


def _explain_missing(name: str, tools: Table, all_skills: Table) -> str:
    if all_skills.find(name) is not None:
        return f"the skill `{name}` is left out itself; correct that first"
    near = find_nearest(name, [*tools.tools, *all_skills.tools], max_items=1)
    hint = f"did you mean `{near[0]}`?" if near else "remove it, or add the tool to the catalog"
    return f"there is no tool `{name}`; {hint}"


def _derive_facts(draft: Tool, tools: Table, skills: Table) -> tuple[bool, bool]:
    """Return whether a skill is read-only, and whether it is destructive."""
    used = [_own_claims(draft), *_collect_claims(_require_skill(draft), tools, skills)]
    destructive = any(is_destructive for _, _, is_destructive in used)
    return not destructive and all(is_read_only for _, is_read_only, _ in used), destructive


def _complete_tool(draft: Tool, read_only: bool, destructive: bool) -> Tool:
    facts = replace(
        draft.facts,
        read_only=read_only,
        destructive=destructive,
        idempotent=False,  # a sub-run costs too much to be repeated without asking
        concurrency_safe=read_only,
    )
    return replace(draft, facts=facts)


def _collect_claims(skill: Skill, tools: Table, skills: Table) -> list[_Claims]:
    """Return the claims of what a skill may call. Another skill counts by its file: its tools are listed here too."""
    listed = [tool for name in skill.tools if (tool := tools.find(name)) is not None]
    inner = [draft for name in skill.tools if (draft := skills.find(name)) is not None]
    return [(tool.name, tool.facts.read_only, tool.facts.destructive) for tool in listed] + list(
        map(_own_claims, inner)
    )


def _own_claims(draft: Tool) -> _Claims:
    """Return what a skill is by its own file, without regard to what it uses."""
    destructive = draft.facts.destructive
    return draft.name, _require_skill(draft).stated.get("read_only") is not False and not destructive, destructive


def _build_problem(skill: Skill, key: str, message: str) -> SkillProblem:
    return SkillProblem(skill.path, skill.lines.get(key, 1), message)


def _require_skill(draft: Tool) -> Skill:
    skill = skill_of(draft)
    assert skill is not None  # noqa: S101 -- drafts are made of skills
    return skill
