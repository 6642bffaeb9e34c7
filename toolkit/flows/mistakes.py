"""
Find the mistakes in a graph, all of them at once, each with the step, the place and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import DefinitionError, find_nearest
from .graph import Edge, Graph, StepNode
from .step_options import StepSpec
from .value_types import TypeRef

__all__ = ["Mistake", "find_mistakes", "raise_mistakes"]

Mistake = tuple[str, str]
"""The step with its place, and what is wrong with it. The step is empty if the flow as a whole is wrong."""


def raise_mistakes(flow: str, mistakes: Sequence[Mistake]) -> None:
    """Raise `DefinitionError` that lists *mistakes*; return if there are none."""
    if mistakes:
        count = "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
        lines = "\n".join(f"- {subject + ': ' if subject else ''}{text}" for subject, text in mistakes)
        raise DefinitionError(f"the flow `{flow}` has {count}:\n{lines}")


def find_mistakes(graph: Graph, specs: Mapping[str, StepSpec], declared: Sequence[TypeRef] | None) -> list[Mistake]:
    """Return what is wrong with the graph. *declared* are the ends that `Flow[...]` names; None if it names none."""
    edges = graph.list_edges()
    return [
        *_find_double_takers(graph),
        *_find_odd_options(graph),
        *_find_secrets(graph),
        *_find_odd_lists(graph, edges),
        *_find_unreachable(graph, edges),
        *_find_wrong_ends(graph, edges, declared),
        *_find_wrong_back_to(graph, specs, edges),
    ]


def _blame(node: StepNode, text: str) -> Mistake:
    return _show(node), text


def _show(node: StepNode) -> str:
    return f"`{node.name}` ({node.place})"


def _find_double_takers(graph: Graph) -> Iterator[Mistake]:
    first: dict[str, StepNode] = {}
    for node in graph.nodes.values():
        other = first.setdefault(node.takes.name, node)
        if other is not node:
            yield _blame(
                node,
                f"it takes `{node.takes.name}`, which {_show(other)} takes already, so the type does not select the "
                f"next step; give one of them a type of its own",
            )


def _find_odd_options(graph: Graph) -> Iterator[Mistake]:
    for node in graph.nodes.values():
        facts = node.tool.facts
        if facts.destructive and node.attempts > 1 and node.undo is None:
            yield _blame(
                node,
                f"it is destructive and has {node.attempts} attempts, and what is destructive is not run twice; give "
                f"it an `undo`, or leave out `attempts`",
            )
        if facts.read_only and node.undo is not None:
            yield _blame(node, "it is read-only, so there is nothing to undo; leave out `undo`, or `read_only`")


def _find_secrets(graph: Graph) -> Iterator[Mistake]:
    for node in graph.nodes.values():
        for place, schema in ((f"`{node.parameter}`", node.tool.schema), ("the return value", node.tool.output_schema)):
            if _holds_secret(schema):
                yield _blame(
                    node,
                    f"{place} holds a secret, such as a `SecretStr`, and the next step would get its mask; give "
                    f"secrets to the steps that need them as resources, with `Inject[T]`",
                )


def _holds_secret(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_holds_secret, schema))
    return isinstance(schema, Mapping) and (schema.get("writeOnly") is True or any(map(_holds_secret, schema.values())))


def _find_odd_lists(graph: Graph, edges: Iterable[Edge]) -> Iterator[Mistake]:
    for name in dict.fromkeys(edge.target for edge in edges if edge.is_fan_out and edge.target is not None):
        node = graph.nodes[name]
        if len(node.returns) > 1:
            types = ", ".join(f"`{ref.name}`" for ref in node.returns)
            yield _blame(
                node,
                f"it runs for each item of a list and returns {types}, which cannot be joined to one list; return one "
                f"class that has them as fields",
            )
        elif node.returns[0].is_list:
            yield _blame(
                node,
                f"it runs for each item of a list and returns `{node.returns[0].name}`, and lists of lists are not "
                f"joined; return a class with the list as a field",
            )


def _find_unreachable(graph: Graph, edges: Iterable[Edge]) -> Iterator[Mistake]:
    reached = {edge.target for edge in edges}
    for node in graph.nodes.values():
        if node.name not in reached:
            starts = " or ".join(f"`{name}`" for name in graph.starts)
            yield _blame(
                node,
                f"it cannot be reached from {starts}: no step returns `{node.takes.name}`; return it somewhere, or "
                f"write `start=True` if a flow may begin with it",
            )


def _find_wrong_ends(graph: Graph, edges: Sequence[Edge], declared: Sequence[TypeRef] | None) -> Iterator[Mistake]:
    ends = {edge.type for edge in edges if edge.target is None}
    for name in _find_endless(graph, edges):
        yield _blame(graph.nodes[name], "no end can be reached from it; return a type that no step takes")
    if declared is None:
        return
    names = {ref.name for ref in declared}
    for name in names - ends:
        route = graph.find_route(name)
        why = "no step returns it" if route is None else f"the step `{route.node.name}` takes it"
        yield "", f"the end `{name}` in `Flow[...]` cannot be reached: {why}; return it, or leave it out"
    for edge in edges:
        if edge.target is None and edge.type not in names and edge.source is not None:
            yield _blame(
                graph.nodes[edge.source],
                f"it returns `{edge.type}`, which no step takes and `Flow[...]` does not name as an end; write a step "
                f"for it, or `Flow[{' | '.join(sorted(names | {edge.type}))}]`",
            )


def _find_endless(graph: Graph, edges: Sequence[Edge]) -> Iterator[str]:
    """Yield the steps that can be reached and from which no end can be reached."""
    good = {edge.source for edge in edges if edge.target is None}
    while more := {edge.source for edge in edges if edge.target in good} - good:
        good |= more
    yield from (name for name in graph.nodes if name not in good and any(edge.target == name for edge in edges))


def _find_wrong_back_to(graph: Graph, specs: Mapping[str, StepSpec], edges: Sequence[Edge]) -> Iterator[Mistake]:
    for node in graph.nodes.values():
        wanted = specs[node.name].back_to
        if wanted is None:
            continue
        if node.back_to is None:
            shown = wanted if isinstance(wanted, str) else getattr(wanted, "__qualname__", repr(wanted))
            near = find_nearest(shown, graph.nodes, max_items=1)
            remedy = f"did you mean `{near[0]}`?" if near else "name a step of this flow"
            yield _blame(node, f"`back_to` is `{shown}`, which is no step of this flow; {remedy}")
        elif node.back_to == node.name:
            yield _blame(node, "`back_to` is the step itself; write `attempts=` to try it again")
        elif not _leads_to(node.back_to, node.name, edges):
            yield _blame(
                node, f"`back_to` is `{node.back_to}`, which does not come before it; name a step that leads to it"
            )
        elif destructive := _find_destructive_between(graph, node, edges):
            yield _blame(
                node,
                f"the way back to `{node.back_to}` is over `{destructive}`, which is destructive and has no `undo`, "
                f"and what is destructive is not run twice; give it an `undo`, or go back to a later step",
            )
        elif cycle := _find_cycle(graph, node):
            yield _blame(node, f"the `back_to` of {' -> '.join(cycle)} is a circle; leave out one of them")


def _find_destructive_between(graph: Graph, node: StepNode, edges: Sequence[Edge]) -> str | None:
    """Return a destructive step without undo that every way from the `back_to` of *node* to *node* comes through."""
    target = node.back_to or ""
    for name, other in graph.nodes.items():
        if name != node.name and other.tool.facts.destructive and other.undo is None:
            others = [edge for edge in edges if edge.source != name]
            if name == target or not _leads_to(target, node.name, others):
                return name
    return None


def _leads_to(source: str, target: str, edges: Sequence[Edge]) -> bool:
    reached = {source}
    while more := {edge.target for edge in edges if edge.source in reached and edge.target} - reached:
        reached |= more
    return target in reached


def _find_cycle(graph: Graph, node: StepNode) -> list[str]:
    """Return the steps of a circle of `back_to` that begins with *node*, if *node* was written first of them."""
    path = [node.name]
    while (following := graph.nodes[path[-1]].back_to) is not None and following in graph.nodes:
        if following in path:
            is_first = list(graph.nodes).index(node.name) == min(map(list(graph.nodes).index, path))
            return [*path, following] if following == node.name and is_first else []
        path.append(following)
    return []
