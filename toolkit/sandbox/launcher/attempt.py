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
    from .confine import FAILED, Gate, become
    from .covers import Covers
    from .process_tree import Tended
else:
    from confine import FAILED, Gate, become  # type: ignore[import-not-found, no-redef]
    from covers import Covers  # type: ignore[import-not-found, no-redef]
    from process_tree import Tended  # type: ignore[import-not-found, no-redef]

__all__ = ["Attempt", "failed", "moved"]

# Bubblewrap needs ten seconds for the most mounts that it accepts.
_MOST_SECONDS_TO_STAND = 60.0
_MOST_OF_WHAT_IS_SAID = 2000
_CREDENTIALS = struct.Struct("iII")


class Attempt:
    """
    One child, from its start to the gate, and to its end if the command may begin.

    Args:
        wish: The launcher's instructions.
        news: The pipe that receives the numbers of signals.
        errors: The command's standard error.
    """

    def __init__(self, wish: dict[str, Any], *, news: int, errors: int) -> None:
        self._wish = wish
        self._errors = errors
        self._covers: Covers | None = None
        self._gate: socket.socket | None = None
        if wish.get("options") is not None:
            self._covers = Covers([each[-1] for each in wish["shut"]], wish["tops"])
            # Bubblewrap would make an empty file in place of one that is gone.
            self._wish = {**wish, "shut": [each for each in wish["shut"] if self._covers.is_there(each[-1])]}
        self._trouble, told = map(moved, os.pipe())
        theirs = None
        if "shut" in wish:
            self._gate, theirs = _gate()
        child = os.fork()
        if child == 0:
            become(self._wish, told, theirs)
        os.close(told)
        self._said = None if theirs is None else theirs.said
        if theirs is not None:
            os.close(theirs.way)
        self._tended = Tended(child, wish, news=news, covers=self._covers)

    def at_the_gate(self) -> dict[str, Any] | None:
        """
        Wait for the child at the gate, and return None if the command may begin.

        Otherwise end the child, and return the outcome, or the list of what has to be `shut` in another attempt.
        """
        if self._gate is None:
            return None
        until = time.monotonic() + float(self._wish.get("stand_seconds", _MOST_SECONDS_TO_STAND))
        first = self._arrived(self._gate, until)
        try:
            found = self._looked(until)
        except (OSError, ValueError) as error:
            found = failed(f"what is protected could not be looked up again: {error}")
        if first is not None and not self._tended.stopped and self._is_all_shut(found):
            if self._covers is not None:
                self._tended.hold(first)
            return None
        self._tended.kill()
        if self._tended.stopped:
            found = {"exit": 128 + signal.SIGTERM, "left": 0, "stopped": self._tended.stopped}
        elif first is None and found.get("shut", self._wish["shut"]) == self._wish["shut"]:
            found = failed(self._why_nobody(until))
        self._close()
        return found

    def let_in(self) -> dict[str, Any]:
        """Let the command begin, and return how it ended."""
        if self._gate is not None:
            self._gate.send(b"\n")
        trouble = self._troubles()  # it ends without a text when the command takes over
        # A pipe has to end when the command closes its side of it. So our copy is closed, unless there may still be
        # something to report.
        if self._covers is None and not trouble:
            os.close(self._errors)
        empty = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(empty, number)
        outcome = self._tended.ended()
        self._close()
        return failed(trouble) if trouble else outcome

    def _arrived(self, gate: socket.socket, until: float) -> int | None:
        """Return the process that waits at the gate, or None if no process arrives."""
        if not self._tended.wait_for(gate.fileno(), until=until):
            return None
        data, about, _, _ = gate.recvmsg(1, 64)
        return int(_CREDENTIALS.unpack(about[0][2])[0]) if data else None

    def _looked(self, until: float) -> dict[str, Any]:
        """Return what has to be hidden now. Only the process that started the launcher is trusted to answer."""
        if "look" not in self._wish:
            return {"shut": self._wish["shut"]}
        import socket

        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(f"\0{self._wish['look']}")
            pid = _CREDENTIALS.unpack(asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
            if pid != self._wish["starter"]:
                raise OSError(f"process {pid} answered, which did not start this one")
            answer = b""
            while self._tended.wait_for(asking.fileno(), until=until) and (data := asking.recv(1 << 16)):
                answer += data
        found = json.loads(answer)
        if "failed" in found:
            raise OSError(found["failed"])
        return {key: found[key] for key in ("shut", "landlock") if key in found}

    def _is_all_shut(self, found: dict[str, Any]) -> bool:
        """Return whether everything in *found* was hidden, and has stayed hidden."""
        known = set(map(tuple, self._wish["shut"]))
        is_known = "shut" in found and known.issuperset(map(tuple, found["shut"]))
        return is_known and (self._covers is None or self._covers.lost() is None)

    def _why_nobody(self, until: float) -> str:
        said = b"" if self._said is None else os.pread(self._said, _MOST_OF_WHAT_IS_SAID, 0).strip()
        late = "it was not ready in time" if time.monotonic() >= until else ""
        why = said.decode(errors="replace") or late or "it ended before the command began, and said nothing"
        return self._troubles() or f"{self._wish['argv'][0]}: {why}"

    def _troubles(self) -> str:
        return os.read(self._trouble, 4096).decode(errors="replace")

    def _close(self) -> None:
        for number in (self._trouble, self._said):
            if number is not None:
                os.close(number)
        for each in (self._gate, self._covers):
            if each is not None:
                each.close()


def _gate() -> tuple[socket.socket, Gate]:
    import socket

    ours, theirs = socket.socketpair()
    # With this option, the system itself says which process writes.
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, Gate(way=moved(theirs.detach()), said=moved(os.memfd_create("said")))


def moved(number: int) -> int:
    """Move a descriptor to a number of at least 10, and return it. Started programs do not inherit it."""
    found = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return found


def failed(why: str) -> dict[str, Any]:
    """Return the outcome for a command that was not run."""
    return {"exit": FAILED, "failed": why}
