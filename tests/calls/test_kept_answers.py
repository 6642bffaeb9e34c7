"""Questions and answers are kept, sealed and masked, and outlast retries, lost claims and edited arguments."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls.restaurant import Restaurant, refuse
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.policies.retry import RetryPolicy
from toolkit.questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question
from toolkit.session import Session
from toolkit.storage.process_owner import owner as current_owner

KEY = b"k" * 32
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["memory", "file", "signed", "sealed"])
async def test_answers_are_kept_in_every_store(kind, tmp_path):
    """Another dispatcher, as in another process, continues the call with the answers of the first."""
    path = tmp_path / "x.approvals.sqlite"
    stores = {"memory": MemoryApprovals(), "file": SQLiteApprovals(path), "signed": SQLiteApprovals(path)}
    key = None if kind in ("memory", "file") else KEY
    restaurant = Restaurant()

    def build() -> Dispatcher:
        return restaurant.build(Approvals(stores.get(kind), key=key))

    waiting = await build().call("book", {"day": "Friday"}, session=Session(id="s"))
    for answers in ({"people": 4, "late": DECLINED}, {"name": "Ada"}):
        request = ApprovalRequest.from_json(waiting.request.to_json())
        waiting = await build().resume(request, Decision.approve(answers=answers))
    assert restaurant.booked == [("Friday", 4, DECLINED, "Ada")]


async def test_an_altered_sealed_question_is_refused():
    """The seal covers the questions, and the answers given so far."""
    restaurant = Restaurant()
    dispatcher = restaurant.build(Approvals(key=KEY))
    request = (await dispatcher.call("book", {"day": "Friday"})).request
    data = request.to_json()
    data["questions"][0]["message"] = "May I?"
    error = await refuse(dispatcher, data, Decision.approve(answers={"people": 4, "late": True}))
    assert error.why == "forged"
    second = await dispatcher.resume(request, Decision.approve(answers={"people": 4, "late": True}))
    data = second.request.to_json()
    data["answers"][0]["answer"] = 400
    assert (await refuse(dispatcher, data, Decision.approve(answers={"name": "Ada"}))).why == "forged"


async def test_secrets_are_masked_in_questions_answers_and_the_audit(tmp_path):
    """The tool gets the real answer; requests and the audit log show the mask."""
    catalog, answers = Catalog(), []

    @catalog.tool
    async def ask(context: Context) -> None:
        """Ask."""
        answers.append(await context.ask("a", "Is it sesame?"))
        answers.append(await context.ask("b", "Sure?", {"type": "string", "description": "As sesame"}))

    log = AuditLog(tmp_path / "audit.jsonl")
    dispatcher = Dispatcher(catalog, redact=["sesame"], audit=log)
    first = (await dispatcher.call("ask", {})).request
    assert "sesame" not in str(first.to_json())
    second = (await dispatcher.resume(first, Decision.approve(answers={"a": "sesame"}))).request
    assert "sesame" not in str(second.to_json())
    assert second.answers[0].answer != "sesame"
    await dispatcher.resume(second, Decision.approve(answers={"b": "sesame"}))
    assert answers == ["sesame", "sesame", "sesame"]
    text = (tmp_path / "audit.jsonl").read_text()
    assert "sesame" not in text
    assert '"questions"' in text
    assert '"answers"' in text


async def test_questions_that_may_not_be_shown_do_not_travel_in_a_sealed_request():
    """The refusal says to use a store."""
    catalog = Catalog()

    @catalog.tool
    async def ask(context: Context) -> None:
        """Ask."""
        await context.ask("a", "Is it sesame?")

    result = await Dispatcher(catalog, redact=["sesame"], approvals=Approvals(key=KEY)).call("ask", {})
    assert "questions or answers that may not be shown" in result.text


async def test_other_arguments_are_refused_with_answers():
    """The questions were about the arguments that the user saw."""
    restaurant = Restaurant()
    dispatcher = restaurant.build()
    request = (await dispatcher.call("book", {"day": "Friday"})).request
    decision = Decision.approve(arguments={"day": "Monday"}, answers={"people": 4, "late": True})
    assert (await refuse(dispatcher, request, decision)).why == "arguments"


async def test_a_question_in_a_retry_waits():
    """The second attempt asks, after the first failed for a while."""
    catalog, attempts = Catalog(), []

    @catalog.tool(idempotent=True)
    async def ask(context: Context) -> str:
        """Ask."""
        attempts.append(context.attempt)
        if len(attempts) == 1:
            raise Transient("later", happened="no")
        return await context.ask("a", "A?")

    async def sleep(seconds: float) -> None:
        return

    dispatcher = Dispatcher(catalog, retry=RetryPolicy(wait_initial=0), sleep=sleep)
    waiting = await dispatcher.call("ask", {})
    assert waiting.kind == "waiting"
    assert (await dispatcher.resume(waiting.request, Decision.approve(answers={"a": "x"}))).text == "x"


async def test_the_same_call_that_asks_again_is_one_request_and_completes_once():
    """A call with an id of its own gets its request again, and later its outcome."""
    restaurant = Restaurant()
    dispatcher = restaurant.build()
    requests = [(await dispatcher.call("book", {"day": "Friday"}, id="c1")).request for _ in range(2)]
    assert requests[0].id == requests[1].id
    second = await dispatcher.resume(requests[0], Decision.approve(answers={"people": 4, "late": True}))
    again = await dispatcher.call("book", {"day": "Friday"}, id="c1")
    assert again.request.id == second.request.id
    await dispatcher.resume(second.request, Decision.approve(answers={"name": "Ada"}))
    assert (await dispatcher.call("book", {"day": "Friday"}, id="c1")).value == "booked for 'Ada'"
    assert len(restaurant.booked) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=5) | st.just(DECLINED),
    lambda inner: st.lists(inner.filter(lambda value: value is not DECLINED), max_size=3),
    max_leaves=4,
)


@pytest.mark.long
@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_a_tool_gets_exactly_its_own_answers(values, data):
    """In any order and grouping, its body completes once, and the answers of another call never reach it."""
    order = data.draw(st.permutations(range(len(values))))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    catalog, completed = Catalog(), []

    @catalog.tool
    async def ask(owner: str, context: Context) -> None:
        """Ask."""
        rest, answers = list(order), {}
        for size in [*sizes, len(order)]:
            keys, rest = rest[:size], rest[size:]
            new_answers = await asyncio.gather(*[context.ask(str(key), f"{owner} {key}?", {}) for key in keys])
            answers.update(zip(keys, new_answers, strict=True))
        completed.append((owner, answers))

    async def answer_all() -> None:
        dispatcher = Dispatcher(catalog)
        waiting = {owner: await dispatcher.call("ask", {"owner": owner}) for owner in ("a", "b")}
        while any(result.kind == "waiting" for result in waiting.values()):
            for owner, result in waiting.items():
                if result.kind == "waiting":
                    keys = [question.key for question in result.request.questions]
                    answers = {key: values[int(key)] if owner == "a" else f"of b {key}" for key in keys}
                    waiting[owner] = await dispatcher.resume(result.request, Decision.approve(answers=answers))

    asyncio.run(answer_all())
    expected = dict(enumerate(values))
    assert dict(completed)["a"] == expected
    assert [type(dict(completed)["a"][key]) for key in expected] == [type(value) for value in values]
    assert dict(completed)["b"] == {key: f"of b {key}" for key in expected}
    assert len(completed) == 2


def test_the_exception_names_its_questions():
    """Its text has the questions for the user."""
    question = Question(key="a", message="A?", schema={})
    assert str(AnswersNeeded([question])) == "it asks: A?"
    assert AnsweredQuestion(question=question, answer=DECLINED).to_json()["declined"] is True


async def test_a_lost_claim_runs_again_with_the_answers_that_were_given():
    """A process died after the answer: the stored answers count, and others are refused."""
    catalog, answers = Catalog(), []

    @catalog.tool(idempotent=True)
    async def ask(context: Context) -> str:
        """Ask."""
        answers.append(await context.ask("a", "A?"))
        return "done"

    store = MemoryApprovals()
    dispatcher = Dispatcher(catalog, approvals=Approvals(store))
    request = (await dispatcher.call("ask", {})).request
    dead = (
        f"{current_owner().rsplit('/', 2)[0]}/1/{'0' * 16}"  # a process with this number, which started at another time
    )
    answered = AnsweredQuestion(question=request.questions[0], answer="first")
    store.settle(request.id, Settlement("claimed", by="ada", owner=dead, now=request.created_at, answers=[answered]))
    assert store.get(request.id).answers == (answered,)
    error = await refuse(dispatcher, request, Decision.approve(answers={"a": "second"}))
    assert error.why == "answered"
    assert "answered before" in str(error)
    assert (await dispatcher.resume(request, Decision.approve())).text == "done"
    assert answers == ["first"]


async def test_a_background_tool_can_ask():
    """A call without `background` waits for the answer, and then runs to its end."""
    catalog = Catalog()

    @catalog.tool(background=True)
    async def ask(context: Context) -> str:
        """Ask."""
        return await context.ask("a", "A?")

    async with Dispatcher(catalog) as dispatcher:
        session = Session()
        waiting = await dispatcher.call("ask", {}, session=session)
        result = await dispatcher.resume(waiting.request, Decision.approve(answers={"a": "x"}), session=session)
        assert result.text == "x"


async def test_answers_stay_if_the_approval_is_asked_for_again(tmp_path):
    """A file that changed while the user answered is shown again; the answers need not be given twice."""
    catalog, done = Catalog(), []
    path = tmp_path / "x.txt"
    path.write_text("old")

    @catalog.tool(destructive=True, preview=lambda arguments: file_change(path, arguments["text"]))
    async def write(text: str, context: Context) -> str:
        """Write."""
        done.append((text, await context.ask("sure", "Sure?", {"type": "boolean"})))
        return "written"

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    approval = await dispatcher.call("write", {"text": "new"})
    question = await dispatcher.resume(approval.request, Decision.approve())
    path.write_text("changed meanwhile")
    again = await dispatcher.resume(question.request, Decision.approve(answers={"sure": True}))
    assert again.request.is_approval
    assert again.request.answers[0].answer is True
    assert (await dispatcher.resume(again.request, Decision.approve())).text == "written"
    assert done == [("new", True)]


async def test_edited_arguments_cause_the_questions_again(tmp_path):
    """An approval with other arguments drops the answers that were given for the former ones."""
    catalog, done = Catalog(), []
    path = tmp_path / "x.txt"
    path.write_text("old")

    @catalog.tool(destructive=True, preview=lambda arguments: file_change(path, arguments["text"]))
    async def write(text: str, context: Context) -> str:
        """Write."""
        done.append((text, await context.ask("sure", f"Write {text}?", {"type": "boolean"})))
        return "written"

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    approval = await dispatcher.call("write", {"text": "new"})
    question = await dispatcher.resume(approval.request, Decision.approve())
    path.write_text("changed meanwhile")
    again = await dispatcher.resume(question.request, Decision.approve(answers={"sure": True}))
    waiting = await dispatcher.resume(again.request, Decision.approve(arguments={"text": "other"}))
    assert waiting.request.questions[0].message == "Write other?"
    assert (await dispatcher.resume(waiting.request, Decision.approve(answers={"sure": False}))).text.endswith(
        "written"
    )
    assert done == [("other", False)]


async def test_a_new_rule_that_forbids_the_call_counts():
    """The answer does not run a call that the current rules deny."""
    restaurant = Restaurant()
    store = MemoryApprovals()
    request = (
        await restaurant.build(Approvals(store), permissions=Permissions("auto")).call("book", {"day": "x"})
    ).request
    strict = restaurant.build(Approvals(store), permissions=Permissions("auto", ["deny book"]))
    result = await strict.resume(request, Decision.approve(answers={"people": 1, "late": True}))
    assert (result.kind, restaurant.starts) == ("denied", 1)
