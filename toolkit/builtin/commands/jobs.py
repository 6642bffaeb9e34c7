"""
Commands in the background. They can be listed, read and stopped, and they end with their conversation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ...calls.background.jobs import SessionJobs
from ...errors import ToolError
from .outputs import MAX_KEPT_BYTES, OutputBuffer, OutputText
from .process import CommandSpec, Process

__all__ = ["UNCOVERED_MESSAGE", "BackgroundJob", "start_command"]

_MAX_OUTPUT_BYTES = 80_000  # less than a result may have, so that the end of the output is not cut off again


@dataclass(slots=True, eq=False)
class BackgroundJob:
    """One command in the background. Its title is the command line, as the model wrote it."""

    id: str
    title: str
    process: Process
    output: OutputBuffer
    started_at: float
    principal: str | None

    @property
    def is_over(self) -> bool:
        """Whether the command has ended."""
        return self.process.is_over

    def stop(self) -> None:
        """End the command, with everything that it started."""
        self.process.stop()

    def wait(self, seconds: float) -> bool:
        """Wait until the command has ended, at most *seconds*, and return whether it has."""
        return self.process.wait(seconds)

    def state(self) -> str:
        """Return the state of the job in a few words."""
        if not self.process.is_over:
            return f"running for {time.monotonic() - self.started_at:.0f} s"
        try:
            outcome = self.process.outcome
        except ToolError as error:
            return f"failed: {error}"
        return _STOP_REASONS.get(outcome.stop_reason or "", f"exit code: {outcome.exit_code}")

    def read(self) -> str:
        """Return what the job printed since it was last read, as `take_output` does."""
        return self.take_output().text

    def take_output(self) -> OutputText:
        """Return what the job printed since it was last read, on both streams, or nothing if the output is withheld."""
        printed = self.output.take()
        return OutputText("") if self.state() == _STOP_REASONS["uncovered"] else printed


UNCOVERED_MESSAGE = (
    "stopped: a protected file was replaced or removed while it ran, and could be seen; its output is withheld"
)
_STOP_REASONS = {
    "stopped": "stopped",
    "timeout": "stopped: it took too long",
    "too_many_processes": "stopped: it started more processes than it may",
    "uncovered": UNCOVERED_MESSAGE,
}


def start_command(
    jobs: SessionJobs[BackgroundJob],
    command: str,
    spec: CommandSpec,
    *,
    principal: str | None = None,
    max_kept_bytes: int = MAX_KEPT_BYTES,
) -> BackgroundJob:
    """Start *command* as one of *jobs*. Raise `ToolError` if too many run already, or the conversation has ended."""
    output = OutputBuffer(head_bytes=0, tail_bytes=_MAX_OUTPUT_BYTES, max_kept_bytes=max_kept_bytes)

    def start_job(name: str) -> BackgroundJob:
        process = Process(spec, lambda stream, data: output.add(data))
        return BackgroundJob(name, command, process, output, time.monotonic(), principal)

    return jobs.start(start_job)
