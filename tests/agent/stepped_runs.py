"""Runs of agents with steps, and a store of approvals whose process may be killed."""

from __future__ import annotations

from typing import Any

from tests.steps.crashing_steps import Process
from toolkit.agent import Agent, Run
from toolkit.agent.inner_agents import read_own_session
from toolkit.agent.stepped_runs import SteppedRun
from toolkit.approvals import MemoryApprovals

__all__ = ["MortalStore", "resume_with_steps", "run_with_steps"]


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
