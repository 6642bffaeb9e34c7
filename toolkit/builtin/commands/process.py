"""
A command that runs. Its output is read, its time is limited, and no process of it is left behind.

Each command has a thread of its own. That thread starts the command, reads its pipes, and lives as long as the command.
The system is told to end a command when the thread that started it ends. So if this process is killed, its commands end
too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..._forks import unlock_in_children
from ...errors import ToolError
from .process_reader import MARK_VARIABLE, CommandOutcome, CommandSpec, OutputReader

__all__ = ["CommandOutcome", "CommandSpec", "Process"]


class Process:
    """
    One command, which is started as soon as the object is made.

    Args:
        on_output: Called with "stdout" or "stderr" and the bytes that the command printed. It is called in the thread
            of the command. While the command prints nothing, it is called with empty bytes now and then.
    """

    def __init__(self, spec: CommandSpec, on_output: Callable[[str, bytes], object]) -> None:
        self._spec = spec
        self._on_output = on_output
        self._mark = secrets.token_hex(8)
        self._wake_read, self._wake_write = os.pipe()
        self._wake_lock = unlock_in_children(threading.Lock())
        self._done = threading.Event()
        self._outcome: CommandOutcome | None = None
        self._error: BaseException | None = None
        self._done_callbacks: list[Callable[[], object]] = []
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run_in_thread, name="toolkit-command", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._close_wake()
            raise ToolError("the system has no thread left to run a command in; try again later") from error

    @property
    def is_over(self) -> bool:
        return self._done.is_set()

    @property
    def outcome(self) -> CommandOutcome:
        """
        How the command ended.

        Reading it raises `ToolError` if the command could not be started, and `RuntimeError` while it still runs.
        """
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise RuntimeError("the command still runs")
        return self._outcome

    def stop(self) -> None:
        """Ask for the end of the command and of every process that it started. Return at once."""
        with self._wake_lock:
            if self._wake_write >= 0 and os.getpid() == self._pid:
                os.write(self._wake_write, b"s")

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the command is over, and return whether it is. Wait at most *timeout_seconds*, if given."""
        return threading.current_thread() is not self._thread and self._done.wait(timeout_seconds)

    async def wait_for_outcome(self) -> CommandOutcome:
        """
        Wait until the command is over, and return how it ended.

        If the waiting task is cancelled, the command is ended first.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def notify() -> None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed, so no task waits any more
                loop.call_soon_threadsafe(_settle, future)

        self._call_when_over(notify)
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            self.stop()
            await asyncio.wait({future}, timeout=self._spec.grace_seconds + 2.0)
            raise
        return self.outcome

    def _call_when_over(self, callback: Callable[[], object]) -> None:
        with self._wake_lock:
            if not self.is_over:
                self._done_callbacks.append(callback)
                return
        callback()

    # The methods below run in the thread of the command.

    def _run_in_thread(self) -> None:
        try:
            self._outcome = self._run()
        except ToolError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 -- raised again in the task that waits for the command
            self._error = ToolError(f"the command could not be run: {error}")
            self._error.__cause__ = error
        finally:
            self._close_wake()
            with self._wake_lock:
                self._done.set()
                waiting, self._done_callbacks = self._done_callbacks, []
            for callback in waiting:
                callback()

    def _close_wake(self) -> None:
        with self._wake_lock:
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_read = self._wake_write = -1

    def _run(self) -> CommandOutcome:
        spec = self._spec
        before = spec.marks()
        outcome = self._run_command()
        after = spec.marks()
        changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        return replace(outcome, changed=tuple(changed))

    def _run_command(self) -> CommandOutcome:
        spec = self._spec
        with contextlib.ExitStack() as stack:
            status_read, status_write = _open_pipe(stack)
            state_read, state_write = _open_pipe(stack)
            argv, env = spec.sandbox.command(
                spec.argv,
                cwd=spec.cwd,
                env={**spec.env, MARK_VARIABLE: self._mark},
                private=spec.private,
                status_fd=status_write.fileno(),
                third_fd=state_write.fileno(),
                grace_seconds=spec.grace_seconds,
            )
            process = _start_process(argv, env, (status_write.fileno(), state_write.fileno()))
            try:
                status_write.close()
                state_write.close()
                return OutputReader(
                    process,
                    {"status": status_read, "said": state_read, "stdout": process.stdout, "stderr": process.stderr},
                    wake_fd=self._wake_read,
                    on_output=self._on_output,
                    spec=spec,
                    mark=self._mark,
                ).read_to_end()
            finally:
                self._ensure_ended(process)

    def _ensure_ended(self, process: subprocess.Popen[bytes]) -> None:
        """Ensure that the command does not go on, even after an error here."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(self._spec.grace_seconds + self._spec.patience_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _open_pipe(stack: contextlib.ExitStack) -> tuple[Any, Any]:
    read, write = os.pipe()
    return stack.enter_context(os.fdopen(read, "rb", 0)), stack.enter_context(os.fdopen(write, "wb", 0))


def _start_process(argv: list[str], env: dict[str, str], fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 -- the argument list is ours
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=fds,
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        raise ToolError(f"no process could be started ({error.strerror or error}); try again later") from error
