"""
The plans of a dispatcher. A plan is made when its name is first called, and again after the catalog changes.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping

from ..catalogs.snapshot import Change
from ..catalogs.views import CatalogView
from ..errors import DefinitionError, ToolkitWarning
from ..hooks.base import Step
from ..spec import Tool
from .plan import CallPlan
from .settings import Settings

__all__ = ["Planner"]

# How many names with a plan there may be for each tool or alias, on average.
_MAX_NAMES_PER_TOOL = 4


class Planner:
    """
    Finds the plan for a name.

    Attributes:
        plans_by_name: The plans made so far, by name. They are dropped when the catalog changes, or when there are too
            many names.
    """

    def __init__(self, catalog: CatalogView, settings: Settings) -> None:
        self.plans_by_name: dict[str, CallPlan] = {}
        self._catalog = catalog
        self._settings = settings
        self._background_settings: Settings | None = None

    def find(self, name: str) -> CallPlan | None:
        """
        Return the plan for calls of *name*, or None if no tool has that name.

        Raises:
            DefinitionError: The signature of the tool cannot be read.
        """
        cached_plan = self.plans_by_name.get(name)
        if cached_plan is not None:
            return cached_plan
        table = self._catalog.table
        tool = table.resolve(name)
        if tool is None:
            return None
        plan = CallPlan(tool, self._settings_for(tool), table, self._catalog, name)
        if len(self.plans_by_name) >= _MAX_NAMES_PER_TOOL * (len(table.tools) + len(table.aliases)):
            # A model may write `a.b.c` in many ways, but most tools are called by one name.
            self.plans_by_name.clear()
        self.plans_by_name[name] = plan
        if self._catalog.table is not table:
            # The catalog changed meanwhile, and `plans_by_name` was emptied before this plan was added.
            self.plans_by_name.pop(name, None)
        return plan

    def _settings_for(self, tool: Tool) -> Settings:
        """Return the settings of the dispatcher, or those for the background if *tool* may run there."""
        if not tool.facts.background:
            return self._settings
        if self._background_settings is None:
            from .background.detached_calls import settings_for_background

            self._background_settings = settings_for_background(self._settings)
        return self._background_settings

    def check_and_follow(self) -> tuple[Callable[[], None], ...]:
        """
        Check the tools now and whenever the catalog changes, and return functions that stop this.

        The subscriptions do not keep a dispatcher alive.

        Raises:
            DefinitionError: Some tools need resources that are not provided.
        """
        self.check_resources()
        for mistake in self._settings.find_rule_mistakes(self._catalog):
            warnings.warn(mistake, ToolkitWarning, stacklevel=4)
        resources = self._settings.resources

        def warn_of_missing(change: Change) -> None:
            for tool in change.added:
                if names := _list_missing(tool, resources):
                    message = (
                        f"`{tool.name}` was added and wants {', '.join(names)}, which the dispatcher does not have"
                    )
                    warnings.warn(message, ToolkitWarning, stacklevel=2)

        return self._catalog.subscribe(warn_of_missing), self.drop_plans_on_change(), *self.tell_changes()

    def tell_changes(self, known_listeners: Collection[Step] = ()) -> tuple[Callable[[], None], ...]:
        """
        Tell each change of the catalog to the listeners, but not to *known_listeners*, and return what stops this.

        The subscription does not keep a dispatcher alive.
        """
        known_ids = {id(step.hook) for step in known_listeners}
        steps = [step for step in self._settings.chain.listeners if id(step.hook) not in known_ids]
        if not steps:
            return ()
        from ..hooks.events import CatalogChanged  # few dispatchers have listeners
        from .listeners import tell_soon

        find_settings = weakref.ref(self._settings)

        def tell_change(change: Change) -> None:
            settings = find_settings()
            if settings is not None:
                tell_soon(settings, [CatalogChanged(change.added, change.removed)], steps=steps)

        return (self._catalog.subscribe(tell_change),)

    def check_resources(self, *, known_tools: Iterable[Tool] = ()) -> None:
        """Raise `DefinitionError` if some tools, other than *known_tools*, need resources that are not provided."""
        known_ids = {id(tool) for tool in known_tools}
        tools = [tool for tool in self._catalog if id(tool) not in known_ids]
        incomplete = [(tool, names) for tool in tools if (names := _list_missing(tool, self._settings.resources))]
        if incomplete:
            listed = "; ".join(f"`{tool.name}` wants {', '.join(names)}" for tool, names in incomplete)
            remedy = "give `resources=`, use `catalog.provided`, or declare them as PER_CALL"
            raise DefinitionError(f"resources are missing: {listed}; {remedy}")

    def drop_plans_on_change(self) -> Callable[[], None]:
        """
        Drop the plans whenever the catalog changes, and return a function that stops this.

        The subscription does not keep the planner alive.
        """
        find_planner = weakref.ref(self)

        def drop_plans() -> None:
            planner = find_planner()
            if planner is not None:
                planner.plans_by_name.clear()

        return self._catalog.watch(drop_plans)


def _list_missing(tool: Tool, resources: Mapping[object, object]) -> list[str]:
    try:
        if not tool.signature.injected:
            return []
        from .resources import missing_resources

        return missing_resources(tool, resources)
    except DefinitionError:
        return []  # a name in the annotations is not defined yet; the first call reports it
