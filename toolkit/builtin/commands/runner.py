"""
How commands are run for one `bash` tool: in which sandbox, with what environment, and with bounded output.
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
    What came of a command.

    Attributes:
        stdout: The beginning and the end of what it printed, readable; the same for stderr.
        note: What became of its working folder, if that is worth a word.
    """

    stdout: str
    stderr: str
    ended: Ended
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """
    Everything that the commands of one tool have in common.

    Attributes:
        env: What they find in their environment, besides a few harmless ones.
        keep: The variables that they leave to the next one.
        max_output_bytes: Of each stream.
        marks: What tells whether files were changed that should not be.
    """

    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    keep: tuple[str, ...]
    max_output_bytes: int
    marks: Callable[[], Mapping[str, object]]

    def start(self, command: str, shell: Shell, standing: Standing, seconds: float) -> Start:
        """*command*, ready to be started in the place and with the variables of *standing*."""
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
        """Run *command* to its end, and *tell* what it prints while it does; *shell* goes on from where it ended."""
        # It runs where it was judged to, which need not be where the conversation has gone since.
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
