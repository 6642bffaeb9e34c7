"""Commands in the background. They can be listed, read and stopped, and they end with their conversation."""

from __future__ import annotations

import time

from ...errors import ToolError
from .outputs import MAX_KEPT_BYTES, OutputBuffer, OutputText
from .process import CommandSpec, Process

__all__ = ["UNCOVERED_MESSAGE", "BackgroundJob"]

_MAX_OUTPUT_BYTES = 30_000  # less than a result may have, so that the end of the output is not cut off again
UNCOVERED_MESSAGE = (
    "stopped: a protected file was replaced or removed while it ran, and could be seen; its output is withheld"
)
_STOP_REASONS = {
    "stopped": "stopped",
    "timeout": "stopped: it took too long",
    "too_many_processes": "stopped: it started more processes than it may",
    "uncovered": UNCOVERED_MESSAGE,
}


class BackgroundJob(Process):
    """
    One command in the background.

    Attributes:
        id: The name by which a caller refers to the job.
        title: The command line, as the model wrote it.
        principal: On whose behalf it was started.

    Args:
        max_kept_bytes: How much of the beginning of a long output is kept, besides the end that is shown.
    """

    def __init__(
        self,
        name: str,
        title: str,
        spec: CommandSpec,
        *,
        principal: str | None = None,
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self.id = name
        self.title = title
        self.principal = principal
        self.output = output = OutputBuffer(head_bytes=0, tail_bytes=_MAX_OUTPUT_BYTES, max_kept_bytes=max_kept_bytes)
        self._started_at = time.monotonic()
        super().__init__(spec, lambda stream, data: output.add(data))

    def state(self) -> str:
        """Return the state of the job in a few words."""
        if not self.is_over:
            return f"running for {time.monotonic() - self._started_at:.0f} s"
        try:
            outcome = self.outcome
        except ToolError as error:
            return f"failed: {error}"
        return _STOP_REASONS.get(outcome.stop_reason or "", f"exit code: {outcome.exit_code}")

    def read(self) -> str:
        """Return what the job printed since it was last read, as `take_output` does."""
        return self.take_output().text

    def take_output(self) -> OutputText:
        """Return what the job printed since it was last read, or nothing if its output is withheld."""
        printed = self.output.take()
        return OutputText("") if self.state() == _STOP_REASONS["uncovered"] else printed
