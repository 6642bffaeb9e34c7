"""
One attempt of the launcher to run a command, which begins only if everything is hidden that has to be.

The child hides files and stops at a gate. The launcher then asks the process that started it whether there are more
files to hide by now. If there are, the launcher ends the child, and has to make another attempt with the longer list.

This file imports only the files next to it, because the launcher loads it by path.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

if __package__:
    from .confine import NOT_RUN_EXIT_CODE, Gate, become_command
    from .covers import NameWatch
    from .process_tree import ProcessTree
else:
    from confine import NOT_RUN_EXIT_CODE, Gate, become_command  # type: ignore[import-not-found, no-redef]
    from covers import NameWatch  # type: ignore[import-not-found, no-redef]
    from process_tree import ProcessTree  # type: ignore[import-not-found, no-redef]

__all__ = ["LaunchAttempt", "failure_outcome", "move_descriptor"]

# Bubblewrap needs ten seconds for the most mounts that it accepts.
_MAX_SECONDS_UNTIL_READY = 60.0
_MAX_MESSAGE_BYTES = 2000
_CREDENTIALS = struct.Struct("iII")


class LaunchAttempt:
    """
    One child, from its start to the gate, and to its end if the command may begin.

    Args:
        request: The launcher's instructions.
        signal_pipe: The pipe that receives the numbers of signals.
        error_fd: The command's standard error.
    """

    def __init__(self, request: dict[str, Any], *, signal_pipe: int, error_fd: int) -> None:
        self._request = request
        self._error_fd = error_fd
        self._name_watch: NameWatch | None = None
        self._gate: socket.socket | None = None
        if request.get("options") is not None:
            self._name_watch = NameWatch([mount[-1] for mount in request["shut"]], request["tops"])
            # Bubblewrap would make an empty file in place of one that is gone.
            self._request = {
                **request,
                "shut": [mount for mount in request["shut"] if self._name_watch.is_present(mount[-1])],
            }
        self._trouble_pipe, trouble_end = map(move_descriptor, os.pipe())
        child_gate = None
        if "shut" in request:
            self._gate, child_gate = _make_gate()
        child = os.fork()
        if child == 0:
            become_command(self._request, trouble_end, child_gate)
        os.close(trouble_end)
        self._message_fd = None if child_gate is None else child_gate.message_fd
        if child_gate is not None:
            os.close(child_gate.socket_fd)
        self._process_tree = ProcessTree(child, request, signal_pipe=signal_pipe, name_watch=self._name_watch)

    def wait_at_gate(self) -> dict[str, Any] | None:
        """
        Wait for the child at the gate, and return None if the command may begin.

        Otherwise end the child, and return the outcome, or the list of what has to be `shut` in another attempt.
        """
        if self._gate is None:
            return None
        until = time.monotonic() + float(self._request.get("stand_seconds", _MAX_SECONDS_UNTIL_READY))
        process = self._wait_for_arrival(self._gate, until)
        try:
            outcome = self._ask_what_to_hide(until)
        except (OSError, ValueError) as error:
            outcome = failure_outcome(f"what is protected could not be looked up again: {error}")
        if process is not None and not self._process_tree.stop_reason and self._is_all_hidden(outcome):
            if self._name_watch is not None:
                self._process_tree.hold_bubblewrap(process)
            return None
        self._process_tree.kill()
        if self._process_tree.stop_reason:
            outcome = {"exit": 128 + signal.SIGTERM, "left": 0, "stopped": self._process_tree.stop_reason}
        elif process is None and outcome.get("shut", self._request["shut"]) == self._request["shut"]:
            outcome = failure_outcome(self._why_not_ready(until))
        self._close()
        return outcome

    def run_command(self) -> dict[str, Any]:
        """Let the command begin, and return how it ended."""
        if self._gate is not None:
            self._gate.send(b"\n")
        trouble = self._read_trouble()  # it ends without a text when the command takes over
        # A pipe has to end when the command closes its side of it. So our copy is closed, unless there may still be
        # something to report.
        if self._name_watch is None and not trouble:
            os.close(self._error_fd)
        devnull = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(devnull, number)
        outcome = self._process_tree.wait_for_end()
        self._close()
        return failure_outcome(trouble) if trouble else outcome

    def _wait_for_arrival(self, gate: socket.socket, until: float) -> int | None:
        """Return the process that waits at the gate, or None if no process arrives."""
        if not self._process_tree.wait_until_readable(gate.fileno(), until=until):
            return None
        data, ancillary, _, _ = gate.recvmsg(1, 64)
        return int(_CREDENTIALS.unpack(ancillary[0][2])[0]) if data else None

    def _ask_what_to_hide(self, until: float) -> dict[str, Any]:
        """Return what has to be hidden now. Only the process that started the launcher is trusted to answer."""
        if "look" not in self._request:
            return {"shut": self._request["shut"]}
        import socket

        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(f"\0{self._request['look']}")
            pid = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
            if pid != self._request["starter"]:
                raise OSError(f"process {pid} answered, which did not start this one")
            answer = b""
            while self._process_tree.wait_until_readable(peer.fileno(), until=until) and (data := peer.recv(1 << 16)):
                answer += data
        reply = json.loads(answer)
        if "failed" in reply:
            raise OSError(reply["failed"])
        return {key: reply[key] for key in ("shut", "landlock") if key in reply}

    def _is_all_hidden(self, to_hide: dict[str, Any]) -> bool:
        """Return whether everything in *to_hide* was hidden, and has stayed hidden."""
        hidden = set(map(tuple, self._request["shut"]))
        is_hidden = "shut" in to_hide and hidden.issuperset(map(tuple, to_hide["shut"]))
        return is_hidden and (self._name_watch is None or self._name_watch.find_replaced_path() is None)

    def _why_not_ready(self, until: float) -> str:
        messages = b"" if self._message_fd is None else os.pread(self._message_fd, _MAX_MESSAGE_BYTES, 0).strip()
        late = "it was not ready in time" if time.monotonic() >= until else ""
        why = messages.decode(errors="replace") or late or "it ended before the command began, and said nothing"
        return self._read_trouble() or f"{self._request['argv'][0]}: {why}"

    def _read_trouble(self) -> str:
        return os.read(self._trouble_pipe, 4096).decode(errors="replace")

    def _close(self) -> None:
        for number in (self._trouble_pipe, self._message_fd):
            if number is not None:
                os.close(number)
        for resource in (self._gate, self._name_watch):
            if resource is not None:
                resource.close()


def _make_gate() -> tuple[socket.socket, Gate]:
    import socket

    parent_end, child_end = socket.socketpair()
    # With this option, the system itself says which process writes.
    parent_end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return parent_end, Gate(
        socket_fd=move_descriptor(child_end.detach()), message_fd=move_descriptor(os.memfd_create("said"))
    )


def move_descriptor(number: int) -> int:
    """Move a descriptor to a number of at least 10, and return it. Started programs do not inherit it."""
    new_number = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return new_number


def failure_outcome(reason: str) -> dict[str, Any]:
    """Return the outcome for a command that was not run."""
    return {"exit": NOT_RUN_EXIT_CODE, "failed": reason}
