"""The time limit of a tool does not count the time that people take to answer its questions."""

from __future__ import annotations

import asyncio

import pytest

from toolkit import Approvals, Catalog, Context, Decision, Dispatcher
from toolkit.questions import Question

pytestmark = pytest.mark.anyio

LIMIT_SECONDS = 0.1
THINKING_SECONDS = 0.25
QUESTION = Question(key="color", message="Which color?", schema={"type": "string"})
OTHER = Question(key="size", message="Which size?", schema={"type": "string"})


async def think(request):
    """Answer as a person who takes longer than the tool may."""
    await asyncio.sleep(THINKING_SECONDS)
    return Decision.approve(answers={question.key: "red" for question in request.questions})


async def think_for_ever(request):
    """Wait for ever, as for a person who has gone home."""
    await asyncio.Event().wait()


def build(ask, *, goes_on=False, questions=(QUESTION,)):
    """Make a dispatcher with a tool that asks, and that may go on for ever afterwards."""
    catalog = Catalog()

    @catalog.tool(timeout_seconds=LIMIT_SECONDS)
    async def paint(context: Context) -> str:
        """Paint."""
        answers = await asyncio.gather(*(context.ask_at_once(question) for question in questions))
        while goes_on:
            await asyncio.Event().wait()
        return " ".join(answers)

    return Dispatcher(catalog, approvals=Approvals(ask=ask))


async def test_a_person_may_think_longer_than_the_tool_may_run():
    """The tool has taken no time itself."""
    result = await build(think).call("paint", {})
    assert (result.kind, result.text) == ("ok", "red")


async def test_two_questions_at_once_count_once():
    """The clock of the tool runs again when both are answered."""
    result = await build(think, questions=(QUESTION, OTHER)).call("paint", {})
    assert result.text == "red red"


async def test_the_limit_holds_after_the_answer():
    """A tool that goes on for ever ends."""
    result = await build(think, goes_on=True).call("paint", {})
    assert result.kind == "timeout"
    assert "took longer than 0.1" in result.text


async def test_the_deadline_of_the_call_holds_for_people():
    """The caller of the dispatcher does not wait longer than it said."""
    result = await build(think_for_ever).call("paint", {}, timeout_seconds=0.15)
    assert result.kind == "timeout"


async def test_a_call_that_is_cancelled_while_a_person_thinks_ends():
    """The cancellation reaches the tool and the question."""
    is_asked = asyncio.Event()

    async def ask(request):
        is_asked.set()
        await asyncio.Event().wait()

    call = asyncio.create_task(build(ask).call("paint", {}))
    await is_asked.wait()
    await asyncio.sleep(LIMIT_SECONDS)  # the tool's own time would be over
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
