"""
A tool made from a schema may state what it returns and where it comes from.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pytest

from toolkit import (
    Approvals,
    AuditLog,
    Catalog,
    Context,
    Decision,
    DefinitionError,
    Dispatcher,
    Inject,
    Permissions,
    SQLiteApprovals,
    Tool,
)
from toolkit.approvals.terminal.screens import Screen
from toolkit.content import TextPart
from toolkit.formats import mcp
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio

ANY_OBJECT = {"type": "object"}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def tool_returning(value: Any, **options: Any) -> Tool:
    """Return a tool whose result has to fit `COUNT`."""
    return Tool.from_schema("count", "Count.", ANY_OBJECT, lambda arguments: value, output_schema=COUNT, **options)


# The output schema.


def test_the_output_schema_is_part_of_the_definition():
    """Formats and people see it, as that of an annotated function. It is a copy of what was given."""
    output_schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
    tool = Tool.from_schema("count", "Count.", ANY_OBJECT, lambda arguments: None, output_schema=output_schema)
    output_schema["properties"].clear()
    assert tool.definition["output_schema"]["properties"] == {"count": {"type": "integer"}}
    [definition] = mcp.definitions(Catalog(tool_returning({})))
    assert definition["outputSchema"] == COUNT


@pytest.mark.parametrize(
    "value",
    [{"count": 3}, {"count": 3, "more": None}, ToolResult("three", {"count": 3})],
    ids=["one", "more", "result"],
)
async def test_a_value_that_fits_the_output_schema_is_the_result(value):
    """It is checked and not changed."""
    result = await Dispatcher(Catalog(tool_returning(value))).call("count", {})
    assert result.kind == "ok"
    assert result.value["count"] == 3


@pytest.mark.parametrize(
    "value",
    [{"count": "3"}, {}, None, "three", [1], ToolResult("three", {"count": "3"}), ToolResult("three"), TextPart("3")],
)
async def test_a_value_that_does_not_fit_is_a_failed_call_that_has_happened(value):
    """The model reads the problem, and that the tool ran."""
    result = await Dispatcher(Catalog(tool_returning(value))).call("count", {})
    assert result.kind == "failed"
    assert result.error.details["ran"] is True
    assert "output schema" in result.text


async def test_a_failure_does_not_have_to_fit_the_output_schema():
    """An error has no value."""
    result = await Dispatcher(Catalog(tool_returning(ToolResult.failure("failed", "no disk")))).call("count", {})
    assert (result.kind, "no disk" in result.text) == ("failed", True)


async def test_check_output_false_gives_any_value_on():
    """The dispatcher's option holds for these tools as well."""
    result = await Dispatcher(Catalog(tool_returning("three")), check_output=False).call("count", {})
    assert (result.kind, result.value) == ("ok", "three")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "the output schema has to be a dictionary"),
        ({"type": "text"}, "the output schema: not a valid schema at type"),
        ({"const": float("nan")}, "the output schema is not JSON"),
        ({"$ref": "https://example.com/x"}, "the output schema: the top: .*nothing is fetched"),
    ],
)
def test_an_output_schema_that_cannot_be_enforced_is_refused(schema, problem):
    """The message names the tool and the schema that is wrong."""
    with pytest.raises(DefinitionError, match=f"tool `count`: {problem}"):
        Tool.from_schema("count", "Count.", ANY_OBJECT, lambda arguments: None, output_schema=schema)


def test_an_output_schema_need_not_be_an_object():
    """Only arguments are always an object."""
    tool = Tool.from_schema("count", "Count.", ANY_OBJECT, lambda arguments: 1, output_schema={"type": "integer"})
    assert tool.output_schema == {"type": "integer"}


# Parameters that no model sends.


@dataclass
class Shelf:
    """A resource."""

    size: int


async def test_a_handler_gets_its_context_and_resources():
    """They are found by annotation, and are not in the schema."""
    reports = []

    async def count(arguments: dict[str, Any], context: Context, shelf: Inject[Shelf]) -> Any:
        context.report(1, 2)
        return {"count": arguments["factor"] * shelf.size}

    schema = {"type": "object", "properties": {"factor": {"type": "integer"}}, "required": ["factor"]}
    tool = Tool.from_schema("count", "Count.", schema, count, output_schema=COUNT, origin="mcp:shop")
    dispatcher = Dispatcher(Catalog(tool), resources={Shelf: Shelf(3)}, on_progress=reports.append)
    assert (await dispatcher.call("count", {"factor": 2})).value == {"count": 6}
    assert len(reports) == 1
    assert list(tool.schema["properties"]) == ["factor"]


# The origin.


def test_the_origin_stays_with_the_tool():
    """It is "python" unless another one is given, and a new name does not change it."""
    assert tool_returning({}).origin == "python"
    tool = tool_returning({}, origin="mcp:shop")
    assert (tool.origin, tool.renamed("shop_count").origin) == ("mcp:shop", "mcp:shop")


@pytest.mark.parametrize(
    "origin", ["", "mcp:a b", "mcp:(a)", "mcp:*", "mcp:a?", "mcp:\x1b", "group:a", "mcp:a/", None, "x" * 201]
)
def test_an_origin_that_no_rule_could_name_is_refused(origin):
    """The message says what an origin looks like."""
    with pytest.raises(DefinitionError, match=r"tool `count`: .* cannot be a tool's origin.*mcp:github"):
        tool_returning({}, origin=origin)


@pytest.mark.parametrize("origin", ["mcp:github", "dist:x", "mcp:a/b", "mcp:größe"])
async def test_a_rule_can_name_each_legal_origin(origin):
    """Every origin that `from_schema` accepts may stand before the slash of a rule."""
    dispatcher = Dispatcher(
        Catalog(tool_returning({"count": 1}, origin=origin)), permissions=Permissions(rules=[f"allow {origin}/count"])
    )
    assert (await dispatcher.call("count", {})).kind == "ok"


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("allow mcp:search/search_*", "waiting"),
        ("allow mcp:search/search_wipe", "waiting"),
        ("allow mcp:search/wipe", "ok"),
        ("allow mcp:search/w*", "ok"),
        ("allow wipe", "waiting"),
        ("allow search_wipe", "waiting"),
        ("deny mcp:search/wipe", "denied"),
        ("deny mcp:search/search_*", "denied"),
        ("deny wipe", "denied"),
    ],
)
async def test_an_allow_with_an_origin_means_the_name_there(rule, kind):
    """The prefix that this program adds cannot make a rule match, and a deny matches every name."""
    tool = Tool.from_schema("wipe", "Wipe.", ANY_OBJECT, lambda arguments: "gone", origin="mcp:search")
    dispatcher = Dispatcher(Catalog(tool.renamed("search_wipe")), permissions=Permissions(rules=[rule]))
    assert (await dispatcher.call("search_wipe", {})).kind == kind


# Where people see the origin.


async def test_a_request_says_where_the_tool_comes_from(tmp_path):
    """It survives the store, and the terminal shows it before the reason."""
    catalog = Catalog(tool_returning({"count": 1}, origin="mcp:shop", destructive=True))
    approvals = Approvals(SQLiteApprovals(tmp_path / "x.approvals.sqlite"))
    result = await Dispatcher(catalog, permissions=Permissions("default"), approvals=approvals).call("count", {})
    request = approvals.store.get(result.request.id).request
    assert request.origin == result.request.to_json()["origin"] == "mcp:shop"
    output = io.StringIO()
    Screen(output, colour=False).show(request, 0.0)
    assert "comes from: mcp:shop\n  because: " in output.getvalue()


async def test_the_json_of_a_request_about_a_local_tool_has_no_origin():
    """So older seals still fit. A terminal does not show the origin either."""
    catalog = Catalog(tool_returning({"count": 1}, destructive=True))
    request = (await Dispatcher(catalog, permissions=Permissions("default")).call("count", {})).request
    assert request.origin == "python"
    assert "origin" not in request.to_json()
    output = io.StringIO()
    Screen(output, colour=False).show(request, 0.0)
    assert "comes from" not in output.getvalue()


@pytest.mark.parametrize(("origin", "expected"), [("mcp:shop", "mcp:shop"), ("python", None)])
async def test_the_audit_log_names_the_origin(tmp_path, origin, expected):
    """Each line about a call of a tool from elsewhere has it, also if the call never started."""
    log = tmp_path / "audit.jsonl"
    tools = [tool_returning({"count": 1}, origin=origin), tool_returning({}, origin=origin).renamed("more")]
    dispatcher = Dispatcher(Catalog(*tools), audit=AuditLog(log), permissions=Permissions("default"))
    results = await dispatcher.call_many([("count", {}), ("more", {})])  # the second one is held back
    assert [(result.kind, result.request.origin) for result in results] == [("waiting", origin)] * 2
    await dispatcher.resume(results[0].request.id, Decision.approve())
    lines = list(AuditLog.read(log))
    assert {line["event"] for line in lines} == {"verdict", "asked", "answered", "intent", "outcome"}
    assert {line["tool"] for line in lines} == {"count", "more"}
    assert {line.get("origin") for line in lines} == {expected}
