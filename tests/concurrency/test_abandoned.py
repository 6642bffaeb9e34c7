"""Calls that cannot be stopped: the job of a thread, and the calls that wait for it."""

from __future__ import annotations

import asyncio

import pytest

from toolkit.concurrency.abandoned import AbandonedCalls, CancellableJob, StuckCall
from toolkit.policies.retry import RetryPolicy

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(attempts=3, wait_initial=0)
SOON = 0.02


def test_a_job_is_called_off_or_run_but_not_both():
    """The first of the two decides."""
    ran = []
    job = CancellableJob(lambda: ran.append(True))
    assert job.cancel()
    assert job() is None
    other = CancellableJob(lambda: "done")
    assert other() == "done"
    assert not other.cancel()
    assert ran == []


def test_a_callback_added_after_the_end_of_a_job_is_called():
    events = []
    job = CancellableJob(lambda: events.append("work"))
    job.call_when_over(lambda: events.append("then"))
    job()
    job.call_when_over(lambda: events.append("late"))
    assert events == ["work", "then", "late"]


async def test_waiting_for_the_abandoned_ends_with_the_last_unsafe_one():
    """Safe ones and other callers' need no waiting for; time may run out."""
    abandoned, me = AbandonedCalls(), ("s1", None)
    first = abandoned.add(StuckCall("write", me, "a", is_alone=True))
    second = abandoned.add(StuckCall("send", me, "b", is_alone=True))
    abandoned.add(StuckCall("read", me, "c", is_alone=False))
    abandoned.add(StuckCall("write", ("s1", "bob"), "d", is_alone=True))
    assert abandoned.blockers(me, "write") == ["write", "send"]
    assert not await abandoned.wait_for_blockers(me, "write", 0)
    waiting = asyncio.ensure_future(abandoned.wait_for_blockers(me, "write", None))
    await asyncio.sleep(0)
    first()
    await asyncio.sleep(0)
    assert not waiting.done()
    second()
    assert await waiting
    assert await abandoned.wait_for_blockers(me, "write", 0)
    assert abandoned.alive == 2


def test_a_stuck_read_holds_up_only_the_same_tool():
    """No caller sees its result any more, so calls of other tools cannot disturb it."""
    me = ("s1", None)
    read = StuckCall("read", me, "a", is_alone=True, is_read_only=True)
    assert read.holds_up(me, "read")
    assert not read.holds_up(me, "write")
    write = StuckCall("write", me, "a", is_alone=True)
    assert write.holds_up(me, "read")
