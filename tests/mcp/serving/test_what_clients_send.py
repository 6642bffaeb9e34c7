"""For any messages of a client, only calls run that a person approved with exactly these arguments, and each of them once."""

from __future__ import annotations

import asyncio

import mcp_types as types
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from tests.mcp.serving.kit import CANCEL, DECLINE, NEW, NO, YES, Person, call_once, connected
from toolkit import Catalog, Dispatcher

ANSWERS = {
    "yes": YES,
    "no": NO,
    "decline": DECLINE,
    "cancel": CANCEL,
    "empty": types.ElicitResult(action="accept", content={}),
    "text": types.ElicitResult(action="accept", content={"approve": "true"}),
    "more": types.ElicitResult(action="accept", content={"approve": True, "amount": 3}),
    "declined yes": types.ElicitResult(action="decline", content={"approve": True}),
}
FINAL = {"yes", "no", "decline", "cancel", "declined yes"}
"""The answers that end a question. All others leave it open."""

amounts = st.integers(1, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("call"), amounts, st.booleans()),
        st.tuples(
            st.just("answer"),
            st.integers(0, 5),
            amounts | st.none(),
            st.sampled_from(sorted(ANSWERS)),
            st.sampled_from(["approval", "other"]),
            st.sampled_from(["as it is", "cut", "swapped", "of another server"]),
        ),
    ),
    min_size=1,
    max_size=12,
)


@given(steps)
def test_only_calls_that_a_person_approved_run(steps):
    """The steps are calls, answers with any arguments, repeated answers, answers without a question, and altered states."""
    asyncio.run(play(steps))


class Model:
    """What should have happened: the questions with their arguments, and the calls that a person approved."""

    def __init__(self):
        self.questions = []
        self.answered = set()
        self.approved = []


async def play(steps):
    """Play the steps, and compare the calls that ran with those of the model after each step."""
    catalog, runs, model = Catalog(), [], Model()

    @catalog.tool
    async def pay(amount: int) -> str:
        """Pay."""
        runs.append(amount)
        return "paid"

    dispatcher = Dispatcher(catalog)
    async with (
        connected(dispatcher, NEW, Person(NO), key=b"k" * 32) as client,
        connected(dispatcher, NEW, Person(NO), key=b"z" * 32) as other,
    ):
        for step in steps:
            if step[0] == "call":
                await play_call(client, model, *step[1:])
            else:
                await play_answer(client, other, model, *step[1:])
            assert runs == model.approved


async def play_call(client, model, amount, has_answer):
    """Call, with or without an answer to a question that was never asked."""
    responses = {"approval": YES} if has_answer else None
    result = await call_once(client, "pay", {"amount": amount}, responses=responses)
    model.questions.append((amount, result.request_state))


async def play_answer(client, other, model, number, amount, name, key, treatment):
    """Answer the question of that number, as a client may do that is careless or hostile."""
    if not model.questions:
        return
    index = number % len(model.questions)
    asked_amount, state = model.questions[index]
    amount = asked_amount if amount is None else amount
    if treatment == "cut":
        state = state[:-3]
    elif treatment == "swapped":
        state = state[:20] + state[20:][::-1]
    elif treatment == "of another server":
        state = (await call_once(other, "pay", {"amount": amount})).request_state
    try:
        result = await call_once(client, "pay", {"amount": amount}, responses={key: ANSWERS[name]}, state=state)
    except MCPError:
        result = None
    is_valid = treatment == "as it is" and amount == asked_amount and index not in model.answered
    assert (result is not None) == is_valid
    if is_valid and key == "approval" and name in FINAL:
        model.answered.add(index)
        if name == "yes":
            model.approved.append(amount)
