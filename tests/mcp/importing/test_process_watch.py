"""The process of a server does not outlive the program that started it, however that program ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from toolkit.mcp.importing.stdio_transport import ProcessWatch

from .kit import SCRIPT, is_alive

HOST = """
import sys, threading
from toolkit.mcp import Servers

with Servers(evil=sys.argv[1:]):
    print("open", flush=True)
    threading.Event().wait()
"""


def wait_for_end(pids, seconds):
    """Return the processes that are still there after *seconds*."""
    deadline = time.monotonic() + seconds
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [pid for pid in pids if is_alive(pid)]


@pytest.fixture
def stubborn(tmp_path):
    """The command of a server that ignores the end of its input and SIGTERM, and a function that returns its pids."""
    note = tmp_path / "pids"
    command = [sys.executable, "-I", "-S", str(SCRIPT), f"stubborn:{note}"]
    yield command, lambda: json.loads(note.read_text())
    for pid in json.loads(note.read_text()) if note.exists() else []:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.long  # the limits are those of a real program, 4 s, and cannot be shortened from outside
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_hangs_does_not_outlive_a_host_that_is_ended(stubborn, number):
    """Its whole process group is ended."""
    command, read_pids = stubborn
    with subprocess.Popen([sys.executable, "-c", HOST, *command], stdout=subprocess.PIPE) as host:
        assert host.stdout.readline() == b"open\n"
        host.send_signal(number)
    assert wait_for_end(read_pids(), 10) == []


@pytest.mark.long  # as above
@pytest.mark.parametrize("arguments", [["call", "TARGET", "hang"], ["serve", "TARGET"]], ids=["call", "serve"])
def test_a_server_that_hangs_does_not_outlive_a_command(stubborn, arguments):
    """The commands use the same connections."""
    command, read_pids = stubborn
    words = [word for part in arguments for word in (["--command", " ".join(command)] if part == "TARGET" else [part])]
    host = subprocess.Popen(
        [sys.executable, "-m", "toolkit", *words, *(["--rule", "allow *"] if "call" in words else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    with host:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                pids = read_pids()
                break
            except (FileNotFoundError, ValueError):
                time.sleep(0.01)
        host.send_signal(signal.SIGTERM)
    assert wait_for_end(pids, 10) == []


def start_stubborn():
    """Start a process that ignores SIGTERM, in a group of its own, and wait until it does."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"1\n"
    return process


def test_a_group_is_ended_when_the_pipe_of_its_watch_closes():
    """This is what the system does when this program ends. SIGTERM comes first, and then SIGKILL."""
    with start_stubborn() as process:
        watch = ProcessWatch(process.pid, pauses=1)
        watch._shell.stdin.close()
        assert process.wait(5) == -signal.SIGKILL
        assert watch._shell.wait(5) == 0


def test_a_watch_that_is_released_ends_no_process():
    """The process group may belong to another process by then."""
    with start_stubborn() as process:
        watch = ProcessWatch(process.pid, pauses=1)
        watch.release()
        assert watch._shell.returncode == 0
        assert process.poll() is None
        process.kill()
