"""A form for every construct of a schema: what a person fills in is the JSON that arrives."""

from __future__ import annotations

import itertools
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.inspector.page.form_driver import fill_form, is_same_json
from tests.properties.types import typed
from tests.properties.values import json_values
from toolkit import Catalog, Dispatcher, Tool

# The page is a fixture of the whole test. To make a counterexample smaller in a browser would take minutes.
PATIENT = {"suppress_health_check": list(HealthCheck), "deadline": None, "phases": [Phase.explicit, Phase.generate]}


def tool_of(hint: Any) -> Tool:
    """Return a tool with one parameter of the type *hint*."""

    def probe(value):
        """Take a value."""

    probe.__annotations__ = {"value": hint}
    return Tool.of(probe)


@st.composite
def schemas_with_values(draw: Any) -> tuple[dict[str, Any], Any]:
    """Draw a schema that a codec wrote, and a value that it takes."""
    typed_values = draw(typed())
    tool = tool_of(typed_values.hint)
    value = tool.encode({"value": draw(typed_values.values)})
    # A drawn value of one member of a union may be written as that of another, which has limits.
    assume(jsonschema.Draft202012Validator(tool.schema).is_valid(value))
    return tool.schema, value


@pytest.fixture
def probe_page(inspect):
    """A page that shows the form of a tool for any schema, and what arrives there."""
    catalog = Catalog()
    inspected = inspect(Dispatcher(catalog, repair=False))
    page = inspected.open("/catalog")
    arrived: list[Any] = []
    names = (f"probe_{number}" for number in itertools.count(1))

    def ask(schema: dict[str, Any], fill: Any) -> Any:
        """Return what arrives at a tool with *schema* after *fill* has filled in its form."""
        name = next(names)
        catalog.add(Tool.from_schema(name, "Take it.", schema, arrived.append, read_only=True))
        page.goto(f"{inspected.url}/#/catalog/{name}")
        panel = page.get_by_role("form", name=f"Call {name}", exact=True)
        panel.wait_for()
        fill(panel.locator(".form").first)
        with page.expect_response("**/api/call") as response:
            panel.get_by_role("button", name="Call", exact=True).click()
        call = response.value.json()["call"]
        assert call["kind"] == "ok", call["result"]["text"]
        return arrived.pop()

    ask.page = page
    return ask


@given(schemas_with_values())
@settings(**PATIENT)
def test_filled_in_form_sends_the_value(probe_page, drawn):
    """The value is drawn from the schema, and typed into the form control by control."""
    schema, value = drawn
    arrived = probe_page(schema, lambda form: fill_form(form, schema, value))
    assert is_same_json(arrived, value)


CONSTRUCTS = {
    "constant": ({"const": "only"}, "only"),
    "choice": ({"enum": [1, "a", None, True]}, True),
    "number beyond 2**53": ({"type": "integer"}, 2**53 + 1),
    "long fraction": ({"type": "number"}, 0.1),
    "secret": ({"type": "string", "writeOnly": True}, "hush"),
    "carriage return": ({"type": "string"}, "one\r\ntwo"),
    "control characters": ({"type": "string"}, "\x1b[31m\x00"),
    "nullable": ({"type": ["string", "null"]}, None),
    "any JSON": ({}, {"a": [1, {"b": None}]}),
    "map": ({"type": "object", "additionalProperties": {"type": "integer"}}, {"": 1, "__proto__": 2, "a b": 3}),
    "tuple": ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}, [1, "a"]),
    "tagged union": (
        {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]},
                {
                    "type": "object",
                    "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}},
                    "required": ["kind"],
                },
            ]
        },
        {"kind": "dog", "bark": "woof"},
    ),
    "recursion": (
        {"$ref": "#/$defs/Node"},
        {"name": "a", "next": {"name": "b", "next": None}},
    ),
}
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
    "required": ["name", "next"],
}


def test_every_construct_has_its_control(probe_page):
    """One form has all of them, with examples that a person can read."""
    parts = {name: part for name, (part, _) in CONSTRUCTS.items()}
    schema = {"type": "object", "properties": parts, "required": [*parts], "$defs": {"Node": NODE}}
    value = {name: value for name, (_, value) in CONSTRUCTS.items()}
    arrived = probe_page(schema, lambda form: fill_form(form, schema, value))
    assert is_same_json(arrived, value)


@given(schemas_with_values(), json_values())
@settings(**PATIENT)
def test_written_value_is_read_back(probe_page, drawn, other):
    """An old call fills the form with its values, whether they fit the schema or not. It may ask for missing ones."""
    schema, fitting = drawn
    for value in (fitting, {"value": other}):
        read = probe_page.page.evaluate(
            """async ([schema, value]) => {
                const { makeForm } = await import("./page/form.js");
                const { formatJson, parseJson } = await import("./page/json.js");
                const form = makeForm(parseJson(schema));
                form.write(parseJson(value));
                const read = form.read();
                return formatJson([read.value, read.problems]);
            }""",
            [json.dumps(schema), json.dumps(value)],
        )
        back, problems = json.loads(read)
        assert is_same_json(back, value)
        assert problems == [] or value is not fitting


def test_secrets_are_masked(probe_page):
    """A secret is never readable on the page, as a field and as raw JSON."""
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "format": "password"}},
        "required": ["key"],
    }

    def fill(form):
        form.get_by_label("key", exact=True).fill("hush")
        assert form.get_by_label("key", exact=True).get_attribute("type") == "password"
        form.get_by_role("button", name="Raw JSON").click()
        raw = form.get_by_label("Arguments as JSON")
        assert raw.evaluate("box => getComputedStyle(box).webkitTextSecurity") == "disc"

    assert probe_page(schema, fill) == {"key": "hush"}


def test_problems_are_shown_at_their_fields(probe_page):
    """A number that is none is told where it stands, and nothing is sent."""
    page = probe_page.page
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}

    def fill(form):
        form.get_by_label("count", exact=True).fill("many")
        page.get_by_role("button", name="Call", exact=True).click()
        assert form.locator(".field .problem").inner_text() == "write a number"
        assert form.get_by_label("count", exact=True).get_attribute("aria-invalid") == "true"
        form.get_by_label("count", exact=True).fill("3")

    assert probe_page(schema, fill) == {"count": 3}
    assert page.locator(".field .problem").inner_text() == ""
