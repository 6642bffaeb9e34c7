"""
The value that a step returned, with its type.

The type selects the next step. So it is that of the object which the function returned, and is not guessed from the
JSON: two classes with the same fields have the same JSON, and mean different things.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .._plumbing.wording import MASK
from ..results import ToolResult
from .graph import StepNode
from .value_types import FlowTypes, FlowValue, TypeRef

__all__ = ["find_value"]


def find_value(result: ToolResult, node: StepNode, types: FlowTypes) -> FlowValue:
    """
    Return what the step returned. If a hook has changed the fields of the value, its type stays.

    Raises:
        ValueError: The value cannot go on. The message ends the sentence "the step ran, but".
    """
    value = result.returned
    if value is None and result.value is not None:
        return _read_foreign_value(result.value, node, types)
    ref = types.find_ref(value, node.returns)
    if ref is None:
        raise ValueError(_explain_undeclared(value, node))
    own = types.encode(value, ref)
    if node.tool.signature.output.codec is None or _is_same_json(own.value, result.value):
        return own
    try:
        return types.read(result.value, ref)
    except ValueError as error:
        raise ValueError(f"a hook changed its value, a `{ref.name}`, to one of another type: {error}") from error


def _read_foreign_value(form: Any, node: StepNode, types: FlowTypes) -> FlowValue:
    """Return a value of which only the JSON is there, because it was masked, or a hook has put it in place."""
    if MASK in json.dumps(form):
        raise ValueError(
            f"its value holds a secret, and was masked as {MASK}; give secrets to the steps that need them as "
            f"resources, with `Inject[T]`"
        )
    values: list[FlowValue] = []
    problems: list[str] = []
    for ref in node.returns:
        try:
            values.append(types.read(form, ref))
        except ValueError as error:
            problems.append(str(error))
    if len(values) == 1:
        return values[0]
    if not values:
        raise ValueError(f"a hook replaced its value with one of another type: {'; '.join(problems)}")
    raise ValueError(
        f"a hook replaced its value with one that can be {_name_types([types[value.type] for value in values])}; let "
        f"the hook change the value of the result that it got, so that the type stays"
    )


def _is_same_json(one: Any, other: Any) -> bool:
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # a hook may have put anything there
        return False


def _explain_undeclared(value: Any, node: StepNode) -> str:
    return (
        f"it returned {_show_type(value)}, and `{node.name}` ({node.place}) declares {_name_types(node.returns)}; "
        f"return a value of exactly this type, or add the other one to the annotation"
    )


def _name_types(refs: Iterable[TypeRef]) -> str:
    return " or ".join(f"`{ref.name}`" for ref in refs)


def _show_type(value: Any) -> str:
    if type(value) is list:
        names = sorted({type(item).__name__ for item in value})
        return f"a list of {' and '.join(names)}" if names else "an empty list"
    return f"`{type(value).__name__}`"
