"""Anthropic's budget for strict tools: who gets it, who does not, and who is told."""

from __future__ import annotations

import pytest

from tests.formats import sdks
from tests.formats.tools import build_definitions
from toolkit import Catalog, Session, Tool
from toolkit.formats.schemas.anthropic_budget import StrictBudget

FORMATS = ["anthropic", "bedrock"]


def takes(name, *, optional=0, unions=0, defer=False):
    """Return a tool with so many optional parameters and so many unions."""
    properties = {f"o{number}": {"type": "string"} for number in range(optional)}
    properties |= {f"u{number}": {"type": ["string", "null"]} for number in range(unions)}
    required = [key for key in properties if key.startswith("u")]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Tool.from_schema(name, "Act.", schema, lambda arguments: None, defer=defer)


def strict(name, catalog, session=None, **options):
    """Return the names of the tools that are strict."""
    definitions = [
        definition.get("toolSpec", definition)
        for definition in build_definitions(name, catalog, session, strict=True, **options)
    ]
    return [definition["name"] for definition in definitions if definition.get("strict")]


@pytest.mark.parametrize("name", FORMATS)
def test_the_budget_is_used_up_to_its_end(name):
    """Twenty tools, twenty-four optional parameters, sixteen unions: exactly that is strict."""
    tools = [takes("a", optional=24), takes("b", unions=16), *(takes(f"t{number}") for number in range(18))]
    assert len(strict(name, Catalog(*tools))) == 20


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ([takes("a", optional=5), takes("b", optional=12), takes("c", optional=8)], ["a", "c"]),
        ([takes("a", unions=2), takes("b", optional=20), takes("c", unions=15)], ["a", "b"]),
        ([takes("a", optional=25)], []),
        ([takes("a", optional=20), takes("b", optional=20), takes("c", optional=1)], ["a", "c"]),
    ],
    ids=["optional", "unions", "one-too-many", "equals"],
)
def test_the_costliest_tool_over_the_budget_is_not_strict(name, tools, names):
    """The last one of equal tools goes first."""
    assert strict(name, Catalog(*tools)) == names


@pytest.mark.parametrize("name", FORMATS)
def test_more_tools_than_may_be_strict(name):
    """The ones with the simplest schemas stay strict, and of equals the first."""
    tools = [takes("costly", optional=3), *(takes(f"t{number}") for number in range(21))]
    assert strict(name, Catalog(*tools)) == [f"t{number}" for number in range(20)]


@pytest.mark.parametrize("name", FORMATS)
def test_tools_that_are_not_strict_are_named(name):
    """The note says what there is room for and what this tool would take."""
    definitions = build_definitions(name, Catalog(takes("a", optional=25), takes("b")), strict=True)
    [note] = definitions.notes
    assert str(note) == (
        "`a`: not strict: a request has room for 20 strict tools with 24 optional parameters and 16 unions in all, "
        "and this one has 25 and 0"
    )
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.parametrize("name", FORMATS)
def test_loading_a_tool_does_not_change_the_definitions_that_were_sent(name):
    """Loaded tools get the rest of the budget in the order of their loading, so the cache keeps its prefix."""
    catalog = Catalog(
        takes("a", optional=20),
        takes("cheap", optional=1, defer=True),
        takes("dear", optional=8, defer=True),
        takes("last", optional=3, defer=True),
    )
    session = Session()
    sent = build_definitions(name, catalog, session, strict=True)
    for loaded in ("dear", "cheap", "last"):
        session.load(loaded)
        more = build_definitions(name, catalog, session, strict=True)
        assert more[: len(sent)] == sent
        sent = more
    assert strict(name, catalog, session) == ["a", "cheap", "last"]
    assert [note.tool for note in sent.notes] == ["dear"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_loaded_tool_is_not_strict_once_twenty_tools_are_strict(name):
    """A note names the loaded tool, and its definition is sent unchanged."""
    catalog = Catalog(*(takes(f"t{number}") for number in range(20)), takes("more", defer=True))
    session = Session()
    session.load("more")
    definitions = build_definitions(name, catalog, session, strict=True)
    assert len(definitions) == 21
    assert [note.tool for note in definitions.notes] == ["more"]


def test_a_tool_that_cannot_be_strict_does_not_use_the_budget():
    """Its optional parameters are not counted."""
    schema = {"type": "object", "properties": {f"o{number}": {} for number in range(24)}}
    open_one = Tool.from_schema("open", "Act.", schema, lambda arguments: None, defer=True)
    session = Session()
    session.load("open", "a")
    assert strict("anthropic", Catalog(open_one, takes("a", optional=24, defer=True)), session) == ["a"]


def test_the_budget_can_be_set():
    """The numbers are the provider's and change."""
    catalog = Catalog(takes("a", optional=2), takes("b"), takes("c", unions=1))
    assert strict("anthropic", catalog, budget=StrictBudget(tools=1)) == ["b"]
    assert strict("anthropic", catalog, budget=StrictBudget(optional=0)) == ["b", "c"]
    assert strict("bedrock", catalog, budget=StrictBudget(unions=0)) == ["a", "b"]
