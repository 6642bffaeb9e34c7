"""
A command and the one thread that serves it: the thread writes its input, reads its output, and enforces its limits.

If the command has to be stopped, its whole process group is ended. The thread notices the end of the process before
it reaps it. Until then no other process can have its number, so a signal to the group reaches no other process.
Processes that the command leaves in the background when it ends by itself are not waited for.
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
from dataclasses import dataclass

from ...errors import ToolError

__all__ = ["HookCommand", "HookCommandResult", "NotRun", "StopSignal", "exit_file", "reap", "run_process"]

_CHUNK = 65_536
_MAX_PIPE_BYTES = 1024 * 1024
_TICK_SECONDS = 0.02
_PIPES = {"stdin": selectors.EVENT_WRITE, "stdout": selectors.EVENT_READ, "stderr": selectors.EVENT_READ}
_EXIT_CODE_LOST = 256
_LOST_MESSAGE = "how it ended is not known, because this program ignores SIGCHLD; let it have that signal"


class NotRun(ToolError):  # noqa: N818 -- the name says what happened
    """A command that could not be run."""


def exit_file(pid: int) -> int | None:
    """Return a file that becomes readable when process *pid* has ended; return None if the system has no such file."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # It is not Linux, or an old Linux, or no file descriptor is left.
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """
    The command that is to be run, with limits on its time and its output.

    Attributes:
        max_stdout_bytes: The limit for standard output; a command that prints more is ended.
        max_stderr_bytes: How many bytes from the beginning of standard error are kept.
        grace_seconds: The time between the request to end and the kill.
        may_start: A function that returns why the command may not run, or None if it may.
        exit_file: A function that returns a file which shows the end of a process.
    """

    argv: Sequence[str]
    stdin: bytes
    env: Mapping[str, str]
    cwd: str | os.PathLike[str] | None = None
    timeout_seconds: float = 30.0
    max_stdout_bytes: int = 8 * 1024 * 1024
    max_stderr_bytes: int = 16_384
    grace_seconds: float = 1.0
    may_start: Callable[[], str | None] | None = None
    exit_file: Callable[[int], int | None] = exit_file


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommandResult:
    """
    The end of a command, and its output.

    Attributes:
        code: The exit code, below 0 for a signal; None if the command had to be stopped.
        stop_reason: The reason why the command had to be stopped; None if it ended by itself.
    """

    code: int | None
    stdout: bytes
    stderr: bytes
    stop_reason: str | None = None


class StopSignal:
    """A flag with a pipe, which tells a thread that waits for files to stop."""

    def __init__(self) -> None:
        try:
            self.reader, self._writer = os.pipe()
        except OSError as error:
            raise NotRun(f"the system has no pipe left for it ({error.strerror})") from error
        self.is_set = False

    def set(self) -> None:
        self.is_set = True
        with contextlib.suppress(BrokenPipeError):  # The thread has ended, and the event loop does not know yet.
            os.write(self._writer, b"s")

    def close_reader(self) -> None:
        os.close(self.reader)

    def close_writer(self) -> None:
        os.close(self._writer)


def run_process(command: HookCommand, stop: StopSignal) -> HookCommandResult:
    """Run the command until it ends, or until *stop* is set; raise `NotRun` if it cannot be run."""
    why = None if command.may_start is None else command.may_start()
    if why is not None or stop.is_set:
        raise NotRun(why or "it was cancelled")
    # All resources are acquired before the command starts, because a failure after that has to end the command.
    with selectors.DefaultSelector() as selector, _open_process(command) as process:
        exchange = _PipeExchange(process, command, selector)
        why = "it could not be talked to"
        try:
            why = exchange.run_until_exit(stop)
        finally:
            if why is not None:
                exchange.end()
    outputs = {name: bytes(data) for name, data in exchange.outputs.items()}
    return HookCommandResult(code=exchange.code if why is None else None, stop_reason=why, **outputs)


@contextlib.contextmanager
def _open_process(command: HookCommand) -> Iterator[subprocess.Popen[bytes]]:
    process = _start_process(command)
    try:
        yield process
    finally:
        for name in _PIPES:
            getattr(process, name).close()
        reap(process)


def reap(process: subprocess.Popen[bytes], *, patience_seconds: float = 2.0) -> None:
    """
    Reap the process, so that no zombie is left.

    A process that cannot be killed, because it now runs as another user, is reaped by a thread when it ends.
    """
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, name="toolkit-hook-end", daemon=True).start()


def _start_process(command: HookCommand) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 -- it runs the user's own command, which is its purpose
            list(command.argv),
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
        raise NotRun(f"it could not be started ({reason})") from error


class _PipeExchange:
    """The exchange with a running command: it writes the input and reads the output."""

    def __init__(
        self, process: subprocess.Popen[bytes], command: HookCommand, selector: selectors.BaseSelector
    ) -> None:
        self.outputs = {"stdout": bytearray(), "stderr": bytearray()}
        self.code: int | None = None
        self._process = process
        self._command = command
        self._limits = {"stdout": command.max_stdout_bytes + 1, "stderr": command.max_stderr_bytes}
        self._unsent = memoryview(command.stdin)
        self._selector = selector

    def run_until_exit(self, stop: StopSignal) -> str | None:
        """Write and read until the command has exited; return why it has to be stopped, or None if it exited."""
        command, due = self._command, time.monotonic() + self._command.timeout_seconds
        self._selector.register(stop.reader, selectors.EVENT_READ, "stop")
        for name, event in _PIPES.items():
            pipe = getattr(self._process, name)
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event, name)
        with _watch_exit_file(command.exit_file(self._process.pid), self._selector) as max_wait:
            while (seconds_left := due - time.monotonic()) > 0:
                names = {key.data for key, _ in self._selector.select(min(seconds_left, max_wait))}
                if "stop" in names:
                    return "it was cancelled"
                for name in names & _PIPES.keys():
                    self._transfer(name)
                has_exited = self._has_exited()
                if has_exited:
                    self._read_rest()
                if len(self.outputs["stdout"]) > command.max_stdout_bytes:
                    return f"it printed more than {command.max_stdout_bytes:,} bytes"
                if has_exited:
                    return _LOST_MESSAGE if self.code == _EXIT_CODE_LOST else None
        return f"it took longer than {command.timeout_seconds:g} s"

    def end(self) -> None:
        """End the command and its process group."""
        if self.code == _EXIT_CODE_LOST:
            # Another process may have its number by now. In all other cases it keeps its number until it is reaped.
            return
        self._signal(signal.SIGTERM)
        self._wait_for_exit(self._command.grace_seconds)
        self._signal(signal.SIGKILL)

    def _transfer(self, name: str) -> bool:
        """Read from or write to one pipe what is possible now; return False if nothing is, now or for good."""
        pipe = getattr(self._process, name)
        try:
            if name == "stdin":
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK]) :]
                is_done = not self._unsent
            else:
                data = os.read(pipe.fileno(), _CHUNK)
                output = self.outputs[name]
                # The rest is read and dropped, so that the command can go on.
                output += data[: self._limits[name] - len(output)]
                is_done = not data
        except BlockingIOError:
            return False
        except OSError:  # The command has closed the pipe: not every command reads its input.
            is_done = True
        if is_done:
            self._selector.unregister(pipe)
            pipe.close()
        return not is_done

    def _read_rest(self) -> None:
        """Read what the command printed before it exited; others may hold the pipe open and print without end."""
        for name in self.outputs:
            for _ in range(_MAX_PIPE_BYTES // _CHUNK):
                if getattr(self._process, name).closed or not self._transfer(name):
                    break

    def _has_exited(self) -> bool:
        if self.code is None:
            self.code = _peek_exit_code(self._process)
        return self.code is not None

    def _wait_for_exit(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        while not self._has_exited() and (seconds_left := due - time.monotonic()) > 0:
            time.sleep(min(seconds_left, _TICK_SECONDS))

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # none is left, or only those of another user
            os.killpg(self._process.pid, number)


@contextlib.contextmanager
def _watch_exit_file(file: int | None, selector: selectors.BaseSelector) -> Iterator[float]:
    """Yield how long to wait before checking whether the command has exited; with *file*, no check is needed."""
    if file is None:
        yield _TICK_SECONDS
        return
    try:
        selector.register(file, selectors.EVENT_READ, "exit")
        yield math.inf
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
