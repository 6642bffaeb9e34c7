"""
Questions at a terminal: how each kind of schema is asked, declined and refused.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals import Approvals, TerminalPrompt
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.questions import DECLINED, AnsweredQuestion, Question


def ask(typed: str, *schemas: dict[str, Any], **fields: Any) -> tuple[Decision, str]:
    """Return the decision of a person who types *typed*, and what they saw."""
    questions = tuple(
        Question(key=f"q{place}", message=f"Q{place}?", schema=part) for place, part in enumerate(schemas)
    )
    request = ApprovalRequest(
        tool="book", call_id="c", reason="it asks: Q0?", arguments={"day": "Fri"}, questions=questions, **fields
    )
    output = io.StringIO()
    decision = TerminalPrompt(input=io.StringIO(typed), output=output, colour=False, by="ada").ask(request)
    assert decision is not None
    return decision, output.getvalue()


TITLED = {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}
BOX = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "description": "in cm", "minimum": 1},
        "kind": {"enum": ["box", "bag"]},
        "note": {"type": "string"},
    },
    "required": ["size", "kind"],
}


@pytest.mark.parametrize(
    ("schema", "typed", "answer"),
    [
        ({"type": "string"}, "hello there", "hello there"),
        ({"type": "string"}, '""', ""),
        ({"type": "string"}, "5", "5"),
        ({"type": "boolean"}, "y", True),
        ({"type": "boolean"}, "NO", False),
        ({"type": "boolean"}, "maybe\nyes", True),
        ({"type": "integer"}, "many\n4", 4),
        ({"type": "integer"}, "true\n4.5\n4", 4),
        ({"type": "number"}, "4.5", 4.5),
        ({"type": "integer", "minimum": 3}, "2\n3", 3),
        ({"type": "integer", "default": 7}, "", 7),
        ({"enum": ["S", "M"]}, "2", "M"),
        ({"enum": ["S", "M"]}, "S", "S"),
        ({"enum": ["2", "1"]}, "1", "2"),
        ({"enum": ["02", "01"]}, "02", "02"),
        ({"enum": ["20", "10"]}, "10", "10"),
        ({"enum": ["/deny", "b"]}, "1", "/deny"),
        ({"enum": [1, None]}, "3\nnull", None),
        (TITLED, "Large", "l"),
        (TITLED, "1", "s"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "1, c", ["a", "c"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "[]", []),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, "[]\n2", ["b"]),
        ({"type": "array", "items": {"type": "integer"}}, "1,2\n[1, 2]", [1, 2]),
        ({}, '{"a": 1}', {"a": 1}),
        (BOX, "3\n1\n\n", {"size": 3, "kind": "box"}),
        (BOX, "\n3\nbag\nfragile", {"size": 3, "kind": "bag", "note": "fragile"}),
        (BOX, "0\n1\n\n4\n1\n\n", {"size": 4, "kind": "box"}),
        ({**BOX, "required": ["other"]}, '{"size": 1, "other": 2}', {"size": 1, "other": 2}),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, '{"a": {}}', {"a": {}}),
        ({"type": "object", "properties": {"a": True}}, '{"a": 1}', {"a": 1}),
        ({"type": "string"}, "", DECLINED),
        ({"enum": ["S"]}, "/decline", DECLINED),
        ({"type": "integer", "default": 7}, "/decline", DECLINED),
        (BOX, "3\n/decline", DECLINED),
    ],
)
def test_a_question_is_asked_as_its_schema_suggests(schema, typed, answer):
    """A line that does not fit is asked for again; an empty one takes the default, or declines."""
    decision, _ = ask(f"{typed}\n", schema)
    assert decision.approved
    assert decision.answers == {"q0": answer}
    assert type(decision.answers["q0"]) is type(answer)
    assert decision.by == "ada"


def test_the_form_shows_the_question_and_the_commands():
    """It has the tool, its arguments, the message behind a bar, the choices and the commands."""
    former = AnsweredQuestion(question=Question(key="name", message="Name?", schema={}), answer="Ada")
    declined = AnsweredQuestion(question=Question(key="age", message="Age?", schema={}), answer=DECLINED)
    decision, output = ask("3\nbag\n\n2\n", BOX, {"enum": ["S", "M"], "default": "S"}, answers=(former, declined))
    assert decision.answers == {"q0": {"size": 3, "kind": "bag"}, "q1": "M"}
    assert "`book` asks you 2 questions" in output
    assert "answered 'name' before: \"Ada\"" in output
    assert "answered 'age' before: declined" in output
    assert '"day": "Fri"' in output
    assert "  | Q0?\n" in output
    assert "  size (in cm) [a whole number]: " in output
    assert "  note [a text, or nothing to leave it out]: " in output
    assert "Answer [1 to 2, or nothing for S]: " in output
    assert "/decline declines a question, and /deny denies the call." in output


def test_a_mistake_in_the_last_answers_is_shown():
    """The reason is shown only if it says more than the questions."""
    request = ApprovalRequest(
        tool="book",
        call_id="c",
        reason="it asks: Q? (the answer does not fit)",
        questions=(Question(key="q", message="Q?", schema={}),),
    )
    output = io.StringIO()
    TerminalPrompt(input=io.StringIO("\n"), output=output).ask(request)
    assert "because: it asks: Q? (the answer does not fit)" in output.getvalue()
    assert "because" not in ask("x\n", {"type": "string"})[1]


def test_the_person_may_deny_the_call():
    """There may be a reason for the model, or the input may end."""
    decision, _ = ask("/deny\nnot now\n", {"type": "string"})
    assert (decision.approved, decision.reason) == (False, "not now")
    decision, _ = ask("", {"type": "string"})
    assert (decision.approved, decision.reason) == (False, "no answer came")


@pytest.mark.parametrize("command", ["/deny", "/decline"])
def test_a_choice_cannot_take_a_command_away(command):
    """A choice that reads like a command is picked by its number, as the list says."""
    schema = {"enum": ["b", command]}
    decision, output = ask(f"{command}\n\n", schema)
    assert decision.answers == (None if command == "/deny" else {"q0": DECLINED})
    assert f"type 2 for this choice; {command} is the command" in output
    assert ask("2\n", schema)[0].answers == {"q0": command}


def test_text_of_the_tool_cannot_look_like_a_line_of_the_program():
    """Control characters in messages, choices and names are shown, not sent to the terminal."""
    schema = {
        "type": "object",
        "properties": {"a\x1b[2J": {"enum": ["x\x1b[31m\ny"], "description": "d\x07"}},
        "required": ["a\x1b[2J"],
    }
    _, output = ask("1\n", schema)
    assert "\x1b" not in output
    assert "\x07" not in output


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=5, unique=True), st.data())
def test_a_number_or_a_text_picks_its_choice(choices, data):
    """The number of a choice gives that choice, also if another choice reads like the number."""
    number = data.draw(st.integers(1, len(choices)))
    decision, _ = ask(f"{number}\n", {"enum": choices})
    assert decision.answers == {"q0": choices[number - 1]}


@pytest.mark.anyio
async def test_a_whole_call_at_the_terminal():
    """The tool gets what the person typed, one question after the other."""
    catalog = Catalog()

    @catalog.tool
    async def book(context: Context) -> str:
        """Book a table."""
        people = await context.ask("people", "How many?", {"type": "integer"})
        return f"{people} {await context.ask('late', 'Late?', {'type': 'boolean'})!r}"

    prompt = TerminalPrompt(input=io.StringIO("4\n\n"), output=io.StringIO(), by="ada")
    async with Dispatcher(catalog, approvals=Approvals(ask=prompt)) as dispatcher:
        assert (await dispatcher.call("book", {})).text == "4 DECLINED"
