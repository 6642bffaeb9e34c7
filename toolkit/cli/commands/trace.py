"""
`toolkit trace`: show the spans in a file as a tree, with times, kinds, tokens and money.

Each line of the file has one or more spans in the JSON of OTLP, as `--trace`, `TraceFile` and collectors write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import click

from ..._plumbing.wording import format_count, format_dollars
from ...telemetry.names import Names
from ..command import subcommand
from ..display.lines import format_duration, format_time
from ..failures import Failure
from ..output import Output

__all__ = ["SpanNode", "build_tree", "command", "read_spans", "walk_tree"]

_MAX_INDENT = 40
_KINDS = (Names.KIND, Names.RUN_STATUS, Names.FLOW_STATUS, Names.ERROR_TYPE)


@dataclass(slots=True, kw_only=True)
class SpanNode:
    """
    A span of a file, and the spans inside it.

    Attributes:
        start: When it started, in seconds since 1970.
        kind: How it ended: the kind of a result, the status of a run or a flow, or the type of an error.
        cost: What it has cost with all that is inside it, in dollars or the currency of the prices.
        links: The ids of the spans in which it has waited for a person.
    """

    trace: str
    span: str
    parent: str
    name: str
    start: float
    seconds: float
    kind: str
    input_tokens: int
    output_tokens: int
    cost: float
    links: list[str]
    children: list[SpanNode] = field(default_factory=list, repr=False)


@subcommand("trace")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def command(output: Output, file: str) -> None:
    """Show the spans in FILE as a tree.

    For each run, question to a model, call and flow: when it started, how long it took,
    how it ended, the tokens that the model has read and written, and the money, with
    that of all spans inside it. A span that goes on after a person has answered names
    the span in which it waited. FILE is one that --trace or TraceFile has written, or a
    collector in JSON. The money for tokens is known if the settings had prices.

    \b
    Examples:
      toolkit agent builtin 'Why does the test fail?' --trace run.jsonl
      toolkit trace run.jsonl
    """
    unreadable: list[int] = []
    nodes = list(walk_tree(build_tree(read_spans(file, unreadable))))
    if not nodes:
        raise Failure(f"{file} has no spans; name a file that --trace or TraceFile has written")
    if unreadable:
        output.note(f"left out, because they cannot be read: {format_count(len(unreadable), 'line')} of the file")
    if output.is_json:
        names = [item.name for item in fields(SpanNode) if item.name != "children"]
        output.json([{"depth": depth, **{name: getattr(node, name) for name in names}} for node, depth, _ in nodes])
        return
    numbers = {node.span: str(number) for number, (node, _, _) in enumerate(nodes, 1)}
    rows = [(str(number), *_format_span(*row, numbers)) for number, row in enumerate(nodes, 1)]
    output.table(["", "span", "start", "took", "kind", "read", "written", "cost", "goes on from"], rows)


def _format_span(node: SpanNode, depth: int, root: SpanNode, numbers: Mapping[str, str]) -> tuple[str, ...]:
    return (
        "  " * min(depth, _MAX_INDENT) + node.name,
        format_time(node.start) if node is root else f"+{format_duration(max(0.0, node.start - root.start))}",
        format_duration(node.seconds),
        node.kind.replace("_", " "),
        f"{node.input_tokens:,}" if node.input_tokens else "",
        f"{node.output_tokens:,}" if node.output_tokens else "",
        format_dollars(node.cost) if node.cost else "",
        ", ".join(numbers.get(link, link) for link in node.links),
    )


def read_spans(path: str, unreadable: list[int]) -> Iterator[SpanNode]:
    """Yield the spans of a file. The numbers of lines that cannot be read are added to *unreadable*."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                spans = [
                    _read_span(span)
                    for resource in json.loads(line)["resourceSpans"]
                    for scope in resource.get("scopeSpans", ())
                    for span in scope.get("spans", ())
                ]
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
                unreadable.append(number)
            else:
                yield from spans


def _read_span(span: Mapping[str, Any]) -> SpanNode:
    # A value of the protocol is an object whose only key says of what type it is.
    attributes = {item["key"]: next(iter(item["value"].values()), None) for item in span.get("attributes", ())}
    start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return SpanNode(
        trace=str(span["traceId"]),
        span=str(span["spanId"]),
        parent=str(span.get("parentSpanId") or ""),
        name=str(span["name"]),
        start=start / 1e9,
        seconds=max(0, end - start) / 1e9,
        kind=next((str(attributes[name]) for name in _KINDS if attributes.get(name)), ""),
        input_tokens=int(attributes.get(Names.INPUT_TOKENS) or 0),
        output_tokens=int(attributes.get(Names.OUTPUT_TOKENS) or 0),
        cost=float(attributes.get(Names.COST) or 0),
        links=[str(link["spanId"]) for link in span.get("links", ())],
    )


def build_tree(spans: Iterable[SpanNode]) -> list[SpanNode]:
    """Return the *spans* whose parent is not among them, the oldest first, with the others inside them."""
    ordered = sorted({(span.trace, span.span): span for span in spans}.values(), key=lambda span: span.start)
    by_id = {(span.trace, span.span): span for span in ordered}
    roots: list[SpanNode] = []
    for span in ordered:
        parent = by_id.get((span.trace, span.parent))
        (roots if parent is None else parent.children).append(span)
    reached = {id(span) for span, _, _ in walk_tree(roots)}
    for span in ordered:
        if id(span) not in reached:  # it is its own parent, or that of its parents
            by_id[span.trace, span.parent].children.remove(span)
            roots.append(span)
            reached |= {id(inner) for inner, _, _ in walk_tree([span])}
    for span, _, _ in reversed(list(walk_tree(roots))):
        span.cost += sum(child.cost for child in span.children)
    return roots


def walk_tree(roots: Iterable[SpanNode]) -> Iterator[tuple[SpanNode, int, SpanNode]]:
    """Yield each span, how deep it is, and the outermost span around it. A span comes before those inside it."""
    waiting = [(root, 0, root) for root in roots][::-1]
    while waiting:
        span, depth, root = waiting.pop()
        yield span, depth, root
        waiting += [(child, depth + 1, root) for child in reversed(span.children)]
