"""
The `bash` tool, which runs a command line in a sandbox.

Only the working folder, and the variables that the application names in `keep`, pass from one call of a conversation to
the next.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from ..._plumbing.wording import format_count, format_seconds
from ...access import Command
from ...approvals.previews import Preview
from ...calls.background.jobs import may_have_jobs
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, ErrorInfo, Problem, ToolError
from ...results import Kind, ToolCall, ToolResult
from ...sandbox.base import Sandbox
from ...sandbox.selection import best_sandbox
from ...sandbox.visible_files import visible_files_of
from ...spec import Tool
from ...workspace.space import Workspace
from .jobs import UNCOVERED_MESSAGE, BackgroundJob
from .outputs import MAX_KEPT_BYTES, OutputBuffer, OutputText, ProgressTicker, make_readable
from .process import CommandOutcome, CommandSpec, Process
from .shell_state import Shell, build_environment, build_script, check_variable_names, shell_for, shell_of
from .start_state import StartState, StartStates, start_state_of

__all__ = ["bash_for"]

_BASH_FILES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_DEFAULT_SECONDS = 120.0
_MAX_SECONDS = 600.0
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
    max_output_bytes: int = 18_000,
    max_kept_bytes: int = MAX_KEPT_BYTES,
) -> Tool:
    """
    Return the tool that runs commands in *workspace*.

    Args:
        sandbox: The sandbox that commands run in. The default is the strongest one on this machine. If that one only
            limits resources, every command asks for approval. "none" runs commands as the user, without any sandbox;
            then only the permissions decide which commands ask.
        network: Whether commands may reach the network.
        env: Variables for the environment of every command, besides a few harmless ones. No other variable of this
            process is passed on.
        keep: Names of variables whose values a command passes on to the next one of its conversation.
        max_output_bytes: The limit for each output stream. If the output is longer, its beginning and its end are
            shown.
        max_kept_bytes: How much of each longer output stream is kept, so that the model can read the middle with
            `read_output`. 0 keeps nothing.
    """
    runner = _CommandRunner(
        workspace=workspace,
        sandbox=_choose_sandbox(workspace, sandbox, network),
        env=_check_environment(env or {}),
        keep=check_variable_names(keep),
        max_output_bytes=max_output_bytes,
        max_kept_bytes=max_kept_bytes,
    )
    start_states = StartStates(workspace)

    @tool(
        catalog=None,
        description=_describe_tool(runner.sandbox, max_output_bytes),
        destructive=True,
        group="shell",
        search_hint="execute shell terminal script program tests build git",
        approval="always" if runner.sandbox.name == "limits" else "never",
        validate=_find_problems,
        preflight=start_states.preflight,
        preview=partial(_preview, runner),
        summary=lambda arguments: f"$ {arguments['command']}",
        activity="running a command",
        metadata={"sandbox": {name: getattr(runner.sandbox, name) for name in ("name", "network", "contained")}},
    )
    async def bash(
        command: Annotated[str, Command],
        *,
        timeout_seconds: float = _DEFAULT_SECONDS,
        background: bool = False,
        context: Context,
    ) -> str | ToolResult:
        """Run a command. The model reads the description that `_describe_tool` returns.

        Args:
            command: The command line; several lines are fine.
            timeout_seconds: When to end it, with everything it started; at most 600.
            background: Return at once, with the name of a job for `job_output` and `job_stop`.
        """
        if problems := _find_problems({"command": command, "timeout_seconds": timeout_seconds}):
            raise BadArgs(problems)
        start_state = start_states.start_state_for(context, command)
        if background:
            return _start_job(runner, command, start_state, context)
        return await _run_to_end(runner, command, start_state, timeout_seconds, context)

    return Tool.of(bash)


class _CommandResult(NamedTuple):
    """The result of one command. `note` says what happened to its working folder, if the model should know."""

    stdout: OutputText
    stderr: OutputText
    outcome: CommandOutcome
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommandRunner:
    """The settings that all commands of one tool share; see `bash_for`."""

    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    keep: tuple[str, ...]
    max_output_bytes: int
    max_kept_bytes: int

    def build_spec(self, command: str, shell: Shell, start_state: StartState, timeout_seconds: float) -> CommandSpec:
        """Return the settings to start *command* in the folder and with the variables of *start_state*."""
        return CommandSpec(
            argv=[*_shell_program(), "-c", build_script(self.keep), "bash", command],
            sandbox=self.sandbox,
            cwd=start_state.folder,
            env=build_environment(self.sandbox, self.env, shell.private_folder, start_state.variables),
            private=shell.private_folder,
            timeout_seconds=timeout_seconds,
            marks=visible_files_of(self.workspace).snapshot_read_only_files,
        )

    async def run(
        self,
        command: str,
        shell: Shell,
        start_state: StartState,
        timeout_seconds: float,
        on_text: Callable[[str], object],
    ) -> _CommandResult:
        """Run *command* to its end, call *on_text* with its output meanwhile, and keep its last state in *shell*."""
        # The command starts in the state that was judged. Another call may have moved the conversation since then.
        folder_note = shell.explain_lost_folder(self.workspace) if start_state.folder == self.workspace.root else ""
        half = max(1, self.max_output_bytes // 2)
        streams = {
            name: OutputBuffer(head_bytes=half, tail_bytes=half, max_kept_bytes=self.max_kept_bytes)
            for name in ("stdout", "stderr")
        }
        tickers = {name: ProgressTicker(on_text) for name in streams}

        def record_output(stream: str, data: bytes) -> None:
            streams[stream].add(data)
            tickers[stream].add(data)

        spec = self.build_spec(command, shell, start_state, timeout_seconds)
        outcome = await Process(spec, record_output).wait_for_outcome()
        for ticker in tickers.values():
            ticker.flush()
        note = shell.remember_state(outcome.state_report, self.workspace, self.keep) or folder_note
        # Making some megabytes readable takes a while, and meanwhile the event loop has other work.
        stdout, stderr = [await asyncio.to_thread(stream.take) for stream in streams.values()]
        return _CommandResult(stdout, stderr, outcome, note)


def _shell_program() -> list[str]:
    """Return how bash is started. The checks read a command as bash does, so no other shell may run it."""
    bash = next(filter(os.path.exists, _BASH_FILES), None)
    if bash is None:
        raise ToolError(f"there is no bash at {' or '.join(_BASH_FILES)}; install it, or leave the tool `bash` out")
    return [bash, "--noprofile", "--norc"]


def _preview(runner: _CommandRunner, arguments: Any, call: ToolCall | None = None) -> Preview:
    """Return what a person sees before they agree: the command, its start folder and the sandbox that confines it."""
    start_state = start_state_of(None if call is None else call.session, runner.workspace)
    text = f"$ {arguments['command']}\n{start_state.describe()}\n{runner.sandbox.summarize()}"
    return Preview(text=text, preconditions=(start_state.precondition(),))


def _describe_tool(sandbox: Sandbox, max_output_bytes: int) -> str:
    """Return the description of the tool, which tells a model what it must know before it runs a command."""
    network = "has the network" if sandbox.network else "has no network, so nothing can be downloaded"
    scope = (
        "" if sandbox.name in {"limits", "none"} else " It sees and changes only the workspace, without its secrets."
    )
    return (
        "Run a command with bash in the workspace, and return what it printed.\n\n"
        "It starts in the folder where the last command ended, without a terminal and with empty standard input, "
        f"and {network}.{scope} What it leaves running is ended with it: use `background` for servers and watchers. "
        f"Of more than {max_output_bytes:,} bytes of output the beginning and the end are shown."
    )


def _start_job(runner: _CommandRunner, command: str, start_state: StartState, context: Context) -> str:
    if context.session is None or not may_have_jobs(context.session):
        raise ToolError(
            "a background job needs a session that later calls have too, and this call has none; run the command "
            "without `background`, or pass `session=` with the call"
        )
    shell = shell_of(context.session, runner.workspace.root)
    spec = runner.build_spec(command, shell, start_state, _MAX_JOB_SECONDS)
    principal, max_kept_bytes = context.call.principal, runner.max_kept_bytes
    job = shell.jobs.start(
        lambda name: BackgroundJob(name, command, spec, principal=principal, max_kept_bytes=max_kept_bytes)
    )
    return f"started {job.id}; `job_output` shows what it prints, `job_stop` ends it"


async def _run_to_end(
    runner: _CommandRunner, command: str, start_state: StartState, timeout_seconds: float, context: Context
) -> str | ToolResult:
    with shell_for(context.session, runner.workspace.root) as shell:
        seconds = _limit_to_deadline(timeout_seconds, context.deadline)
        result = await runner.run(command, shell, start_state, seconds, lambda text: context.report(message=text))
    stdout, stderr = result.stdout, result.stderr
    text = full_text = _render_result(result, stdout.text, stderr.text, seconds, runner.workspace)
    if stdout.full_text is not None or stderr.full_text is not None:
        printed = stdout.full_text or stdout.text, stderr.full_text or stderr.text
        full_text = _render_result(result, *printed, seconds, runner.workspace)
    if result.outcome.stop_reason is not None or result.outcome.exit_code:
        failure = _build_failure(text, result.outcome, seconds)
        failure.full_text = None if full_text == text else full_text
        return failure
    return text if full_text == text else ToolResult(text, text, full_text=full_text)


def _build_failure(text: str, outcome: CommandOutcome, seconds: float) -> ToolResult:
    """
    Return the result of a command that failed, was killed or took too long: an error whose text holds the output.

    Every exit code but 0 is a failure, even the 1 with which `grep` says that it found nothing. This module does not
    know which programs give a code another meaning. The model reads the output and the code in any case.
    """
    kind: Kind = "timeout" if outcome.stop_reason == "timeout" else "failed"
    message = _explain_failure(outcome, seconds)
    details = {"exit_code": outcome.exit_code} if outcome.stop_reason is None else {"stopped": outcome.stop_reason}
    return ToolResult(text, None, kind, error=ErrorInfo(message, details))


def _explain_failure(outcome: CommandOutcome, seconds: float) -> str:
    """Return one line that says why a command failed, or an empty string if it did not."""
    if outcome.stop_reason is not None:
        return _STOP_REASONS[outcome.stop_reason].format(duration=format_seconds(seconds))
    return f"exit code: {outcome.exit_code}{_EXIT_CODES.get(outcome.exit_code, '')}" if outcome.exit_code else ""


def _render_result(result: _CommandResult, stdout: str, stderr: str, seconds: float, workspace: Workspace) -> str:
    """Return the text for the model: stdout first, then the other parts, each with its name."""
    outcome = result.outcome
    if outcome.stop_reason == "uncovered":
        return _STOP_REASONS[outcome.stop_reason]  # leave out everything that the command printed
    lines = [stdout.rstrip("\n")] if stdout.strip() else []
    if stderr.strip():
        lines.append(f"stderr: {stderr.rstrip(chr(10))}")
    if reason := _explain_failure(outcome, seconds):
        lines.append(reason)
    if outcome.left_running and outcome.stop_reason is None:
        were = "was" if outcome.left_running == 1 else "were"
        processes = format_count(outcome.left_running, "process")
        lines.append(f"note: {processes} still ran and {were} ended with it; use `background` for servers and watchers")
    lines += [f"note: {note}" for note in (_warn_of_changes(outcome, workspace), result.note) if note]
    return "\n".join(lines) or "(no output)"


def _warn_of_changes(outcome: CommandOutcome, workspace: Workspace) -> str:
    """Return a warning if the command changed files that can make other programs run code, else an empty string."""
    if not outcome.changed:
        return ""
    names = ", ".join(make_readable(workspace.shown(path)) for path in outcome.changed[:5])
    more = f" and {len(outcome.changed) - 5} more" if len(outcome.changed) > 5 else ""
    return f"it changed {names}{more}, which can make other programs run code; have a person look at that"


_STOP_REASONS = {
    "timeout": "timed out: it took longer than {duration} and was ended, with everything it started",
    "stopped": "stopped: it was ended, with everything it started",
    "too_many_processes": "stopped: it started more processes than it may, and all were ended",
    "uncovered": UNCOVERED_MESSAGE,
}


_EXIT_CODES = {137: " (killed)", 152: " (out of CPU time)", 153: " (a file became too large)"}


def _find_problems(arguments: Any) -> list[Problem]:
    command, seconds = arguments["command"], arguments["timeout_seconds"]
    problems = []
    if not command.strip():
        problems.append(Problem("is empty; say what to run", ["command"]))
    if "\0" in command:
        problems.append(Problem("contains a NUL character, which no command can contain", ["command"]))
    if len(command.encode(errors="replace")) > _MAX_COMMAND_BYTES:
        problems.append(Problem("is too long for a command line; write it to a file and run that", ["command"]))
    if not 0 < seconds <= _MAX_SECONDS:
        problems.append(
            Problem(f"has to be above 0 and at most {_MAX_SECONDS:g}, got {seconds:g}", ["timeout_seconds"])
        )
    return problems


def _limit_to_deadline(seconds: float, deadline: float | None) -> float:
    """Return how many seconds a command may take so that its answer still arrives before *deadline*."""
    if deadline is None:
        return seconds
    return max(0.1, min(seconds, deadline - time.monotonic() - _MARGIN_SECONDS))


def _choose_sandbox(workspace: Workspace, sandbox: Sandbox | Literal["none"] | None, network: bool) -> Sandbox:
    if isinstance(sandbox, Sandbox):
        if network and not sandbox.network:
            raise ValueError("the sandbox has no network; make it with best_sandbox(workspace, network=True)")
        return sandbox
    if sandbox is not None and sandbox != "none":
        raise TypeError(f'sandbox: expected a Sandbox, "none" or None, got {sandbox!r}; see best_sandbox(level=...)')
    return best_sandbox(workspace, network=network, level=sandbox)


def _check_environment(env: Mapping[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ValueError(f"env: {name!r} cannot be the name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"env: the value of {name} has to be text without NUL characters")
    return dict(env)
