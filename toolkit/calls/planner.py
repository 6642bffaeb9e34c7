"""
The plans of a dispatcher: worked out for the names that are asked for, and again when the catalog changes.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable, Mapping

from ..catalogs.snapshot import Change
from ..catalogs.views import CatalogView
from ..errors import DefinitionError, ToolkitWarning
from ..spec import Tool
from .fast_path import lane_for
from .plan import Plan
from .resources import missing_resources
from .settings import Settings

__all__ = ["Planner"]

# How many names a tool has a plan for, on average.
_MOST_NAMES = 4


class Planner:
    """
    Finds the plan for a name.

    Attributes:
        known: What was worked out; emptied when the catalog changes, or when it holds more names than there can be.
        ids: Numbers for calls that nobody named.
    """

    def __init__(self, catalog: CatalogView, settings: Settings) -> None:
        self.known: dict[str, Plan] = {}
        self.ids = itertools.count(1)
        self._catalog = catalog
        self._settings = settings

    def find(self, name: str) -> Plan | None:
        """The plan for calls of *name*; None if nobody has that name. `DefinitionError` if its tool cannot be read."""
        known = self.known.get(name)
        if known is not None:
            return known
        table = self._catalog.table
        tool = table.called(name)
        if tool is None:
            return None
        plan = Plan(tool, self._settings, table.aliases)
        plan.lane = lane_for(plan, self._settings, name, self.ids)
        if len(self.known) >= _MOST_NAMES * (len(table.tools) + len(table.aliases)):
            self.known.clear()  # a model may write `a.b.c` in many ways; most tools are called by one
        self.known[name] = plan
        if self._catalog.table is not table:
            # It changed meanwhile, and what was known was forgotten before this was.
            self.known.pop(name, None)
        return plan

    def follow(self) -> tuple[Callable[[], None], ...]:
        """
        Look at the tools, now and when they change; call what this returns to stop.

        `DefinitionError` if some want resources that nobody provides. Nothing that follows holds a dispatcher alive.
        """
        resources = self._settings.resources
        wanting = [(tool, names) for tool in self._catalog if (names := _missing(tool, resources))]
        if wanting:
            listed = "; ".join(f"`{tool.name}` wants {', '.join(names)}" for tool, names in wanting)
            remedy = "give `resources=`, use `catalog.provided`, or declare them as PER_CALL"
            raise DefinitionError(f"resources are missing: {listed}; {remedy}")
        for mistake in self._settings.judges.mistakes(self._catalog):
            warnings.warn(mistake, ToolkitWarning, stacklevel=4)
        return self._catalog.subscribe(_Newcomers(resources)), self.watch()

    def watch(self) -> Callable[[], None]:
        """Work plans out again when the tools change; call what this returns to stop. It holds no planner alive."""
        return self._catalog.watch(_Forgetful(self))


class _Forgetful:
    """Lets a planner work its plans out again."""

    def __init__(self, planner: Planner) -> None:
        self._planner = weakref.ref(planner)

    def __call__(self) -> None:
        planner = self._planner()
        if planner is not None:
            planner.known.clear()


class _Newcomers:
    """Looks at the tools that a catalog gets later."""

    def __init__(self, resources: Mapping[object, object]) -> None:
        self._resources = resources

    def __call__(self, change: Change) -> None:
        for tool in change.added:
            if names := _missing(tool, self._resources):
                warnings.warn(
                    f"`{tool.name}` was added and wants {', '.join(names)}, which the dispatcher does not have",
                    ToolkitWarning,
                    stacklevel=2,
                )


def _missing(tool: Tool, resources: Mapping[object, object]) -> list[str]:
    try:
        return missing_resources(tool, resources)
    except DefinitionError:
        return []  # it waits for a name; its first call will say so
