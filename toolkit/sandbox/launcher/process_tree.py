"""
In the launcher: a child and everything that descends from it, waited for and ended, so that nothing is left behind.

Stands alone, with its neighbour: the launcher loads it by path.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

if __package__:
    from .covers import Covers, Mounts
else:
    from covers import Covers, Mounts  # type: ignore[import-not-found, no-redef]

__all__ = ["STOP", "Tended"]

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that end a command."""

_LINUX = sys.platform == "linux"
_KILLED = 128 + signal.SIGKILL
_COUNT_SECONDS = 1.0


class Tended:
    """
    A child, and what it starts.

    Attributes:
        stopped: Why it was ended, if it did not end by itself: "asked", "crowd" or "uncovered".
        uncovered: A protected file that it could have seen.

    Args:
        news: Where the numbers of signals arrive.
        covers: What the child must not see; it is ended if one comes off.
    """

    def __init__(self, child: int, wish: dict[str, Any], *, news: int, covers: Covers | None) -> None:
        self._child = child
        self._news = news
        self._covers = covers
        self._secrets = [each[-1] for each in wish.get("shut", ()) if "/dev/null" in each]
        self._mounts: Mounts | None = None
        self._is_remounted = False
        # A monitor that would take everybody with it at once is not asked politely.
        self._monitor = child if wish.get("options") is not None else None
        self._held: tuple[int, ...] = ()
        self._command: int | None = None
        self._polite = float(wish.get("grace_seconds", 2.0))
        self._crowd = wish.get("crowd") if wish["pen"] is None else None
        self._crowded = _numbers() + (self._crowd or 0)
        self._count_at = time.monotonic() + _COUNT_SECONDS
        self._status: int | None = None
        self.stopped = ""
        self.uncovered: str | None = None

    def wait_for(self, file: int, *, until: float) -> bool:
        """Whether *file* has something to read, before that time, and before we are told to stop."""
        while not self.stopped and (seconds := until - time.monotonic()) > 0:
            ready = select.select([file, self._news], [], [], seconds)[0]
            if file in ready:
                return True
            if _asks_to_stop(self._hear(0)):
                self.stopped = "asked"
        return False

    def hold(self, command: int) -> None:
        """
        Keep bubblewrap from ending when *command*, the process inside, does: what is left is to be counted first.

        It has two processes, the outer one and the first inside. When the outer one ends, so does everything.
        From here on its mounts are watched, too.
        """
        with contextlib.suppress(OSError):  # then the names alone are watched
            self._mounts = Mounts(command, self._secrets)
        first = _parent(command)
        if first is None or _parent(first) != self._child or not hasattr(os, "pidfd_open"):
            return
        try:
            self._command = os.pidfd_open(command)
        except OSError:
            return  # an old kernel; then nothing is counted
        self._held = (self._child, first)
        os.kill(self._child, signal.SIGSTOP)

    def ended(self) -> dict[str, Any]:
        """Wait for the command, end what it left, and tell how it went."""
        self._reap()
        while self._status is None and not self._is_over():
            self._watch()
        if self.uncovered is None:
            self._is_remounted = True  # it may have ended before we heard of it
            self.uncovered = self._lost()
        if self._mounts is not None:
            self._mounts.close()  # before the others end: the last one to hold it waits while it is taken down
            self._mounts = None
        others = self._wait_until_alone(time.monotonic() + 0.1)  # many are just about to end
        left = len(others) if self._held or not self._monitor else 0
        self._end(0.2)
        code = _KILLED if self._status is None else os.waitstatus_to_exitcode(self._status)
        found: dict[str, Any] = {"exit": code if code >= 0 else 128 - code, "left": left}
        if self.stopped:
            found["stopped"] = self.stopped
        if self.uncovered is not None:
            found["path"] = self.uncovered
        return found

    def kill(self) -> None:
        """End it at once, with everything it started."""
        self._end(0)

    def _is_over(self) -> bool:
        """Whether the command has ended, though bubblewrap has not."""
        return self._command is not None and bool(select.select([self._command], [], [], 0)[0])

    def _watch(self) -> None:
        """Wait for news; the crowd is counted now and then where no limit of the system does it."""
        files = [] if self._command is None else [self._command]
        seconds = 0.1 if self._crowd else None
        if self._covers is not None:
            files += [self._covers.fileno()] if self._covers.poll_seconds is None else []
            seconds = seconds or self._covers.poll_seconds
        heard = self._hear(seconds, *files)
        self.uncovered = self._lost()
        if self.uncovered is not None:
            self._stop("uncovered", 0)
        self._reap()
        if self._status is not None or self._is_over():
            return
        if _asks_to_stop(heard):
            self._stop("asked", self._polite)
        elif self._is_crowded():
            self._stop("crowd", 0)

    def _is_crowded(self) -> bool:
        """
        Return whether the command has more processes than it may.

        Counting its processes takes long on a machine with many. So they are counted at once when the machine has
        many more than at the start, and otherwise now and then: other programs may have ended meanwhile.
        """
        if not self._crowd or not (_numbers() > self._crowded or time.monotonic() > self._count_at):
            return False
        self._count_at = time.monotonic() + _COUNT_SECONDS
        return bool(len(_descendants(self._child)) > self._crowd)

    def _lost(self) -> str | None:
        """A protected file that can be seen, or could be for a moment."""
        gone = self._mounts.gone() if self._mounts is not None and self._is_remounted else None
        self._is_remounted = False
        return gone or (None if self._covers is None else self._covers.lost())

    def _stop(self, why: str, polite_seconds: float) -> None:
        self.stopped = why
        self._end(polite_seconds)

    def _hear(self, seconds: float | None, *files: int) -> bytes:
        """The signals that have come, waiting for one, or for something in *files*, if there is none."""
        mounts = [] if self._mounts is None else [self._mounts]
        ready, _, remounted = select.select([self._news, *files], [], mounts, seconds)
        self._is_remounted = self._is_remounted or bool(remounted)
        return os.read(self._news, 4096) if self._news in ready else b""

    def _reap(self) -> bool:
        """Bury the children that have ended; return whether any is left that has not."""
        for _ in range(1000):  # there may be new ones for ever
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._status = status
        return True

    def _end(self, polite_seconds: float) -> None:
        """End every descendant: SIGTERM, a while to tidy up, SIGKILL until none is left."""
        if polite_seconds and self._others():
            self._signal(signal.SIGTERM, spared=self._monitor)
            self._wait_until_alone(time.monotonic() + polite_seconds)
        if polite_seconds and self._held and self._is_over():
            # Its exit code is the command's, if it may end as it would. It would wait for one that has not ended.
            _kill(self._child, signal.SIGCONT)
            self._held = ()
            self._wait_until_alone(time.monotonic() + polite_seconds)
        if self._command is not None and not polite_seconds:
            # The first process inside takes it along, but only when its own turn comes.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._command, signal.SIGKILL)
        for pid in reversed(self._held):  # the first inside takes the others with it, before we have counted them
            _kill(pid, signal.SIGKILL)
        self._held = ()
        give_up = time.monotonic() + 10.0
        while (_descendants(self._child) or self._reap()) and time.monotonic() < give_up:
            self._signal(signal.SIGKILL)
            self._wait_until_alone(time.monotonic() + 0.05)
        self._reap()

    def _signal(self, number: int, *, spared: int | None = None) -> None:
        """Send it to everyone, and to nobody twice: a second SIGTERM would come while somebody tidies up."""
        targets = _descendants(self._child)
        # The group first, in one step: those who fork faster than we count are mostly in it. Once the
        # command is reaped its number may be another's.
        if self._status is None and spared is None:
            targets = [-self._child, *(target for target in targets if _group(target) != self._child)]
        for target in targets:
            if target != spared:
                _kill(target, number)

    def _wait_until_alone(self, until: float) -> list[int]:
        """Who still runs after that time."""
        has_children = self._reap()
        # A process that forks and ends while the table of processes is read leaves no trace in it. Its child becomes
        # ours then, so it is the system that knows whether we are alone.
        while (others := self._others()) or (has_children and not self._held):
            if (seconds := until - time.monotonic()) <= 0:
                break
            self._hear(min(seconds, 0.05 if others else 0.002))
            has_children = self._reap()
        return others

    def _others(self) -> list[int]:
        """What runs besides the processes of bubblewrap that we hold."""
        return [pid for pid in _descendants(self._child) if pid not in self._held]


def _asks_to_stop(heard: bytes) -> bool:
    return any(number in heard for number in STOP)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _group(target: int) -> int | None:
    """The group of a process; a group, which is written as a negative number, is its own."""
    try:
        return os.getpgid(target) if target > 0 else -target
    except OSError:
        return None  # it has just ended


def _numbers() -> int:
    """How many processes there are, ours or not: quick to tell, however many there are."""
    return len(os.listdir("/proc")) if _LINUX else 0


def _descendants(child: int) -> list[int]:
    """Everything that we or our children started and that still runs; its group, where that cannot be told."""
    if not _LINUX:
        try:
            os.kill(-child, 0)
        except OSError:
            return []
        return [-child]
    children: dict[int, list[int]] = {}
    dead = set()
    for pid, parent, state in _processes():
        children.setdefault(parent, []).append(pid)
        if state in "ZX":
            dead.add(pid)
    found, waiting = [], children.get(os.getpid(), [])[:]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return [pid for pid in found if pid not in dead]


def _processes(names: Iterable[str] | None = None) -> Iterator[tuple[int, int, str]]:
    for name in os.listdir("/proc") if names is None else names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue  # it has just ended
        yield int(name), int(fields[1]), fields[0].decode()


def _parent(pid: int) -> int | None:
    return next((parent for _, parent, _ in _processes([str(pid)])), None)
