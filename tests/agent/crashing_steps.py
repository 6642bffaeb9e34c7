"""
Steps in memory that can be cut off at any point, as if the process had been killed there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from toolkit.agent import Agent, Run
from toolkit.agent.inner_agents import read_own_session
from toolkit.agent.stepped_runs import SteppedRun
from toolkit.approvals import MemoryApprovals
from toolkit.providers.base import Reply
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.steps.base import Begin, CallWork
from toolkit.steps.records import dump_call, dump_reply, load_call, load_reply
from toolkit.steps.session_changes import read_state

__all__ = ["CrashingSteps", "Killed", "MortalStore", "Process"]


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


class CrashingSteps:
    """
    Steps that are kept as JSON, in a "database" that survives *process*.

    Attributes:
        cut_keys: The keys of the steps that had begun, had no record, and were not run again.
    """

    def __init__(self, process: Process) -> None:
        self.records: dict[str, str] = {}
        self.began: list[str] = []
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
            text = "its process was killed: it may or may not have happened"
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


class MortalStore(MemoryApprovals):
    """A store of approvals that a process cannot change after it was killed, and may be killed while it changes it."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def add(self, record: Any) -> None:
        self._process.pass_point()
        super().add(record)
        self._process.pass_point()

    def add_call(self, *arguments: Any, **options: Any) -> Any:
        self._process.pass_point()
        record = super().add_call(*arguments, **options)
        self._process.pass_point()
        return record

    def _change(self, request_id: str, change: Any) -> bool:
        self._process.pass_point()
        is_changed = super()._change(request_id, change)
        self._process.pass_point()
        return is_changed


async def run_with_steps(
    agent: Agent, prompt: str, *, run_id: str, principal: str | None = None, **options: Any
) -> Run:
    """Let *agent* work on *prompt* with the steps in *options*."""
    own_principal, state = read_own_session(agent, principal)
    return await SteppedRun(agent, id=run_id, **options).run(prompt, principal=own_principal, session_state=state)


async def resume_with_steps(agent: Agent, run: Run, decisions: Any, **options: Any) -> Run:
    """Let *agent* resume *run* with the steps in *options*."""
    return await SteppedRun(agent, id=run.id, **options).resume(run, decisions)
