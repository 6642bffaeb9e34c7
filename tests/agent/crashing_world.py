"""Agents that cut, put and burn in a world that outlives a killed process."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tests.agent.kit import call
from tests.agent.stepped_runs import MortalStore, resume_with_steps, run_with_steps
from tests.steps.crashing_steps import CrashingSteps, Process
from toolkit.agent import Agent, Run, sub_run
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.approvals import Approvals
from toolkit.calls.resources import PER_CALL
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Request
from toolkit.providers.messages import AssistantMessage, ToolMessage
from toolkit.steps.base import ONLY_SUB_RUNS, ONLY_SUB_RUNS_KEY

SCRIPT: dict[str, list[Any]] = {
    "main": [
        [call("look", "r1", what="axe"), call("look", "r2", what="saw"), call("look", "r3", what="log")],
        [call("cut", "w1", wood="oak"), call("delegate", "d1"), call("cut", "w2", wood="ash")],
        [call("put", "p1", wood="elm"), call("burn", "b1", wood="fir"), call("burn", "no", wood="yew")],
        [call("cut", "w1", wood="pine")],
        "all done",
    ],
    "inside": [
        [call("cut", "s1", wood="box"), call("look", "r1", what="bin")],
        [call("burn", "s2", wood="bay")],
        "done inside",
    ],
}
"""What the model says, by the prompt of the run and the number of its turns so far."""


def answer(request: Request) -> Any:
    prompt = request.messages[0].text
    return SCRIPT[prompt][sum(isinstance(message, AssistantMessage) for message in request.messages)]


@dataclass
class CrashingWorld:
    """Everything that survives a killed process, and what was done in it."""

    crash_points: Collection[int] = ()
    asks_at_once: bool = False
    effects: Counter[str] = field(default_factory=Counter)
    keys: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = Process(self.crash_points)
        self.steps = CrashingSteps(self.process)
        self.store = MortalStore(self.process)

    def do(self, effect: str, context: Context) -> str:
        self.process.pass_point()
        self.effects[effect] += 1
        self.keys.setdefault(effect, set()).add(context.idempotency_key)
        self.process.pass_point()
        return effect

    def start_process(self) -> Agent:
        """Return the agent as another process would make it."""
        self.process.is_dead = False
        approvals = Approvals(self.store, ask=decide if self.asks_at_once else None)
        dispatcher = Dispatcher(
            CATALOG, permissions=Permissions("auto"), approvals=approvals, resources={CrashingWorld: PER_CALL}
        )
        return Agent(ScriptedProvider(itertools.repeat(answer)), dispatcher)

    async def run(self) -> Run:
        """Return the run that is done, after as many lives of the process as it takes."""
        saved: str | None = None
        while True:
            try:
                agent = self.start_process()
                run = await self._work(agent, saved)
                self.process.pass_point()
            except BaseException:
                if not self.process.is_dead:
                    raise
                continue
            if run.status != "waiting":
                return run
            saved = json.dumps(dump_run(run))

    async def _work(self, agent: Agent, saved: str | None) -> Run:
        options: dict[str, Any] = {"steps": self.steps, "secret": "s", "resources": {CrashingWorld: self}}
        if saved is None:
            return await run_with_steps(agent, "main", run_id="r/1", **options)
        run = load_run(json.loads(saved))
        decisions = {request.id: decide(request) for request in run.requests}
        return await resume_with_steps(agent, run, decisions, **options)


CATALOG = Catalog()


@CATALOG.tool(read_only=True)
async def look(what: str, world: Inject[CrashingWorld]) -> str:
    """Look at something."""
    world.process.pass_point()
    return f"a {what}"


@CATALOG.tool
async def cut(wood: str, world: Inject[CrashingWorld], context: Context) -> str:
    """Cut wood."""
    return world.do(f"cut {wood}", context)


@CATALOG.tool(idempotent=True)
async def put(wood: str, world: Inject[CrashingWorld], context: Context) -> str:
    """Put wood away."""
    return world.do(f"put {wood}", context)


@CATALOG.tool(destructive=True)
async def burn(wood: str, world: Inject[CrashingWorld], context: Context) -> str:
    """Burn wood."""
    return world.do(f"burn {wood}", context)


@CATALOG.tool(metadata={ONLY_SUB_RUNS_KEY: ONLY_SUB_RUNS})
async def delegate(context: Context) -> str:
    """Let the model do something inside."""
    return await sub_run("inside", context=context)


def decide(request: Any) -> Decision:
    return Decision.deny("too old") if request.call_id == "no" else Decision.approve(by="ada")


def describe(run: Run) -> list[tuple[str, str, str]]:
    """Return the results of a run by the ids of their calls, and what the model said."""
    return [
        entry
        for message in run.messages
        for entry in (
            [(result.call_id, result.kind, result.text) for result in message.results]
            if isinstance(message, ToolMessage)
            else [("", "said", message.text)]
        )
    ]
