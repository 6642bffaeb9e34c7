"""
Draw the graph of a flow as a Mermaid flowchart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .graph import Graph, StepNode

__all__ = ["draw_graph"]


def draw_graph(graph: Graph) -> str:
    """
    Return the flowchart of *graph* as Mermaid text.

    A thick arrow is taken by each item of a list. A dotted arrow is the way back of a step that cannot be done.
    """
    lines = ["flowchart TD"]
    lines += [f"    start_{index}([start])" for index, _ in enumerate(graph.starts, 1)]
    lines += [f'    {_id_of(node.name)}["{_describe_node(node)}"]' for node in graph.nodes.values()]
    # `end` alone, and a name with brackets, cannot be the id of a node in Mermaid.
    lines += [f'    end_{number}(["{_escape(name)}"])' for number, name in enumerate(graph.list_ends(), 1)]
    lines += [f"    {line}" for line in _draw_edges(graph)]
    lines += [
        f"    {_id_of(node.name)} -. back_to .-> {_id_of(node.back_to)}"
        for node in graph.nodes.values()
        if node.back_to
    ]
    return "\n".join(lines) + "\n"


def _describe_node(node: StepNode) -> str:
    notes = {
        "reads only": node.tool.facts.read_only,
        "destructive": node.tool.facts.destructive,
        "checked": node.check is not None,
        "can be undone": node.undo is not None,
        f"{node.attempts} attempts": node.attempts > 1,
    }
    text = ", ".join(note for note, applies in notes.items() if applies)
    return f"{node.name}<br/><i>{text}</i>" if text else node.name


def _draw_edges(graph: Graph) -> Iterable[str]:
    ends = graph.list_ends()
    for index, name in enumerate(graph.starts, 1):
        yield f'start_{index} -- "{_escape(graph.nodes[name].takes.name)}" --> {_id_of(name)}'
    for edge in graph.list_edges():
        if edge.source is None:
            continue
        target = f"end_{ends.index(edge.type) + 1}" if edge.target is None else _id_of(edge.target)
        if edge.is_fan_out:
            yield f'{_id_of(edge.source)} == "each of {_escape(edge.type)}" ==> {target}'
        else:
            words = f"joined to {edge.type}" if edge.is_join else edge.type
            yield f'{_id_of(edge.source)} -- "{_escape(words)}" --> {target}'


def _id_of(step: str) -> str:
    """Return the id of a step. Mermaid takes neither dots nor dashes in one."""
    return "step_" + re.sub(r"\W", "_", step)


def _escape(text: str) -> str:
    return text.replace("[", "#91;").replace("]", "#93;")
