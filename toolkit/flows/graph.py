"""
The graph of a flow: which step takes which type, and where each type leads.

A value of the type `T` goes to the step that takes `T`. A `list[T]` goes to the step that takes `list[T]`. If there is
none, the step that takes `T` runs for each item, and what it returns is joined to a list. A type that no step takes is
an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..spec import Tool
from .value_types import FlowTypes, TypeRef

__all__ = ["Edge", "Graph", "Route", "StepNode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNode:
    """A step in the graph. Its *parameter* gets the value. *back_to* is where the flow goes if it cannot be done."""

    name: str
    tool: Tool
    place: str
    parameter: str
    takes: TypeRef
    returns: tuple[TypeRef, ...]
    attempts: int = 1
    check: Tool | None = None
    undo: Tool | None = None
    back_to: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The step that a value goes to, and whether it runs for each item of the value."""

    node: StepNode
    is_fan_out: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A way through the graph. *target* is None for an end, and *source* is None for a start."""

    source: str | None
    type: str
    target: str | None
    is_fan_out: bool = False
    is_join: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """The steps of a flow in the order in which they were written, the types between them, and where it may begin."""

    nodes: Mapping[str, StepNode]
    types: FlowTypes
    starts: tuple[str, ...]
    _takers: dict[str, StepNode] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_takers", {node.takes.name: node for node in reversed(list(self.nodes.values()))})

    def find_route(self, type_name: str) -> Route | None:
        """Return where a value of this type goes; None if the flow ends with it."""
        node = self._takers.get(type_name)
        if node is not None:
            return Route(node, is_fan_out=False)
        item_name = type_name.removeprefix("list[").removesuffix("]")
        item_node = self._takers.get(item_name) if type_name.startswith("list[") else None
        return None if item_node is None else Route(item_node, is_fan_out=True)

    def list_edges(self) -> list[Edge]:
        """Return every way that a value can take from the starts, in the order in which it would be taken."""
        edges = [Edge(None, self.nodes[name].takes.name, name) for name in self.starts]
        waiting = [edge.type for edge in edges]
        seen: set[str] = set()
        while waiting:
            type_name = waiting.pop(0)
            route = self.find_route(type_name)
            if type_name in seen or route is None:
                continue
            seen.add(type_name)
            for name in list_results(route):
                further = self.find_route(name)
                target = None if further is None else further.node.name
                is_fan_out = further is not None and further.is_fan_out
                edge = Edge(route.node.name, name, target, is_fan_out, is_join=route.is_fan_out)
                if edge not in edges:
                    edges.append(edge)
                waiting.append(name)
        return edges

    def list_ends(self) -> list[str]:
        """Return the names of the types that the flow can end with."""
        return list(dict.fromkeys(edge.type for edge in self.list_edges() if edge.target is None))


def list_results(route: Route) -> Iterable[str]:
    """Return the names of the types that come out of a step, which are lists if it runs for each item."""
    if not route.is_fan_out:
        return [ref.name for ref in route.node.returns]
    return [TypeRef(ref.item, is_list=True).name for ref in route.node.returns]
