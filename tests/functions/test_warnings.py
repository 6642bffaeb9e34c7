"""What a tool cannot promise is said when it is decorated, once for a function, with the remedy."""

import abc
import asyncio
import functools
import io
import json
import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import IO, Annotated, Any, ContextManager, NoReturn, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, DefinitionError, Dispatcher, Tool, ToolkitWarning, register_codec, tool
from toolkit.docstrings.parsing import MAX_CHARACTERS
from toolkit.testing.laws.lints import lint


class Engine:
    """A class without a JSON form."""


class Shape:
    """A class without a JSON form, which has a subclass with one."""


@dataclass
class Circle(Shape):
    radius: int


@dataclass
class Garage:
    engine: Engine


class Readable(Protocol):
    def read_all(self) -> str: ...


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self): ...


class Registered:
    """A class with a registered codec."""


register_codec(Registered, encode=lambda value: "registered")


def warned(function, **options):
    """Return the texts of the warnings for *function*."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Tool.described(function, name="give", **options)
    return [str(warning.message) for warning in caught]


def returning(hint):
    def give():
        """Give."""

    give.__annotations__["return"] = hint
    return give


@pytest.mark.parametrize(
    "hint",
    [
        Engine,
        list[Engine],
        dict[str, Engine],
        Engine | None,
        Garage,
        Iterator[Engine],
        Awaitable[Engine],
        Annotated[Engine, 1],
    ],
    ids=str,
)
def test_a_return_type_without_a_json_form_is_warned_of_with_the_remedy(hint):
    (text,) = warned(returning(hint))
    assert "Engine` in the return annotation has no JSON form" in text
    assert "`register_codec(Engine, encode=...)`" in text


@pytest.mark.parametrize(
    "hint",
    [
        *(Callable[[], int], type, type[int], re.Match[str]),
        *(io.BytesIO, io.TextIOWrapper | None, IO[bytes]),
        *(AbstractContextManager[int], AbstractAsyncContextManager[int], ContextManager[int]),
        *(list[Iterator[int]], Iterable[Generator[int, None, None]], dict[str, AsyncIterator[int]], tuple[map, int]),
        *(list[Awaitable[int]], dict[str, asyncio.Future]),
    ],
    ids=str,
)
def test_a_return_type_of_python_without_a_json_form_is_warned_of(hint):
    assert ["has no JSON form" in text for text in warned(returning(hint))] == [True]


@pytest.mark.parametrize(
    "hint",
    [
        None,
        int,
        Any,
        object,
        Shape,
        Circle,
        Readable,
        Abstract,
        Registered,
        Exception,
        NoReturn,
        Iterator[int],
        map,
        range,
        "Undefined",
        5,
    ],
    ids=str,
)
def test_a_return_type_whose_values_may_have_a_json_form_is_not_warned_of(hint):
    assert warned(returning(hint)) == []


@pytest.mark.parametrize("module", ["numpy", "pandas"])
def test_arrays_and_tables_are_not_warned_of(module):
    package = pytest.importorskip(module)
    assert warned(returning(package.ndarray if module == "numpy" else package.DataFrame)) == []


def untyped(a, b=2, *, c=None):
    """Take anything."""


def test_a_function_without_types_is_warned_of_once():
    (text,) = warned(untyped)
    assert "no parameter has a type" in text
    assert "`a: str`" in text


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (lambda: None, {}),
        (lambda a, b: None, {"schema": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}),
        (functools.partial(untyped, 1, b=2, c=3), {}),
        (lambda a=1: None, {"hidden": ["a"]}),
    ],
    ids=["no parameters", "hand-written schema", "bound", "hidden"],
)
def test_a_function_that_needs_no_types_is_not_warned_of(function, options):
    assert warned(function, description="Give.", **options) == []


def test_one_typed_parameter_is_enough():
    def half(a: int, b):
        """Take."""

    assert warned(half) == []


def test_a_method_is_warned_of_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Counter:
            @tool(catalog=None)
            def add(self, a, b) -> Engine:
                """Add."""

        Catalog().add(Counter())
    texts = [str(warning.message) for warning in caught]
    assert sorted(text.partition(": ")[2][:20] for text in texts) == ["a `tests.functions.t", "no parameter has a t"]


def test_the_linter_reports_a_function_without_types_once_with_its_line():
    @functools.wraps(untyped)
    def wrapper(*args, **kwargs):
        return untyped(*args, **kwargs)

    with pytest.warns(ToolkitWarning, match="no parameter has a type"):
        wrapped = Tool.described(wrapper)
    (violation,) = [violation for violation in lint([wrapped]) if violation.rule == "untyped"]
    assert violation.place == ""
    assert violation.location.endswith(f"test_warnings.py:{untyped.__code__.co_firstlineno}")
    assert violation.remedy.startswith("Annotate them")


def test_a_docstring_beyond_the_limit_is_warned_of_and_not_sent():
    def give(a: int) -> int:
        return a

    give.__doc__ = "Give it back.\n\n" + "Much more. " * (MAX_CHARACTERS // 10)
    assert ["docstring has more than 200,000 characters" in text for text in warned(give)] == [True]
    with pytest.warns(ToolkitWarning):
        assert Tool.described(give).description == "Give it back."


def test_a_docstring_of_one_long_paragraph_is_cut():
    give = returning(int)
    give.__doc__ = "x" * (MAX_CHARACTERS + 1)
    with pytest.warns(ToolkitWarning, match="characters"):
        assert len(Tool.described(give).description) == 1000
    assert warned(give, description="Give.") == []


HOSTILE_NAMES = st.one_of(
    st.text("abcdefgh_", min_size=1, max_size=12), st.integers(1, 3000).map(lambda count: "n" * count)
)


def build_hint(name, form):
    kind = type(name, (), {"__module__": name})
    return {
        "class": kind,
        "list": list[kind],
        "tuple": tuple[(kind,) * 40],
        "text": name,
        "call": Callable[[kind] * 40, kind],
    }[form]


@given(
    HOSTILE_NAMES,
    HOSTILE_NAMES,
    st.sampled_from(["class", "list", "tuple", "text", "call"]),
    st.sampled_from(["x: T", "*, x: T", "*x: T", "x: T = None"]),
)
def test_a_refusal_at_decoration_stays_under_500_characters(function_name, parameter_name, form, shape):
    """Names and types may have any length."""
    hint = build_hint(parameter_name, form)
    namespace = {"T": hint}
    exec(f"def {function_name}({shape.replace('x', parameter_name)}): ...", namespace)  # noqa: S102 -- the text is ours
    refusal = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _ = Tool.described(namespace[function_name], name="take", description="Take.").schema
    except DefinitionError as error:
        refusal = str(error)
    assert len(refusal) < 500


@pytest.mark.parametrize("hint", [int, str, None, bool, float, bytes, dict[str, int], Circle, int | str], ids=str)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_generator_that_promises_no_list_is_refused(hint, is_async):
    """Its result is the list of what it yields, so no call could keep the promise."""

    def count():
        """Count."""
        yield 1

    async def count_later():
        """Count."""
        yield 1

    function = count_later if is_async else count
    function.__annotations__["return"] = hint
    with pytest.raises(DefinitionError, match=r"it yields, so its result is a list.*write `Iterator\[T\]`"):
        Tool.described(function)


@pytest.mark.parametrize("hint", [list[int], Iterator[int], Generator[int, str, bool], Iterable[int], Any, object])
def test_a_generator_that_is_annotated_as_a_list_or_an_iterator_is_a_tool(hint):
    """`Any` and `object` are allowed as well."""

    def count() -> hint:
        """Count."""
        yield 1

    assert Dispatcher(Catalog(Tool.described(count))).call_sync("count", {}).value == [1]


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=400),
        st.integers(1, 4000).map(lambda count: "v" * count),
    ),
    lambda inner: (
        st.lists(inner, max_size=40)
        | st.dictionaries(
            st.one_of(st.text(max_size=300), st.integers(1, 900).map(lambda count: "k" * count)), inner, max_size=30
        )
    ),
    max_leaves=60,
)


@given(
    st.dictionaries(st.one_of(st.sampled_from(["circle", "names", "mode"]), st.text(max_size=500)), JSON, max_size=30)
)
def test_each_problem_of_a_refused_call_stays_under_500_characters(arguments):
    """The model reads all problems together. Keys and values may have any length, and any number may be wrong."""

    def draw(circle: Circle, names: list[dict[str, int]], mode: int = 1) -> None:
        """Draw."""

    result = Dispatcher(Catalog(Tool.described(draw))).call_sync("draw", json.loads(json.dumps(arguments)))
    assert result.kind in ("bad_args", "ok")
    problems = [] if result.error is None else result.error.details["problems"]
    assert all(len(problem["message"]) <= 500 for problem in problems)
    assert len(result.text) < 5000
