"""A call that cannot be stopped holds up its own caller, and no other; its thread is replaced."""

from __future__ import annotations

import asyncio

import pytest

from tests.clocks import until
from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.hooks.base import Proceed
from toolkit.policies.audit import AuditLog
from toolkit.session import Session

pytestmark = pytest.mark.anyio

SOON = 0.02
ADA, BOB = Session(id="a", principal="ada"), Session(id="b", principal="bob")


@pytest.fixture
def hanging_calls():
    """The tools that hang, one entry for each call that got so far."""
    return []


@pytest.fixture
def abandon(hanging_calls):
    """Starts a call that hangs, and gives it up once it is in its thread."""

    async def abandon(dispatcher, name, arguments=None, **options):
        count = len(hanging_calls)
        task = asyncio.ensure_future(dispatcher.call(name, arguments, **options))
        await until(lambda: len(hanging_calls) > count)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    return abandon


@pytest.fixture
def catalog(release, hanging_calls):
    """Tools that hang until they are released, and tools that do not."""
    catalog = Catalog()

    @catalog.tool
    def hang(n: int = 0) -> str:
        """Hang."""
        hanging_calls.append("hang")
        release.wait(10)
        return "hung"

    @catalog.tool(read_only=True)
    def look(n: int = 0) -> str:
        """Look for a long time."""
        hanging_calls.append("look")
        release.wait(10)
        return "seen"

    @catalog.tool(read_only=True, concurrency_safe=False)
    def scan(n: int = 0) -> str:
        """Read with a reader that only one call may use."""
        hanging_calls.append("scan")
        release.wait(10)
        return "scanned"

    @catalog.tool
    async def write(n: int = 0) -> str:
        """Write."""
        return "written"

    return catalog


@pytest.fixture
async def dispatcher(catalog, release):
    """A dispatcher; when the test is over, its threads end."""
    dispatcher = Dispatcher(catalog)
    yield dispatcher
    release.set()
    await until(lambda: not dispatcher.abandoned and not dispatcher.abandoned_threads)
    dispatcher.close()


@pytest.mark.parametrize(
    "other", [{"session": BOB}, {"principal": "bob"}, {"session": Session(id="a2", principal="ada")}, {}]
)
async def test_a_stuck_call_holds_up_no_other_caller(dispatcher, other, abandon):
    """Another session's change, and another principal's, runs at once."""
    await abandon(dispatcher, "hang", session=ADA)
    assert (await dispatcher.call("write", **other)).text == "written"


async def test_a_later_call_waits_for_a_stuck_call_of_its_caller_until_its_time_is_over(dispatcher, caplog, abandon):
    """The result and the log name what the call waited for."""
    await abandon(dispatcher, "hang", session=ADA)
    held_up = await dispatcher.call("write", session=ADA, timeout_seconds=SOON)
    assert (held_up.kind, held_up.attempts, held_up.error.details["happened"]) == ("timeout", 0, "no")
    assert "cannot be stopped: `hang`" in held_up.text
    assert "`write` must run alone, and waits for calls that cannot be stopped: `hang`" in caplog.text


async def test_a_waiting_call_can_be_cancelled(dispatcher, abandon):
    """It leaves no entry in the queue."""
    await abandon(dispatcher, "hang", session=ADA)
    waiting = asyncio.ensure_future(dispatcher.call("write", session=ADA))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert dispatcher.settings.abandoned._waiters == []


async def test_the_same_read_of_another_caller_is_not_refused(dispatcher, release, abandon):
    """Only the caller whose call hangs gets the refusal."""
    await abandon(dispatcher, "look", session=ADA)
    again = await dispatcher.call("look", timeout_seconds=SOON, session=ADA)
    assert (again.kind, "still runs" in again.text) == ("failed", True)
    theirs = asyncio.ensure_future(dispatcher.call("look", session=BOB))
    await asyncio.sleep(0)
    release.set()
    assert (await theirs).text == "seen"


async def test_a_stuck_read_that_must_run_alone_holds_up_only_the_same_tool(dispatcher, abandon):
    """A change of the same session goes on; another such read waits."""
    await abandon(dispatcher, "scan", session=ADA)
    assert (await dispatcher.call("write", session=ADA)).text == "written"
    other = await dispatcher.call("scan", {"n": 1}, timeout_seconds=SOON, session=ADA)
    assert (other.attempts, "`scan`" in other.text) == (0, True)


async def test_abandoned_threads_are_replaced_up_to_a_bound(catalog, release, abandon):
    """Two hang and two take their place; the fifth call learns which calls hold the threads."""
    dispatcher = Dispatcher(catalog, max_concurrency=2)
    for n in range(4):
        await abandon(dispatcher, "look", {"n": n})
    assert dispatcher.abandoned_threads == 4
    late = await dispatcher.call("look", {"n": 5}, timeout_seconds=SOON)
    assert (late.kind, late.error.details["happened"]) == ("timeout", "no")
    assert "all 4 threads are held by calls that cannot be stopped (`look` 4 times)" in late.text
    release.set()
    await until(lambda: dispatcher.abandoned_threads == 0)
    assert (await dispatcher.call("look", {"n": 6})).text == "seen"
    await until(lambda: dispatcher.settings.threads.thread_count <= 2)  # the replacements are not kept
    dispatcher.close()


async def test_a_call_that_waits_for_a_thread_can_be_cancelled_and_leaves_the_queue(catalog, release, abandon):
    """Calls that gave up do not pile up behind threads that hang."""
    dispatcher = Dispatcher(catalog, max_concurrency=1)
    for n in range(2):
        await abandon(dispatcher, "look", {"n": n})
    waiting = asyncio.ensure_future(dispatcher.call("look", {"n": 2}))
    await until(lambda: dispatcher.settings.threads._jobs)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not dispatcher.settings.threads._jobs
    release.set()
    await until(lambda: not dispatcher.abandoned)
    dispatcher.close()


@pytest.fixture
async def busy_dispatcher(catalog, release, tmp_path, abandon):
    """A dispatcher with a store and an audit log on the disk, all of whose threads for tools are held."""

    @catalog.tool(approval="always", preview=lambda arguments: "it will be gone")
    async def remove() -> str:
        """Remove it."""
        return "removed"

    dispatcher = Dispatcher(
        catalog,
        max_concurrency=1,
        approvals=Approvals(SQLiteApprovals(tmp_path / "approvals.db")),
        audit=AuditLog(tmp_path / "audit.jsonl"),
    )
    for n in range(2):
        await abandon(dispatcher, "look", {"n": n})
    assert dispatcher.settings.threads.thread_count == 2
    yield dispatcher
    release.set()
    await until(lambda: not dispatcher.abandoned)
    dispatcher.close()


async def test_approvals_and_the_audit_log_do_not_need_the_threads_of_tools(busy_dispatcher, tmp_path):
    """A request is shown, kept, answered, run and written down while every tool thread hangs."""
    waiting = await busy_dispatcher.call("remove", session=ADA)
    assert (waiting.kind, waiting.request.preview) == ("waiting", "it will be gone")
    done = await busy_dispatcher.resume(waiting.request.id, Decision.approve(), session=ADA)
    assert done.text == "removed"
    kinds = [line["kind"] for line in AuditLog.read(tmp_path / "audit.jsonl") if line["event"] == "outcome"]
    assert kinds == ["waiting", "ok"]  # of the others, none is known yet


async def test_large_arguments_are_checked_while_every_tool_thread_hangs(busy_dispatcher):
    """The check has threads of its own."""
    result = await busy_dispatcher.call("write", {"n": list(range(2000))}, session=ADA)
    assert result.kind == "bad_args"


async def test_a_blocking_hook_that_hangs_does_not_hold_up_tools_or_stores(
    catalog, release, tmp_path, hanging_calls, abandon
):
    """Its thread is given up with the call, counted and replaced."""

    class Slow:
        blocking = True

        def before(self, call):
            if call.arguments.get("n") == 1:
                hanging_calls.append("before")
                release.wait(10)
            return Proceed()

    audit = AuditLog(tmp_path / "audit.jsonl")
    dispatcher = Dispatcher(catalog, max_concurrency=1, hooks=[Slow()], audit=audit)
    await abandon(dispatcher, "write", {"n": 1})
    assert dispatcher.abandoned_threads == 1
    assert (await dispatcher.call("write", {"n": 2})).text == "written"
    release.set()
    await until(lambda: dispatcher.abandoned_threads == 0)
    dispatcher.close()


class HangingLog(AuditLog):
    """A log on a disk that does not answer when *event* is written."""

    event = None

    def __init__(self, path, release):
        super().__init__(path)
        self._release = release

    def write(self, event, /, **fields):
        if event == self.event:
            self._release.wait(10)
        super().write(event, **fields)


@pytest.mark.parametrize(("event", "kind"), [("verdict", "timeout"), ("intent", "timeout"), ("outcome", "ok")])
async def test_an_audit_log_that_hangs_keeps_no_call_beyond_its_limit(catalog, release, tmp_path, event, kind, caplog):
    """
    Before the effect, the call times out. After it, the result comes back, and a log line says that a line may be
    missing.
    """
    audit = HangingLog(tmp_path / "audit.jsonl", release)
    dispatcher = Dispatcher(catalog, audit=audit, cleanup_seconds=0.5)
    assert (await dispatcher.call("write")).kind == "ok"  # with everything loaded, the limit is far away
    audit.event = event
    result = await asyncio.wait_for(dispatcher.call("write", timeout_seconds=0.5), 10)
    if event == "outcome":
        assert "may be missing in the audit log" in caplog.text
    else:
        assert result.attempts == 0
    assert result.kind == kind
    assert dispatcher.abandoned_threads >= 1
    release.set()
    await until(lambda: dispatcher.abandoned_threads == 0)
    dispatcher.close()


@pytest.mark.parametrize("record", ["a result", "an unknown tool", "a refused answer"])
async def test_an_audit_log_that_hangs_does_not_keep_a_result_for_ever(
    catalog, release, tmp_path, monkeypatch, record, caplog
):
    """The call has no limit, and only its outcome is left to write."""
    monkeypatch.setattr("toolkit.calls.settings.MAX_NOTE_SECONDS", SOON)
    audit = HangingLog(tmp_path / "audit.jsonl", release)
    dispatcher = Dispatcher(catalog, audit=audit)
    audit.event = "refused" if record == "a refused answer" else "outcome"
    if record == "a refused answer":
        with pytest.raises(ApprovalError, match="unknown request"):
            await asyncio.wait_for(dispatcher.resume("r1", Decision.approve()), 10)
    else:
        name, kind = ("write", "ok") if record == "a result" else ("wipe", "not_found")
        assert (await asyncio.wait_for(dispatcher.call(name), 10)).kind == kind
    assert "may be missing in the audit log" in caplog.text
    release.set()
    dispatcher.close()
