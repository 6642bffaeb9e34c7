"""
Strategies: arguments that fit a tool, arguments that do not, and calls of both.

    @given(arguments(read_file))
    def test_it_reads_or_says_why(given): ...

Everything is drawn straight from the schema, and held against the judge that a
call has to pass. The smallest example is the smallest call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...catalogs.views import CatalogView
from ...errors import BadArgs, DefinitionError
from ...results import ToolCall
from ...spec import Tool
from .filtering import Guard, Objection, failed_check
from .generating import fitting, nearly_fitting
from .lazy_hypothesis import Strategy, st
from .mistakes import KINDS, Limits, Mistake, hostilities, mistakes, not_objects
from .subjects import Subject, Testable, subject_of
from .unsupported import Unsupported

__all__ = ["accepted_by", "arguments", "bad_arguments", "batches", "calls", "mistaken_arguments", "values"]

_TRIES = 10
"""How often a good call is drawn to make a bad one of, where hardly one is good."""


def arguments(tool: Testable) -> Strategy:
    """
    JSON arguments that *tool* accepts: a `Tool`, a function, or a bare schema.

    Of a tool they fit the schema, can be decoded, and pass its own `validate` unless that is async; of a schema
    they fit that.

    Raises:
        Unsupported: Nothing fits the schema, or too little of what is drawn; also while drawing.
    """
    subject = subject_of(tool)
    return _accepted(subject, fitting(subject.reading, subject.name))


def values(tool: Tool | Callable[..., Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The decoded Python arguments of *tool*, defaults filled in: what its function receives."""
    subject = subject_of(tool)
    if subject.tool is None:
        raise TypeError("values wants a tool or a function; a bare schema has nothing to decode with")
    return arguments(subject.tool).map(subject.tool.about.checker.check)


def bad_arguments(tool: Testable) -> Strategy:
    """
    Arguments that the schema of *tool* refuses, by jsonschema's verdict: near misses and hostile ones.

    Raises:
        Unsupported: The schema accepts everything.
    """
    return mistaken_arguments(tool).map(lambda mistake: mistake.made)


def mistaken_arguments(tool: Testable) -> st.SearchStrategy[Mistake]:
    """The same with what is wrong, as a `Mistake`: in words, where, and the arguments."""
    subject = subject_of(tool)
    judge, limits = subject.reading.judge, Limits.of(subject.reading.root.schema)
    good = _good(subject)
    kinds = st.sampled_from(KINDS)

    @st.composite
    def mistaken(draw: st.DrawFn) -> Mistake:
        value = None if good is None else _first(draw, good, lambda drawn: _accepts(judge, drawn))
        if good is not None and not _accepts(judge, value):
            return Mistake("what nearly fits", (), value)
        changes = not_objects() if good is None else [*mistakes(value, limits), *hostilities(value), *not_objects()]
        kind = draw(kinds)
        wanted = [change for change in changes if change[0] == kind]
        start = draw(st.integers(0, max(0, len(wanted) - 1)))
        # Not every change is a mistake: the first one that is, from where the draw points to.
        for what, path, make in [*wanted[start:], *wanted[:start], *changes]:
            made = make()
            if not _accepts(judge, made):
                return Mistake(what, path, made)
        raise failed_check()(f"{subject.name} accepts everything that was tried", keyword="type", place="#")

    return mistaken()


def calls(catalog: CatalogView) -> st.SearchStrategy[ToolCall]:
    """Calls of the tools of *catalog*, with arguments that fit."""
    tools = list(catalog)
    if not tools:
        raise ValueError("there are no tools in the catalog, so there is nothing to call")
    return st.one_of([_calls_of(tool) for tool in tools])


def batches(catalog: CatalogView, *, most: int = 5) -> st.SearchStrategy[list[ToolCall]]:
    """Lists of one to *most* calls, each with an id of its own."""
    if most < 1:
        raise ValueError(f"most has to be at least 1, got {most}")

    def numbered(batch: list[ToolCall]) -> list[ToolCall]:
        return [ToolCall(call.name, call.arguments, f"call_{number}") for number, call in enumerate(batch, 1)]

    return st.lists(calls(catalog), min_size=1, max_size=most).map(numbered)


def _calls_of(tool: Tool) -> st.SearchStrategy[ToolCall]:
    name = tool.name
    return arguments(tool).map(lambda given: ToolCall(name, given, "call_1"))


def _accepted(subject: Subject, strategy: Strategy) -> Strategy:
    """What *strategy* draws and the tool accepts; a bare schema has been asked already."""
    if subject.tool is None:
        return strategy
    tool = subject.tool
    # The schema that is shown has fitted; whether what is enforced agrees is the tool's own affair.
    return Guard(lambda value: _refusal(tool, value), subject.name).of(strategy)


def accepted_by(tool: Tool, value: Any) -> dict[str, Any]:
    """What *tool* decodes *value* to; `BadArgs` if it refuses it. An async `validate` is not asked."""
    try:
        return tool.check(value)
    except DefinitionError:
        return tool.about.checker.check(value)


def _refusal(tool: Tool, value: Any) -> Objection | None:
    try:
        accepted_by(tool, value)
    except BadArgs as error:
        place = "/".join(map(str, error.problems[0].path)) if error.problems else ""
        return "validate" if tool.facts.validate is not None else "format", f"#/{place}"
    except Exception:  # noqa: BLE001 -- somebody's codec; what cannot be checked is not accepted
        return "format", "#"
    return None


def _good(subject: Subject) -> Strategy | None:
    try:
        return nearly_fitting(subject.reading, subject.name)
    except Unsupported:
        return None


def _first(draw: st.DrawFn, strategy: Strategy, fits: Callable[[Any], bool]) -> Any:
    """The first value that *fits*; the last of a few if none does."""
    for _ in range(_TRIES - 1):
        value = draw(strategy)
        if fits(value):
            return value
    return draw(strategy)


def _accepts(judge: Any, value: Any) -> bool:
    try:
        return bool(judge.is_valid(value))
    except (ArithmeticError, ValueError, RecursionError):
        return False  # it cannot even be judged, so it is refused
