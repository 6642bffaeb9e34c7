"""
What a sandbox is: a way to start a command with less than its user may do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..errors import ToolError

__all__ = ["LEVELS", "LevelName", "Plan", "Sandbox", "launch"]

LevelName: TypeAlias = Literal["bubblewrap", "landlock", "limits", "none"]
LEVELS: tuple[LevelName, ...] = ("bubblewrap", "landlock", "limits", "none")
"""From the strongest to the weakest."""

Plan: TypeAlias = Callable[[Sequence[str], str, "str | None"], dict[str, Any]]
"""What the launcher is told, for a command, its working folder and its private folder."""

_LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher", "launch.py")
_MOST_OF_AN_ARGUMENT = 100_000
_MOST_OF_A_WISH = 1_500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """
    A level of confinement, bound to one workspace.

    Attributes:
        name: Which level it is.
        network: Whether a command may reach the network.
        does: What it keeps a command from, in sentences.
        does_not: What it does not keep it from.
        shows: The folders that a command can read, besides its private one; None if that is not limited.
        private_as: Where a command finds its private folder; None if that is where it is.
        findings: How a probe got out of it on this machine, in sentences; None if it was not probed. A sandbox that
            is made with `dataclasses.replace` is another one, so it was not probed.
    """

    name: LevelName
    network: bool
    does: tuple[str, ...]
    does_not: tuple[str, ...]
    plan: Plan = field(repr=False)
    shows: tuple[str, ...] | None = None
    private_as: str | None = None
    findings: tuple[str, ...] | None = field(default=None, init=False)

    @property
    def contained(self) -> bool:
        """
        Whether a command can neither change nor tell anything outside, nor what is protected inside.

        Only bubblewrap without a network is, and only after a probe has tried to get out here and could not.
        """
        # Landlock does not stop a change of modes and times outside, nor a write to a single protected file.
        return self.name == "bubblewrap" and not self.network and self.findings == ()

    def with_findings(self, findings: Sequence[str]) -> Sandbox:
        """Return the same sandbox, with how a probe got out of it."""
        probed = replace(self)
        object.__setattr__(probed, "findings", tuple(findings))
        return probed

    def describe(self) -> str:
        """What this level does and does not do, for a person."""
        lines = [f"sandbox: {self.name}, network {'on' if self.network else 'off'}"]
        lines += [f"+ {each}" for each in self.does]
        if self.findings is not None and not self.findings:
            lines.append("+ a probe tried to get out, on this machine, and could not")
        lines += [f"- {finding}" for finding in self.findings or ()]
        lines += [f"- {each}" for each in self.does_not]
        if self.findings is None and self.name == "bubblewrap":
            lines.append("- no probe has tried to get out, so it does not count as contained")
        return "\n".join(lines)

    def homes(self, private: str) -> dict[str, str]:
        """The variables that send a command's own files to the *private* folder."""
        inside = self.private_as or private
        return {"HOME": f"{inside}/home", "TMPDIR": inside}

    def command(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        private: str | None = None,
        status_fd: int | None = None,
        third_fd: int | None = None,
        grace_seconds: float = 2.0,
    ) -> tuple[list[str], dict[str, str]]:
        """
        What to start in place of *argv*, and with which environment: nothing of our own gets in.

        Start it in a session of its own, by a thread that lives as long as the command: that thread's end ends
        it. SIGTERM to it ends the command and all that it started. It looks for protected files, so it takes a while;
        before the command begins this process is asked once more, by way of a thread, so it has to go on running.

        Args:
            cwd: Where the command starts, as the sandbox shows it.
            private: A folder that the command may fill; with one, it has a place for temporary files.
            status_fd: Where the outcome is written, as JSON; without it, only the exit code tells.
            third_fd: What the command finds as its descriptor 3.
            grace_seconds: How long what is asked to end may take.
        """
        wish = self.plan(argv, cwd, private)
        wish |= {"starter": os.getpid(), "status_fd": status_fd, "third_fd": third_fd, "grace_seconds": grace_seconds}
        return launch(wish), dict(env)


def launch(wish: Mapping[str, Any]) -> list[str]:
    """The command line that starts the launcher with *wish*."""
    text = json.dumps(wish, separators=(",", ":"))
    if len(text) > _MOST_OF_A_WISH:
        raise ToolError("the workspace has more protected files than a sandbox can shut away; choose a smaller root")
    if not sys.executable:
        raise ToolError("no Python interpreter is known that could start a sandbox; set `sys.executable`")
    pieces = [text[at : at + _MOST_OF_AN_ARGUMENT] for at in range(0, len(text), _MOST_OF_AN_ARGUMENT)]
    return [sys.executable, "-I", "-S", _LAUNCHER, *pieces]
