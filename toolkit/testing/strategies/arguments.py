"""
Strategies that draw arguments that fit a tool, arguments that do not fit it, and calls.

    @given(arguments(read_file))
    def test_it_reads_or_says_why(given): ...

Every value is drawn from the schema, and then checked by the same validator that checks a call. Hypothesis shrinks an
example to the smallest call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...catalogs.views import CatalogView
from ...errors import BadArgs, DefinitionError, Problem
from ...results import ToolCall
from ...spec import Tool
from ...values.schemas.validator import check_schema
from ...values.strictjson.checks import copy_json
from .base import Strategy, Unsupported, st
from .generating import Guard, Objection, build_failed_check_class, fitting_values, nearly_fitting_values
from .mistakes import MISTAKE_KINDS, BoundaryValues, Mistake, hostile_changes, non_object_changes, possible_mistakes
from .schema_parts import ParsedSchema

__all__ = ["arguments", "bad_arguments", "batches", "calls", "check_arguments", "mistaken_arguments", "values"]

_MAX_DRAWS = 10
"""How many times good arguments are drawn as the base for a mistake, if few of the drawn arguments fit."""

Testable: TypeAlias = "Tool | Callable[..., Any] | Mapping[str, Any] | bool"
"""A tool, a function that is or could be a tool, or a schema."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """The tool or the schema for which arguments are drawn, and its name in messages. A bare schema has no tool."""

    name: str
    parsed_schema: ParsedSchema
    tool: Tool | None


def arguments(tool: Testable) -> Strategy:
    """
    Return a strategy for JSON arguments that *tool* accepts.

    The arguments fit the tool's schema, can be decoded, and pass its own `validate`, unless that is async. Some of them
    are the tool's own `examples`. For a bare schema, the arguments fit the schema.

    Args:
        tool: A `Tool`, a function, or a bare schema.

    Raises:
        Unsupported: No value fits the schema, or too few of the drawn values do. It can also be raised while drawing.
    """
    subject = _find_subject(tool)
    strategy = fitting_values(subject.parsed_schema, subject.name)
    if subject.tool is None:
        return strategy
    if examples := subject.tool.facts.examples:
        # A value that is drawn at random is seldom a key of the tool's data; the author's examples are.
        strategy |= st.sampled_from(examples).map(copy_json)
    # The values fit the schema that models see. Whether the tool accepts them is for the tool to decide.
    return Guard(functools.partial(_find_objection, subject.tool), subject.name).restrict(strategy)


def values(tool: Tool | Callable[..., Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the decoded Python arguments, with defaults, that the function of *tool* receives."""
    subject = _find_subject(tool)
    if subject.tool is None:
        raise TypeError("values wants a tool or a function; a bare schema has nothing to decode with")
    return arguments(subject.tool).map(subject.tool.about.checker.check)


def bad_arguments(tool: Testable) -> Strategy:
    """
    Return a strategy for arguments that the schema of *tool* refuses: near misses and hostile values.

    The jsonschema validator decides whether the schema refuses them.

    Raises:
        Unsupported: The schema accepts everything that was tried. It is raised while drawing.
    """
    return mistaken_arguments(tool).map(lambda mistake: mistake.arguments)


def mistaken_arguments(tool: Testable) -> st.SearchStrategy[Mistake]:
    """Return a strategy for the arguments of `bad_arguments`, each as a `Mistake` that says what is wrong and where."""
    subject = _find_subject(tool)
    judge, limits = subject.parsed_schema.validator, BoundaryValues.of(subject.parsed_schema.root.schema)
    try:
        good: Strategy | None = nearly_fitting_values(subject.parsed_schema, subject.name)
    except Unsupported:
        good = None
    kinds = st.sampled_from(MISTAKE_KINDS)

    @st.composite
    def draw_mistake(draw: st.DrawFn) -> Mistake:
        value = None if good is None else _draw_first(draw, good, lambda drawn: _accepts(judge, drawn))
        if good is not None and not _accepts(judge, value):
            return Mistake("what nearly fits", (), value)
        changes = (
            non_object_changes()
            if good is None
            else [*possible_mistakes(value, limits), *hostile_changes(value), *non_object_changes()]
        )
        kind = draw(kinds)
        preferred = [change for change in changes if change[0] == kind]
        start = draw(st.integers(0, max(0, len(preferred) - 1)))
        # Not every change is a mistake. Take the first change that is one, beginning where the draw points to.
        for description, path, make in [*preferred[start:], *preferred[:start], *changes]:
            candidate = make()
            if not _accepts(judge, candidate):
                return Mistake(description, path, candidate)
        raise build_failed_check_class()(f"{subject.name} accepts everything that was tried", keyword="type", place="#")

    return draw_mistake()


def calls(catalog: CatalogView) -> st.SearchStrategy[ToolCall]:
    """Return a strategy for calls of the tools of *catalog*, with arguments that fit."""
    tools = list(catalog)
    if not tools:
        raise ValueError("there are no tools in the catalog, so there is nothing to call")
    return st.one_of([arguments(tool).map(functools.partial(ToolCall, tool.name, id="call_1")) for tool in tools])


def batches(catalog: CatalogView, *, max_calls: int = 5) -> st.SearchStrategy[list[ToolCall]]:
    """Return a strategy for lists of one to *max_calls* calls, in which each call has an id of its own."""
    if max_calls < 1:
        raise ValueError(f"max_calls has to be at least 1, got {max_calls}")

    def number_calls(batch: list[ToolCall]) -> list[ToolCall]:
        return [ToolCall(call.name, call.arguments, f"call_{number}") for number, call in enumerate(batch, 1)]

    return st.lists(calls(catalog), min_size=1, max_size=max_calls).map(number_calls)


def _find_subject(testable: Testable) -> Subject:
    if isinstance(testable, (Mapping, bool)):
        check_schema(testable, "the schema")
        return Subject("the schema", ParsedSchema(testable), None)
    if not isinstance(testable, Tool):
        if not callable(testable):
            raise TypeError(f"expected a tool, a function or a schema, got {type(testable).__name__}")
        testable = Tool.of(testable)
    return Subject(f"`{testable.name}`", ParsedSchema(testable.schema), testable)


def check_arguments(tool: Tool, value: Any) -> dict[str, Any]:
    """Return the decoded form of *value*; raise `BadArgs` if *tool* refuses it. An async `validate` is not called."""
    try:
        return tool.check(value)
    except DefinitionError:
        return tool.about.checker.check(value)


def _find_objection(tool: Tool, value: Any) -> Objection | None:
    try:
        check_arguments(tool, value)
    except BadArgs as error:
        problem = next(iter(error.problems), error)
        place = "/".join(map(str, problem.path)) if isinstance(problem, Problem) else ""
        return Objection(_name_check(tool, value), f"#/{place}", str(problem))
    except Exception as error:  # noqa: BLE001 -- a user's codec may raise anything; such a value is not accepted
        return Objection("decode", "#", f"{type(error).__name__}: {error}"[:300])
    return None


def _name_check(tool: Tool, value: Any) -> str:
    """Return what refuses *value*, which fits the schema of *tool*: the decoding of arguments or `validate`."""
    try:
        tool.about.checker.check(value)
    except BadArgs:
        return "decode"
    return "validate"


def _draw_first(draw: st.DrawFn, strategy: Strategy, predicate: Callable[[Any], bool]) -> Any:
    """Return the first drawn value that *predicate* accepts, or the last of `_MAX_DRAWS` values if it accepts none."""
    for _ in range(_MAX_DRAWS - 1):
        value = draw(strategy)
        if predicate(value):
            return value
    return draw(strategy)


def _accepts(validator: Any, value: Any) -> bool:
    try:
        return bool(validator.is_valid(value))
    except (ArithmeticError, ValueError, RecursionError):
        return False  # a value that the validator cannot judge is refused
