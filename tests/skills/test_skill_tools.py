"""
A skill as a tool: schema, checks, preview, and what makes it the same tool.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.approvals.identity import identity_of
from toolkit.decisions import Decision
from toolkit.errors import BadArgs
from toolkit.session import Session
from toolkit.skills.parsing import read_skill
from toolkit.skills.skill_tools import tool_of

pytestmark = pytest.mark.anyio

YES = Decision.approve(by="ada")

ARGUMENTS = """
arguments:
  - {name: path, description: The file.}
  - {name: depth, type: integer, default: 2}
  - {name: share, type: number, default: 1}
  - {name: style, choices: [kind, harsh], required: false}
  - {name: deep, type: boolean, default: false}
  - {name: names, type: list, default: [a]}
  - {name: more, type: object, required: false}
  - {name: context, type: text}
  - {name: context_, type: text}
"""


def test_the_arguments_are_the_schema(desk):
    """Names, types, descriptions, defaults, choices; one of them may be called `context`."""
    desk.write("it.md", ARGUMENTS)
    assert desk.problems == []
    assert desk.skills["it"].schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "depth": {"type": "integer", "default": 2},
            "share": {"type": "number", "default": 1},
            "style": {"type": ["string", "null"], "enum": ["kind", "harsh", None], "default": None},
            "deep": {"type": "boolean", "default": False},
            "names": {"type": "array", "default": ["a"]},
            "more": {"type": ["object", "null"], "default": None},
            "context": {"type": "string"},
            "context_": {"type": "string"},
        },
        "required": ["path", "context", "context_"],
        "additionalProperties": False,
    }


TYPES = ["string", "text", "integer", "number", "boolean", "array", "list", "object"]
PLAIN = st.text(max_size=5) | st.integers(-(10**18), 10**18) | st.booleans() | st.none()
ARGUMENT = st.fixed_dictionaries(
    {"name": st.sampled_from(["self", "cls", "context", "context_", "given", "a", "_", "__class__", "skill"])},
    optional={
        "type": st.sampled_from(TYPES),
        "description": st.text(max_size=5),
        "required": st.booleans(),
        "default": PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2),
        "choices": st.lists(st.text(max_size=3), min_size=1) | st.lists(st.integers(-9, 9), min_size=1),
    },
)


@given(st.lists(ARGUMENT, max_size=3))
def test_every_readable_file_is_a_tool(arguments):
    """No check fails later. Its defaults are valid arguments."""
    matter = json.dumps({"description": "x", "arguments": arguments})
    skill, problems = read_skill(Path("it.md"), f"---\n{matter}\n---\nx".encode())
    if skill is None:
        assert problems
        return
    tool, names = tool_of(skill, lambda name: None), [argument.name for argument in skill.arguments]
    required = [argument.name for argument in skill.arguments if argument.required]
    assert (list(tool.schema["properties"]), tool.schema.get("required", [])) == (names, required)
    if not required:
        defaults = {argument.name: argument.default for argument in skill.arguments if argument.default is not None}
        assert list(tool.check(defaults)) == names


def test_arguments_are_checked_as_for_any_tool(desk):
    """All problems are reported together, and defaults are filled in."""
    desk.write("it.md", ARGUMENTS)
    tool = desk.skills["it"]
    with pytest.raises(BadArgs) as caught:
        tool.check({"depth": "x", "style": "rude", "other": 1})
    assert len(caught.value.problems) == 6
    decoded = tool.check({"path": "a", "context": "b", "context_": "c"})
    assert (decoded["depth"], decoded["names"], decoded["style"]) == (2, ["a"], None)


async def test_the_text_of_a_skill_is_the_result_without_an_agent(desk):
    """The caller can follow the text."""
    desk.write("it.md", "arguments: [path, context]\ntools: [look]", "Look at {path} in {context}.")
    result = await desk.dispatcher().call("it", {"path": "{context}", "context": "x"})
    assert (result.kind, result.text, desk.shed.done) == ("ok", "Look at {context} in x.", [])


async def test_a_prompt_that_is_too_long_is_a_failed_call(desk):
    """The model can send less."""
    desk.write("it.md", text="{input}" * 100)
    result = await desk.dispatcher().call("it", {"input": "x" * 20_000})
    assert (result.kind, "2,000,700 characters" in result.text) == ("failed", True)


async def test_a_person_who_is_asked_sees_the_prompt_and_the_tools(desk):
    desk.shed.catalog.alias("see", "look")
    desk.write("it.md", "tools: [see, cut]", "Cut {input}.")
    waiting = await desk.dispatcher().call("it", {"input": "oak"})
    assert waiting.request.preview == "A model is asked to do this, with `look`, `cut`:\n\nCut oak."


async def test_the_preview_of_a_skill_without_tools_says_that_there_are_none(desk):
    """It may have to ask for another reason."""
    desk.write("it.md", "approval: always", "Think about {input}.")
    waiting = await desk.dispatcher().call("it", {"input": "oak"})
    assert waiting.request.preview == "A model is asked to do this, with no tools:\n\nThink about oak."


def test_every_edit_makes_another_tool(desk):
    """It may change the text, the description or a comment. The same text is the same tool in any place."""
    identities = []
    for front, text in [("", "a"), ("", "b"), ("", "a"), ("# comment", "a"), ("version: '2'", "a")]:
        desk.write("it.md", front, text)
        identities.append(identity_of(desk.skills["it"]))
    assert identities[0] == identities[2]
    assert len(set(identities)) == 4
    assert desk.skills["it"].facts.version.startswith("2 sha256:")


async def test_an_approval_does_not_survive_an_edit(desk):
    """The person has agreed to another text."""
    desk.write("it.md", "tools: [cut]", "Cut {input} with care.")
    dispatcher = desk.dispatcher(approvals=Approvals(MemoryApprovals()))
    first = await dispatcher.call("it", {"input": "oak"})
    desk.write("it.md", "tools: [cut]", "Cut {input} down! ......")
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(first.request.id, YES)
    assert caught.value.why == "changed"
    again = await dispatcher.call("it", {"input": "oak"})
    assert (await dispatcher.resume(again.request.id, YES)).text == "Cut oak down! ......"


async def test_a_grant_does_not_survive_an_edit(desk):
    """ "Always this tool" was said of another text."""
    desk.write("it.md", "tools: [cut]", "Cut {input}.")
    dispatcher, session = desk.dispatcher(), Session()
    waiting = await dispatcher.call("it", {"input": "oak"}, session=session)
    await dispatcher.resume(waiting.request.id, Decision.approve(grant=waiting.request.grants[0]), session=session)
    assert (await dispatcher.call("it", {"input": "elm"}, session=session)).kind == "ok"
    desk.write("it.md", "tools: [cut]", "Cut {input}!")
    assert (await dispatcher.call("it", {"input": "elm"}, session=session)).kind == "waiting"


@pytest.mark.parametrize(
    ("mode", "tools", "kind"),
    [
        ("plan", "[look]", "ok"), ("plan", "[cut]", "denied"), ("default", "[look]", "ok"), ("default", "[cut]", "waiting"),
        ("auto", "[cut]", "ok"), ("auto", "[burn]", "waiting"), ("deny_unlisted", "[cut]", "denied"), ("bypass", "[burn]", "ok"),
    ],
)  # fmt: skip
async def test_modes_judge_a_skill_by_its_tools(desk, mode, tools, kind):
    desk.write("it.md", f"tools: {tools}")
    desk.shed.permissions.set_mode(mode)
    assert (await desk.dispatcher().call("it", {"input": ""})).kind == kind
