"""
A loop that hears Ctrl-C at once.
"""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from toolkit.cli.interruptible_loop import awaited, runner


async def five():
    return 5


def test_it_runs_one_thing_after_another():
    """In the same loop, and leaves nothing behind."""
    before = signal.getsignal(signal.SIGINT)
    with runner() as loop:
        assert loop.run(five()) == loop.run(five()) == 5
    assert awaited(five()) == 5
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_another_thread_gets_wakes_the_loop():
    """It sleeps until something happens, and a signal is something."""

    async def wait_for_ever():
        # To a thread and not to the process: the main thread is not interrupted, so only the wake-up helps.
        def interrupt():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        threading.Timer(0.05, interrupt).start()
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        awaited(wait_for_ever())


def test_outside_of_the_main_thread_there_are_no_signals():
    """But there is a loop."""
    found = []
    thread = threading.Thread(target=lambda: found.append(awaited(five())))
    thread.start()
    thread.join(30)
    assert found == [5]
