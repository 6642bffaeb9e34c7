"""
A tool asks its user: the call waits for the answers, and runs again from its start with all of them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals import ApprovalError, Approvals, DenyAll, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.facts import Facts
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.policies.retry import RetryPolicy
from toolkit.questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question
from toolkit.session import Session
from toolkit.storage.process_owner import owner as current_owner

pytestmark = pytest.mark.anyio

COUNT = {"type": "integer", "minimum": 1}
KEY = b"k" * 32


class Restaurant:
    """A tool that asks three questions before it books a table."""

    def __init__(self) -> None:
        self.starts = 0
        self.booked: list[Any] = []
        self.catalog = catalog = Catalog()

        @catalog.tool
        async def book(day: str, context: Context) -> str:
            """Book a table."""
            self.starts += 1
            people, is_late = await asyncio.gather(
                context.ask("people", "How many people?", COUNT),
                context.ask("late", "Is it late?", {"type": "boolean"}),
            )
            name = await context.ask("name", "Which name?")
            self.booked.append((day, people, is_late, name))
            return f"booked for {name!r}"

    def build(self, approvals: Approvals | None = None, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, approvals=approvals, **options)


async def refuse(dispatcher: Dispatcher, request: Any, decision: Decision) -> ApprovalError:
    """Return the error that *decision* is refused with."""
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, decision)
    return caught.value


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
    """With an asker, no request is left, also if its first answer was wrong."""
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


async def test_questions_come_after_the_approval_and_do_not_ask_for_it_again():
    """A call that a person has approved asks its questions, and their answers do not need another approval."""
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


async def test_a_declined_yes_or_no_is_no_yes():
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
    """After an answer, and in parallel before it."""
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


async def test_other_arguments_are_not_taken_with_answers():
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
def test_a_tool_gets_precisely_its_answers(values, data):
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
            got = await asyncio.gather(*[context.ask(str(key), f"{owner} {key}?", {}) for key in keys])
            answers.update(zip(keys, got, strict=True))
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
    """Its text is what the user is asked."""
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


async def test_a_background_tool_asks_as_well():
    """Its call waits for the answer before it goes on in the background."""
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


async def test_edited_arguments_ask_anew(tmp_path):
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


async def test_a_rule_that_forbids_the_call_meanwhile_counts():
    """The answer does not run a call that today's rules deny."""
    restaurant = Restaurant()
    store = MemoryApprovals()
    request = (
        await restaurant.build(Approvals(store), permissions=Permissions("auto")).call("book", {"day": "x"})
    ).request
    strict = restaurant.build(Approvals(store), permissions=Permissions("auto", ["deny book"]))
    result = await strict.resume(request, Decision.approve(answers={"people": 1, "late": True}))
    assert (result.kind, restaurant.starts) == ("denied", 1)
