"""
A shed with tools of every sort, and an agent in it.
"""

from __future__ import annotations

from typing import Any

from toolkit.agent import Agent, Run
from toolkit.approvals import Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.results import ToolCall, ToolResult

__all__ = ["Shed", "call", "results_of"]


def call(name: str, id: str = "", **arguments: Any) -> ToolCall:
    """Return a call as a model asks for it."""
    return ToolCall(name, arguments, id)


def results_of(run: Run, turn: int = -1) -> tuple[ToolResult, ...]:
    """Return the results of one turn."""
    return [message for message in run.messages if hasattr(message, "results")][turn].results


class Shed:
    """Tools that count what they did; an agent for each script."""

    def __init__(self, mode: str = "default", rules: tuple[str, ...] = ()) -> None:
        self.done: list[str] = []
        self.permissions = Permissions(mode, rules)
        self.catalog = catalog = Catalog()

        @catalog.tool(read_only=True, summary=lambda arguments: f"look at {arguments['what']}")
        async def look(what: str) -> str:
            """Look at something."""
            self.done.append(f"look {what}")
            return f"a {what}"

        @catalog.tool(activity="cutting")
        async def cut(wood: str) -> str:
            """Cut wood."""
            self.done.append(f"cut {wood}")
            return f"cut {wood}"

        @catalog.tool(destructive=True)
        async def burn(wood: str, context: Context) -> str:
            """Burn wood."""
            context.report(1, 2, "it smokes")
            self.done.append(f"burn {wood}")
            return f"burnt {wood}"

        @catalog.tool(read_only=True, open_world=True)
        async def fetch(url: str) -> str:
            """Fetch a page."""
            self.done.append(f"fetch {url}")
            return "a page"

    def dispatcher(self, approvals: Approvals | None = None, **options: Any) -> Dispatcher:
        options.setdefault("permissions", self.permissions)
        return Dispatcher(self.catalog, approvals=approvals, **options)

    def agent(self, script: list[Any], *, dispatcher: Dispatcher | None = None, **options: Any) -> Agent:
        agent = Agent(ScriptedProvider(script), dispatcher or self.dispatcher(), **options)
        agent.asked = agent._options.provider.requests
        return agent
