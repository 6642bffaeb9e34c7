"""
How one `bash` tool runs its commands: the sandbox, the environment and the limits on output.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...sandbox.base import Sandbox
from ...workspace.space import Workspace
from .outputs import Headed, Ticker
from .process import Ended, Process, Start
from .shell_state import Shell, environment, script
from .start_state import Standing

__all__ = ["Ran", "Runner"]


class Ran(NamedTuple):
    """
    The result of one command.

    Attributes:
        stdout: The beginning and the end of what the command printed, as readable text. `stderr` is the same for that
            stream.
        note: What happened to the working folder of the command, if the model should know, else empty.
    """

    stdout: str
    stderr: str
    ended: Ended
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """
    The settings that all commands of one tool share.

    Attributes:
        env: Variables for the environment of the commands, besides a few harmless ones.
        keep: Names of the variables whose values a command passes on to the next one.
        max_output_bytes: The limit for each output stream.
        marks: Returns a mark for each file that commands should not change. A mark that differs later shows a change.
    """

    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    keep: tuple[str, ...]
    max_output_bytes: int
    marks: Callable[[], Mapping[str, object]]

    def start(self, command: str, shell: Shell, standing: Standing, seconds: float) -> Start:
        """Return the settings to start *command* in the folder and with the variables of *standing*."""
        return Start(
            argv=[*_shell_program(), "-c", script(self.keep), "bash", command],
            sandbox=self.sandbox,
            cwd=standing.folder,
            env=environment(self.sandbox, self.env, shell.private, standing.variables),
            private=shell.private,
            timeout_seconds=seconds,
            marks=self.marks,
        )

    async def run(
        self, command: str, shell: Shell, standing: Standing, seconds: float, tell: Callable[[str], object]
    ) -> Ran:
        """
        Run *command* to its end, and call *tell* with its output while it runs.

        *shell* keeps the working folder and the variables with which the command ended.
        """
        # The command starts in the state that was judged. Another call may have moved the conversation since then.
        lost = shell.lost(self.workspace) if standing.folder == self.workspace.root else ""
        streams = {name: Headed(self.max_output_bytes) for name in ("stdout", "stderr")}
        tickers = {name: Ticker(tell) for name in streams}

        def take(stream: str, data: bytes) -> None:
            streams[stream].add(data)
            tickers[stream].add(data)

        ended = await Process(self.start(command, shell, standing, seconds), take).finished()
        for ticker in tickers.values():
            ticker.flush()
        note = shell.take(ended.said, self.workspace, self.keep) or lost
        return Ran(streams["stdout"].text(), streams["stderr"].text(), ended, note)


def _shell_program() -> list[str]:
    bash = next(filter(os.path.exists, ("/bin/bash", "/usr/bin/bash")), None)
    return ["/bin/sh"] if bash is None else [bash, "--noprofile", "--norc"]
