from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from toolkit.errors import BadArgs, DefinitionError, Problem
from toolkit.functions.checker import Checker, run_custom_validator
from toolkit.spec import Tool
from toolkit.values.codecs.base import Codec

from ..taking import tool_for


def checker(decode: Any, schema: Any = None) -> Checker:
    return Checker("it", schema or {"type": "object"}, Codec(schema={}, decode=decode, encode=dict))


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (ValueError("too late"), "too late"),
        (KeyError(), "KeyError"),
        (RecursionError("deep"), "deep"),
        (Unspeakable(), "Unspeakable"),
        (ValueError("x" * 10_000), "x" * 300 + "..."),
    ],
    ids=lambda value: str(type(value)),
)
def test_an_error_of_decoding_is_a_problem_of_the_call(raised, words):
    """A converter may raise any exception, and its message is cut."""

    def decode(value):
        raise raised

    with pytest.raises(BadArgs) as caught:
        checker(decode).check({})
    assert str(caught.value) == words
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#"}, "nested too deeply to be checked"),
        ({"$ref": "#/nowhere"}, "could not be checked"),
    ],
    ids=str,
)
def test_a_judge_that_breaks_down_refuses(schema, words):
    """An exception inside jsonschema is a refusal."""
    with pytest.raises(BadArgs, match=words):
        checker(dict, schema).check({"a": 10**400})


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        (None, []),
        (True, []),
        ([], []),
        (False, ["refused by the tool's own check"]),
        ("too late", ["too late"]),
        (Problem("too late", ("a",)), ["a: too late"]),
        (["one", Problem("two", ("a", 0)), None], ["one", "a[0]: two"]),
        ({"a": "one", ("b", 1): "two", 2: "three"}, ["a: one", "b[1]: two", "[2]: three"]),
        (5, ["the tool's own check returned int; it has to return problems or None"]),
        (ValueError("one"), ["one"]),
        (ValueError(), ["the tool's own check raised ValueError"]),
        (Unspeakable(), ["the tool's own check raised Unspeakable"]),
        (BadArgs([Problem("one", ("a",)), Problem("two")]), ["a: one", "two"]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.anyio
async def test_the_check_of_an_author_may_return_or_raise_problems(answer, problems):
    """It may be sync or async, and the problems may have any form."""

    def validate(arguments):
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def later(arguments):
        return validate(arguments)

    assert [str(problem) for problem in run_custom_validator(validate, {}, wait=False)] == problems
    assert [str(problem) for problem in run_custom_validator(validate, {}, wait=True)] == problems
    assert [str(problem) for problem in await run_custom_validator(later, {}, wait=True)] == problems


@pytest.mark.parametrize("kind", ["coroutine", "future"])
def test_an_async_check_is_refused_in_a_sync_call(kind):
    """A check that cannot be awaited must not be skipped."""

    class Later:
        def __await__(self):
            yield

    async def later(arguments):
        return None

    validate = later if kind == "coroutine" else lambda arguments: Later()
    with pytest.raises(DefinitionError, match="check_async"):
        run_custom_validator(validate, {}, wait=False)


def test_problems_that_come_one_by_one_may_end_in_an_error():
    """A generator of problems that fails is a check that fails."""

    def validate(arguments):
        yield "one"
        raise ValueError("two")

    assert [str(problem) for problem in run_custom_validator(validate, {}, wait=False)] == ["two"]


def test_a_judge_is_made_once_and_only_if_needed():
    """The fast path needs none; the first refusal makes the one that is kept."""
    int_checker = tool_for(int).about.checker
    assert int_checker.check({"x": 1}) == {"x": 1}
    assert int_checker._validator is None
    assert int_checker.validator is int_checker.validator


def test_words_are_made_when_someone_reads():
    """Changing the arguments afterwards does not break the wording."""
    arguments: dict[str, Any] = {"y": 1}
    with pytest.raises(BadArgs) as caught:
        tool_for(str).check(arguments)
    arguments.clear()
    arguments["x"] = 5
    assert [problem.path for problem in caught.value.problems] == [("x",), ("y",)]
    assert str(caught.value)


def test_code_that_python_cannot_compile_leaves_all_to_the_judge():
    """Too large a type is slow, not wrong."""
    hint: Any = int
    for _ in range(45):
        hint = list[hint]
    tool = tool_for(hint)
    value: Any = 5
    for _ in range(45):
        value = [value]
    assert tool.check({"x": value}) == {"x": value}

    def emit(writer, value):
        raise RecursionError

    broken = Checker("it", {"type": "object"}, Codec(schema={}, decode=dict, encode=dict, emit=emit))
    assert broken.check({"a": 1}) == {"a": 1}


def test_conversion_problems_are_reported_together_with_those_of_the_schema():
    """So one correction is enough."""

    def plan(start: date, days: int, end: date | None = None) -> None:
        """Plan."""

    with pytest.raises(BadArgs) as refused:
        Tool.of(plan).check({"start": "2026-02-30", "days": "3", "end": 5})
    assert [problem.path for problem in refused.value.problems] == [("days",), ("end",), ("start",)]


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        ({"a": None}, []),
        ("", []),
        ({"a": ["too small", "odd"]}, ["a: too small", "a: odd"]),
        ({"a": {"b": "wrong"}}, ["a.b: wrong"]),
        (b"x", ["the tool's own check returned bytes; it has to return problems or None"]),
    ],
)
def test_an_authors_check_may_answer_field_by_field(answer, problems):
    """A dictionary goes as deep as it likes, and None means fine wherever it stands."""
    assert [str(problem) for problem in run_custom_validator(lambda arguments: answer, {}, wait=False)] == problems
