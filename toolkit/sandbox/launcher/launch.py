"""
The launcher, which starts one command in its sandbox and outlives it, so that no process of it is left behind.

It is run without the rest of the package, and imports only the few files next to it. It forks while it has one thread.
The child gives up its own rights and becomes the command. The parent waits for the child and adopts every process that
the command orphans. On SIGTERM, or when the command has ended, it ends all of them: first with SIGTERM, then with
SIGKILL. It does the same when the process that started it dies.

If files are hidden, several attempts may be needed until all of them are; see `attempt.py`.

The request and the outcome are JSON objects; `messages.py` describes them. The outcome is written to a pipe that the
command never sees.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .attempt import LaunchAttempt, failure_outcome, move_descriptor
from .confine import NOT_RUN_EXIT_CODE, prctl, write_all, write_text
from .process_tree import STOP_SIGNALS

if TYPE_CHECKING:
    from .messages import LaunchOutcome, LaunchRequest

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MAX_ATTEMPTS = 5


def main() -> int:
    """Run the command that the arguments, pieces of a JSON text, describe, and return its exit code as a shell does."""
    request: LaunchRequest = json.loads("".join(sys.argv[1:]))
    status_fd, third_fd = (
        None if number is None else move_descriptor(number)
        for number in (request.get("status_fd"), request.get("third_fd"))
    )
    if third_fd is not None:
        os.dup2(third_fd, 3, inheritable=True)
    error_fd = move_descriptor(os.dup(2))
    signal_pipe = _open_signal_pipe()
    if _LINUX:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != request.get("starter_pid", os.getppid()):
        return NOT_RUN_EXIT_CODE  # the starter died before we could ask for a signal
    if "cgroup" not in request:
        max_processes = request.get("max_processes")
        request["cgroup"] = None if max_processes is None else _make_cgroup(max_processes)
    outcome = _run_attempts(request, signal_pipe, error_fd, third_fd)
    _remove_cgroup(request["cgroup"])
    if "failure" in outcome and status_fd is None:
        _write_message(error_fd, outcome["failure"])
    elif "uncovered_path" in outcome:
        stopped = "stopped: " if "stop_reason" in outcome else ""
        _write_message(
            error_fd,
            f"{stopped}{outcome['uncovered_path']} was replaced or removed while the command ran, and could be seen",
        )
    if status_fd is not None:
        write_all(status_fd, json.dumps(outcome).encode())
    return outcome["exit_code"]


def _run_attempts(request: LaunchRequest, signal_pipe: int, error_fd: int, third_fd: int | None) -> LaunchOutcome:
    """Run the command, in a new attempt as long as there are more files to hide, and return how it ended."""
    for _ in range(_MAX_ATTEMPTS):
        attempt = LaunchAttempt(request, signal_pipe=signal_pipe, error_fd=error_fd)
        outcome = attempt.wait_at_gate()
        if outcome is not None:
            return outcome
        if attempt.to_hide_next is None:
            if third_fd is not None:
                os.close(third_fd)
                os.close(3)
            return attempt.run_command()
        request = {**request, **attempt.to_hide_next}
    return failure_outcome("protected files keep appearing in the workspace; try again when no program makes new ones")


def _write_message(file: int, text: str) -> None:
    """Write *text* to *file*, if it can be written within a second."""
    if select.select([], [file], [], 1.0)[1]:
        with contextlib.suppress(OSError):
            write_all(file, f"toolkit: {text}\n".encode(errors="replace"))


def _make_cgroup(max_processes: int) -> str | None:
    """Return a control group with room for *max_processes*, or None if none can be made. Only root needs one."""
    for folder in _list_own_cgroups():
        _remove_stale_cgroups(folder)
        path = f"{folder}/toolkit-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            write_text(f"{path}/pids.max", str(max_processes))
        except OSError:
            os.rmdir(path)
            continue
        return path
    return None


def _remove_stale_cgroups(folder: str) -> None:
    """Remove the groups of launchers that were killed. A group that still has processes cannot be removed."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        number = name.removeprefix("toolkit-")
        if number != name and number.isdigit() and not os.path.exists(f"/proc/{number}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{folder}/{name}")


def _list_own_cgroups() -> Iterator[str]:
    try:
        with open("/proc/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if "pids" in kinds.split(","):
            yield f"/sys/fs/cgroup/{kinds}{path.rstrip('/')}"
        elif not kinds:
            yield f"/sys/fs/cgroup{path.rstrip('/')}"


def _open_signal_pipe() -> int:
    """Return the descriptor of a pipe that receives the number of every signal that matters here."""
    read_end, write_end = os.pipe()
    for end in (read_end, write_end):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOP_SIGNALS):
        signal.signal(number, lambda *_: None)
    return read_end


def _remove_cgroup(cgroup: str | None) -> None:
    for _ in range(100 if cgroup else 0):
        with contextlib.suppress(OSError):
            os.rmdir(str(cgroup))
            return
        time.sleep(0.01)  # the last process has ended, but is still counted
