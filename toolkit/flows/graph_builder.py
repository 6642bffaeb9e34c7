"""
Build the graph of a flow from its steps, with the tools for the check and the undo of a step.

Both tools are called like any other: rules, hooks, time limits and the audit log see them, under the names `edit.check`
and `edit.undo`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from ..context import Injected
from ..errors import DefinitionError, ToolError
from ..functions.callables import is_coroutine_function
from ..spec import Tool
from ..values.codecs.refusals import Unresolved
from ..values.codecs.rules import create_hint_reader
from .graph import Graph, StepNode
from .mistakes import Mistake, find_mistakes, raise_mistakes
from .step_hints import StepHints, count_data_parameters, read_step_hints
from .step_options import StepSpec
from .value_types import FlowTypes, FlowValue, TypeRef, read_hints

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
            graph.types.add_list(graph.nodes[edge.source].returns[0].item)


_MAX_VALUES = 2
_TAGGED = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "value": {}},
    "required": ["type", "value"],
    "additionalProperties": False,
}
_CHECK_SCHEMA = {
    "type": "object",
    "properties": {"before": _TAGGED, "after": _TAGGED},
    "required": ["before", "after"],
    "additionalProperties": False,
}
_UNDO_SCHEMA = {**_CHECK_SCHEMA, "properties": {"before": _TAGGED, "after": {"anyOf": [_TAGGED, {"type": "null"}]}}}


def build_check_tool(spec: StepSpec, types: FlowTypes, mistakes: list[str]) -> Tool | None:
    """Return the tool that checks a step, or None if there is no check or a mistake in it."""
    if spec.check is None:
        return None
    call = _build_caller(spec.check, "check", 2, types, mistakes, lambda answer: read_answer(answer, spec.name))
    if call is None:
        return None
    timeout: dict[str, Any] = {} if (seconds := spec.check_timeout_seconds) is None else {"timeout_seconds": seconds}
    description = f"Check what the step `{spec.name}` returned."
    return Tool.from_schema(f"{spec.name}.check", description, _CHECK_SCHEMA, call, read_only=True, **timeout)


def build_undo_tool(spec: StepSpec, types: FlowTypes, mistakes: list[str]) -> Tool | None:
    """Return the tool that undoes a step, or None if there is no undo or a mistake in it."""
    if spec.undo is None:
        return None
    call = _build_caller(spec.undo, "undo", 1, types, mistakes, lambda answer: None)
    if call is None:
        return None
    description = f"Remove the effect of the step `{spec.name}`."
    # It has to work also if the step has done nothing, so it may run again after it was cut off.
    return Tool.from_schema(f"{spec.name}.undo", description, _UNDO_SCHEMA, call, idempotent=True)


def read_answer(answer: Any, step: str) -> list[str]:
    """Return the problems in what a check returned, or raise `ToolError` if it is something else."""
    if answer is None:
        return []
    texts = [answer] if isinstance(answer, str) else answer
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise ToolError(
            f"the check of `{step}` returned {answer!r:.60}; a check returns None, a text, or a list of texts"
        )
    return [text if text.strip() else "the check gave no reason" for text in texts]


def _build_caller(
    function: Callable[..., Any],
    role: str,
    fewest: int,
    types: FlowTypes,
    mistakes: list[str],
    convert: Callable[[Any], Any],
) -> Callable[..., Any] | None:
    """Return a handler of one JSON object that calls *function* with the values in it, and converts its answer."""
    try:
        least, highest, injected = count_data_parameters(function)
    except ValueError as error:
        mistakes.append(f"`{role}` cannot be called: {error}")
        return None
    if highest < fewest or least > _MAX_VALUES:
        wanted = "the value before and the value after" if fewest == 2 else "the value before, and the value after"
        mistakes.append(f"`{role}` takes {least} values; it is called with {wanted}")
        return None
    count = min(highest, _MAX_VALUES)
    signature = inspect.Signature(
        [
            inspect.Parameter("arguments", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=dict),
            *(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, Injected()])
                for name, kind in injected.items()
            ),
        ]
    )

    def read_values(arguments: dict[str, Any]) -> list[Any]:
        stored = (arguments["before"], arguments["after"])[:count]
        return [
            None if data is None else types.decode(FlowValue.from_json(data, role), f"the {role}") for data in stored
        ]

    if is_coroutine_function(function):

        async def call_async(arguments: dict[str, Any], **resources: Any) -> Any:
            return convert(await function(*read_values(arguments), **resources))

        call: Callable[..., Any] = call_async
    else:

        def call_sync(arguments: dict[str, Any], **resources: Any) -> Any:
            answer = function(*read_values(arguments), **resources)
            return _convert_later(answer, convert) if inspect.isawaitable(answer) else convert(answer)

        call = call_sync
    call.__signature__ = signature  # type: ignore[attr-defined]  # read by `inspect.signature`
    return call


async def _convert_later(answer: Any, convert: Callable[[Any], Any]) -> Any:
    return convert(await answer)
