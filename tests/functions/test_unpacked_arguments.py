"""`*args: *tuple[...]` and `**kwargs: Unpack[...]`: the arguments are those that Python would take."""

from __future__ import annotations

from functools import partial
from typing import Any, Required, TypedDict, TypeVarTuple, Unpack

import pytest
import typing_extensions

from toolkit import BadArgs, DefinitionError, Tool

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

Ts = TypeVarTuple("Ts")


class Options(TypedDict, total=False):
    depth: Required[int]
    name: str


def any_number(*xs: *tuple[int, ...]) -> Any:
    return xs


def exactly_two(first: int, *xs: *tuple[int, str], last: int = 0) -> Any:
    return first, xs, last


def nothing(*xs: *tuple[()]) -> Any:
    return xs


def anything(*xs: *Ts) -> Any:
    return xs


def in_words(*xs: Unpack[tuple[int, str]]) -> Any:
    return xs


def in_older_words(*xs: typing_extensions.Unpack[tuple[int, ...]]) -> Any:
    return xs


def quoted(*xs: Unpack["tuple[int, str]"]) -> Any:
    return xs


def nested(*xs: *tuple[int, *tuple[str, bool]]) -> Any:
    return xs


def with_options(**options: Unpack[Options]) -> Any:
    return options


def evaluated(*xs):
    return xs


evaluated.__annotations__["xs"] = (*tuple[int, str],)[0]  # as Python reads it without the import from `__future__`

INTEGERS = {"type": "array", "items": {"type": "integer"}}
PAIR = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}


@pytest.mark.parametrize(
    ("function", "schema", "required", "sent", "result"),
    [
        (any_number, INTEGERS, [], {"xs": [1, 2]}, (1, 2)),
        (any_number, INTEGERS, [], {}, ()),
        (exactly_two, PAIR, ["first", "xs"], {"first": 0, "xs": [1, "a"]}, (0, (1, "a"), 0)),
        (nothing, {"type": "array", "maxItems": 0}, [], {}, ()),
        (nothing, {"type": "array", "maxItems": 0}, [], {"xs": []}, ()),
        (anything, {"type": "array"}, [], {"xs": [1, "a"]}, (1, "a")),
        (in_words, PAIR, ["xs"], {"xs": [1, "a"]}, (1, "a")),
        (in_older_words, INTEGERS, [], {"xs": [1]}, (1,)),
        (quoted, PAIR, ["xs"], {"xs": [1, "a"]}, (1, "a")),
        (evaluated, PAIR, ["xs"], {"xs": [1, "a"]}, (1, "a")),
        (
            nested,
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}],
                "minItems": 3,
                "maxItems": 3,
            },
            ["xs"],
            {"xs": [1, "a", True]},
            (1, "a", True),
        ),
    ],
)
@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
def test_an_unpacked_tuple_is_the_arguments_themselves(function, schema, required, sent, result, validation):
    """`*xs: *tuple[int, ...]` takes integers, and `*xs: *tuple[int, str]` exactly an integer and a string."""
    tool = Tool.described(function)
    assert tool.schema["properties"]["xs"] == schema
    assert tool.schema.get("required", []) == required
    decoded = tool.check(sent, validation=validation)
    assert tool.encode(decoded)["xs"] == sent.get("xs", [])
    args, keywords = tool.signature.bind(dict(decoded))
    assert function(*args, **keywords) == result


@pytest.mark.parametrize(
    ("function", "sent"),
    [
        (any_number, {"xs": [1, "a"]}),
        (exactly_two, {"first": 0}),
        (exactly_two, {"first": 0, "xs": [1]}),
        (exactly_two, {"first": 0, "xs": [1, "a", "b"]}),
        (nothing, {"xs": [1]}),
    ],
)
def test_other_arguments_are_refused(function, sent):
    """The number and the types count."""
    with pytest.raises(BadArgs, match="xs"):
        Tool.described(function).check(sent)


def test_an_unpacked_typed_dict_is_named_arguments():
    """`**options: Unpack[Options]` has a property for each key."""
    tool = Tool.described(with_options)
    assert tool.schema["properties"] == {"depth": {"type": "integer"}, "name": {"type": "string"}}
    assert tool.schema["required"] == ["depth"]


def changing_length(*xs: *tuple[int, *tuple[str, ...]]) -> None: ...


def not_a_tuple(*xs: Unpack[Options]) -> None: ...


def not_a_typed_dict(**options: Unpack[tuple[int, str]]) -> None: ...


def not_variadic(pair: Unpack[tuple[int, str]]) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (changing_length, "parameter `xs`: .*a tuple of changing length in a tuple; use tuple"),
        (not_a_tuple, "parameter `xs`: Unpack wants a tuple here, got Options; write the type of one argument"),
        (not_a_typed_dict, "parameter `options`: Unpack wants a TypedDict here"),
        (not_variadic, r"parameter `pair`: .*it is for `\*args` and `\*\*kwargs`; write the tuple or the TypedDict"),
    ],
)
def test_a_type_that_cannot_be_unpacked_is_refused_with_the_remedy(function, words):
    with pytest.raises(DefinitionError, match=words):
        Tool.described(function)


def test_a_partial_keeps_the_unpacked_tuple():
    """The arguments that are bound come before those that are sent."""
    tool = Tool.described(partial(exactly_two, 5))
    assert list(tool.schema["properties"]) == ["xs", "last"]
    args, keywords = tool.signature.bind(tool.check({"xs": [1, "a"]}))
    assert tool.function(*args, **keywords) == (5, (1, "a"), 0)


def test_a_partial_may_bind_the_first_items_of_an_unpacked_tuple():
    """The model sends the others."""
    tool = Tool.described(partial(partial(exactly_two, 5), 6))
    assert tool.schema["properties"]["xs"] == {
        "type": "array",
        "prefixItems": [{"type": "string"}],
        "minItems": 1,
        "maxItems": 1,
    }
    args, keywords = tool.signature.bind(tool.check({"xs": ["a"]}))
    assert tool.function(*args, **keywords) == (5, (6, "a"), 0)
    assert "required" not in Tool.described(partial(exactly_two, 5, 6, "a")).schema
