"""
The options of a step: the facts of its tool, and what the flow does before and after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import DefinitionError, find_nearest
from ..facts import Options
from ..functions.namespaces import Scope
from ..spec import Tool

__all__ = ["CheckAnswer", "StepOptions", "StepSpec", "split_options"]

CheckAnswer: TypeAlias = "str | Sequence[str] | None"


class StepOptions(Options, total=False):
    """
    The options of a step: those of `@tool`, and these.

    check: A function of the value that the step got and of the value that it returned. It returns None, a problem or
        several. It changes nothing. It may have parameters `Context` and `Inject[T]`.
    check_timeout_seconds: How long the check may take.
    undo: A function that removes the effect of the step. It gets the value that the step got, and, if it has a second
        parameter, the value that the step returned, which is None if the step did not return. It has to work also if
        the step has done nothing or only a part, because it runs after an attempt that was cut off, too.
    attempts: How often the step is tried in one visit; 1 unless stated.
    back_to: The step to go back to after the last attempt, as a function or by name.
    start: Whether a flow may begin with this step. If no step says so, the flow begins with the first one.
    """

    check: Callable[..., CheckAnswer | Awaitable[CheckAnswer]]
    check_timeout_seconds: float
    undo: Callable[..., Any]
    attempts: int
    back_to: Callable[..., Any] | str
    start: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """
    A step as its author wrote it.

    Attributes:
        tool: The tool; None if the function cannot be one, as *mistake* says.
        place: The file and the line of the function, as in `release.py:12`.
        scope: Where the names in its annotations are looked up. It holds the frames of the functions around the step,
            so the flow drops it when the names are read.
    """

    name: str
    function: Callable[..., Any]
    tool: Tool | None
    mistake: str | None
    place: str
    scope: Scope | None
    check: Callable[..., Any] | None = None
    check_timeout_seconds: float | None = None
    undo: Callable[..., Any] | None = None
    attempts: int = 1
    back_to: Callable[..., Any] | str | None = None
    start: bool = False


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "check": (callable, "a function of the value before and the value after"),
    "check_timeout_seconds": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf"),
        "a number of seconds above 0",
    ),
    "undo": (callable, "a function of the value before"),
    "attempts": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
        "a whole number from 1",
    ),
    "back_to": (lambda value: callable(value) or (isinstance(value, str) and bool(value)), "a step, or its name"),
    "start": (lambda value: isinstance(value, bool), "True or False"),
}

_REFUSED = {
    "background": "the flow needs what the step returns, and a call in the background returns the name of a job",
    **dict.fromkeys(("max_chars", "max_bytes"), "the next step gets all that a step returns, and nothing is cut"),
    "flat": "a step takes one value, and a record of the flow holds it under the name of the parameter",
    "schema": "the arguments of a step are described by the type of its parameter",
}


def split_options(options: Mapping[str, Any], subject: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of the tool and those of the step; raise `DefinitionError` that names all mistakes."""
    given = {name: value for name, value in options.items() if value is not None}
    mistakes = [_explain_unknown(name) for name in options if name not in StepOptions.__annotations__]
    mistakes += [f"a step cannot have `{name}`: {_REFUSED[name]}" for name in given.keys() & _REFUSED.keys()]
    own = {name: value for name, value in given.items() if name in _CHECKS}
    for name, value in own.items():
        fits, expected = _CHECKS[name]
        if not fits(value):
            mistakes.append(f"`{name}` has to be {expected}, got {value!r:.60}")
    if "check_timeout_seconds" in own and "check" not in own:
        mistakes.append("`check_timeout_seconds` needs a `check`")
    if mistakes:
        raise DefinitionError(f"{subject}: {'; '.join(mistakes)}")
    return {name: value for name, value in given.items() if name not in _CHECKS}, own


def _explain_unknown(name: str) -> str:
    near = find_nearest(name, StepOptions.__annotations__, max_items=1)
    remedy = f"did you mean `{near[0]}`?" if near else f"the options are those of `@tool`, and {', '.join(_CHECKS)}"
    return f"unknown option `{name}`; {remedy}"
