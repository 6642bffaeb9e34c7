"""The steps of a run are done once, also if its process ends in between."""

from __future__ import annotations

import asyncio

import pytest

from tests.steps.crashing_steps import Killed
from toolkit import tool
from toolkit.durable.errors import DurableError, RunTakenOver
from toolkit.durable.journal.run_journal import open_journal
from toolkit.durable.journal_steps import JournalSteps
from toolkit.providers.base import Reply, Usage
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def journal(tmp_path):
    """Return a journal with the run "r", which is queued."""
    journal = open_journal(f"sqlite:///{tmp_path}/runs.sqlite")
    journal.create("r", "agent", {}, now=1.0)
    yield journal
    journal.close()


def activate(journal, **options):
    """Return the steps of the next activation."""
    row = journal.activate("r", worker="w", now=2.0, max_lives=9)
    return JournalSteps(journal, row, journal.read_steps("r"), **options)


async def ask():
    """Answer as a model."""
    return Reply(message=AssistantMessage(text="hello"), stop="answer", usage=Usage(input_tokens=3))


async def never(*_):
    """Stand for work that must not be done again."""
    pytest.fail("the step was done again")


class Work:
    """A call that counts how often it took effect."""

    def __init__(self, *, cut_off=False, loads=None):
        self.count = 0
        self.cut_off = cut_off
        self.loads = loads

    async def __call__(self, begin):
        await begin()
        await begin()
        self.count += 1
        if self.cut_off:
            raise Killed
        if self.loads is not None:
            self.loads.load("found")
        return ToolResult("done", {"n": self.count})


def call(name="edit", **options):
    """Return a call of a model."""
    return ToolCall(name, {}, id="c1", **options)


async def test_a_reply_is_asked_for_once(journal):
    """The next activation returns the reply that was kept, and asks no model."""
    reply = await activate(journal).reply("r/reply/1", ask)
    again = await activate(journal).reply("r/reply/1", never)
    assert again == reply


async def test_a_call_that_has_a_result_is_not_run_again(journal):
    """The next activation returns the result that was kept, with what the call did to the session."""
    session = Session()
    work = Work(loads=session)
    result = await activate(journal).call("r/call/c1", call(), work, may_repeat=False, session=session)
    replayed = Session()
    again = await activate(journal).call("r/call/c1", call(), never, may_repeat=False, session=replayed)
    assert (again.text, again.value, again.kind) == (result.text, result.value, "ok") == ("done", {"n": 1}, "ok")
    assert replayed.loaded == session.loaded == ("found",)
    assert journal.get("r").seconds > 0


async def test_a_call_that_never_began_is_run(journal):
    """A crash before the call began leaves no trace, and the call is run."""
    steps = activate(journal)

    async def crash(begin):
        raise Killed

    with pytest.raises(Killed):
        await steps.call("r/call/c1", call(), crash, may_repeat=False, session=Session())
    work = Work()
    result = await activate(journal).call("r/call/c1", call(), work, may_repeat=False, session=Session())
    assert (result.kind, work.count) == ("ok", 1)


async def test_a_call_that_was_cut_off_is_not_run_again(journal):
    """Its result says that it may or may not have happened, and does not change."""
    work = Work(cut_off=True)
    with pytest.raises(Killed):
        await activate(journal).call("r/call/c1", call(), work, may_repeat=False, session=Session())
    result = await activate(journal).call("r/call/c1", call(), never, may_repeat=False, session=Session())
    assert (result.kind, result.tool, result.call_id) == ("failed", "edit", "c1")
    assert "it may or may not have happened" in result.text
    assert result.error.details == {"happened": "maybe"}
    again = await activate(journal).call("r/call/c1", call(), never, may_repeat=True, session=Session())
    assert again.text == result.text


async def test_a_call_that_may_be_repeated_is_run_again(journal):
    """Each activation that runs it writes that it began."""
    work = Work(cut_off=True)
    for _ in range(2):
        with pytest.raises(Killed):
            await activate(journal).call("r/call/c1", call(), work, may_repeat=True, session=Session())
    work.cut_off = False
    result = await activate(journal).call("r/call/c1", call(), work, may_repeat=True, session=Session())
    assert (result.kind, work.count) == ("ok", 3)
    assert [event.kind for event in journal.read_events("r")].count("began") == 3


async def test_a_process_that_was_replaced_runs_no_call(journal):
    """The call stops before its effect, and the run raises the error even if hooks replaced it."""
    steps = activate(journal)
    activate(journal)
    work = Work()

    async def deny(begin):
        try:
            await work(begin)
        except RunTakenOver:
            return ToolResult.failure("denied", "a hook raised")

    with pytest.raises(RunTakenOver, match="was taken over"):
        await steps.call("r/call/c1", call(), deny, may_repeat=False, session=Session())
    assert work.count == 0
    assert isinstance(steps.failure, RunTakenOver)
    with pytest.raises(RunTakenOver):
        await steps.reply("r/reply/1", never)
    with pytest.raises(RunTakenOver):
        await steps.call("r/call/c2", call(), never, may_repeat=True, session=Session())
    assert journal.read_steps("r") == {}


async def test_an_error_of_the_work_gives_way_to_the_fence(journal):
    """Work that raises because it could not begin raises the fence."""
    steps = activate(journal)
    activate(journal)

    async def translate(begin):
        try:
            await begin()
        except RunTakenOver as error:
            raise ValueError("something else") from error

    with pytest.raises(RunTakenOver):
        await steps.call("r/call/c1", call(), translate, may_repeat=False, session=Session())


async def test_an_error_of_the_work_propagates_and_the_steps_go_on(journal):
    steps = activate(journal)

    async def fail(begin):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await steps.call("r/call/c1", call(), fail, may_repeat=False, session=Session())
    assert steps.failure is None
    assert (await steps.reply("r/reply/1", ask)).message.text == "hello"


async def test_a_read_only_call_writes_no_beginning(journal):
    """A tool without an effect costs one write, and still does not run in a process that knows it was replaced."""

    @tool(read_only=True, catalog=None)
    def look() -> str:
        """Look."""
        return ""

    steps = activate(journal)
    await steps.call("r/call/c1", call("look", tool=Tool.of(look)), Work(), may_repeat=True, session=Session())
    assert [event.kind for event in journal.read_events("r")] == ["created", "activated", "finished"]


async def test_a_database_that_fails_stops_the_run(journal):
    """A call whose beginning cannot be written does not run."""
    steps = activate(journal)
    journal.close()
    work = Work()
    with pytest.raises(DurableError, match="was closed") as raised:
        await steps.call("r/call/c1", call(), work, may_repeat=False, session=Session())
    assert (raised.value.why, work.count) == ("store", 0)


@pytest.mark.parametrize("record", [{}, {"version": 99}, {"version": 1, "result": {"version": 1, "kind": "new"}}])
async def test_a_record_that_cannot_be_read_is_named(journal, record):
    """A record of another version raises an error that names the step and the remedy."""
    steps = activate(journal)
    journal.finish("r", 1, "r/call/c1", record, seconds=0, now=3.0)
    journal.finish("r", 1, "r/reply/1", record, seconds=0, now=3.0)
    steps = activate(journal)
    with pytest.raises(DurableError, match="the record of the step 'r/call/c1' cannot be read") as raised:
        await steps.call("r/call/c1", call(), never, may_repeat=False, session=Session())
    assert raised.value.why == "changed"
    with pytest.raises(DurableError, match="'r/reply/1' cannot be read: .*; finish the run with the version"):
        await steps.reply("r/reply/1", never)


async def test_a_cancelled_step_is_still_recorded(journal):
    """The task may be cancelled while the journal writes."""
    steps = activate(journal)
    work = Work()
    original = journal.finish
    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def finish_late(*arguments, **options):
        loop.call_soon_threadsafe(task.cancel)
        original(*arguments, **options)
        loop.call_soon_threadsafe(written.set)

    journal.finish = finish_late
    task = asyncio.ensure_future(steps.call("r/call/c1", call(), work, may_repeat=False, session=Session()))
    with pytest.raises(asyncio.CancelledError):
        await task
    await written.wait()
    assert journal.read_steps("r")["r/call/c1"].state == "done"


async def test_a_step_that_is_cancelled_during_its_beginning_has_not_begun(journal):
    """The tool has not run, so the next activation runs it, and does not say that it may have happened."""
    steps = activate(journal)
    original, work, loop = journal.begin, Work(), asyncio.get_running_loop()

    def begin_late(*arguments, **options):
        loop.call_soon_threadsafe(task.cancel)
        original(*arguments, **options)

    journal.begin = begin_late
    task = asyncio.ensure_future(steps.call("r/call/c1", call(), work, may_repeat=False, session=Session()))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (work.count, journal.read_steps("r")) == (0, {})
    journal.begin = original
    result = await activate(journal).call("r/call/c1", call(), work, may_repeat=False, session=Session())
    assert (result.kind, work.count) == ("ok", 1)


async def test_a_beginning_that_cannot_be_taken_back_stays(journal, caplog):
    """The log says so, and the cancellation is not lost."""
    steps = activate(journal)
    original, work, loop = journal.begin, Work(), asyncio.get_running_loop()

    def begin_late(*arguments, **options):
        loop.call_soon_threadsafe(task.cancel)
        original(*arguments, **options)

    def fail(*arguments, **options):
        raise build_store_error()

    journal.begin, journal.take_back = begin_late, fail
    task = asyncio.ensure_future(steps.call("r/call/c1", call(), work, may_repeat=False, session=Session()))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert journal.read_steps("r")["r/call/c1"].state == "began"
    assert "did not run, but the journal says that it began: the database is gone" in caplog.text


async def test_a_step_is_done_once_in_an_activation(journal):
    """A run that comes to a step again gets what came of it the first time."""
    steps = activate(journal)
    first = await steps.reply("r/reply/1", ask)
    assert await steps.reply("r/reply/1", never) == first
    result = await steps.call("r/call/c1", call(), Work(), may_repeat=False, session=Session())
    again = await steps.call("r/call/c1", call(), never, may_repeat=False, session=Session())
    assert (again.text, again.value) == (result.text, result.value)
    assert steps.failure is None


def build_store_error():
    """Return the error of a database that is gone."""
    return DurableError("the database is gone", why="store")


def let_fail(journal, *errors, is_late=False):
    """Let `journal.finish` raise *errors*, one after the other; if *is_late*, after it has written."""
    original, left = journal.finish, list(errors)

    def finish(*arguments, **options):
        if not left:
            return original(*arguments, **options)
        if is_late:
            original(*arguments, **options)
        raise left.pop(0)

    journal.finish = finish


@pytest.mark.parametrize("is_late", [False, True])
async def test_the_only_copy_of_a_result_is_kept_when_the_database_is_back(journal, is_late):
    """A call that cannot be repeated is not reported as unknown, because its process knows the result."""
    steps = activate(journal)
    let_fail(journal, build_store_error(), is_late=is_late)
    await steps.call("r/call/c1", call(), Work(), may_repeat=False, session=Session())
    assert steps.failure is None
    result = await activate(journal).call("r/call/c1", call(), never, may_repeat=False, session=Session())
    assert (result.kind, result.value) == ("ok", {"n": 1})


async def test_the_only_copy_of_a_result_is_kept_after_other_steps_have_failed(journal):
    """A step that stops the run, because the database was gone, does not lose the result of a call beside it."""
    steps = activate(journal)
    let_fail(journal, build_store_error())
    may_end = asyncio.Event()

    async def work(begin):
        await begin()
        await may_end.wait()
        return ToolResult("done")

    task = asyncio.ensure_future(steps.call("r/call/c1", call(), work, may_repeat=False, session=Session()))
    with pytest.raises(DurableError, match="is gone"):
        await steps.reply("r/reply/1", ask)
    may_end.set()
    assert (await task).text == "done"
    assert journal.read_steps("r")["r/call/c1"].state == "done"
    with pytest.raises(DurableError, match="is gone"):
        await steps.reply("r/reply/2", never)


async def test_a_cancellation_waits_for_the_only_copy_of_a_result(journal):
    """The activation cannot be given back before the result is kept."""
    steps = activate(journal)
    original, loop = journal.finish, asyncio.get_running_loop()
    attempts = []

    def finish(*arguments, **options):
        attempts.append(1)
        if len(attempts) == 1:
            loop.call_soon_threadsafe(task.cancel)
            raise build_store_error()
        original(*arguments, **options)

    journal.finish = finish
    task = asyncio.ensure_future(steps.call("r/call/c1", call(), Work(), may_repeat=False, session=Session()))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert journal.read_steps("r")["r/call/c1"].state == "done"


async def test_a_result_of_a_replaced_process_is_not_kept(journal):
    """The process that has the run now decides about the step."""
    steps = activate(journal)
    work = Work()

    async def work_and_lose(begin):
        result = await work(begin)
        activate(journal)
        return result

    with pytest.raises(RunTakenOver, match="was taken over"):
        await steps.call("r/call/c1", call(), work_and_lose, may_repeat=False, session=Session())
    assert isinstance(steps.failure, RunTakenOver)
    assert journal.read_steps("r")["r/call/c1"].state == "began"


async def test_parallel_steps_are_all_kept(journal):
    """Steps that run together are kept under their keys."""
    steps = activate(journal)
    await asyncio.gather(
        *(steps.call(f"r/call/{number}", call(), Work(), may_repeat=False, session=Session()) for number in range(20))
    )
    assert {step.state for step in journal.read_steps("r").values()} == {"done"}
    assert len(journal.read_steps("r")) == 20
