"""
The tools for the check and the undo of a step.

Both are calls like any other: rules, hooks, time limits and the audit log see them, under the names `edit.check` and
`edit.undo`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from ..context import Injected
from ..errors import ToolError
from ..functions.callables import is_coroutine_function
from ..spec import Tool
from .step_hints import count_data_parameters
from .step_options import StepSpec
from .value_types import FlowTypes, FlowValue

__all__ = ["build_check_tool", "build_undo_tool"]

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
