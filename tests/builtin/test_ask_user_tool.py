"""
The tool with which a model asks the user.
"""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.agent import Agent
from toolkit.approvals import Approvals
from toolkit.builtin import ask_user_for
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.questions import DECLINED
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio

COLOURS: dict[str, Any] = {"question": "Which colour?", "choices": ["red", "blue"]}


@pytest.mark.parametrize("mode", ["default", "plan", "auto", "deny_unlisted"])
async def test_the_model_gets_the_answer_in_plan_mode_and_other_modes(mode):
    """A question changes nothing, so these modes let the model ask."""
    dispatcher = Dispatcher(Catalog(ask_user_for()), permissions=Permissions(mode))
    waiting = await dispatcher.call("ask_user", COLOURS)
    question = waiting.request.questions[0]
    assert (question.key, question.message) == ("answer", "Which colour?")
    assert question.schema == {"type": "string", "enum": ["red", "blue"]}
    result = await dispatcher.resume(waiting.request, Decision.approve(answers={"answer": "blue"}))
    assert result.text == "blue"


async def test_the_model_learns_that_the_user_declined():
    approvals = Approvals(ask=lambda request: Decision.approve(answers={"answer": DECLINED}))
    result = await Dispatcher(Catalog(ask_user_for()), approvals=approvals).call("ask_user", {"question": "Why?"})
    assert result.kind == "ok"
    assert "declined to answer" in result.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": " "}, "question: expected a question, got an empty text"),
        ({"question": "x" * 5000}, "question: expected at most 4,000 characters, got 5,000"),
        ({"question": "?", "choices": ["a"]}, "choices: expected 2 to 20 choices, got 1"),
        ({"question": "?", "choices": ["a", "a"]}, "choices: expected choices that differ"),
        ({"question": "?", "choices": ["a", ""]}, "choices: expected choices that differ and are not empty"),
    ],
)
async def test_an_invalid_question_is_bad_args(arguments, words):
    """No person is asked, and the model can correct it."""
    result = await Dispatcher(Catalog(ask_user_for())).call("ask_user", arguments)
    assert result.kind == "bad_args"
    assert words in result.text


async def test_an_agent_waits_and_goes_on_with_the_answer():
    """A wrong answer is refused and leaves the run as it was; `agent.resume` takes the right one."""
    provider = ScriptedProvider([[ToolCall("ask_user", COLOURS, "c1")], "It is blue."])
    agent = Agent(provider, Catalog(ask_user_for()))
    run = await agent.run("Choose a colour.")
    assert run.status == "waiting"
    (request,) = run.requests
    assert request.questions[0].message == "Which colour?"
    for answers in (None, {"answer": "green"}):
        with pytest.raises(Exception, match="'answer'") as caught:
            await agent.resume(run, {request.id: Decision.approve(answers=answers)})
        assert caught.value.why == "answers"  # type: ignore[attr-defined]  # an `ApprovalError`
    run = type(run).from_json(run.to_json())
    run = await agent.resume(run, {request.id: Decision.approve(answers={"answer": "blue"})})
    assert (run.status, run.output) == ("done", "It is blue.")
    assert provider.requests[-1].messages[-1].results[0].text == "blue"
