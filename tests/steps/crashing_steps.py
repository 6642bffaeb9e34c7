"""
Steps in memory that can be cut off at any point, as if the process had been killed there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from toolkit.providers.base import Reply
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.steps.base import Begin, CallWork
from toolkit.steps.records import dump_call, dump_reply, load_call, load_reply
from toolkit.steps.session_changes import read_state

__all__ = ["CrashingSteps", "Disk", "Killed", "Process"]


class Killed(BaseException):
    """The process of the test was killed."""


class Process:
    """
    A process that is killed when it has come to one of *crash_points*.

    Attributes:
        is_dead: Whether it was killed, and not started again.
        passed_points: How many points it has passed, over all its lives.
    """

    def __init__(self, crash_points: Collection[int] = ()) -> None:
        self.is_dead = False
        self.passed_points = 0
        self._crash_points = set(crash_points)

    def pass_point(self) -> None:
        """Pass a point at which the process may be killed."""
        self.check_alive()
        self.passed_points += 1
        if self.passed_points in self._crash_points:
            self.is_dead = True
            raise Killed

    def check_alive(self) -> None:
        """Raise if the process was killed: its other tasks do nothing more."""
        if self.is_dead:
            raise Killed


class Disk:
    """What outlives a process: the steps that began, and the records of those that ended, as JSON text."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.records: dict[str, str] = {}


class CrashingSteps:
    """
    Steps that are kept on a disk, which outlives *process*. The process may be killed before a call begins, after that,
    before the record of a step and after it.

    Attributes:
        cut_keys: The keys of the steps that had begun, had no record, and were not run again.
    """

    def __init__(self, process: Process, disk: Disk | None = None) -> None:
        disk = disk or Disk()
        self.records, self.began = disk.records, disk.began
        self.cut_keys: set[str] = set()
        self._process = process

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        if key in self.records:
            return load_reply(json.loads(self.records[key]))
        reply = await ask()
        self._keep(key, dump_reply(reply))
        return reply

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        if key in self.records:
            return load_call(json.loads(self.records[key]), session)
        before = read_state(session)
        if key in self.began and not may_repeat:
            self.cut_keys.add(key)
            text = "it may or may not have happened"
            result = ToolResult.failure("failed", text, details={"happened": "maybe"}, call_id=call.id, tool=call.name)
        else:
            result = await work(self._make_begin(key))
            self._process.check_alive()  # an error in the hook stage became a result
        self._keep(key, dump_call(result, session, before))
        return result

    def _make_begin(self, key: str) -> Begin:
        has_begun = False

        async def begin() -> None:
            nonlocal has_begun
            self._process.check_alive()
            if not has_begun:
                has_begun = True
                self._process.pass_point()
                self.began.append(key)
                self._process.pass_point()

        return begin

    def _keep(self, key: str, record: dict[str, Any]) -> None:
        self._process.pass_point()
        assert key not in self.records
        self.records[key] = json.dumps(record, allow_nan=False)
        self._process.pass_point()
