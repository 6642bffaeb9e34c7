"""Where a callable was written, and which two are one."""

import functools
import types
from unittest import mock

import pytest

from toolkit.functions.callables import (
    find_executed_function,
    find_source_location,
    is_redefinition,
    is_same_callable,
    subject_of,
    unwrap_function,
)


def plain(a=1, b=2):
    return a


def other(a=1, b=2):
    return a


class Holder:
    def method(self): ...

    def __call__(self): ...

    @classmethod
    def for_class(cls): ...


class Wrapper:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self): ...


def logged(function):
    @functools.wraps(function)
    def wrapper():
        return function()

    return wrapper


def again(source, name="f", *, file="cell.py", module="notebook"):
    """Run *source* in a module, once more, and return what *name* is then."""
    namespace = {"__name__": module, "functools": functools, "logged": logged}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


@pytest.mark.parametrize(
    "function",
    [
        plain,
        functools.partial(functools.partial(plain, 1), 2),
        staticmethod(plain),
        functools.cache(plain),
        functools.wraps(plain)(lambda: None),
        types.MethodType(plain, 1),
        Wrapper(plain),
    ],
)
def test_every_wrapper_has_the_name_and_the_place_of_the_function_inside(function):
    assert unwrap_function(function) is plain
    assert subject_of(function) == "tests.functions.test_callables.plain"
    assert find_source_location(function) == (__file__, plain.__code__.co_firstlineno)


def test_the_executed_function_of_a_wrapper_is_the_wrapper():
    """The wrapped function may run in another way."""
    wrapper = logged(plain)
    assert find_executed_function(functools.partial(wrapper)) is wrapper
    assert find_executed_function(Wrapper(plain)) is Wrapper.__call__
    assert find_executed_function(Holder().method) is Holder.method


@pytest.mark.parametrize("value", [len, mock.Mock(), 5, "text", object(), type])
def test_anything_has_a_subject_and_a_place(value):
    """A message can name any object."""
    assert isinstance(subject_of(value), str)
    assert find_source_location(value)[1] >= 1


class Anything:
    """Answers every question with another of its kind."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self): ...


def test_an_object_that_answers_everything_does_not_trap_us():
    """No walk along its attributes goes on for ever."""
    unwrap_function(Anything())
    assert subject_of(Anything()) == "tests.functions.test_callables.Anything.__call__"


def test_bound_methods_are_equal_if_they_bind_the_same_object():
    """Python makes a new one at each access."""
    holder = Holder()
    assert is_same_callable(holder.method, holder.method)
    assert not is_same_callable(holder.method, Holder().method)
    assert is_same_callable("a".join, "a".join)
    assert not is_same_callable("a".join, "b".join)
    assert not is_same_callable(len, abs)
    assert is_same_callable(plain, plain)


@pytest.mark.parametrize(
    "source",
    [
        "def f(): ...",
        "f = lambda: 1",
        "f = functools.partial(print, 1, sep='')",
        "@functools.cache\ndef f(): ...",
        "@logged\ndef f(): ...",
        "class A:\n    def m(self): ...\nf = A().m",
        "class A:\n    @classmethod\n    def m(cls): ...\nf = A.m",
        "class A:\n    def __call__(self): ...\nf = A()",
    ],
)
def test_source_that_is_run_again_gives_the_same_tool(source):
    """A reloaded module, a notebook's cell: from the same file, or both typed at a prompt."""
    assert is_redefinition(again(source), again(source))
    first, second = (again(source, file=file, module="__main__") for file in ("in-1", "in-2"))
    assert is_redefinition(first, second)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f(): ...", "def g(): ...\nf = g"),
        ("def f(): ...", "@logged\ndef f(): ..."),
        ("def f(): ...", "f = functools.partial(print)"),
        ("f = functools.partial(print, 1)", "f = functools.partial(print, 2)"),
        ("def make():\n    def f(): ...\n    return f\nf = make()",) * 2,
        ("def make():\n    def f(): ...\n    f.__qualname__ = 'f'\n    return f\nf = make()",) * 2,
        ("f = len", "f = abs"),
        ("class A:\n    def __call__(self): ...\nf = A()", "class B:\n    def __call__(self): ...\nf = B()"),
    ],
)
def test_anything_else_is_another_tool(old, new):
    """Another name, another layer, another binding, one closure of many."""
    assert not is_redefinition(again(old), again(new))


def test_functions_of_two_files_are_different_tools():
    source = "def f(): ..."
    assert not is_redefinition(again(source), again(source, file="other.py"))
    assert not is_redefinition(again(source), again(source, module="other"))


def test_two_objects_of_one_class_are_different_tools():
    """Only a class that was defined again has the same objects again."""
    assert not is_redefinition(Holder(), Holder())
    assert not is_redefinition(Holder().method, Holder().method)
    holder = Holder()
    assert is_redefinition(holder, holder)


class Uncomparable:
    def __eq__(self, other):
        raise RuntimeError


def test_partials_that_cannot_be_compared_are_not_redefinitions():
    old, new = (functools.partial(plain, Uncomparable()) for _ in range(2))
    assert not is_redefinition(old, new)
