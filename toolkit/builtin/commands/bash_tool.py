"""
The `bash` tool, which runs a command line in a sandbox.

For each conversation, only the working folder and the variables that the caller names are kept between calls.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from ...access import Command
from ...approvals.previews import Preview
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError
from ...results import ErrorInfo, Kind, ToolCall, ToolResult
from ...sandbox.base import Sandbox
from ...sandbox.selection import best_sandbox
from ...sandbox.visible_files import grounds_of
from ...spec import Tool
from ...workspace.space import Workspace
from .jobs import UNCOVERED
from .outputs import readable
from .process import Ended
from .runner import Ran, Runner
from .shell_state import checked_names, shell_for, shell_of
from .start_state import Standing, Standings, standing_of

__all__ = ["bash_for"]

_DEFAULT_SECONDS = 120.0
_MOST_SECONDS = 600.0
_MAX_JOB_SECONDS = 24 * 3600.0
_MAX_COMMAND_BYTES = 100_000
# Seconds that are left for the answer if the whole call has a time limit.
_MARGIN_SECONDS = 1.0


def bash_for(
    workspace: Workspace,
    *,
    sandbox: Sandbox | Literal["none"] | None = None,
    network: bool = False,
    env: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_output_bytes: int = 30_000,
) -> Tool:
    """
    Return the tool that runs commands in *workspace*.

    Args:
        sandbox: The sandbox that commands run in. The default is the strongest one on this machine. "none" runs
            commands as the user, without asking if the permissions allow it. If "none" is not given and this machine
            has no real sandbox, every command asks for approval.
        network: Whether commands may reach the network.
        env: Variables for the environment of every command, besides a few harmless ones. No other variable of this
            process is passed on.
        keep: Names of variables whose values a command passes on to the next one of its conversation.
        max_output_bytes: The limit for each output stream. If the output is longer, its beginning and its end are kept.
    """
    command_sandbox = _chosen(workspace, sandbox, network)
    standings = Standings(workspace)
    runner = Runner(
        workspace=workspace,
        sandbox=command_sandbox,
        env=_checked(env or {}),
        keep=checked_names(keep),
        max_output_bytes=max_output_bytes,
        marks=grounds_of(workspace).marks,
    )

    @tool(
        catalog=None,
        description=_about(command_sandbox, max_output_bytes),
        destructive=True,
        group="shell",
        search_hint="execute shell terminal script program tests build git",
        approval="always" if command_sandbox.name == "limits" else "never",
        validate=_objections,
        preflight=standings.preflight,
        preview=lambda arguments, call=None: _preview(arguments, call, runner),
        summary=lambda arguments: f"$ {arguments['command']}",
        activity="running a command",
        metadata={
            "sandbox": {
                "name": command_sandbox.name,
                "network": command_sandbox.network,
                "contained": command_sandbox.contained,
            }
        },
    )
    async def bash(
        command: Annotated[str, Command],
        *,
        timeout_seconds: float = _DEFAULT_SECONDS,
        background: bool = False,
        context: Context,
    ) -> str | ToolResult:
        """Run a command; what a model is told besides depends on the sandbox.

        Args:
            command: The command line; several lines are fine.
            timeout_seconds: When to end it, with everything it started; at most 600.
            background: Return at once, with the name of a job for `job_output` and `job_stop`.
        """
        if problems := _objections({"command": command, "timeout_seconds": timeout_seconds}):
            raise BadArgs(problems)
        standing = standings.bound(context, command)
        if background:
            return _started(runner, command, standing, context)
        return await _finished(runner, command, standing, timeout_seconds, context)

    return Tool.of(bash)


def _preview(arguments: Any, call: ToolCall | None, runner: Runner) -> Preview:
    """Return what a person sees before they agree: the command, its start folder and the sandbox that confines it."""
    standing = standing_of(None if call is None else call.session, runner.workspace)
    text = f"$ {arguments['command']}\n\n{standing.shown()}\n{runner.sandbox.describe()}"
    return Preview(text=text, preconditions=(standing.precondition(),))


def _about(sandbox: Sandbox, max_output_bytes: int) -> str:
    """Return the description of the tool, which tells a model what it must know before it runs a command."""
    network = "has the network" if sandbox.network else "has no network, so nothing can be downloaded"
    scope = (
        "" if sandbox.name in {"limits", "none"} else " It sees and changes only the workspace, without its secrets."
    )
    return (
        "Run a command with bash in the workspace, and return what it printed.\n\n"
        "It starts in the folder where the last command ended, without a terminal and with empty standard input, "
        f"and {network}.{scope} What it leaves running is ended with it: use `background` for servers and watchers. "
        f"Of more than {max_output_bytes:,} bytes of output the beginning and the end are kept."
    )


def _started(runner: Runner, command: str, standing: Standing, context: Context) -> str:
    if context.session is None:
        raise ToolError("a job belongs to a conversation, and this call has none; pass `session=` with it")
    shell = shell_of(context.session, runner.workspace.root)
    job = shell.jobs.start(command, runner.start(command, shell, standing, _MAX_JOB_SECONDS))
    return f"started {job.id}; `job_output` shows what it prints, `job_stop` ends it"


async def _finished(
    runner: Runner, command: str, standing: Standing, timeout_seconds: float, context: Context
) -> str | ToolResult:
    with shell_for(context.session, runner.workspace.root) as shell:
        seconds = _left(timeout_seconds, context.deadline)
        result = await runner.run(command, shell, standing, seconds, lambda text: context.report(message=text))
    text = _told(result, seconds, runner.workspace)
    return _failure(text, result.ended, seconds) if result.ended.why is not None or result.ended.exit_code else text


def _failure(text: str, outcome: Ended, seconds: float) -> ToolResult:
    """
    Return the result of a command that failed, was killed or took too long: an error whose text holds the output.

    Every exit code but 0 is a failure, even the 1 with which `grep` says that it found nothing. This module does not
    know which programs give a code another meaning. The model reads the output and the code in any case.
    """
    kind: Kind = "timeout" if outcome.why == "timeout" else "tool"
    message = _reason(outcome, seconds)
    details = {"exit_code": outcome.exit_code} if outcome.why is None else {"stopped": outcome.why}
    return ToolResult(text, None, kind, error=ErrorInfo(message, details))


def _reason(outcome: Ended, seconds: float) -> str:
    """Return one line that says why a command failed, or an empty string if it did not."""
    if outcome.why is not None:
        return _STOP_REASONS[outcome.why].format(seconds=seconds)
    return f"exit code: {outcome.exit_code}{_exit_code_meaning(outcome.exit_code)}" if outcome.exit_code else ""


def _told(result: Ran, seconds: float, workspace: Workspace) -> str:
    """Return the text for the model: stdout first, then the other parts, each with its name."""
    outcome = result.ended
    if outcome.why == "uncovered":
        return _STOP_REASONS[outcome.why]  # leave out everything that the command printed
    lines = [result.stdout.rstrip("\n")] if result.stdout.strip() else []
    if result.stderr.strip():
        lines.append(f"stderr: {result.stderr.rstrip(chr(10))}")
    if reason := _reason(outcome, seconds):
        lines.append(reason)
    if outcome.left and outcome.why is None:
        were = "process still ran and was" if outcome.left == 1 else "processes still ran and were"
        lines.append(f"note: {outcome.left} {were} ended with it; use `background` for such")
    lines += [f"note: {note}" for note in (_changed(outcome, workspace), result.note) if note]
    return "\n".join(lines) or "(no output)"


def _changed(outcome: Ended, workspace: Workspace) -> str:
    """Return a warning if the command changed files that can make other programs run code, else an empty string."""
    if not outcome.changed:
        return ""
    names = ", ".join(readable(workspace.shown(path)) for path in outcome.changed[:5])
    more = f" and {len(outcome.changed) - 5} more" if len(outcome.changed) > 5 else ""
    return f"it changed {names}{more}, which can make other programs run code; have a person look at that"


_STOP_REASONS = {
    "timeout": "timed out: it took longer than {seconds:g} s and was ended, with everything it started",
    "stopped": "stopped: it was ended, with everything it started",
    "crowd": "stopped: it started more processes than it may, and all were ended",
    "uncovered": UNCOVERED,
}


def _exit_code_meaning(code: int) -> str:
    meanings = {137: "killed", 152: "out of CPU time", 153: "a file became too large"}
    return f" ({meanings[code]})" if code in meanings else ""


def _objections(arguments: Any) -> list[Problem]:
    command, seconds = arguments["command"], arguments["timeout_seconds"]
    problems = []
    if not command.strip():
        problems.append(Problem("is empty; say what to run", ["command"]))
    if "\0" in command:
        problems.append(Problem("holds a NUL character, which no command can", ["command"]))
    if len(command.encode(errors="replace")) > _MAX_COMMAND_BYTES:
        problems.append(Problem("is too long for a command line; write it to a file and run that", ["command"]))
    if not 0 < seconds <= _MOST_SECONDS:
        problems.append(
            Problem(f"has to be above 0 and at most {_MOST_SECONDS:g}, got {seconds:g}", ["timeout_seconds"])
        )
    return problems


def _left(seconds: float, deadline: float | None) -> float:
    """Return how many seconds a command may take so that its answer still arrives before *deadline*."""
    if deadline is None:
        return seconds
    return max(0.1, min(seconds, deadline - time.monotonic() - _MARGIN_SECONDS))


def _chosen(workspace: Workspace, sandbox: Sandbox | Literal["none"] | None, network: bool) -> Sandbox:
    if isinstance(sandbox, Sandbox):
        if network and not sandbox.network:
            raise ValueError("the sandbox has no network; make it with best_sandbox(workspace, network=True)")
        return sandbox
    if sandbox is not None and sandbox != "none":
        raise TypeError(f'sandbox: expected a Sandbox, "none" or None, got {sandbox!r}; see best_sandbox(level=...)')
    return best_sandbox(workspace, network=network, level=sandbox)


def _checked(env: Mapping[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ValueError(f"env: {name!r} cannot be the name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"env: the value of {name} has to be text without NUL characters")
    return dict(env)
