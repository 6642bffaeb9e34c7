"""A handler takes the whole JSON object; the rest of its parameters is filled or has a default."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict
from unittest import mock

import pytest

from toolkit import Catalog, Context, DefinitionError, Dispatcher, Inject, Tool

if TYPE_CHECKING:
    from somewhere import Far

SCHEMA = {"type": "object"}


class Database:
    name = "orders"


class Given(TypedDict, total=False):
    a: int


def make(handler):
    return Tool.from_schema("take", "Take it.", SCHEMA, handler)


def last(payload, context: Context):
    return payload, context.call.name


def first(context: Context, payload):
    return payload, context.call.name


def by_position(payload, flag="flag", context: Context | None = None, /):
    return payload, context.call.name, flag


def by_keyword(*payload, context: Context, database: Inject[Database]):
    return payload[0], context.call.name, database.name


async def waiting(payload: dict[str, Any], context: Context, missing: Inject[int] = 5):
    return payload, context.call.name, missing


async def streaming(payload: Mapping[str, Any], context: Context):
    yield payload
    yield context.call.name


class Handlers:
    def method(self, payload, context: Context):
        return payload, context.call.name

    def __call__(self, payload: Given, context: Context):
        return payload, context.call.name

    @classmethod
    def of_class(cls, payload, context: Context):
        return payload, context.call.name


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("handler", "more"),
    [
        (last, []),
        (first, []),
        (by_position, ["flag"]),
        (by_keyword, ["orders"]),
        (waiting, [5]),
        (streaming, []),
        (Handlers().method, []),
        (Handlers(), []),
        (Handlers.of_class, []),
        (functools.partial(by_keyword, database=Database()), ["orders"]),
    ],
)
async def test_a_handler_may_take_the_context_and_resources(handler, more):
    """The order of the parameters does not matter, and an argument of the same name does not replace them."""
    arguments = {"context": "of the model", "database": 1}
    async with Dispatcher(Catalog(make(handler)), resources={Database: Database()}) as dispatcher:
        result = await dispatcher.call("take", arguments)
    assert result.value == [arguments, "take", *more]


@pytest.mark.parametrize(
    "handler",
    [
        lambda payload: payload,
        lambda payload, loud=False: payload,
        lambda *payload: payload,
        lambda payload, **more: payload,
        lambda payload=None: payload,
        print,
        len,
        [].append,
        functools.partial(lambda flag, payload: payload, True),
        mock.Mock(),
    ],
)
def test_a_handler_that_takes_one_value_is_accepted(handler):
    """Parameters with a default keep it."""
    tool = make(handler)
    args, keywords = tool.signature.bind({"a": 1})
    assert (args, keywords, tool.signature.injected) == ([{"a": 1}], {}, {})


def test_a_resource_that_a_partial_has_bound_is_not_injected():
    assert make(functools.partial(by_keyword, database=Database())).signature.injected == {"context": Context}
    assert make(functools.partial(last, context=None)).signature.injected == {}


def far(payload: Far, other: Far = None): ...


def test_an_annotation_that_is_not_defined_matters_only_where_something_is_injected():
    """No other annotation of a handler has an effect."""
    assert make(far).signature.injected == {}


def two(payload, context): ...


def only_context(context: Context): ...


def many_contexts(payload, *contexts: Context): ...


def path_only(path: str): ...


def path_list(paths: list[str]): ...


def undefined(payload, database: Inject[Absent]): ...  # noqa: F821 -- that is the point


def undefined_with_default(payload, database: Inject[Absent] = None): ...  # noqa: F821 -- that is the point


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (two, r"tool `take`: the handler `two\(payload, context\)` .*annotate `context` as `Context` or `Inject\[T\]`"),
        (lambda payload, *, loud: None, r"annotate `loud` as `Context`"),
        (lambda: None, r"needs one positional parameter"),
        (lambda **payload: None, r"needs one positional parameter"),
        (only_context, r"needs one positional parameter"),
        (many_contexts, r"without \* or \*\*"),
        (path_only, r"`path` would be a dictionary and not str; .*`@tool\(schema=...\)`"),
        (path_list, r"`paths` would be a dictionary and not list"),
        (Handlers.method, r"a method without its object; give the method of an instance"),
        (undefined, r"the annotation of `database` names `Absent`, which is not defined"),
        (undefined_with_default, r"the annotation of `database` names `Absent`, which is not defined"),
    ],
)
def test_a_handler_with_the_wrong_arity_is_refused_when_its_tool_is_made(handler, words):
    """The error names the handler, its parameters and the remedy."""
    with pytest.raises(DefinitionError, match=words):
        make(handler)
