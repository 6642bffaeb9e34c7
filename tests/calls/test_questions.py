"""A tool asks its user: the call waits for the answers, and runs again from its start with all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.calls.restaurant import COUNT, Restaurant, refuse
from toolkit.approvals import Approvals, DenyAll, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.facts import Facts
from toolkit.permissions import Permissions
from toolkit.questions import DECLINED, Question

pytestmark = pytest.mark.anyio


async def test_the_call_waits_and_runs_again_with_all_answers():
    """Questions asked together are one request, a later one is the next, and the body completes once."""
    restaurant = Restaurant()
    dispatcher = restaurant.build()
    first = await dispatcher.call("book", {"day": "Friday"})
    assert (first.kind, first.text) == ("waiting", "waiting for an answer: it asks: How many people?; Is it late?")
    assert first.request.questions == (
        Question(key="people", message="How many people?", schema=COUNT),
        Question(key="late", message="Is it late?", schema={"type": "boolean"}),
    )
    assert not first.request.is_approval
    second = await dispatcher.resume(first.request, Decision.approve(answers={"people": 4, "late": DECLINED}))
    assert [question.key for question in second.request.questions] == ["name"]
    assert [(answered.question.key, answered.answer) for answered in second.request.answers] == [
        ("people", 4),
        ("late", DECLINED),
    ]
    assert restaurant.booked == []
    third = await dispatcher.resume(second.request.id, Decision.approve(answers={"name": "Ada"}))
    assert (third.kind, third.text, restaurant.starts) == ("ok", "booked for 'Ada'", 3)
    assert restaurant.booked == [("Friday", 4, DECLINED, "Ada")]
    assert restaurant.booked[0][2] is DECLINED


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (None, "its question 'people' has no answer; give Decision.approve(answers={'people': ...})"),
        ({"people": 4}, "its question 'late' has no answer"),
        ({"people": 0, "late": True}, "the answer to 'people' does not fit: expected at least 1, got 0"),
        ({"people": "4", "late": True}, "the answer to 'people' does not fit: expected an integer"),
        ({"people": float("nan"), "late": True}, "the answer to 'people' does not fit"),
        ({"peeple": 4, "people": 4, "late": True}, "it does not ask 'peeple'; did you mean 'people'?"),
        ({5: 4, "people": 4, "late": True}, "it does not ask '5'; it asks 'people', 'late'"),
    ],
)
async def test_a_wrong_answer_leaves_the_request_open(answers, words):
    """The error names the key, the place and the remedy; the right answer is still accepted afterwards."""
    restaurant = Restaurant()
    dispatcher = restaurant.build()
    request = (await dispatcher.call("book", {"day": "Friday"})).request
    error = await refuse(dispatcher, request, Decision.approve(answers=answers))
    assert error.why == "answers"
    assert words in str(error)
    assert "the request is still open" in str(error)
    result = await dispatcher.resume(request, Decision.approve(answers={"people": 4, "late": True}))
    assert result.kind == "waiting"
    assert restaurant.starts == 2


async def test_an_answer_to_no_question_is_refused():
    """A request for approval takes no answers."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def wipe() -> str:
        """Wipe."""
        return "wiped"

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    request = (await dispatcher.call("wipe", {})).request
    error = await refuse(dispatcher, request, Decision.approve(answers={"size": 1}))
    assert "it asks no question" in str(error)
    assert (await dispatcher.resume(request, Decision.approve())).text == "wiped"


async def test_a_place_inside_an_answer_is_named():
    """The problem of an object names the property that does not fit."""
    catalog = Catalog()

    @catalog.tool
    async def order(context: Context) -> Any:
        """Order."""
        return await context.ask("box", "Which box?", {"type": "object", "properties": {"size": COUNT}})

    dispatcher = Dispatcher(catalog)
    request = (await dispatcher.call("order", {})).request
    error = await refuse(dispatcher, request, Decision.approve(answers={"box": {"size": 0}}))
    assert "the answer to 'box' does not fit: size: expected at least 1, got 0" in str(error)


async def test_a_denial_ends_the_call():
    """Deny is about the whole call: the tool does not run again."""
    restaurant = Restaurant()
    dispatcher = restaurant.build()
    request = (await dispatcher.call("book", {"day": "Friday"})).request
    result = await dispatcher.resume(request, Decision.deny("not hungry"))
    assert (result.kind, result.error.message, restaurant.starts) == ("denied", "not hungry", 1)


async def test_an_asker_answers_at_once():
    """No request is left, even if the first answer of the asker was wrong."""
    restaurant, reasons = Restaurant(), []

    def ask(request: ApprovalRequest) -> Decision:
        reasons.append(request.reason)
        values = {"people": 4 if len(reasons) > 1 else 0, "late": False, "name": "Bob"}
        return Decision.approve(answers={question.key: values[question.key] for question in request.questions})

    store = MemoryApprovals()
    result = await restaurant.build(Approvals(store, ask=ask)).call("book", {"day": "Friday"})
    assert (result.text, restaurant.booked) == ("booked for 'Bob'", [("Friday", 4, False, "Bob")])
    assert len(reasons) == 3
    assert "the answer to 'people' does not fit" in reasons[1]
    assert store.pending() == []


async def test_an_asker_that_gives_no_answers_leaves_the_call_waiting():
    """A bare yes is no answer, and an automatic no denies the call."""
    restaurant = Restaurant()
    result = await restaurant.build(Approvals(ask=lambda request: True)).call("book", {"day": "Friday"})
    assert result.kind == "waiting"
    result = await restaurant.build(Approvals(ask=DenyAll())).call("book", {"day": "Friday"})
    assert result.kind == "denied"


async def test_questions_come_after_the_approval_and_need_no_second_one():
    """An approved call asks its questions, and their answers do not need another approval."""
    catalog, done = Catalog(), []

    @catalog.tool(destructive=True)
    async def wipe(target: str, context: Context) -> str:
        """Wipe."""
        if await context.ask("sure", "Are you sure?", {"type": "boolean"}):
            done.append(target)
        return "done"

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    approval = await dispatcher.call("wipe", {"target": "x"})
    assert approval.request.is_approval
    question = await dispatcher.resume(approval.request, Decision.approve(by="ada"))
    assert question.request.questions[0].key == "sure"
    assert question.request.grants == ()
    result = await dispatcher.resume(question.request, Decision.approve(answers={"sure": True}))
    assert (result.kind, done) == ("ok", ["x"])


async def test_a_declined_yes_or_no_is_not_a_yes():
    """`DECLINED` is false, so that a tool that only checks for truth does not go on."""
    assert not DECLINED
    assert repr(DECLINED) == "DECLINED"


@pytest.mark.parametrize("kind", ["sync", "group", "task"])
async def test_other_tools_ask_as_well(kind):
    """Sync tools, task groups and tools that catch every exception."""
    catalog = Catalog()

    @catalog.tool(name="sync")
    def ask_in_thread(context: Context) -> str:
        """Ask."""
        return f"{context.ask_sync('a', 'A?')} {context.ask_sync('b', 'B?')}"

    @catalog.tool(name="group")
    async def ask_in_group(context: Context) -> str:
        """Ask."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(context.ask(key, f"{key.upper()}?")) for key in "ab"]
        return " ".join(task.result() for task in tasks)

    @catalog.tool(name="task")
    async def ask_and_catch(context: Context) -> str:
        """Ask."""
        try:
            return f"{await context.ask('a', 'A?')} {await context.ask('b', 'B?')}"
        except Exception:  # noqa: BLE001 -- what the test is about
            return "caught"

    values = {"a": "x", "b": "y"}
    approvals = Approvals(ask=lambda r: Decision.approve(answers={q.key: values[q.key] for q in r.questions}))
    async with Dispatcher(catalog, approvals=approvals) as dispatcher:
        assert (await dispatcher.call(kind, {})).text == "x y"


async def test_a_failure_beside_a_question_is_a_failure():
    """A task group with another error in it does not wait."""
    catalog = Catalog()

    @catalog.tool
    async def ask(context: Context) -> None:
        """Ask."""

        async def fail() -> None:
            await asyncio.sleep(0)
            raise ValueError("broken")

        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(context.ask("a", "A?"))

    assert (await Dispatcher(catalog).call("ask", {})).kind in ("failed", "internal")


async def test_the_same_key_gives_the_same_answer_once():
    """A key that is asked twice is one question, and the tool cannot change the stored answer."""
    catalog = Catalog()

    @catalog.tool
    async def ask(context: Context) -> Any:
        """Ask."""
        schema = {"type": "array"}
        (await context.ask("a", "A?", schema)).append("changed")
        return await context.ask("a", "A?", schema)

    dispatcher = Dispatcher(catalog)
    request = (await dispatcher.call("ask", {})).request
    assert len(request.questions) == 1
    assert (await dispatcher.resume(request, Decision.approve(answers={"a": [1]}))).value == [1]


@pytest.mark.parametrize(
    ("message", "schema", "words"),
    [
        ("Another?", {"type": "string"}, "asks the question 'a' with another message than before"),
        ("A?", {"type": "integer"}, "asks the question 'a' with another schema than before"),
    ],
)
async def test_the_same_key_for_another_question_is_an_error(message, schema, words):
    """The first question may have been answered already, or be asked at the same time."""
    catalog = Catalog()

    @catalog.tool
    async def one_by_one(context: Context) -> None:
        """Ask."""
        await context.ask("a", "A?")
        await context.ask("a", message, schema)

    @catalog.tool
    async def together(context: Context) -> None:
        """Ask."""
        await asyncio.gather(context.ask("a", "A?"), context.ask("a", message, schema))

    dispatcher = Dispatcher(catalog)
    request = (await dispatcher.call("one_by_one", {})).request
    result = await dispatcher.resume(request, Decision.approve(answers={"a": "x"}))
    assert words in result.text
    assert words in (await dispatcher.call("together", {})).text


@pytest.mark.parametrize(
    ("key", "message", "schema", "words"),
    [
        ("", "A?", {}, "the key of a question is empty"),
        ("a" * 201, "A?", {}, "at most 200 characters"),
        ("a", " ", {}, "the message of a question is empty"),
        (3, "A?", {}, "the key of a question is a text, got int"),
        ("a", "A?", "string", "the schema of the question 'a' is a JSON Schema as a dictionary"),
        ("a", "A?", {"type": "text"}, "the question 'a' of `ask`: not a valid schema"),
        ("a", "A?", {"default": {1, 2}}, "the question 'a' of `ask`: the schema is not JSON"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused(key, message, schema, words):
    """The result names the question and what is wrong with it."""
    catalog = Catalog()

    @catalog.tool
    async def ask(context: Context) -> None:
        """Ask."""
        await context.ask(key, message, schema)

    result = await Dispatcher(catalog).call("ask", {})
    assert result.is_error
    assert words in result.text


@pytest.mark.long
async def test_there_is_a_limit_of_questions():
    """A tool that asks without end fails, although the asker always answers."""
    catalog = Catalog()

    @catalog.tool
    async def ask(context: Context) -> None:
        """Ask."""
        for number in range(1000):
            await context.ask(str(number), "And?")

    approvals = Approvals(ask=lambda r: Decision.approve(answers={r.questions[0].key: "x"}))
    result = await Dispatcher(catalog, approvals=approvals).call("ask", {})
    assert "it asks its user more than 100 questions" in result.text


async def test_a_context_of_a_plain_call_has_no_user():
    """Outside a dispatcher, the error says what to do."""
    with pytest.raises(RuntimeError, match="run the tool with a dispatcher"):
        await Context(facts=Facts()).ask("a", "A?")
