"""
Skills and the tools they use: derived facts, claims, names, and skills that use skills.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.kit import Desk
from toolkit.catalog import Catalog
from toolkit.skills.catalog_join import SkillJoiner
from toolkit.skills.records import Skill
from toolkit.skills.skill_tools import tool_of
from toolkit.spec import Tool


def facts(desk: Desk, front: str) -> tuple[bool, bool]:
    """Return whether a skill with this front matter is read-only, and whether it is destructive."""
    desk.write("it.md", front)
    assert desk.problems == []
    stated = desk.skills["it"].facts
    assert (stated.concurrency_safe, stated.idempotent) == (stated.read_only, False)
    return stated.read_only, stated.destructive


@pytest.mark.parametrize(
    ("tools", "read_only", "destructive"),
    [
        ("[]", True, False),
        ("[look]", True, False),
        ("[look, fetch]", True, False),
        ("[look, cut]", False, False),
        ("[look, burn]", False, True),
        ("[cut, burn]", False, True),
    ],
)
def test_a_skill_has_the_facts_of_its_tools(desk, tools, read_only, destructive):
    """It is read-only if all are, and destructive if one is."""
    assert facts(desk, f"tools: {tools}") == (read_only, destructive)


@pytest.mark.parametrize(
    ("front", "read_only", "destructive"),
    [
        ("tools: [look]\nread_only: true", True, False),
        ("tools: [look]\nread_only: false", False, False),
        ("tools: [look]\ndestructive: true", False, True),
        ("tools: [cut]\ndestructive: false", False, False),
        ("tools: [burn]\ndestructive: true", False, True),
    ],
)
def test_a_file_may_be_stricter(desk, front, read_only, destructive):
    """Its stricter facts count."""
    assert facts(desk, front) == (read_only, destructive)


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("tools: [look, cut]\nread_only: true", "it.md:4: `cut` is not read-only, and a skill is what its tools are; remove this line, or `cut` from `tools`"),
        ("destructive: false\ntools: [burn]", "it.md:3: `burn` is destructive, and a skill is what its tools are; remove this line, or `burn` from `tools`"),
    ],
)  # fmt: skip
def test_a_file_cannot_claim_to_be_harmless(desk, front, problem):
    """It is left out, and the problem names the line."""
    desk.write("it.md", front)
    assert (desk.names, desk.problems) == ([], [problem])


SAFE, PLAIN, WILD = "look", "cut", "burn"


@given(
    tools=st.lists(st.sampled_from([SAFE, PLAIN, WILD]), unique=True),
    stated=st.dictionaries(st.sampled_from(["read_only", "destructive"]), st.booleans()),
)
def test_no_file_makes_its_skill_look_less_dangerous_than_its_tools(tools, stated):
    """With any facts in its file, the skill is at least as strict as its tools, or it is not there."""
    catalog = Catalog()
    for name, options in ((SAFE, {"read_only": True}), (PLAIN, {}), (WILD, {"destructive": True})):
        catalog.tool(name=name, description=name, **options)(lambda: None)
    if all(stated.get(fact) for fact in ("read_only", "destructive")):
        return  # refused when it is read
    skill = Skill(
        name="it", description="x", text="x", tools=tuple(tools), stated=stated, path=Path("it.md"), digest=""
    )
    joined = SkillJoiner()(catalog.table, [tool_of(skill, catalog.get)])
    tool = joined.find("it")
    assert (tool is None) == bool(joined.problems)
    if tool is not None:
        assert not tool.facts.read_only or set(tools) <= {SAFE}
        assert tool.facts.destructive or WILD not in tools
        assert not (tool.facts.read_only and tool.facts.destructive)


def test_an_unknown_tool_is_a_mistake(desk):
    """The problem has its line and a similar name."""
    desk.write("it.md", "tools:\n  - look\n  - crut\n  - telescope")
    assert desk.problems == [
        "it.md:5: there is no tool `crut`; did you mean `cut`?",
        "it.md:6: there is no tool `telescope`; remove it, or add the tool to the catalog",
    ]
    assert desk.names == []


def test_a_skill_comes_and_goes_with_its_tools(desk):
    """The tools of a server may come later."""
    desk.write("it.md", "tools: [saw]")
    assert desk.names == []
    desk.shed.catalog.add(Tool.from_schema("saw", "Saws.", {}, lambda arguments: "sawn"))
    assert (desk.names, desk.problems) == (["it"], [])
    desk.shed.catalog.remove("saw")
    assert (desk.names, len(desk.problems)) == ([], 1)


def test_a_skill_follows_changes_of_its_tools(desk):
    """A tool that is replaced by a dangerous one makes the skill dangerous."""
    desk.write("it.md", "tools: [look]")
    assert desk.skills["it"].facts.read_only
    desk.shed.catalog.add(Tool.from_schema("look", "Looks, and burns.", {}, len, destructive=True), replace=True)
    assert desk.skills["it"].facts.destructive


def test_a_tool_can_be_listed_by_its_alias(desk):
    desk.shed.catalog.alias("see", "look")
    assert facts(desk, "tools: [see]") == (True, False)


def test_skills_stand_after_the_tools_in_the_order_of_their_files(desk):
    """They come and go, so they stand at the end for the cache of the provider."""
    desk.write("b.md")
    desk.write("a.md", "name: z")
    assert desk.skills.names() == ["look", "cut", "burn", "fetch", "z", "b"]


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("name: look", "it.md:3: `look` is taken by the tool `look`; choose another name"),
        ("aliases: [peep, see]", "it.md:3: `see` is taken by the tool `look`; choose another name"),
        ("name: see", "it.md:3: `see` is taken by the tool `look`; choose another name"),
        ("name: exit_plan", "it.md:3: `exit_plan` is taken by the agent itself; choose another name"),
        ("aliases: [tool_search]", "it.md:3: `tool_search` is taken by the agent itself; choose another name"),
        ("name: a--b", "it.md:3: `a--b` is taken by the tool `a.b`; choose another name"),
    ],
)
def test_a_skill_cannot_take_the_name_of_a_tool(desk, front, problem):
    """An alias, and the form of a name without dots, count as well. The tool does not change."""
    desk.shed.catalog.alias("see", "look")
    desk.shed.catalog.add(desk.shed.catalog["cut"].renamed("a.b"))
    desk.write("it.md", front)
    assert (desk.names, desk.problems) == ([], [problem])


def test_a_tool_that_comes_later_takes_its_name_back(desk):
    """This holds for a file of any name."""
    desk.write("saw.md")
    assert desk.names == ["saw"]
    desk.shed.catalog.add(Tool.from_schema("saw", "Saws.", {}, len))
    assert (desk.names, desk.skills["saw"].description) == ([], "Saws.")


def test_a_name_is_given_once(desk):
    """The first file has it, by the order of paths; the others are told whose it is."""
    first = desk.write("a.md", "name: same\naliases: [other]")
    desk.write("b.md", "name: same")
    desk.write("other.md")
    desk.write("same/SKILL.md")
    assert desk.problems == [
        f"b.md:3: `same` is taken by the skill in {first}; choose another name",
        f"other.md:1: `other` is taken by the skill in {first}; choose another name",
        f"same/SKILL.md:1: `same` is taken by the skill in {first}; choose another name",
    ]
    assert [skill.path for skill in desk.skills.skills] == [first]


def test_an_alias_finds_the_skill(desk):
    desk.write("it.md", "aliases: [thing, it]")
    assert desk.skills["thing"].name == "it"


def test_a_skill_may_use_another_skill_only_with_all_tools_of_that_skill(desk):
    """A skill cannot give another skill tools that it may not use itself."""
    desk.write("inner.md", "tools: [look, cut]\naliases: [core]")
    desk.write("outer.md", "tools:\n  - look\n  - core")
    assert desk.problems == ["outer.md:5: the skill `core` uses `cut`; list that here too"]
    desk.write("outer.md", "tools: [look, cut, core]")
    assert desk.problems == []
    assert not desk.skills["outer"].facts.read_only


@pytest.mark.parametrize(("stated", "destructive"), [("read_only: false", False), ("destructive: true", True)])
def test_a_skill_is_no_more_harmless_than_its_inner_skills(desk, stated, destructive):
    """The facts in their files count, and a skill cannot claim otherwise."""
    desk.write("inner.md", f"{stated}\ntools: [look]")
    desk.write("outer.md", "tools: [look, inner]")
    desk.write("claim.md", "read_only: true\ntools: [look, inner]")
    facts = desk.skills["outer"].facts
    assert (facts.read_only, facts.destructive) == (False, destructive)
    (problem,) = desk.problems
    assert problem.startswith("claim.md:3: `inner` is not read-only, and a skill is what its tools are")


def test_tools_are_compared_by_identity_and_not_by_name(desk):
    """One skill lists an alias, and the other lists the name."""
    desk.shed.catalog.alias("see", "look")
    desk.write("inner.md", "tools: [see]")
    desk.write("outer.md", "tools: [look, inner]")
    assert desk.problems == []


def test_skills_may_use_each_other_in_a_circle(desk):
    """Depth is limited when they run."""
    desk.write("a.md", "tools: [a, b, look]")
    desk.write("b.md", "tools: [a, b, look]")
    assert (desk.names, desk.problems) == (["a", "b"], [])
    assert desk.skills["a"].facts.read_only


def test_a_skill_that_is_left_out_removes_every_skill_that_needs_it(desk):
    """The chain may have any length."""
    desk.write("a.md", "tools: [b, c, gone]")
    desk.write("b.md", "tools: [c, gone]")
    desk.write("c.md", "tools: [gone]")
    desk.write("d.md", "tools: [look]")
    desk.write("e.md", "tools: [cut, f]")
    desk.write("f.md", "read_only: true\ntools: [cut]")
    assert desk.names == ["d"]
    assert "e.md:3: the skill `f` is left out itself; correct that first" in desk.problems


def test_tools_that_did_not_change_stay_the_same_objects(desk):
    """So listeners hear only of real changes."""
    desk.write("a.md")
    desk.write("b.md", "tools: [look]")
    before, changes = (desk.skills["a"], desk.skills["b"]), []
    stop = desk.skills.subscribe(
        lambda change: changes.append(([tool.name for tool in change.added], [tool.name for tool in change.removed]))
    )
    desk.shed.catalog.add(Tool.from_schema("saw", "Saws.", {}, len))
    desk.write("c.md")
    stop()
    assert (desk.skills["a"], desk.skills["b"]) == before
    assert changes == [(["saw"], []), (["c"], [])]
