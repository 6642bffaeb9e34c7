"""What a page is told about flows: their graphs, and where a durable run of one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..durable.run_reports import FLOW, RunReport
from ..errors import DefinitionError
from ..flows.flow import Flow
from ..flows.story import list_left, tell_events

__all__ = ["describe_flow", "describe_flow_run"]


def describe_flow_run(report: RunReport) -> dict[str, Any]:
    """
    Return where a run of a flow is, and what its steps have left.

    The state of a step is "here" while it runs or waits, "done", "failed", "undone", or "uncertain" if it may or may
    not have happened. Beside it stand the last words about its check and its undo.
    """
    steps: dict[str, dict[str, Any]] = {}
    open_calls: dict[tuple[Any, ...], str] = {}
    for event, line in zip(report.events, tell_events(report.events), strict=True):
        if line.action == "other" or event.kind not in ("began", "finished"):
            continue
        step = steps.setdefault(line.step, {"state": "done", "check": None, "undo": None})
        call = (line.step, line.action, line.visit, line.item)
        result = event.data["record"]["result"] if event.kind == "finished" else None
        open_calls.pop(call, None)
        if result is None:
            is_current = report.row.status == "running" and event.epoch == report.row.epoch
            open_calls[call] = "here" if is_current else "uncertain"
        elif result.get("kind") == "waiting":
            open_calls[call] = "here"
        else:
            step["state"] = _find_state(line.action, result) or step["state"]
            step |= {} if line.action == "run" else {line.action: line.text}
    for (name, *_), state in open_calls.items():
        steps[name]["state"] = state
    return {"name": report.row.kind.removeprefix(FLOW), "steps": steps, "left": [*list_left(report.events)]}


def _find_state(action: str, result: Mapping[str, Any]) -> str | None:
    """Return the state of a step after the *result* of its run, its check or its undo; None if it stays as it is."""
    is_ok = result.get("kind", "ok") == "ok"
    match action:
        case "check":
            return None if is_ok and not result.get("value") else "failed"
        case "undo":
            return "undone" if is_ok else None
    happened = ((result.get("error") or {}).get("details") or {}).get("happened")
    return "done" if is_ok else "uncertain" if happened == "maybe" else "failed"


def describe_flow(flow: Flow[Any]) -> dict[str, Any]:
    """Return the graph of *flow*, as text for Mermaid and as nodes and edges; or what is wrong with it."""
    try:
        graph = flow.graph
    except DefinitionError as error:
        return {"name": flow.name, "mermaid": "", "nodes": [], "edges": [], "problem": str(error)}
    nodes = [
        {
            "name": node.name,
            "takes": node.takes.name,
            "returns": [ref.name for ref in node.returns],
            "check": None if node.check is None else node.check.name,
            "undo": None if node.undo is None else node.undo.name,
            "back_to": node.back_to,
            "start": node.name in graph.starts,
            "attempts": node.attempts,
        }
        for node in graph.nodes.values()
    ]
    names = ("source", "target", "type", "is_fan_out", "is_join")
    edges = [{name: getattr(edge, name) for name in names} for edge in graph.list_edges()]
    return {"name": flow.name, "mermaid": flow.mermaid(), "nodes": nodes, "edges": edges}
