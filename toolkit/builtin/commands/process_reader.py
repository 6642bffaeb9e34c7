"""
Reads what comes from a running command: its output, its last message, and how it ended.

It also keeps the time. A command whose time is up, or that has to stop, is first asked to end and then killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ToolError
from ...sandbox.base import Sandbox
from ...sandbox.launcher.messages import LaunchOutcome

__all__ = ["MARK_VARIABLE", "CommandOutcome", "CommandSpec", "OutputReader"]

MARK_VARIABLE = "TOOLKIT_COMMAND"
_MAX_READ_BYTES = 1 << 16
_MAX_MESSAGE_BYTES = 1 << 18
# How long pipes may stay open after the command has ended, because a process that was not caught holds them.
_LINGER_SECONDS = 0.5
_TICK_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """
    The command to run, and the settings to run it with.

    Attributes:
        private: A folder that the command may fill.
        timeout_seconds: After how many seconds the command is ended. None means no limit.
        grace_seconds: How long the command may take to end by itself once it is asked to.
        patience_seconds: How much longer the launcher may take. After that the launcher is killed.
        marks: Returns a mark for each file that the command should not change. It is called before and after the
            command.
    """

    argv: Sequence[str]
    sandbox: Sandbox
    cwd: str
    env: dict[str, str]
    private: str | None = None
    timeout_seconds: float | None = None
    grace_seconds: float = 2.0
    patience_seconds: float = 12.0
    marks: Callable[[], Mapping[str, object]] = dict


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """
    How a command ended.

    Attributes:
        exit_code: The exit code as a shell counts it: 128 plus the number of the signal if the command was killed.
        stop_reason: The reason if the command did not end by itself, else None. "timeout", "stopped",
            "too_many_processes", or "uncovered" (a protected file could be seen, because another program saved it
            anew).
        left_running: How many processes the command left running. They were ended.
        state_report: The bytes that the command wrote to descriptor 3.
        changed: The files among those with marks that were changed, made or removed.
    """

    exit_code: int
    stop_reason: str | None = None
    left_running: int = 0
    state_report: bytes = b""
    changed: tuple[str, ...] = ()


class OutputReader:
    """Reads the pipes of one command until it is over."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pipes: dict[str, Any],
        *,
        wake_fd: int,
        on_output: Callable[[str, bytes], object],
        spec: CommandSpec,
        mark: str,
    ) -> None:
        self._process = process
        self._on_output = on_output
        self._grace_seconds = spec.grace_seconds + spec.patience_seconds
        self._mark = mark
        self._stop_reason: str | None = None
        self._messages = {"status": bytearray(), "said": bytearray()}
        self._deadline = None if spec.timeout_seconds is None else time.monotonic() + spec.timeout_seconds
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake_fd, selectors.EVENT_READ, "wake")
        for name, pipe in pipes.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)
        self._open = set(pipes)

    def read_to_end(self) -> CommandOutcome:
        with self._selector:
            # Only the launcher holds the other end of this pipe, so the pipe closes when the launcher ends.
            while "status" in self._open:
                self._step(_TICK_SECONDS)
                if self._deadline is not None and time.monotonic() >= self._deadline:
                    self._enforce_deadline()
            code = self._process.wait()
            linger = time.monotonic() + _LINGER_SECONDS
            while self._open and time.monotonic() < linger:
                self._step(0.05)
        return self._build_outcome(code)

    def _enforce_deadline(self) -> None:
        """Ask the command to end when its time is up, or kill the launcher if the command was asked before."""
        if self._stop_reason is None:
            self._ask_to_end("timeout")
        else:
            self._process.kill()
            self._deadline = None

    def _ask_to_end(self, reason: str) -> None:
        self._stop_reason = reason
        self._process.terminate()
        self._deadline = time.monotonic() + self._grace_seconds

    def _step(self, seconds: float) -> None:
        if self._deadline is not None:
            seconds = max(0.0, min(seconds, self._deadline - time.monotonic()))
        ready = self._selector.select(seconds)
        if not ready:
            self._on_output("stdout", b"")
        for key, _ in ready:
            if key.data == "wake":
                self._selector.unregister(key.fileobj)
                if self._stop_reason is None:
                    self._ask_to_end("stopped")
            else:
                self._read(key)

    def _read(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, _MAX_READ_BYTES)
        if not data:
            self._selector.unregister(key.fileobj)
            self._open.discard(key.data)
        elif key.data in self._messages:
            message = self._messages[key.data]
            message += data[: _MAX_MESSAGE_BYTES - len(message)]
        else:
            self._on_output(key.data, data)

    def _build_outcome(self, code: int) -> CommandOutcome:
        try:
            outcome: LaunchOutcome = json.loads(self._messages["status"].decode())
        except ValueError:
            # The launcher was killed, so the processes that it looked after may still run.
            _kill_marked(self._mark)
            outcome = {"exit_code": code if code >= 0 else 128 - code}
        if "failure" in outcome:
            raise ToolError(f"the sandbox could not be set up, so nothing ran: {outcome['failure']}")
        stop_reason = self._stop_reason
        if outcome.get("stop_reason") == "too_many_processes":
            stop_reason = "too_many_processes"
        if "uncovered_path" in outcome:  # this holds even if the command ended before the launcher noticed
            stop_reason = "uncovered"
        return CommandOutcome(
            exit_code=outcome["exit_code"],
            stop_reason=stop_reason,
            left_running=outcome.get("processes_left", 0),
            state_report=bytes(self._messages["said"]),
        )


def _kill_marked(mark: str) -> None:
    """End every process that still carries *mark* in its environment."""
    variable = f"{MARK_VARIABLE}={mark}".encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                is_ours = variable in file.read().split(b"\0")
            if is_ours:
                os.kill(int(name), signal.SIGKILL)
