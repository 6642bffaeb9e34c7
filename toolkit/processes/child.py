"""
Run a child process: write its input, read its output, limit its time, and end it.

A child that has to stop is first asked to end and then killed. The end of a child is noticed before the child is
reaped. Until then no other process can have its number, so a signal reaches no other process.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from ..errors import ToolError

__all__ = ["ChildOutcome", "ChildSpec", "NotStarted", "exit_file", "reap", "run_child"]

_CHUNK_BYTES = 65_536
_MAX_PIPE_BYTES = 1024 * 1024
_TICK_SECONDS = 0.25
# How often to look whether the child has exited, if the system has no file that shows it.
_POLL_SECONDS = 0.02
_KILL_SECONDS = 2.0
_EXIT_CODE_LOST = 256


class NotStarted(ToolError):  # noqa: N818 -- the name says what happened
    """A child process that could not be started; the message is the reason."""


def exit_file(pid: int) -> int | None:
    """Return a file that becomes readable when process *pid* has ended; return None if the system has no such file."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # It is not Linux, or an old Linux, or no file descriptor is left.
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """
    The child process to run, and the settings to run it with.

    Attributes:
        on_data: Called with the name of a pipe and the bytes that were read from it. While nothing arrives, it is
            called with "stdout" and empty bytes now and then. It returns why the child has to stop, or None.
        stdin: The bytes to write to standard input. None stands for the null device.
        pipes: Further pipes to read, by name, besides "stdout" and "stderr".
        inherited_files: Files that the child inherits. They are closed here as soon as the child runs.
        timeout_seconds: After how many seconds the child has to stop. None means no limit.
        grace_seconds: The time between the request to end and the kill.
        linger_seconds: How long to wait for the pipes to close when the child has ended. Other processes may hold
            them open.
        ends_group: Whether a stop ends the whole process group. Otherwise it ends only the child.
        exit_file: A function that returns a file which shows the end of a process.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | os.PathLike[str] | None
    on_data: Callable[[str, bytes], str | None]
    stdin: bytes | None = None
    pipes: Mapping[str, IO[bytes]] = field(default_factory=dict)
    inherited_files: Sequence[IO[bytes]] = ()
    timeout_seconds: float | None
    grace_seconds: float
    linger_seconds: float = 0.0
    ends_group: bool = True
    exit_file: Callable[[int], int | None] = exit_file


class ChildOutcome(NamedTuple):
    """
    The end of a child process.

    Attributes:
        code: The exit code, below 0 for a signal. None if it is not known, because this program ignores SIGCHLD or the
            child could not be killed.
        stop_reason: "timeout", "stopped" or what `on_data` returned. None if the child ended by itself.
    """

    code: int | None
    stop_reason: str | None


def run_child(spec: ChildSpec, stop_file: int | None = None) -> ChildOutcome:
    """Run the child until it ends; stop it if *stop_file* becomes readable. Raise `NotStarted` if it cannot start."""
    # The selector is made before the child starts, because a failure after that has to end the child.
    with selectors.DefaultSelector() as selector, _start_process(spec) as process:
        child = _RunningChild(process, spec, selector)
        try:
            child.run(stop_file)
        except BaseException:
            child.end_unread()
            raise
    return ChildOutcome(None if child.code == _EXIT_CODE_LOST else child.code, child.stop_reason)


@contextlib.contextmanager
def _start_process(spec: ChildSpec) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(  # noqa: S603 -- the caller decides what to run
            list(spec.argv),
            env=dict(spec.env),
            cwd=spec.cwd,
            stdin=subprocess.DEVNULL if spec.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=[file.fileno() for file in spec.inherited_files],
            start_new_session=True,
        )
    except OSError as error:
        raise NotStarted(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}") from error
    except ValueError as error:
        raise NotStarted(str(error)) from error
    try:
        for file in spec.inherited_files:
            file.close()
        yield process
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        reap(process)


def reap(process: subprocess.Popen[bytes], *, patience_seconds: float = _KILL_SECONDS) -> None:
    """Reap the process, so that no zombie is left. If it cannot be killed, a thread reaps it when it ends."""
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, name="toolkit-reap", daemon=True).start()


class _RunningChild:
    """A child process that runs, and the pipes to it that are still open."""

    def __init__(self, process: subprocess.Popen[bytes], spec: ChildSpec, selector: selectors.BaseSelector) -> None:
        self.code: int | None = None
        self.stop_reason: str | None = None
        self._process = process
        self._spec = spec
        self._selector = selector
        self._tick_seconds = _TICK_SECONDS
        self._unsent = memoryview(spec.stdin or b"")
        standard = {"stdin": process.stdin, "stdout": process.stdout, "stderr": process.stderr}
        self._pipes = {name: pipe for name, pipe in standard.items() if pipe is not None} | dict(spec.pipes)

    def run(self, stop_file: int | None) -> None:
        """Write and read until the child has ended, by itself or because it had to stop."""
        if stop_file is not None:
            self._selector.register(stop_file, selectors.EVENT_READ, "stop")
        for name, pipe in self._pipes.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_WRITE if name == "stdin" else selectors.EVENT_READ, name)
        with self._watch_exit():
            self._exchange(self._spec.timeout_seconds, until_stopped=True)
            if self.code is not None:
                self._read_rest()
            elif self.stop_reason is None:
                self.stop_reason = "timeout"
            if self.stop_reason is not None:
                self._end()
        due = time.monotonic() + self._spec.linger_seconds
        while self._pipes and (seconds_left := due - time.monotonic()) > 0:
            self._step(seconds_left)

    def end_unread(self) -> None:
        """End the child without reading what it prints, after an error here."""
        self._signal(signal.SIGTERM)
        due = time.monotonic() + self._spec.grace_seconds
        while not self._has_exited() and (seconds_left := due - time.monotonic()) > 0:
            time.sleep(min(seconds_left, _POLL_SECONDS))
        self._signal(signal.SIGKILL)

    def _end(self) -> None:
        self._signal(signal.SIGTERM)
        self._exchange(self._spec.grace_seconds)
        self._signal(signal.SIGKILL)  # The rest of the group, if the child has ended.
        self._exchange(_KILL_SECONDS)

    def _exchange(self, seconds: float | None, *, until_stopped: bool = False) -> None:
        """Write and read until the child has exited, but no longer than *seconds*."""
        due = math.inf if seconds is None else time.monotonic() + seconds
        while not self._has_exited() and (seconds_left := due - time.monotonic()) > 0:
            self._step(min(seconds_left, self._tick_seconds))
            if until_stopped and self.stop_reason is not None:
                return

    def _step(self, seconds: float) -> None:
        """Wait until something happens, at most *seconds*, and handle it."""
        ready = self._selector.select(seconds)
        if not ready:
            self._receive("stdout", b"")
        for key, _ in ready:
            if key.data == "stop":
                self._selector.unregister(key.fileobj)
                self.stop_reason = self.stop_reason or "stopped"
            elif key.data in self._pipes:
                self._transfer(key.data)

    def _transfer(self, name: str) -> bool:
        """Read from or write to one pipe what is possible now; return False if nothing is, now or for good."""
        pipe, data = self._pipes[name], b""
        try:
            if name == "stdin":
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK_BYTES]) :]
                is_done = not self._unsent
            else:
                data = os.read(pipe.fileno(), _CHUNK_BYTES)
                is_done = not data
        except BlockingIOError:
            return False
        except OSError:  # The child has closed the pipe: not every child reads its input.
            is_done = True
        if data:
            self._receive(name, data)
        if is_done:
            self._close(name)
        return not is_done

    def _receive(self, name: str, data: bytes) -> None:
        reason = self._spec.on_data(name, data)
        self.stop_reason = self.stop_reason or reason

    def _read_rest(self) -> None:
        """Read what the child printed before it exited; others may hold the pipe open and print without end."""
        if "stdin" in self._pipes:
            self._close("stdin")
        for name in list(self._pipes):
            for _ in range(_MAX_PIPE_BYTES // _CHUNK_BYTES):
                if not self._transfer(name):
                    break

    def _close(self, name: str) -> None:
        pipe = self._pipes.pop(name)
        self._selector.unregister(pipe)
        pipe.close()

    def _has_exited(self) -> bool:
        if self.code is None:
            self.code = _peek_exit_code(self._process)
        return self.code is not None

    def _signal(self, number: signal.Signals) -> None:
        if self.code == _EXIT_CODE_LOST:
            # Another process may have its number by now. In all other cases it keeps its number until it is reaped.
            return
        send = os.killpg if self._spec.ends_group else os.kill
        with contextlib.suppress(ProcessLookupError, PermissionError):  # none is left, or only those of another user
            send(self._process.pid, number)

    @contextlib.contextmanager
    def _watch_exit(self) -> Iterator[None]:
        """Let the selector notice the exit of the child; without a file for that, look for it more often."""
        file = self._spec.exit_file(self._process.pid)
        if file is None:
            self._tick_seconds = _POLL_SECONDS
            yield
            return
        try:
            self._selector.register(file, selectors.EVENT_READ, "exit")
            yield
            self._selector.unregister(file)
        finally:
            os.close(file)


def _peek_exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code of a process without reaping it; return None while it runs."""
    if not hasattr(os, "waitid"):  # pragma: no cover -- macOS before Python 3.13
        return process.poll()
    try:
        status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return _EXIT_CODE_LOST  # `Popen` would report success here.
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
