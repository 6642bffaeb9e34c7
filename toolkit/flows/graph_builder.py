"""
Build the graph of a flow from its steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import DefinitionError
from ..values.codecs.refusals import Unresolved
from ..values.codecs.rules import create_hint_reader
from .graph import Graph, StepNode
from .mistakes import Mistake, find_mistakes, raise_mistakes
from .step_hints import StepHints, read_step_hints
from .step_options import StepSpec
from .step_tools import build_check_tool, build_undo_tool
from .value_types import FlowTypes, TypeRef, read_hints

__all__ = ["build_graph"]

# The next step gets what a step returns, and no model reads it, so no text is cut.
_UNLIMITED = 2**62

_MAX_NAME_CHARS = 64


def build_graph(flow: str, specs: Mapping[str, StepSpec], declared: Any, known_hints: dict[str, StepHints]) -> Graph:
    """
    Return the graph of the flow; raise `DefinitionError` that lists all its mistakes if it has any.

    *declared* is the annotation in `Flow[...]`. The types of the steps that were read are added to *known_hints*.
    """
    if not specs:
        raise DefinitionError(f"the flow `{flow}` has no steps; write `@{flow}.step` above a function")
    mistakes: list[Mistake] = []
    types = FlowTypes()
    nodes: dict[str, StepNode] = {}
    for spec in specs.values():
        own: list[str] = []
        if spec.mistake is not None:
            own.append(spec.mistake)
        hints = known_hints.get(spec.name) or read_step_hints(spec, own)
        if hints is not None:
            known_hints[spec.name] = hints
            _add_types(hints, types, own)
        check = undo = None
        if _have_names(spec, specs, own):
            check, undo = build_check_tool(spec, types, own), build_undo_tool(spec, types, own)
        mistakes += [(f"`{spec.name}` ({spec.place})", text) for text in dict.fromkeys(own)]
        if hints is not None and spec.tool is not None and not own:
            nodes[spec.name] = StepNode(
                name=spec.name,
                tool=replace(spec.tool, facts=replace(spec.tool.facts, max_chars=_UNLIMITED, max_bytes=_UNLIMITED)),
                place=spec.place,
                parameter=hints.parameter,
                takes=hints.takes,
                returns=hints.returns,
                attempts=spec.attempts,
                check=check,
                undo=undo,
                back_to=_find_target(spec.back_to, specs),
                start=spec.start,
            )
    ends = _read_ends(declared, mistakes)
    graph = Graph(nodes, types, _find_starts(specs, nodes))
    if len(nodes) == len(specs):  # with a step left out, the others would be called unreachable
        mistakes += find_mistakes(graph, specs, ends)
    raise_mistakes(flow, mistakes)
    _add_joined_types(graph)
    return graph


def _have_names(spec: StepSpec, specs: Mapping[str, StepSpec], mistakes: list[str]) -> bool:
    """Return whether the check and the undo of a step can have their names, and add a mistake for each that cannot."""
    count = len(mistakes)
    for role, function in (("check", spec.check), ("undo", spec.undo)):
        name = f"{spec.name}.{role}"
        if function is not None and name in specs:
            mistakes.append(f"its {role} is called `{name}`, as another step is; give that step another `name=`")
        elif function is not None and len(name) > _MAX_NAME_CHARS:
            mistakes.append(
                f"its {role} would be called `{name}`, and a name has at most {_MAX_NAME_CHARS} characters; give the "
                f"step a shorter `name=`"
            )
    return len(mistakes) == count


def _add_types(hints: StepHints, types: FlowTypes, mistakes: list[str]) -> None:
    places = [(f"`{hints.parameter}`", hints.takes), *(("the return value", ref) for ref in hints.returns)]
    for place, ref in places:
        try:
            types.add(ref, hints.build_codec)
        except Unresolved as missing:
            mistakes.append(f"{place}: `{missing.name}` is not defined; define or import it")
        except (DefinitionError, TypeError, ValueError, RecursionError) as error:
            mistakes.append(f"{place}: {error}")


def _find_target(back_to: Any, specs: Mapping[str, StepSpec]) -> str | None:
    if isinstance(back_to, str):
        return back_to if back_to in specs else None
    return next((spec.name for spec in specs.values() if spec.function is back_to), None)


def _find_starts(specs: Mapping[str, StepSpec], nodes: Mapping[str, StepNode]) -> tuple[str, ...]:
    marked = tuple(name for name, spec in specs.items() if spec.start and name in nodes)
    return marked or tuple(name for name in list(specs)[:1] if name in nodes)


def _read_ends(declared: Any, mistakes: list[Mistake]) -> Sequence[TypeRef] | None:
    if declared is None:
        return None
    try:
        return read_hints(declared, create_hint_reader().resolve)
    except Unresolved as missing:
        mistakes.append(("", f"`Flow[...]` names `{missing.name}` in quotes; write it without quotes, after its class"))
    except DefinitionError as error:
        mistakes.append(("", f"the ends in `Flow[...]`: {error}"))
    return None


def _add_joined_types(graph: Graph) -> None:
    """Add the lists that no step names, because they come out of a step that runs for each item."""
    for edge in graph.list_edges():
        if edge.is_join and edge.source is not None and edge.type not in graph.types:
            item = graph.nodes[edge.source].returns[0].item
            graph.types.add(TypeRef(item, is_list=True), _refuse_new_class)


def _refuse_new_class(item: type) -> Any:
    raise AssertionError(f"{item} has a codec already, because a step returns it")  # pragma: no cover
