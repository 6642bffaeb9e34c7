"""
Draw the graph of a flow as a Mermaid flowchart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .graph import Edge, Graph, StepNode

__all__ = ["draw_graph"]


def draw_graph(graph: Graph) -> str:
    """
    Return the flowchart of *graph* as Mermaid text.

    A thick arrow is taken by each item of a list. A dotted arrow is the way back of a step that cannot be done.
    """
    edges = graph.list_edges()
    lines = ["flowchart TD"]
    lines += [f"    start_{index}([start])" for index, _ in enumerate(graph.starts, 1)]
    lines += [f'    {_id_of(node.name)}["{_describe_node(node)}"]' for node in graph.nodes.values()]
    lines += [f'    end_{_number_of(name, edges)}(["{_escape(name)}"])' for name in graph.list_ends()]
    lines += [f"    {line}" for line in _draw_edges(graph, edges)]
    lines += [
        f"    {_id_of(node.name)} -. back_to .-> {_id_of(node.back_to)}"
        for node in graph.nodes.values()
        if node.back_to
    ]
    return "\n".join(lines) + "\n"


def _describe_node(node: StepNode) -> str:
    notes = []
    if node.tool.facts.read_only:
        notes.append("reads only")
    if node.tool.facts.destructive:
        notes.append("destructive")
    if node.check is not None:
        notes.append("checked")
    if node.undo is not None:
        notes.append("can be undone")
    if node.attempts > 1:
        notes.append(f"{node.attempts} attempts")
    return f"{node.name}<br/><i>{', '.join(notes)}</i>" if notes else node.name


def _draw_edges(graph: Graph, edges: Iterable[Edge]) -> Iterable[str]:
    edges = list(edges)
    for index, name in enumerate(graph.starts, 1):
        yield f'start_{index} -- "{_escape(graph.nodes[name].takes.name)}" --> {_id_of(name)}'
    for edge in edges:
        if edge.source is None:
            continue
        target = f"end_{_number_of(edge.type, edges)}" if edge.target is None else _id_of(edge.target)
        if edge.is_fan_out:
            yield f'{_id_of(edge.source)} == "each of {_escape(edge.type)}" ==> {target}'
        else:
            words = f"joined to {edge.type}" if edge.is_join else edge.type
            yield f'{_id_of(edge.source)} -- "{_escape(words)}" --> {target}'


def _id_of(step: str) -> str:
    """Return the id of a step. Mermaid takes neither dots nor dashes in one."""
    return "step_" + re.sub(r"\W", "_", step)


def _number_of(type_name: str, edges: Iterable[Edge]) -> int:
    """Return the number of an end. `end` alone, and a name with brackets, cannot be the id of a node in Mermaid."""
    names = list(dict.fromkeys(edge.type for edge in edges if edge.target is None))
    return names.index(type_name) + 1


def _escape(text: str) -> str:
    return text.replace("[", "#91;").replace("]", "#93;")
