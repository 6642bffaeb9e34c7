"""The types that the flows of the tests take and return, and a run of a flow over steps."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Task:
    file: str = "parser.py"


@dataclass
class Plan:
    files: list[str] = field(default_factory=list)


@dataclass
class Rejected:
    reason: str


@dataclass
class Edited:
    text: str


@dataclass
class Released:
    version: str


@dataclass
class Part:
    number: int


@dataclass
class Built:
    number: int


async def run_with(flow, value, steps, *, decisions=None, resources=None, dispatcher=None):
    """Run a flow over *steps*, as an activation does, and return its outcome."""
    from toolkit import Session
    from toolkit.flows.runner import FlowRunner
    from toolkit.flows.step_calls import StepCaller
    from toolkit.steps.call_step import RunScope

    own_dispatcher = flow._dispatchers.build(dispatcher, resources or {})
    scope = RunScope(steps=steps, secret="secret", dispatcher=own_dispatcher, decisions=decisions or {})
    caller = StepCaller(own_dispatcher, scope, Session(id="flow-run"), key="run%2F1")
    return await FlowRunner(flow.graph, caller, name=flow.name, max_visits=flow.max_visits).run(
        flow.encode_start(value)
    )
