"""
Run a hook's command, with limits on its time and its output.

If the command has to be stopped, its whole process group is ended. Processes that the command leaves in the background
when it ends by itself are not waited for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..._plumbing.wording import format_seconds
from ...errors import ToolError
from ...processes.child import ChildSpec, NotStarted, exit_file, run_child
from ...processes.child_thread import ChildThread

__all__ = ["HookCommand", "HookCommandResult", "NotRun", "build_environment", "run_command"]

_INHERITED_NAMES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")


class NotRun(ToolError):  # noqa: N818 -- the name says what happened
    """A command that could not be run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """
    The command that is to be run, with limits on its time and its output.

    Attributes:
        max_stdout_bytes: The limit for standard output; a command that prints more is ended.
        max_stderr_bytes: How many bytes from the beginning of standard error are kept.
        grace_seconds: The time between the request to end and the kill.
        prepare: A function that gets `argv` and returns the one to run. It raises `NotRun` if the command may not run.
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
    prepare: Callable[[Sequence[str]], Sequence[str]] | None = None
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


async def run_command(command: HookCommand) -> HookCommandResult:
    """Run the command until it ends, or raise `NotRun`; if the caller is cancelled, the command is ended first."""
    try:
        thread = ChildThread(
            lambda thread: _run_in_thread(command, thread), name="toolkit-hook", grace_seconds=command.grace_seconds
        )
        return await thread.wait_for_outcome()
    except NotRun:
        raise
    except NotStarted as error:
        raise NotRun(f"it could not be started ({error})") from error
    except Exception as error:
        raise NotRun(f"it could not be run: {type(error).__name__}: {error}") from error


def _run_in_thread(command: HookCommand, thread: ChildThread[HookCommandResult]) -> HookCommandResult:
    argv = command.argv if command.prepare is None else command.prepare(command.argv)
    if thread.is_stopping:
        raise NotRun("it was cancelled")
    outputs = {"stdout": bytearray(), "stderr": bytearray()}
    limits = {"stdout": command.max_stdout_bytes + 1, "stderr": command.max_stderr_bytes}

    def collect(name: str, data: bytes) -> str | None:
        # The rest is dropped, so that the command can go on.
        outputs[name] += data[: limits[name] - len(outputs[name])]
        has_too_much = len(outputs["stdout"]) > command.max_stdout_bytes
        return f"it printed more than {command.max_stdout_bytes:,} bytes" if has_too_much else None

    spec = ChildSpec(
        argv=argv,
        env=command.env,
        cwd=command.cwd,
        on_data=collect,
        stdin=command.stdin,
        timeout_seconds=command.timeout_seconds,
        grace_seconds=command.grace_seconds,
        exit_file=command.exit_file,
    )
    code, reason = run_child(spec, thread.stop_file)
    if reason is None and code is None:
        reason = "how it ended is not known, because this program ignores SIGCHLD; let it have that signal"
    messages = {
        "stopped": "it was cancelled",
        "timeout": f"it took longer than {format_seconds(command.timeout_seconds)}",
    }
    return HookCommandResult(
        code=code if reason is None else None,
        stdout=bytes(outputs["stdout"]),
        stderr=bytes(outputs["stderr"]),
        stop_reason=None if reason is None else messages.get(reason, reason),
    )


def build_environment(names: Iterable[str], extra: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment of a command.

    It has a few variables of this process, further variables of this process that *names* lists, and those in *extra*.
    """
    inherited_names = {*_INHERITED_NAMES, *names}
    inherited = {name: value for name, value in os.environ.items() if name in inherited_names or name.startswith("LC_")}
    # A relative entry would be looked up in the folder that the command runs in, and others may write there.
    folders = [folder for folder in inherited.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    # Without this, Python would load modules from the folder that it runs in before its own modules.
    return {**inherited, "PATH": os.pathsep.join(folders), "PYTHONSAFEPATH": "1", **extra}
