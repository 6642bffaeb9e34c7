"""A tool that cannot run again asks the dispatcher's asker while it runs."""

from __future__ import annotations

import pytest

from toolkit import DECLINED, Catalog, Context, Dispatcher, tool
from toolkit.approvals import Approvals
from toolkit.decisions import Decision
from toolkit.questions import Question

pytestmark = pytest.mark.anyio

SIZE = Question(key="size", message="Which size?", schema={"enum": ["S", "M"]})


def build_dispatcher(ask, runs):
    """Return a dispatcher whose tool asks for a size while it runs, and notes each run."""
    catalog = Catalog()

    @tool(catalog=catalog)
    async def order(context: Context) -> str:
        """Order a shirt."""
        runs.append(context.ask_at_once)
        return "no one" if context.ask_at_once is None else str(await context.ask_at_once(SIZE))

    return Dispatcher(catalog, approvals=None if ask is None else Approvals(ask=ask))


async def test_the_tool_goes_on_with_the_answer():
    """The tool runs once, and the person sees the question with the call that it belongs to."""
    runs, requests = [], []

    def ask(request):
        requests.append(request)
        return Decision.approve(answers={"size": "M"})

    result = await build_dispatcher(ask, runs).call("order", {}, principal="ada")

    assert (result.text, len(runs)) == ("M", 1)
    assert [(request.tool, request.principal, request.questions) for request in requests] == [("order", "ada", (SIZE,))]


async def test_dispatcher_without_an_asker_asks_no_questions():
    """The tool can see that there is no person."""
    assert (await build_dispatcher(None, []).call("order", {})).text == "no one"


async def test_an_answer_that_does_not_fit_is_asked_for_again():
    """The person is told what was wrong with the answer, at most twice."""
    reasons, answers = [], iter(["L", "M"])

    def ask(request):
        reasons.append(request.reason)
        return Decision.approve(answers={"size": next(answers)})

    assert (await build_dispatcher(ask, []).call("order", {})).text == "M"
    assert "does not fit" not in reasons[0]
    assert "does not fit" in reasons[1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda request: False,
        lambda request: None,
        lambda request: 1 / 0,
        lambda request: True,
        lambda request: Decision.approve(answers={"size": "XXL"}),
        lambda request: Decision.approve(answers={"size": DECLINED}),
        lambda request: Decision.approve(answers={"size": "M"}, principal="eve"),
    ],
    ids=["denied", "no answer", "failed", "no answers", "wrong", "declined", "another principal"],
)
async def test_an_invalid_answer_counts_as_declined(ask):
    """The tool goes on, and sees that the person has declined."""
    assert (await build_dispatcher(ask, []).call("order", {}, principal="ada")).text == "DECLINED"
