"""Wrappers: each decorated function is refused or warned of when it is decorated, or its calls work."""

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, Self, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, DefinitionError, Dispatcher, Tool, ToolkitWarning

P = ParamSpec("P")
R = TypeVar("R")


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def annotated(function: Callable[P, R]) -> Callable[P, R]:
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


def annotated_as_text(function):
    def wrapper(*args: "Unseen.args", **kwargs: "Unseen.kwargs"):  # noqa: F821 -- a type checker knows it
        return function(*args, **kwargs)

    return wrapper


def bare(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def any_typed(function):
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def positions(function):
    def wrapper(*args):
        return function(*args)

    return wrapper


def later(function):
    async def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def inside(function):
    def wrapper(*args, **kwargs):
        def call():
            return function(*args, **kwargs)

        return call()

    return wrapper


def repeatedly(function):
    def wrapper(*args, **kwargs):
        return [function(*args, **kwargs) for _ in range(2)]

    return wrapper


class Wrapper:
    """A decorator that is a class."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class SlottedWrapper:
    """The same with slots."""

    __slots__ = ("function",)

    def __init__(self, function):
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def methods(function):
    def wrapper(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    return wrapper


class Shop:
    @methods
    def sell(self, a: int) -> int:
        """Sell."""
        return a

    @bare
    def buy(self, a: int) -> int:
        """Buy."""
        return a


OPAQUE = {
    **{
        decorator.__name__: decorator(add)
        for decorator in (annotated, annotated_as_text, bare, any_typed, positions, later, inside, repeatedly)
    },
    "object": Wrapper(add),
    "slotted object": SlottedWrapper(add),
    "partial": functools.partial(bare(add), 1),
    "partial of a partial": functools.partial(functools.partial(annotated(add), 1), b=2),
    "method": Shop().sell,
    "method with everything": Shop().buy,
}


@pytest.mark.parametrize("function", OPAQUE.values(), ids=OPAQUE)
def test_a_wrapper_without_wraps_is_refused_with_the_remedy(function):
    with pytest.raises(DefinitionError, match=r"`@functools\.wraps\(\.\.\.\)`"):
        Tool.described(function, name="add", description="Add.")


@pytest.mark.filterwarnings("ignore:.*has no docstring:toolkit.ToolkitWarning")
def test_a_wrapper_in_a_class_body_is_refused_too():
    catalog = Catalog()
    with pytest.raises(DefinitionError, match=r"functools\.wraps"):

        class Desk:
            @catalog.tool
            @methods
            def sell(self, a: int) -> int:
                """Sell."""
                return a


def join(*args: int, **kwargs: int) -> list[int]:
    """Join."""
    return [*args, *kwargs.values()]


def closed_over():
    table = {"a": 1}

    def look(**names: str) -> list[str]:
        """Look."""
        return [table[name] for name in names.values()]

    return look


@pytest.mark.parametrize(
    "function", [join, closed_over(), functools.partial(join, 1)], ids=["both", "closure", "partial"]
)
def test_an_open_signature_with_types_stays_a_tool(function):
    assert Tool.described(function, name="join").schema["type"] == "object"


def count(*names):
    """Count."""
    return len(names)


@pytest.mark.parametrize("decorator", [bare, positions, later, inside], ids=lambda decorator: decorator.__name__)
@pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")
def test_a_wrapper_with_wraps_around_an_open_signature_stays_a_tool(decorator):
    function = functools.wraps(count)(decorator(count))
    assert Tool.described(function, name="count").schema["properties"].keys() == {"names"}


@pytest.mark.parametrize(
    "options", [{"hidden": ["args", "kwargs"]}, {"schema": {"properties": {"a": {"type": "integer"}}}}]
)
def test_an_author_may_say_that_the_wrapper_is_meant(options):
    assert Tool.described(bare(add), name="add", description="Add.", **options).name == "add"


def wrap(function, own):
    """Return a wrapper of *function* whose own code is *own*."""
    return functools.wraps(function)(own)


@pytest.mark.parametrize(
    "own",
    [
        lambda x, y: x + y,
        lambda x, *args, **kwargs: add(x, *args, **kwargs),
        lambda *args: add(*args),
        lambda x, /, y: x + y,
        wrap(add, lambda x, y: x + y),
    ],
    ids=["renamed", "first renamed", "positions", "positional-only", "two wrappers"],
)
def test_a_wrapper_with_other_names_gets_its_arguments_by_position(own):
    """`dateutil.parser.isoparse` is such a wrapper."""
    wrapper = wrap(own, lambda *args, **kwargs: own(*args, **kwargs)) if hasattr(own, "__wrapped__") else wrap(add, own)
    dispatcher = Dispatcher(Catalog(Tool.described(wrapper, name="add")))
    assert dispatcher.call_sync("add", {"a": 1, "b": 4}).value == 5
    assert dispatcher.call_sync("add", {"a": 1}).value == 3


def test_isoparse_of_dateutil_can_be_called():
    parser = pytest.importorskip("dateutil.parser")
    with pytest.warns(ToolkitWarning, match="no parameter has a type"):
        tool = Tool.described(parser.isoparse)
    assert Dispatcher(Catalog(tool)).call_sync("isoparse", {"dt_str": "2020-01-02"}).value == "2020-01-02T00:00:00"


@pytest.mark.parametrize(
    "own", [lambda a: a, lambda a, b, c: a, lambda *, x, y: x, lambda: 1], ids=["fewer", "more", "keywords", "none"]
)
def test_a_wrapper_that_no_call_would_reach_is_refused(own):
    with pytest.raises(DefinitionError, match=r"it shows the parameters \(a: int, b: int = 2\) -> int and takes \("):
        Tool.described(wrap(add, own), name="add")


def test_a_signature_that_the_code_does_not_take_is_refused():
    def find(text: str) -> str:
        """Find."""
        return text

    find.__signature__ = inspect.signature(add)
    with pytest.raises(DefinitionError, match="every call would fail"):
        Tool.described(find)


CODES = {
    "same": lambda a, b=2: a + b,
    "renamed": lambda x, y=2: x + y,
    "reordered": lambda b, a: a + b,
    "fewer": lambda a: a,
    "more": lambda a, b, c: a,
    "all": lambda *args, **kwargs: add(*args, **kwargs),
    "first": lambda x, *args, **kwargs: add(x, *args, **kwargs),
    "keywords": lambda **kwargs: add(**kwargs),
    "positions": lambda *args: add(*args),
    "keyword-only": lambda *, a, b: a + b,
    "other keywords": lambda *, x, y: x + y,
}
LAYERS = st.lists(st.sampled_from(sorted(CODES)), min_size=1, max_size=3)


@given(
    LAYERS,
    st.sampled_from(["wraps", "signature", "nothing"]),
    st.sampled_from(["function", "partial", "method", "object"]),
)
def test_a_wrapper_is_refused_or_warned_of_or_its_calls_work(names, showing, form):
    """Wrappers around wrappers, in each form that a callable can have."""
    function = add
    # A `__signature__` hides the layers below it, so only one layer can be compared with it.
    for name in names[:1] if showing == "signature" else names:
        function = build_layer(CODES[name], function, showing)
    function = shape(function, form)
    if not any(works(function, *args, **keywords) for args, keywords in [((3, 4), {}), ((), {"a": 3, "b": 4})]):
        return  # no program can call it either
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ToolkitWarning)
            tool = Tool.described(function, name="add", description="Add.")
    except (DefinitionError, ToolkitWarning):
        return
    assert Dispatcher(Catalog(tool)).call_sync("add", {"a": 3, "b": 4}).value == 7


def works(function, *args, **keywords):
    try:
        return function(*args, **keywords) == 7
    except TypeError:
        return False


def build_layer(code, inner, showing):
    """Return a function with the parameters of *code* that calls *inner*, as a decorator would write it."""
    parameters = inspect.signature(code)

    def forward(args, kwargs):
        return inner(*args, **kwargs)

    namespace = {"forward": forward}
    takes = str(parameters)[1:-1]
    args = [f"*{name}" if kind is kind.VAR_POSITIONAL else name for name, kind in iter_kinds(parameters) if kind < 3]
    kwargs = [
        f"**{name}" if kind is kind.VAR_KEYWORD else f"{name}={name}"
        for name, kind in iter_kinds(parameters)
        if kind >= 3
    ]
    exec(
        f"def own({takes}): return forward(({''.join(f'{arg}, ' for arg in args)}), dict({', '.join(kwargs)}))",
        namespace,
    )  # noqa: S102 -- the text is ours
    own = namespace["own"]
    if showing == "wraps":
        return functools.wraps(inner)(own)
    if showing == "signature":
        own.__signature__ = inspect.signature(inner)
    return own


def iter_kinds(signature) -> Iterator[tuple[str, Any]]:
    return ((name, parameter.kind) for name, parameter in signature.parameters.items())


def shape(function, form):
    if form == "partial":
        return functools.partial(function)
    if form == "object":
        caller = Wrapper(function)
        return functools.update_wrapper(caller, function) if hasattr(function, "__wrapped__") else caller
    if form == "method":
        return type("Owner", (), {"add": staticmethod(function)})().add
    return function


@dataclass
class Point:
    """A point."""

    x: int
    y: int


class Ticket:
    """A class without a JSON form."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def draw(cls, number: int) -> Self:
        """Draw a ticket."""
        return cls(number)


@pytest.mark.parametrize("count", range(2))
def test_a_partial_of_a_class_promises_objects_of_the_class(count):
    function = functools.partial(Point, 1)
    for _ in itertools.repeat(None, count):
        function = functools.partial(function)
    tool = Tool.described(function, name="point")
    assert tool.output_schema["required"] == ["x", "y"]
    assert Dispatcher(Catalog(tool)).call_sync("point", {"y": 2}).value == {"x": 1, "y": 2}


@pytest.mark.parametrize("function", [functools.partial(Ticket), Ticket.draw], ids=["class", "classmethod"])
def test_a_class_without_a_json_form_is_warned_of(function):
    with pytest.warns(
        ToolkitWarning, match=r"Ticket` in the return annotation has no JSON form.*register_codec\(Ticket"
    ):
        assert Tool.described(function, name="ticket").output_schema is None


def test_the_output_schema_of_a_classmethod_that_returns_self_is_that_of_its_class():
    @dataclass
    class Pair:
        x: int

        @classmethod
        def of(cls, number: int) -> Self:
            """Return a pair."""
            return cls(number)

    assert Tool.described(Pair.of).output_schema["required"] == ["x"]


async def double_later(number: int) -> int:
    """Double it."""
    return 2 * number


def double(number: int) -> int:
    """Double it."""
    return 2 * number


def ignore_first(function):
    @functools.wraps(function)
    def method(_, *args, **kwargs):
        return function(*args, **kwargs)

    method.__signature__ = inspect.signature(function).replace(
        parameters=[
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *inspect.signature(function).parameters.values(),
        ]
    )
    return method


@pytest.mark.parametrize("layer", [lambda item: item, functools.partial], ids=["bare", "partial"])
@pytest.mark.parametrize("function", [double, double_later], ids=["sync", "async"])
@pytest.mark.parametrize(
    "kind",
    [staticmethod, lambda function: classmethod(ignore_first(function)), ignore_first],
    ids=["static", "of the class", "of the object"],
)
def test_a_callable_object_takes_the_arguments_of_its_call_method(kind, function, layer):
    """A `__call__` without `self` is allowed. Its first parameter is the first one that a model sends."""
    item = type("Doubler", (), {"__call__": kind(function)})()
    tool = Tool.described(layer(item), name="double", description="Double it.")
    assert list(tool.schema["properties"]) == ["number"]
    assert Dispatcher(Catalog(tool)).call_sync("double", {"number": 3}).value == 6


@dataclass
class Basket:
    """A record that can be changed, and so has no hash."""

    apples: int


@pytest.mark.parametrize("decorate", [functools.cache, functools.lru_cache, functools.lru_cache(maxsize=2)], ids=str)
@pytest.mark.parametrize(
    "hint", [list[int], dict[str, int], set[int], Sequence[int], Iterable[int], Annotated[list[int], "Some."], Basket]
)
def test_a_cached_function_of_values_without_a_hash_is_refused(decorate, hint):
    def total(values: hint) -> int:
        """Add the values."""
        return 1

    with pytest.raises(DefinitionError, match="parameter `values`: .*hash.*take a tuple, a frozenset"):
        Tool.described(decorate(total))


@pytest.mark.parametrize("hint", [tuple[int, ...], frozenset[int], list[int] | None, str, Any])
def test_a_cached_function_of_values_with_a_hash_is_a_tool(hint):
    def total(values: hint = None) -> int:
        """Add the values."""
        return 1

    tool = Tool.described(functools.cache(total))
    assert Dispatcher(Catalog(tool)).call_sync("total", {}).value == 1
