"""
A durable flow with agents and a flow inside its steps, whose processes are killed, for `test_kill.py` and endurance.

    python -m tests.flows.killing_agents FOLDER SEED KILLS [POSTGRES_URL]

The steps start agents one after the other, at the same time, for each item of a list, in a tool of an agent and in a
flow. Each agent pays, which must not happen twice, and sends, which a person approves.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.durable.killing import Place, ignore_other_answers, kill_processes
from tests.flows.killing import Order
from toolkit import Agent, Catalog, Context, Decision, Dispatcher, Permissions, ToolCall
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow, Waiting
from toolkit.providers import AssistantMessage, ScriptedProvider, UserMessage
from toolkit.providers.base import Request

PARTS = ("1", "2", "3", "10", "11", "20", "30")
"""The prompts of the agents that pay and send."""


@dataclass
class Sheet:
    number: int


@dataclass
class PrintedSheet:
    number: int


@dataclass
class SoldTexts:
    texts: list[str]


@dataclass
class Cover:
    text: str


@dataclass
class Bound:
    text: str


def reply_to(request: Request) -> Any:
    """Return the next turn, which depends on the conversation only: pay and put, send, and answer."""
    prompt = next(message.text for message in request.messages if isinstance(message, UserMessage))
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    if prompt == "delegate":
        return [[ToolCall("delegate", {}, "delegate")], "delegated"][turn]
    calls = [[("pay", prompt), ("put", prompt)], [("send", prompt)]]
    if turn == len(calls):
        return f"done {prompt}"
    return [ToolCall(name, {"n": n}, f"{name}-{n}") for name, n in calls[turn]]


class AgentsPlace(Place):
    """A run of a flow that consists of agents, with a file that has a line for every effect."""

    def build_agent(self) -> Agent[str]:
        """Make the agent anew, as every process does."""
        catalog = Catalog()

        @catalog.tool
        async def pay(n: str) -> None:
            """Pay something."""
            self.happen(tool="pay", n=n)

        @catalog.tool(idempotent=True)
        def put(n: str) -> None:
            """Put something somewhere."""
            self.happen(tool="put", n=n)

        @catalog.tool(destructive=True, approval="always")
        async def send(n: str) -> None:
            """Send something away, once a person has agreed."""
            self.happen(tool="send", n=n)

        @catalog.tool(idempotent=True)
        async def delegate(context: Context) -> str:
            """Let another agent do a part."""
            return (await self.build_agent().run("20")).unwrap()

        dispatcher = Dispatcher(catalog, permissions=Permissions(mode="auto"))
        return Agent(ScriptedProvider([reply_to] * 100), dispatcher)

    def build_flow(self) -> Flow[SoldTexts]:
        """Make the flow anew, as every process does."""
        flow, cover, agent = Flow[SoldTexts]("books"), Flow[Bound]("cover"), self.build_agent()

        @cover.step(idempotent=True)
        async def paint(cover: Cover) -> Bound:
            return Bound((await agent.run("30")).unwrap())

        @flow.step(idempotent=True)
        async def write(order: Order) -> list[Sheet]:
            await agent.run("1")
            await asyncio.gather(agent.run("2"), agent.run("3"))
            return [Sheet(10), Sheet(11)]

        @flow.step(idempotent=True, concurrency_safe=True)
        async def print_page(page: Sheet) -> PrintedSheet:
            (await agent.run(str(page.number))).unwrap()
            return PrintedSheet(page.number)

        @flow.step(idempotent=True)
        async def bind(pages: list[PrintedSheet]) -> SoldTexts:
            bound = await cover.run(Cover("blue"))
            return SoldTexts([str(bound), (await agent.run("delegate")).unwrap()])

        return flow

    async def live(self, on_start: Callable[[], None]) -> dict[str, Any]:
        """Work on the run until it is over, as one process; every request is approved."""
        flow = self.build_flow()
        async with DurableHost(self.database, takeover_seconds=1.0, max_lives=1000) as host:
            on_start()
            outcome = await flow.run(Order("a book"), host, id=self.run_id)
            while isinstance(outcome, Waiting):
                decisions = {request.id: Decision.approve(by="ada") for request in outcome.requests}
                with ignore_other_answers():
                    await flow.resume(self.run_id, decisions, host)
                outcome = await flow.run(Order("a book"), host, id=self.run_id)
        return {"text": str(outcome), "failed": isinstance(outcome, Failed)}

    def find_violations(self, outcome: dict[str, Any], effects: list[dict[str, Any]], kills: int) -> list[str]:
        """Return what must not have happened in a run whose processes were killed *kills* times."""
        violations = []
        counts = Counter((effect["tool"], effect["n"]) for effect in effects)
        unknown = " ".join(outcome["unknown"])
        if outcome["failed"]:
            violations.append(f"the run ended as {outcome['text']}")
        for tool in ("pay", "put", "send"):
            for n in PARTS:
                count = counts[tool, n]
                if count > (1 + kills if tool == "put" else 1):
                    violations.append(f"{tool} {n} happened {count} times after {kills} kills")
                if count == 0 and f"{tool}-{n}" not in unknown and "/resume/" not in unknown:
                    violations.append(f"{tool} {n} did not happen")
        if sum("/stop/" not in key for key in outcome["unknown"]) > kills:
            violations.append(f"after {kills} kills these may have happened: {outcome['unknown']}")
        return violations


if __name__ == "__main__":
    kill_processes(AgentsPlace, *sys.argv[1:])
