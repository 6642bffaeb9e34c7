"""A frozen process, a full disk and a clock that jumps: an approved call still happens at most once."""

from __future__ import annotations

import os
import signal

import pytest

from tests.approvals.processes import line, running
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.approvals.records import Record
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.storage.process_owner import is_alive

pytestmark = pytest.mark.anyio

YES = Decision.approve(by="ada")


class Wall:
    """A clock whose time can be set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def acting(approvals):
    """Return a dispatcher with one tool that asks, and what the tool did."""
    catalog, done = Catalog(), []

    @catalog.tool
    async def act() -> str:
        """Do something."""
        done.append("did it")
        return "done"

    return Dispatcher(catalog, permissions=Permissions(), approvals=approvals), done


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be frozen here")
async def test_a_call_of_a_frozen_process_counts_as_running(tmp_path):
    """It may go on at any moment, so no other process takes the call over."""
    store = SQLiteApprovals(tmp_path / "a.db")
    dispatcher, done = acting(Approvals(store))
    waiting = await dispatcher.call("act", {})
    with running("live") as process:
        owner = line(process)
        store.settle(waiting.request.id, Settlement("claimed", by="ada", owner=owner, now=waiting.request.created_at))
        os.kill(process.pid, signal.SIGSTOP)
        assert is_alive(owner) is True
        with pytest.raises(ApprovalError) as refused:
            await dispatcher.resume(waiting.request.id, YES)
        os.kill(process.pid, signal.SIGCONT)
    assert (refused.value.why, done) == ("running", [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks, so that the limit holds for the child alone")
def test_a_full_disk_is_an_error_and_loses_no_record(tmp_path):
    """Earlier records are kept, and a request without room was never asked."""
    import resource

    path = tmp_path / "a.db"
    store = SQLiteApprovals(path)
    store.add(make_record("one", "x"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, path.stat().st_size))
            try:
                store.add(make_record("two", "x" * 100_000))
            except ApprovalError as error:
                code = 0 if error.why == "store" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [request.id for request in store.pending(now=1.0)] == ["one"]


def make_record(name, text):
    """Make a record that is pending."""
    request = ApprovalRequest(tool="act", call_id="c", reason="asks", created_at=1.0, id=name)
    return Record(request=request, arguments={"text": text}, identity="i")


@pytest.mark.parametrize("jump", [-10_000_000.0, -1.0, 0.0, 3_600.0])
async def test_a_clock_that_jumps_lets_only_one_answer_count(jump):
    """It may jump in both directions, within the time of a request. The first answer counts."""
    wall = Wall()
    dispatcher, done = acting(Approvals(MemoryApprovals(), clock=wall))
    waiting = await dispatcher.call("act", {})
    wall.now += jump
    await dispatcher.resume(waiting.request.id, YES)
    wall.now -= 2 * jump
    with pytest.raises(ApprovalError) as refused:
        await dispatcher.resume(waiting.request.id, YES)
    assert (refused.value.why, done) == ("answered", ["did it"])


async def test_a_clock_that_jumps_beyond_the_time_of_a_request_lets_the_request_expire():
    """The call is asked about again, because the answer came too late."""
    wall = Wall()
    dispatcher, done = acting(Approvals(MemoryApprovals(), clock=wall, expires_seconds=60))
    waiting = await dispatcher.call("act", {})
    wall.now += 3_600
    with pytest.raises(ApprovalError) as refused:
        await dispatcher.resume(waiting.request.id, YES)
    assert (refused.value.why, done) == ("expired", [])
