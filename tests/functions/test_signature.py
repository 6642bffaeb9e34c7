"""Every way to write a parameter, read and then really called."""

import asyncio
import contextlib
import datetime as dt
import functools
import inspect
import json
import math
import operator
import os.path
import random
import shutil
import textwrap
import typing
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
import typing_extensions

from toolkit import BadArgs, DefinitionError, Reads, Secret, Tool, Writes
from toolkit.functions.signature import style_of
from toolkit.values.schemas.text_forms import TEXT_FORMS

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


def call(function, arguments, injected=None):
    """What the function returns for arguments a model sent, checked both ways."""
    tool = Tool.of(function)
    decoded = tool.check(arguments)
    assert list(decoded) == list(tool.check(arguments, validation="jsonschema"))
    args, kwargs = tool.signature.bind({**decoded, **(injected or {})})
    return tool.function(*args, **kwargs)


def refused(function, arguments):
    """The paths of what is wrong, the same both ways."""
    tool = Tool.of(function)
    with pytest.raises(BadArgs) as fast:
        tool.check(arguments)
    with pytest.raises(BadArgs) as judged:
        tool.check(arguments, validation="jsonschema")
    assert fast.value.problems == judged.value.problems
    return [problem.path for problem in fast.value.problems]


def names(function):
    return list(Tool.of(function).schema["properties"])


# How parameters are written.


def plain(a: int, b: str = "x"):
    return a, b


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


def everything(a: int, /, b: int = 2, *c: int, d: int, e: int = 5, **f: str):
    return a, b, c, d, e, f


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
def test_what_a_signature_does_not_take_is_refused(function, arguments, paths):
    """The path says where."""
    assert refused(function, arguments) == paths


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


def test_texts_reach_variadic_parameters_too():
    """What the docstring says of `*names` and `**options` is told."""

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
    assert refused(find, {"where": "here", "query": 1, "other": 2}) == [("query",), ("other",)]


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
    """With the parameter named and the reason."""
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
    assert refused(function, {**arguments, "type": "one"}) == [("type",)]


@pytest.mark.parametrize("name", ["class", "not a name", "a-b", "", "$ref", "__proto__"])
def test_typed_dict_keys_need_not_be_names(name):
    """An unpacked key may be a word that Python keeps for itself."""
    options = TypedDict("options", {name: int})

    def take(**more):
        return more

    take.__annotations__["more"] = typing_extensions.Unpack[options]
    assert call(take, {name: 1}) == {name: 1}


# Partials.


def three(a: int, b: int = 2, c: int = 3):
    return a, b, c


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
def test_what_a_partial_has_bound_is_not_asked_for(function, left, arguments, result):
    """Only the parameters that are left are in the schema."""
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
def test_what_a_partial_has_bound_is_not_accepted(function, name):
    """Nor does an open signature let it in."""
    good = dict.fromkeys(Tool.of(function).schema.get("required", []), 1)
    assert refused(function, {**good, name: 5}) == [(name,)]
    assert f'"{name}"' not in json.dumps(Tool.of(function).schema)


def test_a_partial_binds_keys_of_an_unpacked_typed_dict():
    """A bound key is neither shown nor accepted."""

    def find(**options: typing_extensions.Unpack[Search]):
        return options

    limited = functools.partial(find, limit=3)
    assert names(limited) == ["query"]
    assert call(limited, {"query": "x"}) == {"query": "x", "limit": 3}
    assert refused(limited, {"query": "x", "limit": 9}) == [("limit",)]


def test_a_dressed_up_partial_still_hides_what_it_bound():
    """`update_wrapper` points at the whole function, whose signature is not the partial's."""
    dressed = functools.update_wrapper(functools.partial(three, 1), three)
    twice = functools.partial(dressed, b=5)
    assert names(dressed) == ["b", "c"]
    assert names(twice) == ["c"]
    assert call(twice, {}) == (1, 5, 3)


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


def test_functions_of_the_standard_library_work_as_they_are(tmp_path):
    """They were not written as tools."""
    (tmp_path / "a").write_text("x")
    call(shutil.copy, {"src": str(tmp_path / "a"), "dst": str(tmp_path / "b")})
    assert (tmp_path / "b").read_text() == "x"


@pytest.mark.parametrize("function", [math.hypot, max, getattr])
def test_a_builtin_without_a_signature_is_refused(function):
    """The refusal says what to write instead."""
    with pytest.raises(DefinitionError, match=f"{function.__name__}: its signature cannot be read.*wrap it"):
        Tool.of(function)


def test_a_method_of_a_builtin_class_knows_its_object():
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
    assert refused(handler, {"a": "x"}) == [("a",)]


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
def test_the_style_is_that_of_what_runs(function, style):
    """A wrapper may run what it wraps in another way: then the wrapper counts."""
    assert style_of(function) == style


# Defaults.


class Hostile:
    def __eq__(self, other):
        raise RuntimeError("compared")

    def __hash__(self):
        raise RuntimeError("hashed")

    def __bool__(self):
        raise RuntimeError("asked")

    def __repr__(self):
        raise RuntimeError("shown")


class Agreeable:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("a")


SENTINEL = object()


@pytest.mark.parametrize("hint", [int, str, float, bool, Any, list[int], Literal["a", 1], dict[str, int], int | None])
@pytest.mark.parametrize(
    "default",
    [SENTINEL, math.nan, math.inf, len, Hostile(), Agreeable(), int, [math.nan], {"a": SENTINEL}, ...],
    ids=lambda value: type(value).__name__,
)
def test_a_default_without_a_json_form_is_passed_on_untouched(hint, default):
    """It is left out of the schema, and the function gets that very object."""

    def take(value=default, *rest: int):
        return value

    take.__annotations__["value"] = hint
    assert "default" not in Tool.of(take).schema["properties"]["value"]
    assert call(take, {}) is default
    json.dumps(Tool.of(take).definition, allow_nan=False)


@pytest.mark.parametrize(
    ("hint", "default"),
    [(int, "5"), (int, None), (int, True), (str, 5), (bool, 1), (list[int], (1,)), (dt.date, "2024-05-01")],
)
def test_a_default_of_another_type_is_not_shown(hint, default):
    """A model must not be told of a default that it could not send."""

    def take(value=default):
        return value

    take.__annotations__["value"] = hint
    assert "default" not in Tool.of(take).schema["properties"]["value"]
    assert call(take, {}) is default


@pytest.mark.parametrize(
    ("hint", "default", "form"),
    [
        (dt.date, dt.date(2024, 5, 1), "2024-05-01"),
        (int | None, None, None),
        (float, 1, 1),
        (list[int], [1], [1]),
        (Any, {"a": [1]}, {"a": [1]}),
        (bool, False, False),
    ],
)
def test_defaults_are_shown_in_their_json_form(hint, default, form):
    """And the function gets the Python object itself."""

    def take(value=default):
        return value

    take.__annotations__["value"] = hint
    assert Tool.of(take).schema["properties"]["value"]["default"] == form
    assert call(take, {}) is default


def test_a_mutable_default_is_pythons_affair():
    """Every call without the argument gets the one list, as a direct call would."""

    def collect(into: list[int] = []):  # noqa: B006
        into.append(1)
        return into

    assert call(collect, {}) is call(collect, {}) is collect()
    assert Tool.of(collect).check({})["into"] == [1, 1, 1]


@pytest.mark.parametrize(
    "field", [pydantic.Field(5, ge=1), pydantic.Field(default=5, ge=1), pydantic.Field(default_factory=lambda: 5, ge=1)]
)
def test_a_pydantic_field_may_be_the_default(field):
    """Its own default counts, not the field object; its limits hold."""

    def take(limit: int = field):
        return limit

    assert call(take, {}) == 5
    assert refused(take, {"limit": 0}) == [("limit",)]


def test_a_pydantic_field_without_a_default_is_required():
    """Although Python sees a default."""

    def take(limit: int = pydantic.Field(description="How many.")):  # noqa: B008 -- as pydantic's users write it
        return limit

    assert Tool.of(take).schema["required"] == ["limit"]
    assert Tool.of(take).schema["properties"]["limit"]["description"] == "How many."
    assert call(take, {"limit": 3}) == 3


def test_a_field_in_the_annotation_may_hold_the_default():
    """As pydantic reads it."""

    def take(limit: Annotated[int, pydantic.Field(default=5, ge=1)]):
        return limit

    assert Tool.of(take).check({}) == {"limit": 5}
    assert refused(take, {"limit": 0}) == [("limit",)]


def test_a_factory_makes_a_new_default_each_time():
    """Which is what it is for."""

    def take(items: list[int] = pydantic.Field(default_factory=list)):  # noqa: B008 -- as pydantic's users write it
        return items

    assert call(take, {}) is not call(take, {})


# What cannot be described, and what comes back.


@pytest.mark.parametrize(
    "hint", [Callable[[], int], type[int], Iterator[int], "Callable[[], int]", [int], dict[int], "1 +"]
)
def test_what_has_no_json_form_is_refused_at_decoration(hint):
    """The tool, the parameter and the remedy are named."""

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
def test_a_stream_comes_back_as_what_it_yielded(function):
    """Collected in a list."""
    assert Tool.of(function).output_schema == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    "hint", [Any, object, Callable, "Undefined", "not an annotation", 5, [int], "1/0", type, dict[int]]
)
def test_a_return_annotation_without_use_is_left_out(hint):
    """It is a courtesy, never a reason to refuse."""

    def take(): ...

    take.__annotations__["return"] = hint
    assert Tool.of(take).output_schema is None


def test_arguments_can_be_encoded_again():
    """What a model would have sent, for each kind of parameter."""
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
    """They have no name that it could be looked up by."""

    def function(**more: Annotated[Path, Writes]):
        """Do something."""

    with pytest.raises(DefinitionError, match="a marker counts on a parameter that has a name"):
        Tool.described(function)


def test_a_secret_in_a_record_makes_the_whole_parameter_one():
    """What is masked too much is safe."""

    def function(one: Key, two: list[Key], three: int):
        """Do something."""

    assert Tool.described(function).signature.secrets == {"one", "two"}


def test_the_markers_of_unpacked_keywords_count():
    """They are parameters like others."""

    def function(**options: typing_extensions.Unpack[Options]):
        """Do something."""

    signature = Tool.described(function).signature
    assert (signature.accesses, signature.secrets) == ({"path": Reads}, {"key"})
