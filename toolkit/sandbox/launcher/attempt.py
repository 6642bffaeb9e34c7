"""
One attempt of the launcher to run a command, which begins only if everything is hidden that has to be.

The child hides files and stops at a gate. The launcher then asks the process that started it whether there are more
files to hide by now. If there are, the launcher ends the child, and has to make another attempt with the longer list.

At run time this file imports only the files next to it, because the launcher is loaded without the package.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import time
from typing import TYPE_CHECKING

from .confine import NOT_RUN_EXIT_CODE, StartGate, become_command
from .covers import NameWatch
from .process_tree import ProcessTree

if TYPE_CHECKING:
    import socket

    from .messages import HiddenFiles, LaunchOutcome, LaunchRequest, RecheckAnswer

__all__ = ["LaunchAttempt", "failure_outcome", "move_descriptor"]

# Bubblewrap needs ten seconds for the most mounts that it accepts.
_MAX_SECONDS_UNTIL_READY = 60.0
_MAX_MESSAGE_BYTES = 2000
_CREDENTIALS = struct.Struct("iII")


class LaunchAttempt:
    """
    One child, from its start to the gate, and to its end if the command may begin.

    The child is forked when this object is made, and confines itself as *request* says. The numbers of signals arrive
    on *signal_pipe*, and *error_fd* is the command's standard error.

    Attributes:
        to_hide_next: What another attempt has to hide, because this one has hidden too little. It is known after
            `wait_at_gate`. None means that this attempt has hidden everything.
    """

    def __init__(self, request: LaunchRequest, *, signal_pipe: int, error_fd: int) -> None:
        self._name_watch: NameWatch | None = None
        if "bubblewrap_options" in request:
            mounts = request["protected_mounts"]
            self._name_watch = name_watch = NameWatch([mount[-1] for mount in mounts], request["workspace_folders"])
            # Bubblewrap would make an empty file in place of one that is gone.
            request = {**request, "protected_mounts": [mount for mount in mounts if name_watch.is_present(mount[-1])]}
        self._request = request
        self._error_fd = error_fd
        self._failure_pipe, failure_end = map(move_descriptor, os.pipe())  # here the child says why it cannot run
        self._gate: socket.socket | None = None
        child_gate: StartGate | None = None
        if "protected_mounts" in request:
            self._gate, child_gate = _make_gate()
        self._message_fd = None if child_gate is None else child_gate.message_fd
        child = os.fork()
        if child == 0:
            become_command(request, failure_end, child_gate)
        os.close(failure_end)
        if child_gate is not None:
            os.close(child_gate.socket_fd)
        self._process_tree = ProcessTree(child, request, signal_pipe=signal_pipe, name_watch=self._name_watch)
        self.to_hide_next: HiddenFiles | None = None

    def wait_at_gate(self) -> LaunchOutcome | None:
        """
        Wait for the child at the gate, and return the outcome if the command cannot be run.

        If None is returned and `to_hide_next` is None, the command may begin. In all other cases the child is ended.
        """
        if self._gate is None:
            return None
        until = time.monotonic() + self._request.get("max_ready_seconds", _MAX_SECONDS_UNTIL_READY)
        process = self._wait_for_arrival(self._gate, until)
        to_hide: HiddenFiles | None = None
        failure = ""
        try:
            to_hide = self._ask_what_to_hide(until)
        except (OSError, ValueError) as error:
            failure = f"what is protected could not be looked up again: {error}"
        stop_reason = self._process_tree.stop_reason
        if process is not None and stop_reason is None and to_hide is not None and self._is_all_hidden(to_hide):
            if self._name_watch is not None:
                self._process_tree.hold_bubblewrap(process)
            return None
        self._process_tree.kill()
        outcome: LaunchOutcome | None = None
        if stop_reason is not None:
            outcome = {"exit_code": 128 + signal.SIGTERM, "processes_left": 0, "stop_reason": stop_reason}
        elif process is None and (to_hide is None or to_hide["protected_mounts"] == self._request["protected_mounts"]):
            outcome = failure_outcome(self._why_not_ready(until))
        elif to_hide is None:
            outcome = failure_outcome(failure)
        else:
            self.to_hide_next = to_hide
        self._close()
        return outcome

    def run_command(self) -> LaunchOutcome:
        """Let the command begin, and return how it ended."""
        if self._gate is not None:
            self._gate.send(b"\n")
        failure = self._read_failure()  # it ends without a text when the command takes over
        # A pipe has to end when the command closes its side of it. So our copy is closed, unless there may still be
        # something to report.
        if self._name_watch is None and not failure:
            os.close(self._error_fd)
        devnull = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(devnull, number)
        outcome = self._process_tree.wait_for_end()
        self._close()
        return failure_outcome(failure) if failure else outcome

    def _wait_for_arrival(self, gate: socket.socket, until: float) -> int | None:
        """Return the process that waits at the gate, or None if no process arrives."""
        if not self._process_tree.wait_until_readable(gate.fileno(), until=until):
            return None
        data, ancillary, _, _ = gate.recvmsg(1, 64)
        return int(_CREDENTIALS.unpack(ancillary[0][2])[0]) if data else None

    def _ask_what_to_hide(self, until: float) -> HiddenFiles:
        """Return what has to be hidden now. Only the process that started the launcher is trusted to answer."""
        if "recheck_address" not in self._request:
            return {"protected_mounts": self._request["protected_mounts"]}
        import socket

        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(f"\0{self._request['recheck_address']}")
            pid = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
            if pid != self._request["starter_pid"]:
                raise OSError(f"process {pid} answered, which did not start this one")
            data = b""
            while self._process_tree.wait_until_readable(peer.fileno(), until=until) and (part := peer.recv(1 << 16)):
                data += part
        answer: RecheckAnswer = json.loads(data)
        if "failure" in answer:
            raise OSError(answer["failure"])
        return answer

    def _is_all_hidden(self, to_hide: HiddenFiles) -> bool:
        """Return whether everything in *to_hide* was hidden, and has stayed hidden."""
        hidden = set(map(tuple, self._request["protected_mounts"]))
        is_hidden = hidden.issuperset(map(tuple, to_hide["protected_mounts"]))
        return is_hidden and (self._name_watch is None or self._name_watch.find_replaced_path() is None)

    def _why_not_ready(self, until: float) -> str:
        messages = b"" if self._message_fd is None else os.pread(self._message_fd, _MAX_MESSAGE_BYTES, 0).strip()
        late = "it was not ready in time" if time.monotonic() >= until else ""
        why = messages.decode(errors="replace") or late or "it ended before the command began, without a message"
        return self._read_failure() or f"{self._request['argv'][0]}: {why}"

    def _read_failure(self) -> str:
        return os.read(self._failure_pipe, 4096).decode(errors="replace")

    def _close(self) -> None:
        for number in (self._failure_pipe, self._message_fd):
            if number is not None:
                os.close(number)
        for resource in (self._gate, self._name_watch):
            if resource is not None:
                resource.close()


def _make_gate() -> tuple[socket.socket, StartGate]:
    import socket

    parent_end, child_end = socket.socketpair()
    # With this option, the system itself says which process writes.
    parent_end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return parent_end, StartGate(
        socket_fd=move_descriptor(child_end.detach()), message_fd=move_descriptor(os.memfd_create("messages"))
    )


def move_descriptor(number: int) -> int:
    """Move a descriptor to a number of at least 10, and return it. Started programs do not inherit it."""
    new_number = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return new_number


def failure_outcome(reason: str) -> LaunchOutcome:
    """Return the outcome for a command that was not run."""
    return {"exit_code": NOT_RUN_EXIT_CODE, "failure": reason}
