"""Child processes are read, stopped and reaped, also if they misbehave."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from tests.clocks import block_until
from tests.processes.kit import is_reaped
from toolkit.processes.child import ChildOutcome, ChildSpec, NotStarted, exit_file, reap, run_child


@pytest.fixture
def stop():
    """A pipe whose first end stops the child once something is written to the second."""
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


class Received:
    """The data of each pipe; *stop_at* is a text that stops the child."""

    def __init__(self, stop_at: bytes = b"-") -> None:
        self.data = {"stdout": b"", "stderr": b"", "more": b""}
        self._stop_at = stop_at

    def __call__(self, name: str, data: bytes) -> str | None:
        self.data[name] += data
        return "enough" if self._stop_at in data else None


def shell(script: str, on_data, **options) -> ChildSpec:
    """Return a child that runs a script of the shell, and is soon killed if it has to stop."""
    defaults = {"env": {"PATH": "/usr/bin:/bin"}, "cwd": "/", "timeout_seconds": 20.0, "grace_seconds": 0.1}
    return ChildSpec(argv=["/bin/sh", "-c", script], on_data=on_data, **{**defaults, **options})


def is_alive(pid: int) -> bool:
    """Return whether a process that is no child of ours runs."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_every_pipe_is_read(stop):
    """Pipes of the caller are included."""
    received = Received()
    read, write = (os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    script = f"cat; echo err >&2; echo more >/dev/fd/{write.fileno()}; exit 3"
    spec = shell(script, received, stdin=b"in", pipes={"more": read}, inherited_files=[write])
    assert run_child(spec, stop[0]) == ChildOutcome(3, None)
    assert received.data == {"stdout": b"in", "stderr": b"err\n", "more": b"more\n"}
    assert write.closed
    read.close()


def test_a_child_without_input_reads_an_empty_one(stop):
    assert run_child(shell("cat", Received()), stop[0]) == ChildOutcome(0, None)


def test_a_reason_to_stop_stops_the_child(stop):
    """The child runs no longer than the caller wants to read."""
    received = Received(stop_at=b"ready")
    assert run_child(shell("echo ready; exec sleep 600", received), stop[0]).stop_reason == "enough"


def test_an_early_stop_counts(stop):
    """It was requested before the child ran."""
    os.write(stop[1], b"s")
    assert run_child(shell("exec sleep 600", Received()), stop[0]).stop_reason == "stopped"


@pytest.mark.parametrize("ends_group", [True, False])
def test_the_group_is_ended_if_the_option_says_so(stop, ends_group):
    """A child that looks after its own processes gets the signal alone."""
    received = Received(stop_at=b"\n")
    script = "trap '' TERM; sleep 600 >/dev/null 2>&1 & echo $!; wait"
    assert run_child(shell(script, received, ends_group=ends_group), stop[0]) == ChildOutcome(-9, "enough")
    other = int(received.data["stdout"])
    if ends_group:
        block_until(lambda: not is_alive(other))
    else:
        assert is_alive(other)
        os.kill(other, 9)


@pytest.mark.parametrize(("linger_seconds", "text"), [(0.0, b""), (20.0, b"late\n")])
def test_output_after_the_end_is_read_if_the_caller_waits(stop, linger_seconds, text):
    """Another process may hold the pipe, and print to it."""
    received = Received()
    spec = shell("{ sleep 2; echo late; } & exit 0", received, linger_seconds=linger_seconds)
    assert run_child(spec, stop[0]) == ChildOutcome(0, None)
    assert received.data["stdout"] == text


def test_an_error_of_the_caller_ends_the_child(stop):
    """No process is left that is not read."""
    pids = []

    def fail(name: str, data: bytes) -> None:
        pids.append(int(data))
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        run_child(shell("trap '' TERM; echo $$; while :; do sleep 600; done", fail), stop[0])
    assert is_reaped(pids[0])


@pytest.mark.parametrize(
    ("argv", "reason"), [(["/no/such"], "No such file or directory: /no/such"), (["a\0b"], "embedded null byte")]
)
def test_the_error_of_a_child_that_cannot_be_started_has_the_reason(stop, argv, reason):
    """It has the message of the system."""
    spec = ChildSpec(argv=argv, env={}, cwd=None, on_data=Received(), timeout_seconds=1, grace_seconds=1)
    with pytest.raises(NotStarted) as caught:
        run_child(spec, stop[0])
    assert str(caught.value) == reason


def test_reaping_does_not_wait_for_a_child_that_does_not_end():
    """A thread reaps the child when it ends."""
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    reap(process, patience_seconds=0.01)
    assert not is_reaped(process.pid)
    process.stdin.close()
    for thread in threading.enumerate():
        if thread.name == "toolkit-reap":
            thread.join(20)
    assert is_reaped(process.pid)


def test_a_process_that_has_ended_has_no_exit_file():
    assert exit_file(2**22 + 1) is None
