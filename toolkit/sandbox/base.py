"""The sandbox: a way to start a command with fewer rights than its user has, and within limits."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from ..errors import ToolError
from .launcher.messages import LaunchRequest

__all__ = ["LAUNCHER_SCRIPT", "LEVELS", "LevelName", "Limits", "Plan", "Sandbox", "SandboxOptions", "launcher_command"]

LevelName: TypeAlias = Literal["bubblewrap", "landlock", "limits", "none"]
"""How strongly a sandbox confines a command."""
LEVELS: tuple[LevelName, ...] = ("bubblewrap", "landlock", "limits", "none")
"""The levels, from the strongest to the weakest."""

Plan: TypeAlias = Callable[[Sequence[str], str, "str | None"], LaunchRequest]
"""A function that returns the launcher's request for a command, its working folder and its private folder."""

# The launcher is loaded from its own folder, because loading the whole package takes longer than most commands.
LAUNCHER_SCRIPT = "import sys; sys.path.append(sys.argv.pop(1)); from launcher.launch import main; sys.exit(main())"
_SANDBOX_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MAX_ARGUMENT_CHARS = 100_000
_MAX_REQUEST_CHARS = 1_500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    The limits that the system enforces on a command.

    Attributes:
        cpu_seconds: The most CPU time of each process.
        file_bytes: The largest file that a process may write.
        memory_bytes: The most memory that a process may write to, without shared memory. Address space is not limited,
            because programs reserve far more of it than they use.
        processes: The most processes that the command may have, in addition to those that the user already has. For
            root, a control group or a count of the processes enforces this limit.
        open_files: The most open files of each process.
    """

    cpu_seconds: int = 3600
    file_bytes: int = 4 << 30
    memory_bytes: int = 8 << 30
    processes: int = 1000
    open_files: int = 4096

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"Limits: `{limit.name}` has to be a whole number above 0, got {value!r}")

    @property
    def counted_processes(self) -> int | None:
        """The most processes that the launcher has to count; None if the system enforces the limit by itself."""
        return self.processes if os.geteuid() == 0 else None

    def resource_limits(self) -> dict[str, int]:
        """Return the limits that the system enforces, by their names without `RLIMIT_`."""
        return {
            "CPU": self.cpu_seconds,
            "FSIZE": self.file_bytes,
            "DATA": self.memory_bytes,
            "NPROC": self.processes,
            "NOFILE": self.open_files,
            "CORE": 0,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """
    The wishes of the caller, which are the same for every level; see `best_sandbox`.

    Attributes:
        read_only: Whether a command in bubblewrap can write nothing in the workspace.
        machine: The machine whose system calls are filtered, by default this one.
    """

    network: bool = False
    limits: Limits = field(default_factory=Limits)
    extra_folders: tuple[str, ...] = ()
    read_only: bool = False
    local_sockets: bool = False
    machine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """
    A level of confinement for one workspace.

    Attributes:
        name: The name of the level.
        network: Whether a command may reach the network.
        does: What the sandbox prevents or guarantees, in sentences.
        does_not: What the sandbox does not prevent, in sentences.
        plan: The function that makes the launcher's request.
        shows: The folders that a command can read, besides its private folder. None means that reading is not limited.
        private_as: The path of the private folder inside the sandbox. None means the same path as outside.
        findings: How a probe escaped from the sandbox on this machine, in sentences. None means that the sandbox was
            not probed. A sandbox that is made with `dataclasses.replace` is a new one, so it was not probed.
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
        Whether a command can change nothing outside, send nothing outside, and change no protected file inside.

        This is true only for bubblewrap without a network, and only after a probe has tried to escape on this machine
        and failed.
        """
        # Landlock does not stop changes of modes and times outside, nor a write to a single protected file.
        return self.name == "bubblewrap" and not self.network and self.findings == ()

    def with_findings(self, findings: Sequence[str]) -> Sandbox:
        """Return the same sandbox with *findings*, which say how a probe escaped from it."""
        probed = replace(self)
        object.__setattr__(probed, "findings", tuple(findings))
        return probed

    def describe(self) -> str:
        """Return a text for a person that says what this level does and does not do."""
        lines = [f"sandbox: {self.name}, network {'on' if self.network else 'off'}"]
        lines += [f"+ {sentence}" for sentence in self.does]
        if self.findings is not None and not self.findings:
            lines.append("+ a probe tried to get out, on this machine, and could not")
        lines += [f"- {finding}" for finding in self.findings or ()]
        lines += [f"- {sentence}" for sentence in self.does_not]
        if self.findings is None and self.name == "bubblewrap":
            lines.append("- no probe has tried to get out, so it does not count as contained")
        return "\n".join(lines)

    def summarize(self) -> str:
        """
        Return what matters most about this level in a few lines, for a person who is asked about one command.

        The text says whether the sandbox is contained, and if not, why. `describe` has the whole text.
        """
        lines = [f"sandbox: {self.name}, network {'on' if self.network else 'off'}"]
        if self.contained:
            lines.append("+ contained: it changes nothing outside the workspace, and sends nothing out")
        elif self.name in ("limits", "none"):
            lines.append("- not contained: it may do what the user may, on the network too")
        elif self.name == "landlock":
            lines.append("- not contained: Landlock confines reading and writing, and not modes and times outside")
        elif self.findings is None:
            lines.append("- not contained: no probe has tried to get out")
        elif self.network:
            lines.append("- not contained: it reaches the network")
        lines += [f"- {finding}" for finding in self.findings or ()]
        return "\n".join(lines)

    def homes(self, private: str) -> dict[str, str]:
        """Return the environment variables that send a command's own files to the *private* folder."""
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
        Return the command line to start in place of *argv*, and its environment.

        The environment has only the variables of *env*, and none of this process.

        Start the command line in its own session, from a thread that lives as long as the command: when that thread
        ends, the command ends too. SIGTERM to the started process ends the command and everything that the command
        started. This method searches for protected files, so it takes some time. Before the command begins, the
        launcher asks a thread of this process again, so this process has to keep running.

        Args:
            argv: The command to run.
            cwd: The folder in which the command starts, as a path inside the sandbox.
            env: The environment of the command.
            private: A folder that the command may write to. With it, the command has a place for temporary files.
            status_fd: The descriptor to which the launcher writes a `LaunchOutcome`, as JSON. Without it, only the exit
                code tells the outcome.
            third_fd: The descriptor that the command gets as its descriptor 3.
            grace_seconds: The time that processes have to end after SIGTERM.
        """
        request = self.plan(argv, cwd, private)
        request |= {
            "starter_pid": os.getpid(),
            "status_fd": status_fd,
            "third_fd": third_fd,
            "grace_seconds": grace_seconds,
        }
        return launcher_command(request), dict(env)


def launcher_command(request: LaunchRequest) -> list[str]:
    """Return the command line that starts the launcher. Raise `ToolError` if *request* is too long for one."""
    text = json.dumps(request, separators=(",", ":"))
    if len(text) > _MAX_REQUEST_CHARS:
        raise ToolError("the workspace has more protected files than a sandbox can hide; choose a smaller root")
    if not sys.executable:
        raise ToolError("no Python interpreter is known that could start a sandbox; set `sys.executable`")
    pieces = [text[at : at + _MAX_ARGUMENT_CHARS] for at in range(0, len(text), _MAX_ARGUMENT_CHARS)]
    return [sys.executable, "-I", "-S", "-c", LAUNCHER_SCRIPT, _SANDBOX_FOLDER, *pieces]
