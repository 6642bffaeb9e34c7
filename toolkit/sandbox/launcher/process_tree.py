"""
A child of the launcher and all its descendants: the launcher waits for them and ends them, so that none is left.

At run time this file imports only `covers`, because the launcher is loaded without the package.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .covers import MountWatch, NameWatch

if TYPE_CHECKING:
    from .messages import LaunchOutcome, LaunchRequest, StopReason

__all__ = ["STOP_SIGNALS", "ProcessTree"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that end a command."""

_LINUX = sys.platform == "linux"
_KILLED_EXIT_CODE = 128 + signal.SIGKILL
_COUNT_SECONDS = 1.0
_NAME_SECONDS = 0.25  # how often to look at covered names if the system does not report changes


class ProcessTree:
    """
    A child, and the processes that it starts. It is ended if a cover in *name_watch* comes off.

    Attributes:
        stop_reason: Why the child was ended; None if it ended by itself.
        uncovered_path: A protected file that the child could have seen.
    """

    def __init__(self, child: int, request: LaunchRequest, *, signal_pipe: int, name_watch: NameWatch | None) -> None:
        self._child = child
        self._signal_pipe = signal_pipe
        self._name_watch = name_watch
        self._secrets = [mount[-1] for mount in request.get("protected_mounts", ()) if "/dev/null" in mount]
        self._mount_watch: MountWatch | None = None
        self._has_mount_change = False
        # Bubblewrap's outer process gets no SIGTERM, because its end would end all other processes at once.
        self._monitor = child if "bubblewrap_options" in request else None
        self._held_processes: tuple[int, ...] = ()
        self._command_pidfd: int | None = None
        self._grace_seconds = float(request.get("grace_seconds", 2.0))
        self._max_processes = request.get("max_processes") if request.get("cgroup") is None else None
        self._count_threshold = _count_machine_processes() + (self._max_processes or 0)
        self._next_count_at = time.monotonic() + _COUNT_SECONDS
        self._status: int | None = None
        self.stop_reason: StopReason | None = None
        self.uncovered_path: str | None = None

    def wait_until_readable(self, file: int, *, until: float) -> bool:
        """Return whether *file* can be read before the time *until* comes, or a signal to stop."""
        while not self.stop_reason and (seconds := until - time.monotonic()) > 0:
            ready = select.select([file, self._signal_pipe], [], [], seconds)[0]
            if file in ready:
                return True
            if _asks_to_stop(self._wait_for_signals(0)):
                self.stop_reason = "requested"
        return False

    def hold_bubblewrap(self, command: int) -> None:
        """
        Keep bubblewrap from ending when *command*, the process inside, ends, so that what is left can be counted first.

        Bubblewrap has two processes: the outer one, and the first one inside. When the outer one ends, everything ends.
        From here on, the mounts of the sandbox are watched as well.
        """
        with contextlib.suppress(OSError):  # then only the names are watched
            self._mount_watch = MountWatch(command, self._secrets)
        first = _parent_of(command)
        if first is None or _parent_of(first) != self._child or not hasattr(os, "pidfd_open"):
            return
        try:
            self._command_pidfd = os.pidfd_open(command)
        except OSError:
            return  # an old kernel; then nothing is counted
        self._held_processes = (self._child, first)
        os.kill(self._child, signal.SIGSTOP)

    def wait_for_end(self) -> LaunchOutcome:
        """Wait for the command, end the processes that it left, and return the outcome."""
        self._reap()
        while self._status is None and not self._has_command_ended():
            self._watch()
        if self.uncovered_path is None:
            self._has_mount_change = True  # the command may have ended before the change was reported
            self.uncovered_path = self._find_uncovered_path()
        if self._mount_watch is not None:
            # The file is closed before the other processes end: the last process to hold the mounts waits while they
            # are removed.
            self._mount_watch.close()
            self._mount_watch = None
        others = self._wait_until_alone(time.monotonic() + 0.1)  # many processes are just about to end
        left = len(others) if self._held_processes or not self._monitor else 0
        self._end_all(0.2)
        code = _KILLED_EXIT_CODE if self._status is None else os.waitstatus_to_exitcode(self._status)
        outcome: LaunchOutcome = {"exit_code": code if code >= 0 else 128 - code, "processes_left": left}
        if self.stop_reason is not None:
            outcome["stop_reason"] = self.stop_reason
        if self.uncovered_path is not None:
            outcome["uncovered_path"] = self.uncovered_path
        return outcome

    def kill(self) -> None:
        """End the child at once, with everything that it started."""
        self._end_all(0)

    def _has_command_ended(self) -> bool:
        """Return whether the command has ended although bubblewrap has not."""
        return self._command_pidfd is not None and bool(select.select([self._command_pidfd], [], [], 0)[0])

    def _watch(self) -> None:
        """Wait for an event and act on it. The processes are counted regularly if no limit of the system does it."""
        files = [] if self._command_pidfd is None else [self._command_pidfd]
        seconds = 0.1 if self._max_processes else None
        if self._name_watch is not None and self._name_watch.fileno() >= 0:
            files.append(self._name_watch.fileno())
        elif self._name_watch is not None:
            seconds = seconds or _NAME_SECONDS
        signals = self._wait_for_signals(seconds, *files)
        self.uncovered_path = self._find_uncovered_path()
        if self.uncovered_path is not None:
            self._stop("uncovered", 0)
        self._reap()
        if self._status is not None or self._has_command_ended():
            return
        if _asks_to_stop(signals):
            self._stop("requested", self._grace_seconds)
        elif self._has_too_many_processes():
            self._stop("too_many_processes", 0)

    def _has_too_many_processes(self) -> bool:
        """
        Return whether the command has more processes than it may have.

        Counting its processes takes long on a machine with many processes. So they are counted at once if the machine
        has many more processes than at the start. Otherwise they are counted from time to time, because the total may
        stay low if other programs have ended meanwhile.
        """
        if not self._max_processes or not (
            _count_machine_processes() > self._count_threshold or time.monotonic() > self._next_count_at
        ):
            return False
        self._next_count_at = time.monotonic() + _COUNT_SECONDS
        return bool(len(_descendants(self._child)) > self._max_processes)

    def _find_uncovered_path(self) -> str | None:
        """Return a protected file that can be seen, or could be seen for a moment, or None."""
        uncovered_path = None
        if self._mount_watch is not None and self._has_mount_change:
            uncovered_path = self._mount_watch.find_uncovered_path()
        self._has_mount_change = False
        return uncovered_path or (None if self._name_watch is None else self._name_watch.find_replaced_path())

    def _stop(self, why: StopReason, grace_seconds: float) -> None:
        self.stop_reason = why
        self._end_all(grace_seconds)

    def _wait_for_signals(self, seconds: float | None, *files: int) -> bytes:
        """Return the signals that have arrived, or arrive before one of *files* can be read, for at most *seconds*."""
        mounts = [] if self._mount_watch is None else [self._mount_watch]
        ready, _, remounted = select.select([self._signal_pipe, *files], [], mounts, seconds)
        self._has_mount_change = self._has_mount_change or bool(remounted)
        return os.read(self._signal_pipe, 4096) if self._signal_pipe in ready else b""

    def _reap(self) -> bool:
        """Collect the children that have ended, and return whether a child is left that has not ended."""
        for _ in range(1000):  # there may always be new ones
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._status = status
        return True

    def _end_all(self, grace_seconds: float) -> None:
        """End every descendant: SIGTERM, some time to clean up, then up to ten seconds of SIGKILL."""
        if grace_seconds and self._others():
            self._signal_all(signal.SIGTERM, spared=self._monitor)
            self._wait_until_alone(time.monotonic() + grace_seconds)
        if grace_seconds and self._held_processes and self._has_command_ended():
            # If bubblewrap may end in its normal way, its exit code is that of the command. It would wait for a command
            # that has not ended.
            _kill(self._child, signal.SIGCONT)
            self._held_processes = ()
            self._wait_until_alone(time.monotonic() + grace_seconds)
        if self._command_pidfd is not None and not grace_seconds:
            # The first process inside would end the command too, but only when that process is ended itself.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._command_pidfd, signal.SIGKILL)
        # The first process inside ends the others with it, before we have counted them.
        for pid in reversed(self._held_processes):
            _kill(pid, signal.SIGKILL)
        self._held_processes = ()
        deadline = time.monotonic() + 10.0
        while (_descendants(self._child) or self._reap()) and time.monotonic() < deadline:
            self._signal_all(signal.SIGKILL)
            self._wait_until_alone(time.monotonic() + 0.05)
        self._reap()

    def _signal_all(self, number: int, *, spared: int | None = None) -> None:
        """Signal every descendant but *spared*, and none of them twice: it may be about to clean up."""
        targets = _descendants(self._child)
        # The group comes first, in one step: processes that fork faster than we count are mostly in it. When the
        # command has been reaped, its number may belong to another process.
        if self._status is None and spared is None:
            targets = [-self._child, *(target for target in targets if _process_group(target) != self._child)]
        for target in targets:
            if target != spared:
                _kill(target, number)

    def _wait_until_alone(self, until: float) -> list[int]:
        """Wait until no other process runs or the time *until* comes, and return the processes that still run."""
        has_children = self._reap()
        # A process that forks and ends while the table of processes is read leaves no trace in it. Its child then
        # becomes ours, so only the system knows whether there are no other processes.
        while (others := self._others()) or (has_children and not self._held_processes):
            if (seconds := until - time.monotonic()) <= 0:
                break
            self._wait_for_signals(min(seconds, 0.05 if others else 0.002))
            has_children = self._reap()
        return others

    def _others(self) -> list[int]:
        """Return the processes that run, without the processes of bubblewrap that we hold."""
        return [pid for pid in _descendants(self._child) if pid not in self._held_processes]


def _asks_to_stop(signals: bytes) -> bool:
    return any(number in signals for number in STOP_SIGNALS)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _process_group(target: int) -> int | None:
    """Return the group of a process, or None if it has ended. A negative number is a group itself."""
    try:
        return os.getpgid(target) if target > 0 else -target
    except OSError:
        return None  # it has just ended


def _count_machine_processes() -> int:
    """Return about how many processes the machine has, ours or not. This is quick even if there are many."""
    return len(os.listdir("/proc")) if _LINUX else 0


def _descendants(child: int) -> list[int]:
    """Return the running processes that we or our children started; where unknown, the group as a negative number."""
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
    descendants, waiting = [], children.get(os.getpid(), [])[:]
    while waiting:
        pid = waiting.pop()
        descendants.append(pid)
        waiting += children.get(pid, [])
    return [pid for pid in descendants if pid not in dead]


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


def _parent_of(pid: int) -> int | None:
    return next((parent for _, parent, _ in _processes([str(pid)])), None)
