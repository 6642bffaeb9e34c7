"""What is read from a function: its text, and a hand-written schema if there is one."""

import datetime as dt
import functools
import threading
import types
import warnings
from dataclasses import dataclass
from typing import Annotated

import pytest

from toolkit import BadArgs, Catalog, Context, DefinitionError, Dispatcher, Tool, ToolkitWarning, tool


def describe(function, **options):
    return Tool.described(function, **options)


# Texts.


def read(path: str, limit: int = 10):
    """
    Read a file.

    Slowly, if need be.

    Args:
        path: Where it is.
        limit: How many lines: at most 100.

    Returns:
        The text.
    """


def test_the_prose_is_the_description():
    """Sections do not leak into it; their texts go to the parameters."""
    read_tool = describe(read)
    assert read_tool.description == "Read a file.\n\nSlowly, if need be."
    assert read_tool.schema["properties"]["path"]["description"] == "Where it is."
    assert read_tool.schema["properties"]["limit"]["description"] == "How many lines: at most 100."


def test_an_option_wins_over_the_docstring():
    """The parameters keep the texts that the docstring gives them."""
    read_tool = describe(read, description="Look into a file.")
    assert read_tool.description == "Look into a file."
    assert read_tool.schema["properties"]["path"]["description"] == "Where it is."


def find(city: str):
    """
    Find the stations of a city.

    Args:
        city: Its name.

    Returns:
        list[str]: The stations,
        the largest first.

    Raises:
        KeyError: No such city.
        TimeoutError: The register does not
            answer.
    """


OUTCOMES = """

Returns: list[str]: The stations, the largest first.

Raises:
- KeyError: No such city.
- TimeoutError: The register does not answer."""


def test_returns_and_raises_reach_the_model_in_the_description_by_choice():
    """`describe="full"` adds them to the prose, or to the description that is given."""
    assert describe(find, describe="full").description == f"Find the stations of a city.{OUTCOMES}"
    assert describe(find, describe="full", description="Find.").description == f"Find.{OUTCOMES}"
    assert describe(read, describe="full").description.endswith("if need be.\n\nReturns: The text.")


@pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")
def test_a_docstring_without_returns_and_raises_adds_no_section_to_the_description():
    assert describe(len, describe="full", name="size").description == describe(len, name="size").description


@pytest.mark.parametrize("options", [{}, {"describe": "prose"}, {"describe": None}])
def test_returns_and_raises_stay_out_of_the_description_unless_asked(options):
    """Most models do well without them."""
    assert describe(find, **options).description == "Find the stations of a city."


def test_a_method_may_be_described_in_full():
    """Its docstring may be inherited."""

    class Base:
        def find(self, city: str):
            """
            Find.

            Returns:
                The stations.
            """

    class Register(Base):
        @tool(describe="full")
        def find(self, city: str): ...

        @tool(describe="full")
        def count(self, city: str):
            """
            Count.

            Raises:
                KeyError: No such city.
            """

    catalog = Catalog(Register())
    assert catalog["find"].description == "Find.\n\nReturns: The stations."
    assert catalog["count"].description == "Count.\n\nRaises:\n- KeyError: No such city."


def test_an_annotation_wins_over_the_docstring():
    """An empty annotation falls back to the docstring."""

    def take(a: Annotated[int, "Nearer."], b: Annotated[int, ""]):
        """
        Take.

        Args:
            a: Further.
            b: Further.
        """

    properties = describe(take).schema["properties"]
    assert properties["a"]["description"] == "Nearer."
    assert properties["b"]["description"] == "Further."


class Documented:
    """What it is."""

    def __call__(self): ...


class Telling:
    """What it is."""

    def __call__(self):
        """What it does."""


class Base:
    def find(self):
        """Find things."""


class Derived(Base):
    def find(self): ...


def own_text(function, text):
    function.__doc__ = text
    return function


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (functools.partial(read, "x"), "Read a file.\n\nSlowly, if need be."),
        (functools.partial(functools.partial(read, "x"), limit=1), "Read a file.\n\nSlowly, if need be."),
        (own_text(functools.partial(read, "x"), "Read x."), "Read x."),
        (functools.cache(read), "Read a file.\n\nSlowly, if need be."),
        (Documented(), "What it is."),
        (Telling(), "What it does."),
        (Derived().find, "Find things."),
        pytest.param(
            len,
            "Return the number of items in a container.",
            marks=pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning"),
        ),
    ],
)
def test_the_docstring_is_found_behind_any_callable(function, text):
    """It may be in the function of a partial, in a class, or in an overridden method."""
    assert describe(function).description == text


def undocumented_HTTPThing(a: int): ...


@dataclass
class Add:
    n: int

    def __call__(self, a: int): ...


@pytest.mark.parametrize(
    ("function", "text", "place"),
    [
        (undocumented_HTTPThing, "Undocumented HTTP thing", undocumented_HTTPThing),
        (functools.partial(undocumented_HTTPThing, 1), "Undocumented HTTP thing", undocumented_HTTPThing),
        (own_text(lambda: None, "   "), "Named", None),
        (Add(1), "Add", Add.__call__),
    ],
)
def test_a_function_without_a_text_is_described_by_its_name_with_a_warning(function, text, place):
    """The warning names the function, and points at its file and line."""
    options = {} if place else {"name": "named"}
    code = (place or function).__code__
    with pytest.warns(ToolkitWarning, match="has no docstring.*write one, or give `description=`") as caught:
        silent_tool = describe(function, **options)
    assert silent_tool.description == text
    assert (caught[0].filename, caught[0].lineno) == (code.co_filename, code.co_firstlineno)
    assert code.co_qualname in str(caught[0].message)


def test_a_given_description_avoids_the_warning():
    assert describe(undocumented_HTTPThing, description="Do it.").description == "Do it."


class Silent:
    __call__ = functools.cache(lambda self: None)


def test_a_warning_names_the_class_of_an_object_without_a_docstring():
    with pytest.warns(ToolkitWarning, match=r"test_description\.Silent\..* has no docstring"):
        silent_tool = describe(Silent())
    assert silent_tool.description == "Silent"


def test_the_warning_about_a_method_comes_when_its_object_is_known():
    """Until then the method may inherit a docstring. The warning comes once."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Quiet(Base):
            @tool
            def find(self): ...

            @tool
            def lose(self): ...

    with pytest.warns(ToolkitWarning) as caught:
        catalog = Catalog(Quiet())
    assert ["Quiet.lose" in str(warning.message) for warning in caught] == [True]
    assert catalog["find"].description == "Find things."
    assert catalog["lose"].description == "Lose"


# Hand-written schemas.


def take(a: int, b: str = "x"):
    """Take."""
    return a, b


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 1, "not": {"const": 7}}, "b": {"enum": ["x", "y"]}},
    "required": ["a"],
    "dependentRequired": {"b": ["a"]},
}


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (SCHEMA, {"a": 1, "b": "y"}, [{"a": 0}, {"a": 7}, {"a": 1, "b": "z"}, {"b": "x"}]),
        ({"properties": {"a": {"maximum": 3, "type": "integer"}}}, {"a": 3}, [{"a": 4}, {"a": "1"}]),
        ({"type": "object", "properties": {"a": {"type": "integer", "maximum": 3}}}, {"a": 3}, [{"a": 4}]),
        ({"type": ["object", "null"], "required": ["b"]}, {"a": 1, "b": "x"}, [{"a": 1}]),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"required": ["b"]}}}, {"a": 1, "b": "x"}, [{"a": 1}]),
        (
            {"oneOf": [{"required": ["b"]}, {"properties": {"a": {"const": 1}}}]},
            {"a": 1},
            [{"a": 2}, {"a": 1, "b": "x"}],
        ),
        ({"unevaluatedProperties": False, "properties": {"a": {}}}, {"a": 1}, [{"a": 1, "b": "x"}]),
        ({}, {"a": 1}, [{}, {"a": "x"}, {"a": 1, "c": 2}]),
    ],
)
def test_a_hand_written_schema_is_enforced(schema, good, bad, validation):
    """It may have any keywords. The types of the function hold as well."""
    take_tool = describe(take, schema=schema)
    assert take_tool.check(good, validation=validation) == {"b": "x", **good}
    assert take_tool.schema["type"] == "object"
    refusals = 0
    for arguments in bad:
        with pytest.raises(BadArgs):
            take_tool.check(arguments, validation=validation)
        refusals += 1
    assert refusals == len(bad)


def test_arguments_are_decoded_as_annotated_under_a_hand_written_schema():
    """The schema says what may be sent, the annotation what arrives."""

    def on(day: dt.date):
        """Wait."""

    on_tool = describe(on, schema={"properties": {"day": {"type": "string", "pattern": "^2024"}}})
    assert on_tool.check({"day": "2024-05-01"}) == {"day": dt.date(2024, 5, 1)}
    with pytest.raises(BadArgs, match="day"):
        on_tool.check({"day": "2023-05-01"})
    with pytest.raises(BadArgs, match="day"):
        on_tool.check({"day": "2024-99-01"})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, 'has to be "object"'),
        ({"type": ["string", "null"]}, 'has to be "object"'),
        ({"type": "wibble"}, "not a valid schema at type"),
        ({"properties": {"a": {"minimum": "one"}}}, "not a valid schema at properties/a/minimum"),
        ({"properties": {"c": {}, "d": {}}}, "does not take: c, d"),
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "#/$defs/missing"}}}, "not answered by the schema itself"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "drafts 04, .* are understood here"),
        ({"properties": {"a": {"pattern": "("}}}, r"\("),
        ({"properties": {"a": {"default": object()}}}, "not JSON.*a Python object"),
        ({"properties": {"a": {"default": float("nan")}}}, "not JSON.*nan"),
        ({"properties": {5: {}}}, "not JSON"),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused_at_decoration(schema, words):
    """The error has the reason and the function."""
    with pytest.raises(DefinitionError, match=f"test_description.take: .*{words}"):
        describe(take, schema=schema)


def test_a_schema_nested_without_end_is_refused():
    """It contains itself, or is very deep."""
    schema = {}
    schema["properties"] = {"a": schema}
    with pytest.raises(DefinitionError, match="nested too deeply"):
        describe(take, schema=schema)


def test_a_schema_is_copied():
    """Changing it afterwards changes no check; read-only mappings and tuples are fine."""
    limits = {"type": "integer", "maximum": 3}
    take_tool = describe(take, schema=types.MappingProxyType({"properties": {"a": limits}, "required": ("a",)}))
    limits["maximum"] = 100
    with pytest.raises(BadArgs, match="at most 3"):
        take_tool.check({"a": 50})
    assert take_tool.schema["required"] == ["a"]


def test_a_function_with_kwargs_accepts_the_properties_of_the_schema():
    def free(**more):
        """Take."""

    free_tool = describe(free, schema={"properties": {"a": {"type": "integer"}}, "additionalProperties": False})
    assert free_tool.check({"a": 1}) == {"a": 1}
    with pytest.raises(BadArgs, match="b"):
        free_tool.check({"b": 1})


def test_a_parameter_outside_of_a_closed_schema_needs_no_json_form():
    """The parameter keeps its default, also if its type is unknown. A resource is filled in."""

    def price(amount: float, form: threading.Thread | None = None, more: "Missing" = 3, *, context: Context = None):  # noqa: F821
        """Tell a price."""
        return [amount, form, more, context is not None]

    schema = {"properties": {"amount": {"type": "number"}}, "additionalProperties": False}
    price_tool = describe(price, schema=schema)
    assert price_tool.check({"amount": 1.5}) == {"amount": 1.5}
    with pytest.raises(BadArgs, match="form"):
        price_tool.check({"amount": 1.5, "form": None})
    assert Dispatcher(Catalog(price_tool)).call_sync("price", {"amount": 1.5}).value == [1.5, None, 3, True]


@pytest.mark.parametrize(
    ("name", "options"), [("form", {}), ("amount", {"hidden": ["more"], "inject": {"amount": Context}})]
)
def test_a_schema_cannot_name_a_parameter_that_a_model_cannot_send(name, options):
    """The parameter is hidden, or its type has no JSON form."""

    def price(amount: float, form: threading.Thread | None = None, **more):
        """Tell a price."""

    with pytest.raises(DefinitionError, match=rf"properties that .*: {name}; "):
        describe(price, schema={"properties": {name: {}}}, **options)


def test_a_schema_for_a_static_method_waits_for_its_class():
    """The class body does not show yet whether the first parameter is the object."""

    class Tools:
        @staticmethod
        @tool(schema={"properties": {"word": {"type": "string", "minLength": 2}}}, examples=[{"word": "ab"}])
        def spell(word: str):
            """Spell."""

    (spell,) = Catalog(Tools())
    assert spell.check({"word": "ab"}) == {"word": "ab"}
    with pytest.raises(BadArgs):
        spell.check({"word": "a"})


# Examples.


def test_examples_are_checked_at_decoration():
    """The error names the bad example."""
    assert describe(take, examples=[{"a": 1}, {"a": 2, "b": "y"}]).facts.examples[0] == {"a": 1}
    with pytest.raises(DefinitionError, match=r"take: example 2 does not fit the schema: a: expected an integer"):
        describe(take, examples=[{"a": 1}, {"a": "x"}])
    with pytest.raises(DefinitionError, match="example 1"):
        describe(take, schema=SCHEMA, examples=[{"a": 7}])


def test_examples_of_a_method_are_checked_in_the_class_body():
    """The object is not part of them."""
    with pytest.raises(DefinitionError, match="example 1"):

        class Tools:
            @tool(examples=[{"a": "x"}])
            def use(self, a: int):
                """Use."""


# Many at once.


def test_a_waiting_tool_is_finished_by_many_threads_at_once():
    """Every one of them gets the whole signature."""
    namespace = {}
    exec("def late(a: 'Later') -> 'Later': 'Wait.'", namespace)
    late_tool = describe(namespace["late"])
    namespace["Later"] = int
    start = threading.Barrier(8)
    schemas = []

    def use():
        start.wait()
        schemas.append((late_tool.check({"a": 1}), late_tool.schema, late_tool.output_schema))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(schemas) == 8
    assert all(entry[0] == {"a": 1} and entry[2] == {"type": "integer"} for entry in schemas)


@pytest.mark.parametrize(
    ("theirs", "fits"),
    [
        ("integer", True),
        ("number", True),
        (["string", "null"], False),
        ("string", False),
        (["string", "integer"], True),
    ],
)
def test_a_schema_that_contradicts_an_annotation_is_refused(theirs, fits):
    """A call that could never be right shows where it was made, not at every call."""

    def count(a: int) -> None:
        """Count."""

    options = {"schema": {"type": "object", "properties": {"a": {"type": theirs}}}}
    if fits:
        assert Tool.described(count, **options).check({"a": 1}) == {"a": 1}
    else:
        with pytest.raises(DefinitionError, match="`a`: no value fits both"):
            Tool.described(count, **options)
