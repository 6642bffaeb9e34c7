"""A thread with a child can be waited for, stopped, and asked for its outcome."""

from __future__ import annotations

import asyncio
import os
import select
import threading

import pytest

from toolkit.processes.child import NotStarted
from toolkit.processes.child_thread import ChildThread

from ..forked_children import run_in_child

pytestmark = pytest.mark.anyio


def wait_for_stop(thread: ChildThread[str]) -> str:
    """Wait as one does who has a child: for the file."""
    select.select([thread.stop_file], [], [], 20)
    return "stopped" if thread.is_stopping else "not stopped"


def start(work) -> ChildThread[str]:
    return ChildThread(work, name="toolkit-test", grace_seconds=20)


async def test_a_stop_reaches_the_thread():
    """Once is enough, and later ones do nothing."""
    thread = start(wait_for_stop)
    thread.stop()
    assert await thread.wait_for_outcome() == "stopped"
    thread.stop()
    assert thread.is_over


async def test_cancelled_caller_stops_the_child_first():
    """When the cancellation arrives, the child is over."""
    thread = start(wait_for_stop)
    waiting = asyncio.ensure_future(thread.wait_for_outcome())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert thread.outcome == "stopped"


async def test_an_error_is_raised_where_the_outcome_is_read():
    """Each read raises it, and the thread does not."""

    def fail(thread: ChildThread[str]) -> str:
        raise LookupError("broken")

    thread = start(fail)
    for _ in range(2):
        with pytest.raises(LookupError, match="broken"):
            await thread.wait_for_outcome()


def test_the_thread_does_not_wait_for_itself():
    """That would never end."""
    answers = []
    thread = start(lambda thread: str(answers.append(thread.wait())))
    assert thread.wait(20)
    assert answers == [False]


def test_a_forked_process_does_not_stop_the_child_of_its_parent():
    """The pipe is a copy, and the child belongs to the parent."""
    thread = start(wait_for_stop)
    assert run_in_child(thread.stop) == "None"
    assert not thread.wait(0.1)
    thread.stop()
    assert thread.wait(20)


def test_the_error_says_that_no_thread_or_pipe_is_left(monkeypatch):
    """No file stays open."""

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    def have_none():
        raise OSError(24, "Too many open files")

    before = len(os.listdir("/dev/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NotStarted, match="no thread left"):
            start(wait_for_stop)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pipe", have_none)
        with pytest.raises(NotStarted, match="no pipe left"):
            start(wait_for_stop)
    assert len(os.listdir("/dev/fd")) == before
