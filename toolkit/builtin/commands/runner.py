"""
How one `bash` tool runs its commands: the sandbox, the environment and the limits on output.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...sandbox.base import Sandbox
from ...workspace.space import Workspace
from .outputs import OutputBuffer, OutputText, ProgressTicker
from .process import CommandOutcome, CommandSpec, Process
from .shell_state import Shell, build_environment, build_script
from .start_state import StartState

__all__ = ["CommandResult", "CommandRunner"]


class CommandResult(NamedTuple):
    """The result of one command. `note` says what happened to its working folder, if the model should know."""

    stdout: OutputText
    stderr: OutputText
    outcome: CommandOutcome
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner:
    """
    The settings that all commands of one tool share; see `bash_for`.

    *marks* returns a mark for each file that commands should not change. A mark that differs later shows a change.
    """

    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    keep: tuple[str, ...]
    max_output_bytes: int
    max_kept_bytes: int
    marks: Callable[[], Mapping[str, object]]

    def build_spec(self, command: str, shell: Shell, start_state: StartState, timeout_seconds: float) -> CommandSpec:
        """Return the settings to start *command* in the folder and with the variables of *start_state*."""
        return CommandSpec(
            argv=[*_shell_program(), "-c", build_script(self.keep), "bash", command],
            sandbox=self.sandbox,
            cwd=start_state.folder,
            env=build_environment(self.sandbox, self.env, shell.private_folder, start_state.variables),
            private=shell.private_folder,
            timeout_seconds=timeout_seconds,
            marks=self.marks,
        )

    async def run(
        self,
        command: str,
        shell: Shell,
        start_state: StartState,
        timeout_seconds: float,
        on_text: Callable[[str], object],
    ) -> CommandResult:
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
        return CommandResult(stdout, stderr, outcome, note)


def _shell_program() -> list[str]:
    bash = next(filter(os.path.exists, ("/bin/bash", "/usr/bin/bash")), None)
    return ["/bin/sh"] if bash is None else [bash, "--noprofile", "--norc"]
