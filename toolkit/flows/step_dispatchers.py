"""
The dispatchers of a flow: one for its steps, and one for its requests for approval alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..approvals import Approvals
from ..calls.resources import PER_CALL, check_resource_keys
from ..catalog import Catalog
from ..dispatcher import Dispatcher
from ..permissions import Permissions
from ..steps.call_step import BEGIN_HOOK
from .graph import Graph
from .outcomes import Problems

__all__ = ["ChooseApprovals", "StepDispatchers"]

ChooseApprovals: TypeAlias = Callable[[Approvals], Approvals]
"""Returns the approvals of a run, from those of the dispatcher whose policies hold for the flow."""


class StepDispatchers:
    """Makes dispatchers under the policies of *dispatcher*, or in mode `auto` if the flow was given none."""

    def __init__(self, dispatcher: Dispatcher | None, find_graph: Callable[[], Graph]) -> None:
        _check_dispatcher(dispatcher)
        self._own = dispatcher
        self._find_graph = find_graph

    def build(
        self,
        dispatcher: Dispatcher | None,
        resources: Mapping[Any, Any],
        choose_approvals: ChooseApprovals = lambda approvals: approvals,
    ) -> Dispatcher:
        """Return a dispatcher for the steps with *resources*, under the policies of *dispatcher* or of the flow."""
        _check_dispatcher(dispatcher)
        source = dispatcher or self._find_own()
        nodes = self._find_graph().nodes.values()
        helpers = [tool for node in nodes for tool in (node.check, node.undo) if tool is not None]
        tools = Catalog(*(node.tool for node in nodes), *helpers)
        view = tools.provided({Problems: PER_CALL, **check_resource_keys(resources)})
        return source.extended(view, hooks=[BEGIN_HOOK], approvals=choose_approvals(source.approvals))

    def build_without_tools(self, choose_approvals: ChooseApprovals) -> Dispatcher:
        """Return a dispatcher that runs no step. It needs no resources, and knows the store of approvals."""
        source = self._find_own()
        return source.extended(Catalog(), approvals=choose_approvals(source.approvals))

    def _find_own(self) -> Dispatcher:
        if self._own is None:
            self._own = Dispatcher(Catalog(), permissions=Permissions("auto"))
        return self._own


def _check_dispatcher(dispatcher: object) -> None:
    if dispatcher is not None and not isinstance(dispatcher, Dispatcher):
        raise TypeError(f"dispatcher has to be a Dispatcher, got {type(dispatcher).__name__}")
