"""Helpers of the tests of signatures."""

import pytest

from toolkit import BadArgs, Tool

__all__ = ["call", "everything", "plain", "list_refused_paths", "three"]


def call(function, arguments, injected=None):
    """Return what the function returns for arguments a model sent, checked both ways."""
    tool = Tool.of(function)
    decoded = tool.check(arguments)
    assert list(decoded) == list(tool.check(arguments, validation="jsonschema"))
    args, kwargs = tool.signature.bind({**decoded, **(injected or {})})
    return tool.function(*args, **kwargs)


def list_refused_paths(function, arguments):
    """Return the paths of what is wrong, which are the same both ways."""
    tool = Tool.of(function)
    with pytest.raises(BadArgs) as fast:
        tool.check(arguments)
    with pytest.raises(BadArgs) as judged:
        tool.check(arguments, validation="jsonschema")
    assert fast.value.problems == judged.value.problems
    return [problem.path for problem in fast.value.problems]


# How parameters are written.


def plain(a: int, b: str = "x"):
    return a, b


def everything(a: int, /, b: int = 2, *c: int, d: int, e: int = 5, **f: str):
    return a, b, c, d, e, f


# Partials.


def three(a: int, b: int = 2, c: int = 3):
    return a, b, c
