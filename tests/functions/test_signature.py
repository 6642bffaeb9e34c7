"""Every way to write a parameter, read and then really called."""

import datetime as dt
import functools
import json
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
import typing_extensions

from tests.functions.signature_kit import call, everything, list_refused_paths, plain, three
from toolkit import DefinitionError, Reads, Secret, Tool, Writes
from toolkit.values.schemas.text_forms import TEXT_FORMS

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


def names(function):
    return list(Tool.of(function).schema["properties"])


def positional_only(a: int, /, b: int = 2):
    return a, b


def keyword_only(*, a: int, b: int = 2):
    return a, b


def variadic(a: int, *rest: dt.date, flag: bool = False):
    return a, rest, flag


def untyped_variadic(*args, **kwargs):
    return args, kwargs


def open_ended(a: int, **more: int):
    return a, more


def positional_before_variadic(a: int = 1, b: int = 2, *c: int):
    return a, b, c


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (plain, {"a": 1}, (1, "x")),
        (positional_only, {"a": 1}, (1, 2)),
        (positional_only, {"b": 3, "a": 1}, (1, 3)),
        (keyword_only, {"a": 1, "b": 3}, (1, 3)),
        (variadic, {"a": 1}, (1, (), False)),
        (variadic, {"a": 1, "rest": ["2024-05-01"]}, (1, (dt.date(2024, 5, 1),), False)),
        (untyped_variadic, {}, ((), {})),
        (untyped_variadic, {"args": [1, "a"], "x": None}, ((1, "a"), {"x": None})),
        (open_ended, {"a": 1, "b": 2}, (1, {"b": 2})),
        (everything, {"a": 1, "d": 4}, (1, 2, (), 4, 5, {})),
        (everything, {"a": 1, "b": 8, "c": [3, 4], "d": 4, "z": "z"}, (1, 8, (3, 4), 4, 5, {"z": "z"})),
        (positional_before_variadic, {"c": [3]}, (1, 2, (3,))),
    ],
)
def test_a_checked_call_can_be_made(function, arguments, result):
    """The bound arguments call the function for every kind of parameter."""
    assert call(function, arguments) == result


@pytest.mark.parametrize(
    ("function", "arguments", "paths"),
    [
        (plain, {}, [("a",)]),
        (plain, {"a": 1, "c": 2}, [("c",)]),
        (variadic, {"a": 1, "rest": ["soon"]}, [("rest", 0)]),
        (variadic, {"a": 1, "rest": "2024-05-01"}, [("rest",)]),
        (open_ended, {"a": 1, "b": "two"}, [("b",)]),
    ],
)
def test_arguments_that_a_signature_does_not_accept_are_refused_with_their_path(function, arguments, paths):
    assert list_refused_paths(function, arguments) == paths


def test_a_signature_is_closed_unless_it_has_keywords():
    """`**kwargs: T` gives typed additional properties."""
    assert Tool.of(plain).schema["additionalProperties"] is False
    assert Tool.of(open_ended).schema["additionalProperties"] == {"type": "integer"}
    assert Tool.of(untyped_variadic).schema["additionalProperties"] is True


def test_variadic_positions_are_an_array():
    """`*args: T` is an optional array of T."""
    schema = Tool.of(variadic).schema
    assert schema["properties"]["rest"] == {"type": "array", "items": {"type": "string", **TEXT_FORMS["date"].schema}}
    assert schema["required"] == ["a"]


def test_the_docstring_describes_variadic_parameters():

    def greet(*names: str, **options: int):
        """
        Greet people.

        Args:
            *names: Whom to greet.
            **options: How often, by language.
        """

    schema = Tool.of(greet).schema
    assert schema["properties"]["names"]["description"] == "Whom to greet."
    assert schema["additionalProperties"]["description"] == "How often, by language."


class Search(TypedDict):
    """
    How to search.

    Attributes:
        query: What to look for.
        limit: How many at most.
    """

    query: str
    limit: typing_extensions.NotRequired[int]


@pytest.mark.parametrize(
    "unpack",
    [typing.Unpack[Search], typing_extensions.Unpack[Search], "typing.Unpack[Search]", typing.Unpack["Search"]],
)
def test_unpacked_typed_dicts_are_ordinary_properties(unpack):
    """Each key is a parameter, with the text of the typed dict."""

    def find(where: str, **options):
        return where, options

    find.__annotations__["options"] = unpack
    schema = Tool.of(find).schema
    assert schema["properties"]["query"] == {"type": "string", "description": "What to look for."}
    assert schema["required"] == ["where", "query"]
    assert schema["additionalProperties"] is False
    assert call(find, {"where": "here", "query": "x"}) == ("here", {"query": "x"})
    assert call(find, {"where": "here", "query": "x", "limit": 3.0}) == ("here", {"query": "x", "limit": 3})
    assert list_refused_paths(find, {"where": "here", "query": 1, "other": 2}) == [("query",), ("other",)]


def test_the_function_has_the_last_word_on_an_unpacked_key():
    """A text in the function's docstring is nearer than the typed dict's."""

    def find(**options: typing_extensions.Unpack[Search]):
        """
        Find it.

        Args:
            query: The words.
        """

    properties = Tool.of(find).schema["properties"]
    assert properties["query"]["description"] == "The words."
    assert properties["limit"]["description"] == "How many at most."


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: [typing_extensions.Unpack[int]], "Unpack wants a TypedDict"),
        (lambda: [typing_extensions.Unpack[Search], "query"], "`query` is also a parameter"),
    ],
)
def test_a_mistaken_unpack_is_refused(make, words):
    """The error has the parameter and the reason."""
    hint, *clash = make()

    def find(**options):
        """Find it."""

    if clash:

        def find(query, **options):
            """Find it."""

    find.__annotations__["options"] = hint
    with pytest.raises(DefinitionError, match=words) as error:
        Tool.of(find)
    assert "parameter `options`" in str(error.value)


# Names that mean something elsewhere.

AWKWARD = """
type required cls config schema json self _x __y größe 名前 value depth U clean writer v1 c0 f0 MAX HIGH LOW
properties items default enum const len dict kind found key each None_ print fields build args kwargs function
values name description ctx context tool call result arguments validation match case type_ ſ
"""


def test_awkward_names_are_just_names():
    """No parameter's name collides with a schema keyword, a framework word, or the generated code."""
    namespace = {}
    words = AWKWARD.split()
    parameters = ", ".join(f"{name}: int" for name in words)
    returned = ", ".join(words)
    exec(f"def awkward({parameters}, *, optional: int = 0, **more: int):\n    return [{returned}]", namespace)
    function = namespace["awkward"]
    # Python folds some letters, so the names are those that it keeps.
    arguments = {name: number for number, name in enumerate(names(function)[:-1])}
    assert call(function, arguments) == list(range(len(words)))
    assert list_refused_paths(function, {**arguments, "type": "one"}) == [("type",)]


@pytest.mark.parametrize("name", ["class", "not a name", "a-b", "", "$ref", "__proto__"])
def test_typed_dict_keys_need_not_be_names(name):
    """An unpacked key may be a word that Python keeps for itself."""
    options = TypedDict("options", {name: int})

    def take(**more):
        return more

    take.__annotations__["more"] = typing_extensions.Unpack[options]
    assert call(take, {name: 1}) == {name: 1}


@pytest.mark.parametrize(
    ("function", "left", "arguments", "result"),
    [
        (functools.partial(three, 1), ["b", "c"], {"b": 5}, (1, 5, 3)),
        (functools.partial(three, b=7), ["a", "c"], {"a": 1, "c": 9}, (1, 7, 9)),
        (functools.partial(functools.partial(three, 1), c=4), ["b"], {}, (1, 2, 4)),
        (functools.partial(functools.partial(three, b=1), 8), ["c"], {}, (8, 1, 3)),
        (functools.partial(everything, 1, 2, 3), ["c", "d", "e"], {"c": [4], "d": 4}, (1, 2, (3, 4), 4, 5, {})),
        (functools.partial(everything, 1, z="bound"), ["b", "c", "d", "e"], {"d": 4}, (1, 2, (), 4, 5, {"z": "bound"})),
    ],
)
def test_a_parameter_that_a_partial_has_bound_is_not_in_the_schema(function, left, arguments, result):
    assert names(function) == left
    assert call(function, arguments) == result


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (functools.partial(three, 1), "a"),
        (functools.partial(three, b=1), "b"),
        (functools.partial(open_ended, 1), "a"),
        (functools.partial(open_ended, b=1), "b"),
        (functools.partial(functools.partial(open_ended, b=1), a=2), "b"),
        (functools.partial(everything, 1), "a"),
    ],
)
def test_a_parameter_that_a_partial_has_bound_is_not_accepted(function, name):
    """This holds also for a signature that takes any keywords."""
    good = dict.fromkeys(Tool.of(function).schema.get("required", []), 1)
    assert list_refused_paths(function, {**good, name: 5}) == [(name,)]
    assert f'"{name}"' not in json.dumps(Tool.of(function).schema)


def test_a_partial_binds_keys_of_an_unpacked_typed_dict():
    """A bound key is neither shown nor accepted."""

    def find(**options: typing_extensions.Unpack[Search]):
        return options

    limited = functools.partial(find, limit=3)
    assert names(limited) == ["query"]
    assert call(limited, {"query": "x"}) == {"query": "x", "limit": 3}
    assert list_refused_paths(limited, {"query": "x", "limit": 9}) == [("limit",)]


def test_a_wrapped_partial_hides_its_bound_parameters():
    """`update_wrapper` points at the whole function, whose signature is not that of the partial."""
    dressed = functools.update_wrapper(functools.partial(three, 1), three)
    twice = functools.partial(dressed, b=5)
    assert names(dressed) == ["b", "c"]
    assert names(twice) == ["c"]
    assert call(twice, {}) == (1, 5, 3)


# What cannot be described, and what comes back.


@pytest.mark.parametrize(
    "hint", [Callable[[], int], type[int], Iterator[int], "Callable[[], int]", [int], dict[int], "1 +"]
)
def test_a_type_without_a_json_form_is_refused_at_decoration(hint):
    """The error names the tool, the parameter and the remedy."""

    def take(good: int, bad):
        """Take."""

    take.__annotations__["bad"] = hint
    with pytest.raises(DefinitionError, match=r"test_signature\..*take: parameter `bad`: "):
        Tool.of(take)


Endless = typing.Union[int, "Endless"]


def test_a_type_without_end_is_refused():
    """Instead of exhausting the stack; in a return annotation it is left out."""

    def take(a: int, bad: Endless):
        """Take."""

    def give() -> Endless:
        """Give."""

    with pytest.raises(DefinitionError, match="parameter `bad`: its type contains itself without end"):
        Tool.of(take)
    assert Tool.of(give).output_schema is None


@dataclass
class Point:
    x: int


def point() -> Point: ...
async def waits() -> Point: ...
def promises() -> Awaitable[Point]: ...
def starts() -> Coroutine[Any, Any, Point]: ...


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


@pytest.mark.parametrize("function", [point, waits, promises, starts])
def test_the_return_annotation_is_the_output_schema(function):
    """Whether it is awaited or not."""
    tool = Tool.of(function)
    assert tool.output_schema == POINT
    assert tool.signature.output.encode(Point(1)) == {"x": 1}


def yields() -> Iterator[int]:
    yield 1


def sends() -> Generator[int, None, str]:
    yield 1


async def streams() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [yields, sends, streams])
def test_the_output_of_a_stream_is_the_list_of_its_values(function):
    assert Tool.of(function).output_schema == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    "hint", [Any, object, Callable, "Undefined", "not an annotation", 5, [int], "1/0", type, dict[int]]
)
def test_a_return_annotation_without_use_is_ignored(hint):
    """It does not cause an error."""

    def take(): ...

    take.__annotations__["return"] = hint
    assert Tool.of(take).output_schema is None


def test_arguments_can_be_encoded_again():
    """The result is the arguments that a model would have sent, for each kind of parameter."""
    tool = Tool.of(variadic)
    sent = {"a": 1, "rest": ["2024-05-01"], "flag": True}
    assert tool.encode(tool.check(sent)) == sent
    with pytest.raises(ValueError, match="`b` is not a parameter"):
        tool.encode({"a": 1, "b": 2})
    assert Tool.of(open_ended).encode({"a": 1, "b": 2}) == {"a": 1, "b": 2}


# Markers in unusual places.


@dataclass
class Place:
    """A record with a marked field."""

    path: Annotated[Path, Writes]


@dataclass
class Key:
    """A record with a secret."""

    text: Annotated[str, Secret]


class Options(TypedDict):
    """Keywords with markers."""

    path: Annotated[Path, Reads]
    key: Annotated[str, Secret]


@pytest.mark.parametrize("hint", [Place, list[Place], Place | None, dict[str, Place]])
def test_a_marker_in_a_record_is_refused(hint):
    """It would be silently without effect."""

    def function(place: hint):
        """Do something."""

    with pytest.raises(DefinitionError, match=r"parameter `place`: `Writes` counts on a parameter, not in a field"):
        Tool.described(function)


def test_a_marker_on_further_keywords_is_refused():
    """They have no name that a lookup could use."""

    def function(**more: Annotated[Path, Writes]):
        """Do something."""

    with pytest.raises(DefinitionError, match="a marker counts on a parameter that has a name"):
        Tool.described(function)


def test_a_secret_in_a_record_makes_the_whole_parameter_secret():
    """Masking too much is safe."""

    def function(one: Key, two: list[Key], three: int):
        """Do something."""

    assert Tool.described(function).signature.secrets == {"one", "two"}


def test_the_markers_of_unpacked_keywords_count():
    def function(**options: typing_extensions.Unpack[Options]):
        """Do something."""

    signature = Tool.described(function).signature
    assert (signature.accesses, signature.secrets) == ({"path": Reads}, {"key"})
