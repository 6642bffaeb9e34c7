"""
A loop that hears Ctrl-C at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from toolkit.cli.interruptible_loop import (
    InterruptibleLoop,
    open_interruptible_loop,
    run_coroutine,
    unblock_on_interrupt,
)


async def five():
    return 5


def test_the_loop_runs_several_coroutines_one_after_another():
    """The signal handler is restored."""
    before = signal.getsignal(signal.SIGINT)
    with open_interruptible_loop() as loop:
        assert loop.run(five()) == loop.run(five()) == 5
    assert run_coroutine(five()) == 5
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_another_thread_gets_wakes_the_loop():
    """The loop sleeps until an event, and a signal is an event."""

    async def wait_for_ever():
        # To a thread and not to the process: the main thread is not interrupted, so only the wake-up helps.
        def interrupt():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        threading.Timer(0.05, interrupt).start()
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run_coroutine(wait_for_ever())


def test_a_signal_that_came_before_a_read_ends_the_read():
    """A thread gets the signal, so the read of the main thread is not interrupted, as if the signal came before it."""
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGURG)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reader, writer = os.pipe()

    def interrupt():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def read_interrupted():
        threading.Timer(0.05, interrupt).start()
        os.read(reader, 1)

    try:
        with pytest.raises(KeyboardInterrupt), unblock_on_interrupt():
            read_interrupted()
        with unblock_on_interrupt():
            os.write(writer, b"a")
            assert os.read(reader, 1) == b"a"
    finally:
        signal.signal(signal.SIGINT, handlers[0])
        os.close(reader)
        os.close(writer)
    assert signal.getsignal(signal.SIGURG) is handlers[1]
    assert signal.set_wakeup_fd(-1) == -1


def test_a_read_outside_of_the_main_thread_gets_no_signals():
    """The block does nothing there, because Python handles signals in the main thread."""
    answers = []

    def read():
        with unblock_on_interrupt():
            answers.append(signal.getsignal(signal.SIGURG))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(30)
    assert answers == [signal.getsignal(signal.SIGURG)]


def test_a_coroutine_runs_outside_of_the_main_thread_without_signals():
    results = []
    thread = threading.Thread(target=lambda: results.append(run_coroutine(five())))
    thread.start()
    thread.join(30)
    assert results == [5]


def test_a_signal_before_the_first_step_cancels_the_work():
    """The task is there, and the loop does not run yet: nothing is left that was never awaited."""
    steps = []

    async def work():
        steps.append("begun")

    with open_interruptible_loop() as loop:

        def create_task(coroutine):
            task = make_task(coroutine)
            signal.raise_signal(signal.SIGINT)  # before `run` knows the task
            return task

        make_task, loop._loop.create_task = loop._loop.create_task, create_task
        coroutine = work()
        with pytest.raises(KeyboardInterrupt):
            loop.run(coroutine)
        del loop._loop.create_task
    assert steps == []


def test_the_first_signal_cancels_and_the_second_one_interrupts():
    """A coroutine that never waits is interrupted too."""
    cleaned = []

    async def work():
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_coroutine(work())
    assert cleaned == [True]

    async def stubborn():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_coroutine(stubborn())


def test_a_cancellation_without_a_signal_is_raised_unchanged():
    async def give_up():
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_coroutine(give_up())


def test_a_handler_of_the_program_stays():
    """A program that handles Ctrl-C itself is not overruled."""
    signals = []
    before = signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    try:

        async def work():
            signal.raise_signal(signal.SIGINT)
            return 5

        assert run_coroutine(work()) == 5
        assert signals == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_clean_up_ends_after_a_second_signal():
    """It has ended when `run` raises, so it does not mix with the next coroutine."""
    steps = []

    async def work():
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            is_signalled = asyncio.Event()
            for step in (lambda: signal.raise_signal(signal.SIGINT), is_signalled.set):
                asyncio.get_running_loop().call_soon(step)
            await is_signalled.wait()
            steps.append("cleaned up")

    with open_interruptible_loop() as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.run(work())
        assert steps == ["cleaned up"]
        assert not loop.has_abandoned
        assert loop.run(five()) == 5


def test_a_third_signal_is_not_kept_waiting():
    """A clean-up that does not end is abandoned, and the loop says so."""

    async def work():
        loop = asyncio.get_running_loop()
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            loop.call_soon(signal.raise_signal, signal.SIGINT)
            loop.call_later(0.01, signal.raise_signal, signal.SIGINT)
            await asyncio.Event().wait()

    with open_interruptible_loop() as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.run(work())
        assert loop.has_abandoned


def test_a_clean_up_has_a_time_limit():
    """The limit begins with the second signal."""

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

    with asyncio.Runner() as loop_runner:
        loop = InterruptibleLoop(loop_runner.get_loop(), cleanup_seconds=0.01)
        loop_runner.get_loop().call_later(0.01, _raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            loop.run(work())
        assert loop.has_abandoned


def _raise_interrupt():
    raise KeyboardInterrupt
