"""Commands that run: read, timed, ended, and gone without a trace."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.clocks import block_until
from tests.descriptors import list_descriptors, list_new_descriptors
from toolkit.builtin.commands.process import CommandOutcome, CommandSpec, Process
from toolkit.errors import ToolError
from toolkit.sandbox import best_sandbox
from toolkit.workspace import Workspace

from ...sandbox.levels import ALL, level, running

pytestmark = [pytest.mark.anyio, pytest.mark.first_cases(2)]


class Output:
    """Everything that was printed."""

    def __init__(self):
        self.streams = {"stdout": b"", "stderr": b""}

    def __call__(self, stream, data):
        self.streams[stream] += data


@pytest.fixture
def start(tmp_path):
    """How to start a script with the bounds alone, unless a level is given."""

    sandboxes = {}

    def make(script, *, name="limits", **options):
        sandbox = sandboxes.get(name) or sandboxes.setdefault(name, level(Workspace(tmp_path), name))
        env = {"PATH": "/usr/bin:/bin"}
        return CommandSpec(argv=["/bin/bash", "-c", script], sandbox=sandbox, cwd=str(tmp_path), env=env, **options)

    return make


async def test_both_streams_and_the_exit_code_come_back(start):
    output = Output()
    ended = await Process(start("echo out; echo err >&2; exit 4"), output).wait_for_outcome()
    assert ended == CommandOutcome(exit_code=4)
    assert output.streams == {"stdout": b"out\n", "stderr": b"err\n"}


async def test_the_state_report_of_a_command_is_read(start):
    """A command writes it to descriptor 3, up to a bound."""
    assert (await Process(start("echo said >&3"), Output()).wait_for_outcome()).state_report == b"said\n"
    flood = await Process(start("head -c 1000000 /dev/zero >&3"), Output()).wait_for_outcome()
    assert len(flood.state_report) == 1 << 18


@pytest.mark.parametrize("name", ALL)
async def test_the_time_limit_ends_every_process(start, name):
    """This includes a process that ignores the polite signal, and one that left the group."""
    script = "trap '' TERM; (trap '' TERM; setsid sleep 81.11) & echo ready; while :; do sleep 81.11; done"
    output = Output()
    ended = await Process(start(script, name=name, timeout_seconds=2, grace_seconds=0.2), output).wait_for_outcome()
    assert ended.stop_reason == "timeout"
    assert output.streams["stdout"] == b"ready\n"
    block_until(lambda: not running("81.11"))


async def test_a_process_that_ignores_sigterm_gets_one_grace_period(start):
    """There is no second period for bubblewrap, which would only wait for the process as well."""
    began = time.monotonic()
    wish = start("trap '' TERM; while :; do sleep 81.12; done", name="bubblewrap", timeout_seconds=0.5, grace_seconds=3)
    assert (await Process(wish, Output()).wait_for_outcome()).stop_reason == "timeout"
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("name", ALL)
async def test_a_daemon_does_not_keep_the_call_open_or_outlive_the_call(start, name):
    """The daemon is detached twice, and its pipes are still open."""
    ended = await Process(
        start("(setsid bash -c 'sleep 82.22 & disown' &) ; echo done", name=name), Output()
    ).wait_for_outcome()
    assert ended.exit_code == 0
    block_until(lambda: not running("82.22"))


async def test_a_stopped_process_ends(start):
    """The outcome says that it was stopped."""
    process = Process(start("echo ready; sleep 83.33"), Output())
    process.stop()
    process.stop()
    assert (await process.wait_for_outcome()).stop_reason == "stopped"
    process.stop()
    assert running("83.33") == []


async def test_a_cancelled_wait_ends_the_process_first(start):
    """When the cancellation arrives, nothing runs any more."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    process = Process(start("echo ready; sleep 84.44"), lambda stream, data: loop.call_soon_threadsafe(ready.set))
    waiting = asyncio.ensure_future(process.wait_for_outcome())
    await ready.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert process.is_over
    assert running("84.44") == []


async def test_a_command_that_cannot_be_started_is_an_error_with_the_reason(start, tmp_path):
    sandbox = best_sandbox(Workspace(tmp_path), level="limits")
    process = Process(CommandSpec(argv=["/nowhere"], sandbox=sandbox, cwd="/", env={}), Output())
    with pytest.raises(ToolError, match="nothing ran: cannot run /nowhere"):
        await process.wait_for_outcome()


async def test_a_missing_python_is_an_error(start, monkeypatch):
    """The message has the words of the system, and the remedy."""
    command = start("true")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ToolError, match="no process could be started"):
        await Process(command, Output()).wait_for_outcome()


async def test_a_listener_that_fails_ends_the_command(start):
    """Its output would have no reader."""

    def fail(stream, data):
        raise LookupError("broken")

    with pytest.raises(ToolError, match="could not be run: broken"):
        await Process(start("echo x; sleep 85.55"), fail).wait_for_outcome()
    assert running("85.55") == []


async def test_a_launcher_that_is_killed_leaves_no_process(start):
    """A command can kill it at the weak levels. Its processes are found by their mark."""
    ended = await Process(
        start("setsid sleep 86.66 & kill -9 $PPID; sleep 86.66", grace_seconds=0.1), Output()
    ).wait_for_outcome()
    assert ended.exit_code == 137
    block_until(lambda: not running("86.66"))


async def test_a_launcher_that_hangs_is_not_waited_for(start):
    """A command that stops it gains nothing: when patience ends, so do both."""
    command = start("kill -STOP $PPID; sleep 98.11", timeout_seconds=1, grace_seconds=0.1, patience_seconds=0.2)
    ended = await Process(command, Output()).wait_for_outcome()
    assert (ended.stop_reason, ended.exit_code) == ("timeout", 137)
    block_until(lambda: not running("98.11"))


async def test_a_listener_that_fails_while_the_launcher_hangs_ends_the_command(start):
    """The launcher is not waited for either."""

    def fail(stream, data):
        if data:
            raise LookupError("broken")

    command = start("kill -STOP $PPID; echo x; sleep 98.22", grace_seconds=0.1, patience_seconds=0.2)
    with pytest.raises(ToolError, match="broken"):
        await Process(command, fail).wait_for_outcome()
    block_until(lambda: not running("98.22"))


async def test_the_outcome_is_not_known_before_the_end(start):
    """Asking too early is a mistake of the caller."""
    process = Process(start("sleep 87.77"), Output())
    with pytest.raises(RuntimeError, match="still runs"):
        _ = process.outcome
    assert not process.wait(0)
    process.stop()
    assert process.wait(20)


async def test_a_wait_after_the_end_returns_the_outcome_at_once(start):
    process = Process(start("exit 5"), Output())
    assert process.wait(20)
    assert (await process.wait_for_outcome()).exit_code == (await process.wait_for_outcome()).exit_code == 5


async def test_files_that_were_changed_are_named(start):
    """They are found by the marks before and after."""
    marks = iter([{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "d": 1}])
    ended = await Process(start("true", marks=lambda: next(marks)), Output()).wait_for_outcome()
    assert ended.changed == ("b", "c", "d")


async def test_no_thread_no_command(start, monkeypatch):
    """A system without threads gets an error, and no descriptors are lost."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    gc.collect()  # what earlier tests left must not go meanwhile
    before = list_descriptors()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ToolError, match="no thread left"):
        Process(start("true"), Output())
    monkeypatch.undo()
    assert not list_new_descriptors(before)


async def test_no_descriptors_and_no_zombies_are_left(start):
    """The commands ended, timed out, or were stopped."""
    await Process(start("true"), Output()).wait_for_outcome()  # what is made once is made now
    gc.collect()  # and what earlier tests left must not go meanwhile
    before = list_descriptors()
    for script, seconds in (("true", None), ("sleep 88.88", 0.1), ("sleep 89 & exit 3", None)):
        await Process(start(script, timeout_seconds=seconds, grace_seconds=0.1), Output()).wait_for_outcome()
    assert not list_new_descriptors(before)
    assert _zombies() == []


def _zombies():
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
            state, parent = file.read().rpartition(") ")[2].split()[:2]
            if int(parent) == os.getpid() and state == "Z":
                pids.append(int(name))
    return pids


@pytest.mark.long
async def test_a_hundred_at_once(start):
    """None is mixed up with another, and none is left."""

    async def run_one(number):
        output = Output()
        await Process(start(f"echo {number}"), output).wait_for_outcome()
        return int(output.streams["stdout"])

    gc.collect()  # what earlier tests left must not go meanwhile
    before = list_descriptors()
    assert await asyncio.gather(*map(run_one, range(100))) == list(range(100))
    assert not list_new_descriptors(before)
    assert _zombies() == []


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_a_process_that_is_killed_takes_its_commands_along(tmp_path, name):
    """No process of ours is left to end them, so the system does."""
    level(Workspace(tmp_path), name)
    code = f"""
from toolkit.builtin.commands.process import Process, CommandSpec
from toolkit.sandbox import best_sandbox
from toolkit.workspace import Workspace
sandbox = best_sandbox(Workspace({str(tmp_path)!r}), level={name!r})
start = CommandSpec(argv=["/bin/sh", "-c", "echo ready; sleep 90.91"], sandbox=sandbox, cwd={str(tmp_path)!r}, env={{}})
Process(start, lambda stream, data: data and print(data.decode(), flush=True)).wait()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout.readline() == "ready\n"
        host.send_signal(signal.SIGKILL)
    block_until(lambda: not running("90.91"))
