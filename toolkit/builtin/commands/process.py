"""
A command that runs in a sandbox. Its output is read, its time is limited, and no process of it is left behind.

Each command has a thread of its own, which starts the launcher of the sandbox. The system is told to end a command
when the thread that started it ends. So if this process is killed, its commands end too.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from ...errors import ToolError
from ...processes.child import ChildSpec, NotStarted, run_child
from ...processes.child_thread import ChildThread
from ...sandbox.base import Sandbox
from ...sandbox.launcher.messages import LaunchOutcome

__all__ = ["CommandOutcome", "CommandSpec", "Process"]

_MARK_VARIABLE = "TOOLKIT_COMMAND"
_MAX_MESSAGE_BYTES = 1 << 18
# How long pipes may stay open after the command has ended, because a process that was not caught holds them.
_LINGER_SECONDS = 0.5
_KILLED_CODE = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """
    The command to run, and the settings to run it with.

    Attributes:
        private: A folder that the command may fill.
        grace_seconds: How long the command may take to end by itself once it is asked to.
        patience_seconds: How much longer the launcher may take. After that the launcher is killed.
        marks: Returns a mark for each file that the command should not change, before and after the command.
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
        stop_reason: None if the command ended by itself. Otherwise "timeout", "stopped", "too_many_processes", or
            "uncovered" (a protected file could be seen, because another program saved it anew).
        left_running: How many processes the command left running. They were ended.
        state_report: The bytes that the command wrote to descriptor 3.
        changed: The files among those with marks that were changed, made or removed.
    """

    exit_code: int
    stop_reason: str | None = None
    left_running: int = 0
    state_report: bytes = b""
    changed: tuple[str, ...] = ()


class Process(ChildThread[CommandOutcome]):
    """
    One command, which is started as soon as the object is made.

    Reading `outcome` raises `ToolError` if the command could not be started. *on_output* is called in the thread of the
    command, with "stdout" or "stderr" and the bytes that were printed, and now and then with empty bytes.
    """

    def __init__(self, spec: CommandSpec, on_output: Callable[[str, bytes], object]) -> None:
        super().__init__(
            lambda thread: _run_in_thread(spec, on_output, thread.stop_file),
            name="toolkit-command",
            grace_seconds=spec.grace_seconds,
        )


def _run_in_thread(spec: CommandSpec, on_output: Callable[[str, bytes], object], stop_file: int) -> CommandOutcome:
    try:
        before = spec.marks()
        outcome = _run_command(spec, on_output, stop_file)
        after = spec.marks()
    except NotStarted as error:
        raise ToolError(f"no process could be started ({error}); try again later") from error
    except ToolError:
        raise
    except Exception as error:
        raise ToolError(f"the command could not be run: {error}") from error
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return replace(outcome, changed=tuple(changed))


def _run_command(spec: CommandSpec, on_output: Callable[[str, bytes], object], stop_file: int) -> CommandOutcome:
    mark = secrets.token_hex(8)
    messages = {"status": bytearray(), "state": bytearray()}

    def receive(name: str, data: bytes) -> None:
        if name in messages:
            messages[name] += data[: _MAX_MESSAGE_BYTES - len(messages[name])]
        else:
            on_output(name, data)

    with contextlib.ExitStack() as stack:
        status_read, status_write = _open_pipe(stack)
        state_read, state_write = _open_pipe(stack)
        argv, env = spec.sandbox.command(
            spec.argv,
            cwd=spec.cwd,
            env={**spec.env, _MARK_VARIABLE: mark},
            private=spec.private,
            status_fd=status_write.fileno(),
            third_fd=state_write.fileno(),
            grace_seconds=spec.grace_seconds,
        )
        launcher = ChildSpec(
            argv=argv,
            env=env,
            cwd="/",
            on_data=receive,
            pipes={"status": status_read, "state": state_read},
            inherited_files=(status_write, state_write),
            timeout_seconds=spec.timeout_seconds,
            grace_seconds=spec.grace_seconds + spec.patience_seconds,
            linger_seconds=_LINGER_SECONDS,
            ends_group=False,  # the launcher ends the command, and reports how it ended
        )
        code, stop_reason = run_child(launcher, stop_file)
    try:
        status: LaunchOutcome = json.loads(messages["status"].decode())
    except ValueError:
        # The launcher was killed, so the processes that it looked after may still run.
        _kill_marked(mark)
        status = {"exit_code": _KILLED_CODE if code is None else code if code >= 0 else 128 - code}
    return _read_status(status, stop_reason, bytes(messages["state"]))


def _read_status(status: LaunchOutcome, stop_reason: str | None, state_report: bytes) -> CommandOutcome:
    """Return the outcome that the launcher reported, or raise `ToolError` if the launcher could not run the command."""
    if "failure" in status:
        raise ToolError(f"the sandbox could not be set up, so nothing ran: {status['failure']}")
    if status.get("stop_reason") == "too_many_processes":
        stop_reason = "too_many_processes"
    if "uncovered_path" in status:  # this holds even if the command ended before the launcher noticed
        stop_reason = "uncovered"
    return CommandOutcome(
        exit_code=status["exit_code"],
        stop_reason=stop_reason,
        left_running=status.get("processes_left", 0),
        state_report=state_report,
    )


def _open_pipe(stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    read, write = os.pipe()
    return stack.enter_context(os.fdopen(read, "rb", 0)), stack.enter_context(os.fdopen(write, "wb", 0))


def _kill_marked(mark: str) -> None:
    """End every process that still carries *mark* in its environment."""
    variable = f"{_MARK_VARIABLE}={mark}".encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                is_ours = variable in file.read().split(b"\0")
            if is_ours:
                os.kill(int(name), signal.SIGKILL)
