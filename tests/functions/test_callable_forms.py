"""What can be called: methods, wrappers, builtins and callable objects, and how each runs."""

import asyncio
import contextlib
import functools
import inspect
import json
import math
import operator
import os.path
import random
import shutil
import textwrap
import urllib.parse

import pytest

from tests.functions.signature_kit import call, everything, list_refused_paths, plain, three
from toolkit import DefinitionError, Tool
from toolkit.functions.signature import style_of

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


# What can be called.


class Service:
    def method(self, a: int, *rest: int):
        return "method", a, rest

    @classmethod
    def for_class(cls, a: int):
        return cls.__name__, a

    @staticmethod
    def alone(a: int):
        return "alone", a

    async def wait(self, a: int):
        return a

    quick = functools.partialmethod(method, 5)


class Adder:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n

    def __call__(self, a: int) -> int:
        """Add."""
        return self.n + a


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Counted:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


@functools.singledispatch
def dispatched(a: int, b: int = 1):
    return "any", a, b


@dispatched.register
def _(a: int, b: int = 1):
    return "int", a, b


def closing_over(n):
    def add(a: int):
        return a + n

    return add


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (Service().method, {"a": 1, "rest": [2]}, ("method", 1, (2,))),
        (Service.for_class, {"a": 1}, ("Service", 1)),
        (Service().for_class, {"a": 1}, ("Service", 1)),
        (Service.alone, {"a": 1}, ("alone", 1)),
        (Service().alone, {"a": 1}, ("alone", 1)),
        (Service().quick, {"rest": [1]}, ("method", 5, (1,))),
        (Adder(2), {"a": 1}, 3),
        (functools.partial(Adder(2)), {"a": 1}, 3),
        (logged(three), {"a": 1}, (1, 2, 3)),
        (logged(logged(everything)), {"a": 1, "d": 4}, (1, 2, (), 4, 5, {})),
        (functools.lru_cache(three), {"a": 1}, (1, 2, 3)),
        (functools.cache(logged(three)), {"a": 1}, (1, 2, 3)),
        (Counted(three), {"a": 1}, (1, 2, 3)),
        (closing_over(4), {"a": 1}, 5),
        (dispatched, {"a": 1}, ("int", 1, 1)),
        (divmod, {"x": 7, "y": 2}, (3, 1)),
        (len, {"obj": [1, 2]}, 2),
        (str.upper, {"self": "abc"}, "ABC"),
        ("-".join, {"iterable": ["a", "b"]}, "a-b"),
        (os.path.join, {"a": "x", "p": ["y", "z"]}, os.path.join("x", "y", "z")),
        (json.dumps, {"obj": {"b": 1}, "sort_keys": True}, '{"b": 1}'),
        (textwrap.wrap, {"text": "a b", "width": 1}, ["a", "b"]),
        (textwrap.wrap, {"text": "a b", "initial_indent": "- "}, ["- a b"]),
        (urllib.parse.urlsplit, {"url": "http://a/b"}, urllib.parse.urlsplit("http://a/b")),
        (random.Random(1).randint, {"a": 3, "b": 3}, 3),
        (math.gcd, {"integers": [4, 6]}, 2),
        (operator.add, {"a": 1, "b": 2}, 3),
    ],
)
def test_any_callable_is_read(function, arguments, result):
    """Methods, objects, wrappers, closures, and builtins whose signature can be read."""
    assert call(function, arguments) == result


def test_functions_of_the_standard_library_work_unchanged(tmp_path):
    (tmp_path / "a").write_text("x")
    call(shutil.copy, {"src": str(tmp_path / "a"), "dst": str(tmp_path / "b")})
    assert (tmp_path / "b").read_text() == "x"


@pytest.mark.parametrize("function", [math.hypot, max, getattr])
def test_a_builtin_without_a_signature_is_refused(function):
    """The refusal says what to write instead."""
    with pytest.raises(DefinitionError, match=f"{function.__name__}: its signature cannot be read.*wrap it"):
        Tool.of(function)


def test_the_self_of_a_builtin_method_has_the_type_of_its_class():
    """`str.upper` takes a string, although its signature says only `self`."""
    assert Tool.of(str.upper).schema["properties"]["self"] == {"type": "string"}


def test_a_wrapper_that_claims_to_wrap_itself_is_refused():
    """Python sees the loop, and so do we."""

    def snake():
        """Bite."""

    snake.__wrapped__ = snake
    with pytest.raises(DefinitionError, match="signature cannot be read"):
        Tool.of(snake)


def test_a_signature_given_by_hand_counts():
    """`__signature__` is what the author wants to be seen."""

    def handler(**kwargs):
        return kwargs

    handler.__signature__ = inspect.Signature(
        [inspect.Parameter("a", inspect.Parameter.KEYWORD_ONLY, annotation=int)], return_annotation=str
    )
    assert call(handler, {"a": 1}) == {"a": 1}
    assert Tool.of(handler).output_schema == {"type": "string"}
    assert list_refused_paths(handler, {"a": "x"}) == [("a",)]


# How it runs.


async def asynchronous(a: int):
    return a


def generator(a: int):
    yield a


async def async_generator(a: int):
    yield a


def returns_awaitable(a: int):
    return asynchronous(a)


class AsyncObject:
    async def __call__(self, a: int):
        return a


@functools.wraps(asynchronous)
def run_to_the_end(*args, **kwargs):
    return asyncio.run(asynchronous(*args, **kwargs))


@functools.wraps(plain)
async def made_async(*args, **kwargs):
    return plain(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "style"),
    [
        (plain, "sync"),
        (asynchronous, "async"),
        (generator, "generator"),
        (async_generator, "async_generator"),
        (returns_awaitable, "sync"),
        (functools.partial(functools.partial(asynchronous)), "async"),
        (functools.partial(async_generator, 1), "async_generator"),
        (Service().wait, "async"),
        (AsyncObject(), "async"),
        (functools.partial(AsyncObject()), "async"),
        (functools.cache(plain), "sync"),
        (contextlib.contextmanager(generator), "sync"),
        (run_to_the_end, "sync"),
        (made_async, "async"),
        (Counted(asynchronous), "sync"),
        (len, "sync"),
    ],
)
def test_the_style_is_that_of_the_executed_function(function, style):
    """A wrapper may run the wrapped function in another way, and then the wrapper counts."""
    assert style_of(function) == style
