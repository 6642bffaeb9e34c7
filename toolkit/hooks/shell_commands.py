"""
Runs a hook's command: fed, read, kept in time, and nothing of it left behind when it has to be stopped.

Each has a thread of its own, so the loop never waits for a pipe and any loop will do. The command leads a
process group, which is ended as a whole when the time is up, the output too long or nobody waits any more.
Its end is seen before it is reaped: until then nobody else can have its number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from ..errors import ToolError

__all__ = ["Ended", "NotRun", "Start", "environment", "run_command"]

_FROM_OUTSIDE = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_CHUNK = 65_536
_TICK_SECONDS = 0.02
_PATIENCE_SECONDS = 2.0


class NotRun(ToolError):  # noqa: N818 -- named by what happened
    """A command that could not be run."""


def exit_file(pid: int) -> int | None:
    """A file that can be read once process *pid* has ended; None where the system has no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, an old one, or no file left
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """
    What is to be run, and how long and how loud it may be.

    Attributes:
        max_stdout_bytes: Who prints more is ended; of its errors the first *max_stderr_bytes* are kept.
        grace_seconds: From being asked to end to being killed.
        may_start: Why it may not run, None if it may.
        exit_file: How its end is noticed.
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
class Ended:
    """
    How it ended.

    Attributes:
        code: Its exit code, below 0 for a signal; None if it had to be stopped.
        why: Why it had to be.
    """

    code: int | None
    stdout: bytes
    stderr: bytes
    why: str | None = None


def environment(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Everything that a command finds in its environment: little of ours, what *names* name, and *given*."""
    wanted = {*_FROM_OUTSIDE, *names}
    ours = {name: value for name, value in os.environ.items() if name in wanted or name.startswith("LC_")}
    # A relative entry would be looked for in the folder it runs in, and that may be anybody's.
    folders = [each for each in ours.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    return {**ours, "PATH": os.pathsep.join(folders), **given}


async def run_command(start: Start) -> Ended:
    """Run it to its end, or raise `NotRun`; whoever is cancelled meanwhile ends it first."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Ended | NotRun] = loop.create_future()
    wake_read, wake_write = os.pipe()

    def settle(found: Ended | NotRun) -> None:
        if not future.done():
            future.set_result(found)

    def work() -> None:
        found: Ended | NotRun
        try:
            found = _ended(start, wake_read)
        except NotRun as error:
            found = error
        except Exception as error:  # noqa: BLE001 -- raised where somebody waits for it
            found = NotRun(f"it could not be run: {type(error).__name__}: {error}")
        finally:
            os.close(wake_read)
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everyone who waited
            loop.call_soon_threadsafe(settle, found)

    try:
        _start_thread(work, wake_read)
        await asyncio.wait({future})
    except asyncio.CancelledError:
        os.write(wake_write, b"s")
        await asyncio.wait({future}, timeout=start.grace_seconds + _PATIENCE_SECONDS)
        raise
    finally:
        os.close(wake_write)
    found = future.result()
    if isinstance(found, NotRun):
        raise found
    return found


def _start_thread(work: Callable[[], None], wake: int) -> None:
    try:
        threading.Thread(target=work, name="toolkit-hook", daemon=True).start()
    except RuntimeError as error:
        os.close(wake)
        raise NotRun("the system has no thread left to run it in") from error


# In its own thread.


def _ended(start: Start, wake: int) -> Ended:
    why = None if start.may_start is None else start.may_start()
    if why is not None:
        raise NotRun(why)
    process = _started(start)
    with contextlib.ExitStack() as stack:
        for pipe in (process.stdin, process.stdout, process.stderr):
            stack.callback(_close, pipe)
        talk = _Talk(process, start, wake)
        stack.callback(talk.close)
        try:
            why = talk.until_over()
        finally:
            talk.end()
        return Ended(
            code=None if why is not None else talk.code,
            stdout=bytes(talk.kept["stdout"]),
            stderr=bytes(talk.kept["stderr"]),
            why=why,
        )


def _started(start: Start) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 -- the user's own command, which is the point
            list(start.argv),
            env=dict(start.env),
            cwd=start.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        named = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
        raise NotRun(f"it could not be started ({named})") from error


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()


class _Talk:
    """One conversation with a running command: its input goes in, its output comes out."""

    def __init__(self, process: subprocess.Popen[bytes], start: Start, wake: int) -> None:
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.code: int | None = None
        self._process = process
        self._start = start
        self._limits = {"stdout": start.max_stdout_bytes + 1, "stderr": start.max_stderr_bytes}
        self._left = memoryview(start.stdin)
        self._exit = start.exit_file(process.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ, "wake")
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ, "exit")
        for name, event in _PIPES.items():
            pipe = getattr(process, name)
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event, name)

    def until_over(self) -> str | None:
        """Talk until it has exited; otherwise why it has to be stopped."""
        start, due = self._start, time.monotonic() + self._start.timeout_seconds
        while (left := due - time.monotonic()) > 0:
            ready = self._selector.select(left if self._exit is not None else min(left, _TICK_SECONDS))
            names = {key.data for key, _ in ready}
            if "wake" in names:
                return "it was cancelled"
            for name in names & _PIPES.keys():
                self._turn(name)
            has_exited = self._has_exited()
            if has_exited:
                self._read_rest()
            if len(self.kept["stdout"]) > start.max_stdout_bytes:
                return f"it printed more than {start.max_stdout_bytes:,} bytes"
            if has_exited:
                return _LOST_MESSAGE if self.code == _LOST else None
        return f"it took longer than {start.timeout_seconds:g} s"

    def end(self) -> None:
        """Whatever happened, it does not go on; and it is reaped."""
        if self.code is None:
            # To the group, while its leader is not reaped: the number cannot be anybody else's.
            self._signal(signal.SIGTERM)
            self._wait_for_exit(self._start.grace_seconds)
            self._signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self._selector.close()
        if self._exit is not None:
            os.close(self._exit)

    def _turn(self, name: str) -> bool:
        """Take from or give to one pipe what it has or takes now; False if that is nothing, now or for ever."""
        pipe = getattr(self._process, name)
        try:
            if name == "stdin":
                self._left = self._left[os.write(pipe.fileno(), self._left[:_CHUNK]) :]
                is_done = not self._left
            else:
                data = os.read(pipe.fileno(), _CHUNK)
                kept = self.kept[name]
                kept += data[: self._limits[name] - len(kept)]  # the rest is read, so that it can go on, and dropped
                is_done = not data
        except BlockingIOError:
            return False
        except OSError:  # it does not want to know: not everybody reads their input
            is_done = True
        if is_done:
            self._selector.unregister(pipe)
            pipe.close()
        return not is_done

    def _read_rest(self) -> None:
        """What it printed before it exited; others may hold the pipe open, and print for ever."""
        for name in self.kept:
            for _ in range(_MOST_IN_A_PIPE // _CHUNK):
                if getattr(self._process, name).closed or not self._turn(name):
                    break

    def _has_exited(self) -> bool:
        if self.code is None:
            self.code = _peeked(self._process)
        return self.code is not None

    def _wait_for_exit(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        while not self._has_exited() and (left := due - time.monotonic()) > 0:
            time.sleep(min(left, _TICK_SECONDS))

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left, or only somebody else's
            os.killpg(self._process.pid, number)


_PIPES = {"stdin": selectors.EVENT_WRITE, "stdout": selectors.EVENT_READ, "stderr": selectors.EVENT_READ}
_MOST_IN_A_PIPE = 1024 * 1024
_LOST = 256
_LOST_MESSAGE = "how it ended is not known, because this program ignores SIGCHLD; let it have that signal"


def _peeked(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a process that is not reaped yet; None while it runs."""
    if not hasattr(os, "waitid"):  # pragma: no cover -- macOS before Python 3.13
        return process.poll()
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return _LOST  # `Popen` would call it a success
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
