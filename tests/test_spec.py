"""A tool is a value: made from a function or a schema, checked, renamed."""

import functools
import json
import sys
from collections.abc import Mapping
from unittest import mock

import pytest

from toolkit import BadArgs, DefinitionError, Problem, Tool, ToolkitWarning, tool

pytestmark = pytest.mark.filterwarnings("ignore:.*has no docstring:toolkit.ToolkitWarning")


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


# Tool.of.


def test_the_tool_of_a_decorated_function_is_its_attribute():
    @tool(catalog=None, read_only=True)
    def look():
        """Look."""

    assert Tool.of(look) is look.__tool__
    assert Tool.of(look).facts.read_only
    assert Tool.of(look).function is look


def test_the_tool_of_an_undecorated_function_does_not_change_the_function():
    add_tool = Tool.of(add)
    assert add_tool.name == "add"
    assert not hasattr(add, "__tool__")


class Service:
    @tool(read_only=True, name="look_up")
    def find(self, a: int):
        """Find."""
        return self, a

    @tool(read_only=True)
    @classmethod
    def inside(cls, a: int):
        """Look inside."""
        return cls, a

    @classmethod
    @tool(read_only=True)
    def outside(cls, a: int):
        """Look outside."""
        return cls, a

    @tool(read_only=True)
    @staticmethod
    def within(a: int):
        """Look within."""
        return a

    @staticmethod
    @tool(read_only=True)
    def without(a: int):
        """Look without."""
        return a


service = Service()


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (service.find, (service, 1)),
        (service.inside, (Service, 1)),
        (Service.inside, (Service, 1)),
        (Service.outside, (Service, 1)),
        (service.within, 1),
        (Service.within, 1),
        (service.without, 1),
        (Service.without, 1),
    ],
)
def test_the_tool_of_a_bound_method_has_the_facts_of_its_class(function, result):
    """The decorators may have either order, and the tool can be called."""
    find_tool = Tool.of(function)
    assert find_tool.facts.read_only
    assert list(find_tool.schema["properties"]) == ["a"]
    args, kwargs = find_tool.signature.bind(find_tool.check({"a": 1}))
    assert find_tool.function(*args, **kwargs) == result


def test_the_tool_of_a_method_in_its_class_needs_an_object():
    """It is described, but cannot be called."""
    find_tool = Tool.of(Service.find)
    assert find_tool is Service.find.__tool__
    assert find_tool.is_method
    assert find_tool.name == "look_up"
    assert not Tool.of(service.find).is_method


def test_a_decorated_function_may_become_a_method():
    """Bound, it takes one argument less and keeps the facts."""

    @tool(catalog=None, read_only=True)
    def look(where, a: int):
        """Look."""
        return where, a

    class Place:
        find = look

    place = Place()
    find_tool = Tool.of(place.find)
    assert find_tool.facts.read_only
    args, kwargs = find_tool.signature.bind(find_tool.check({"a": 1}))
    assert find_tool.function(*args, **kwargs) == (place, 1)


@pytest.mark.parametrize("value", [5, "read", None, object(), [add]])
def test_a_value_that_cannot_be_called_is_not_a_tool(value):
    with pytest.raises(DefinitionError, match="cannot be called"):
        Tool.described(value)


def test_a_class_is_not_a_tool():
    """Its instances may be tools."""
    with pytest.raises(DefinitionError, match="a class is not a tool"):
        Tool.described(int)


def test_a_method_without_its_object_is_refused():
    """The model would be asked for `self`."""

    class Plain:
        def find(self, a: int): ...

    with pytest.raises(DefinitionError, match="method without its object"):
        Tool.of(Plain.find)
    with pytest.raises(DefinitionError, match="method without its object"):
        Tool.of(Loose.find)


class Loose:
    def find(self, a: int): ...

    @functools.singledispatchmethod
    def show(self, a: int): ...


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="a bound one is an object there")
def test_a_single_dispatch_method_has_to_be_called_by_another():
    """What Python makes of it has lost the object."""
    with pytest.raises(DefinitionError, match="which object it is bound to, so write a method that calls it"):
        Tool.of(Loose().show)


# Names.


class HTTPFetcher:
    def __call__(self):
        """Fetch."""


class Misnamed:
    __name__ = 5

    def __call__(self):
        """Do."""


class Caller:
    @tool
    def __call__(self):
        """Call."""


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (add, "add"),
        (HTTPFetcher(), "http_fetcher"),
        (Caller.__call__, "caller"),
        (Misnamed(), "misnamed"),
        (mock.create_autospec(add), "add"),
    ],
)
def test_a_tool_is_called_like_its_function(function, name):
    """An object is called like its class."""
    assert Tool.of(function).name == name


def test_a_lambda_wants_a_name():
    """Given one, it is a tool like any other."""
    with pytest.raises(DefinitionError, match="'<lambda>' cannot be a tool's name; give one with `name=`"):
        Tool.of(lambda a: a)
    with pytest.warns(ToolkitWarning, match="no parameter has a type"):
        assert Tool.described(lambda a: a, name="same", description="Give it back.").check({"a": 1}) == {"a": 1}


def größe(): ...  # noqa: PLC2401 -- that is the point


def test_a_name_that_no_provider_accepts_is_refused_with_the_remedy():
    with pytest.raises(DefinitionError, match="give one with `name=`"):
        Tool.of(größe)
    assert Tool.described(größe, name="size").name == "size"


def test_a_renamed_tool_is_a_second_tool_with_the_original_name():
    first = Tool.described(add, aliases=["plus"], read_only=True)
    second = first.renamed("sum_up")
    third = second.renamed("total")
    assert (second.name, second.original) == ("sum_up", "add")
    assert (third.name, third.original) == ("total", "add")
    assert first.original is None
    assert second.facts.aliases == ()
    assert second.facts.read_only
    assert second.function is add
    with pytest.raises(DefinitionError):
        first.renamed("not a name")


# From a schema.

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def handler(arguments):
    return arguments


async def async_handler(arguments):
    return arguments


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
def test_a_tool_from_a_schema_takes_the_whole_object(validation):
    """Checked like any other, and handed on as it is."""
    take_tool = Tool.from_schema("take", "Take it.", SCHEMA, handler, read_only=True)
    arguments = {"a": 1, "further": {"b": [1]}}
    args, kwargs = take_tool.signature.bind(take_tool.check(arguments, validation=validation))
    assert take_tool.function(*args, **kwargs) == arguments
    assert take_tool.encode(arguments) == arguments
    assert take_tool.facts.read_only
    assert take_tool.output_schema is None
    assert take_tool.signature.style == "sync"
    with pytest.raises(BadArgs, match="a: required"):
        take_tool.check({}, validation=validation)


def test_a_handler_may_be_async():
    """The style says how it runs."""
    assert Tool.from_schema("take", "Take it.", SCHEMA, async_handler).signature.style == "async"


@pytest.mark.parametrize(
    ("name", "description", "schema", "handler", "options", "words"),
    [
        ("a b", "Take.", SCHEMA, handler, {}, "cannot be a tool's name"),
        (None, "Take.", SCHEMA, handler, {}, "cannot be a tool's name"),
        ("take", 5, SCHEMA, handler, {}, "`description`"),
        ("take", "Take.", {"type": "array"}, handler, {}, "has to be"),
        ("take", "Take.", {"$ref": "http://example.com"}, handler, {}, "nothing is fetched"),
        ("take", "Take.", None, handler, {}, "the schema has to be a dictionary"),
        ("take", "Take.", SCHEMA, "handler", {}, "the handler has to be a function"),
        ("take", "Take.", SCHEMA, dict, {}, "the handler has to be a function"),
        ("take", "Take.", SCHEMA, handler, {"read_only": 1}, "`read_only`"),
        ("take", "Take.", SCHEMA, handler, {"wibble": 1}, "unknown option `wibble`"),
        ("take", "Take.", SCHEMA, handler, {"examples": [{"a": "x"}]}, "example 1 does not fit"),
    ],
)
def test_a_mistaken_tool_from_a_schema_is_refused(name, description, schema, handler, options, words):
    """The error comes as early as for a decorated function."""
    with pytest.raises(DefinitionError, match=words):
        Tool.from_schema(name, description, schema, handler, **options)


@pytest.mark.parametrize("description", [None, "", "  "])
def test_a_tool_from_a_schema_without_a_description_causes_a_warning(description):
    with pytest.warns(ToolkitWarning, match="tool `take_it` has no docstring"):
        take_tool = Tool.from_schema("take_it", description, SCHEMA, handler)
    assert take_tool.description == "Take it"


# Definitions.


def test_a_definition_is_plain_json():
    definition = Tool.described(add, read_only=True, metadata={"x": object()}).definition
    assert json.loads(json.dumps(definition)) == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
            "additionalProperties": False,
        },
        "output_schema": {"type": "integer"},
        "facts": {
            "read_only": True,
            "destructive": False,
            "idempotent": True,
            "open_world": False,
            "defer": False,
        },
    }


@pytest.mark.parametrize("any_tool", [Tool.of(add), Tool.from_schema("take", "Take.", SCHEMA, handler)])
def test_changing_a_shown_schema_changes_no_check(any_tool):
    """The adapter of a provider may change a schema."""
    any_tool.definition["input_schema"].clear()
    any_tool.schema["additionalProperties"] = True
    with pytest.raises(BadArgs):
        any_tool.check({"a": "x"})
    with pytest.raises(BadArgs):
        any_tool.check({"a": "x"}, validation="jsonschema")


# The author's own check.


@pytest.mark.parametrize("answer", [None, True, [], {}, (), iter([])])
def test_no_objection(answer):
    """There are many ways to say nothing."""
    assert Tool.described(add, validate=lambda arguments: answer).check({"a": 1}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        (False, [Problem("refused by the tool's own check")]),
        ("too much", [Problem("too much")]),
        (Problem("too much", ["a"]), [Problem("too much", ["a"])]),
        (["too much", Problem("odd", ["b"])], [Problem("too much"), Problem("odd", ["b"])]),
        ({"a": "too much", ("b", 0): "odd"}, [Problem("too much", ["a"]), Problem("odd", ["b", 0])]),
        ((text for text in ["too much"]), [Problem("too much")]),
        (5, [Problem("the tool's own check returned int; it has to return problems or None")]),
    ],
)
def test_an_objection_is_a_problem_with_its_path(answer, problems):
    """An objection may have any form."""
    with pytest.raises(BadArgs) as error:
        Tool.described(add, validate=lambda arguments: answer).check({"a": 1})
    assert list(error.value.problems) == problems


def broken_list():
    yield "too much"
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("error", "problems"),
    [
        (ValueError("too much"), [Problem("too much")]),
        (BadArgs([Problem("too much", ["a"])]), [Problem("too much", ["a"])]),
        (KeyError(), [Problem("the tool's own check raised KeyError")]),
    ],
)
def test_arguments_are_refused_if_the_authors_check_raises(error, problems):
    def validate(arguments):
        raise error

    with pytest.raises(BadArgs) as raised:
        Tool.described(add, validate=validate).check({"a": 1})
    assert list(raised.value.problems) == problems


def test_a_check_that_raises_on_the_way_refuses():
    """This holds also while its problems are listed."""
    with pytest.raises(BadArgs, match="broken"):
        Tool.described(add, validate=lambda arguments: broken_list()).check({"a": 1})


def test_the_authors_check_gets_a_copy_of_the_decoded_arguments_with_defaults():
    calls = []

    def validate(arguments):
        assert isinstance(arguments, Mapping)
        calls.append(dict(arguments))
        arguments["a"] = 100

    assert Tool.described(add, validate=validate).check({"a": 1.0}) == {"a": 1, "b": 2}
    assert calls == [{"a": 1, "b": 2}]


def test_the_custom_check_runs_only_for_arguments_that_fit():
    """Its author need not check them again."""
    calls = []
    with pytest.raises(BadArgs):
        Tool.described(add, validate=calls.append).check({"a": "x"})
    assert calls == []


async def too_much(arguments):
    return {"a": "too much"} if arguments["a"] > 5 else None


async def fails(arguments):
    raise ValueError("failed")


@pytest.mark.anyio
async def test_the_authors_check_may_be_async():
    add_tool = Tool.described(add, validate=too_much)
    assert await add_tool.check_async({"a": 1}) == {"a": 1, "b": 2}
    with pytest.raises(BadArgs, match="a: too much"):
        await add_tool.check_async({"a": 9})
    with pytest.raises(BadArgs, match="failed"):
        await Tool.described(add, validate=fails).check_async({"a": 9})


@pytest.mark.anyio
async def test_a_plain_check_serves_there_too():
    """Async callers need not know which it is."""
    assert await Tool.of(add).check_async('{"a": 1}') == {"a": 1, "b": 2}
    with pytest.raises(BadArgs, match="no"):
        await Tool.described(add, validate=lambda arguments: "no").check_async({"a": 1})


@pytest.mark.parametrize("validate", [too_much, lambda arguments: too_much(arguments)])
def test_an_async_check_cannot_be_asked_without_waiting(validate):
    """The error says which door to take, and nothing is left un-awaited."""
    with pytest.raises(DefinitionError, match="check_async"):
        Tool.described(add, validate=validate).check({"a": 9})
