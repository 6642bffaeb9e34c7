"""The types that the flows of the tests take and return, and steps that end like a killed process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from toolkit import ToolResult
from toolkit.steps.records import dump_reply, load_reply


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


class Killed(BaseException):
    """The process has ended."""


class Disk:
    """What outlives a process: the steps that began, and the records of those that ended, as JSON text."""

    def __init__(self):
        self.began = []
        self.records = {}


class CrashingSteps:
    """
    Steps on a `Disk`, whose process is killed at one of four points: before the begin, after it, after the effect
    and after the record. *kill_at* counts the points of all steps from 1; 0 is never.
    """

    def __init__(self, disk, kill_at=0):
        self.disk, self.kill_at, self.points, self.is_dead = disk, kill_at, 0, False

    def pass_point(self):
        self.points += 1
        self.is_dead = self.is_dead or self.points == self.kill_at
        if self.is_dead:
            raise Killed

    async def reply(self, key, ask):
        if key not in self.disk.records:
            self.pass_point()
            self.disk.records[key] = json.dumps(dump_reply(await ask()))
            self.pass_point()
        return load_reply(json.loads(self.disk.records[key]))

    async def call(self, key, call, work, *, may_repeat, session):
        if key in self.disk.records:
            return ToolResult.from_json(json.loads(self.disk.records[key]))
        if key in self.disk.began and not may_repeat:
            result = ToolResult.failure(
                "failed", "it may or may not have happened", details={"happened": "maybe"}, tool=call.name
            )
            self.disk.records[key] = json.dumps(result.to_json())
            return result

        async def begin():
            self.pass_point()
            if key not in self.disk.began:
                self.disk.began.append(key)
            self.pass_point()

        result = await work(begin)  # a hook that raises is a result, also if its process is dead
        self.pass_point()
        self.disk.records[key] = json.dumps(result.to_json())
        self.pass_point()
        return ToolResult.from_json(json.loads(self.disk.records[key]))


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
