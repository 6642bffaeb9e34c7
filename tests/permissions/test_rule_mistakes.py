"""A deny or ask that cannot be compared with the calls of the tool it names holds for all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import pytest

from toolkit.access import Access, Command, Writes
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolkitWarning
from toolkit.permissions import Permissions
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


def scrap(count: int, note: Literal["old", "new"] = "old", is_all: bool = False) -> str:
    """Scrap things."""
    return f"scrapped {count}"


def write(path: Annotated[Path, Writes]) -> str:
    """Write."""
    return "written"


def bash(command: Annotated[str, Command]) -> str:
    """Run a command."""
    return "run"


ARGUMENTS = {scrap: {"count": 6}, write: {"path": "notes.txt"}, bash: {"command": "ls"}}

WRONG = [
    *(
        (scrap, condition)
        for condition in (
            "count>5",
            "count >= 5",
            "count==5",
            "count=6, note=x",
            "count=ten",
            "cuont=6",
            "n~=a",
            "six",
            "is_all=True",
        )
    ),
    *((write, condition) for condition in ("pth=src/**", "file_path=src/**")),
    *((bash, condition) for condition in ("cmd=rm:*", "FOO=1 rm:*")),
]


def make_dispatcher(function, *rules):
    return Dispatcher(Catalog(Tool.described(function)), permissions=Permissions("auto", rules))


@pytest.mark.parametrize(("function", "condition"), WRONG)
@pytest.mark.parametrize(("word", "kind"), [("deny", "denied"), ("ask", "waiting")])
async def test_a_rule_whose_condition_is_none_forbids_every_call_of_its_tool(function, condition, word, kind):
    name = function.__name__
    with pytest.warns(ToolkitWarning, match=f"until it is mended, the rule holds for every call of `{name}`"):
        dispatcher = make_dispatcher(function, f"{word} {name}({condition})")
    result = await dispatcher.call(name, ARGUMENTS[function])
    assert result.kind == kind
    verdict = await dispatcher.explain(name, ARGUMENTS[function])
    assert f"`{word} {name}({condition})`" in str(verdict)  # a person finds the rule by the words that were written


@pytest.mark.parametrize(("function", "condition"), WRONG)
async def test_an_allow_whose_condition_is_none_allows_nothing(function, condition):
    name = function.__name__
    tool = Tool.described(function, destructive=True)
    with pytest.warns(ToolkitWarning) as warnings:
        dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("default", [f"allow {name}({condition})"]))
    assert "holds for every call" not in str(warnings[0].message)
    assert (await dispatcher.call(name, ARGUMENTS[function])).kind == "waiting"


@pytest.mark.parametrize("name", ["scr*", "scra?", "group:yard"])
async def test_a_rule_for_many_tools_is_about_those_with_its_parameter(name):
    def scratch(cuont: int) -> str:
        """Scratch."""
        return "scratched"

    tools = [Tool.described(function, group="yard") for function in (scrap, scratch)]
    if name == "scra?":
        tools = [replace(tool, name=f"scra{number}") for number, tool in enumerate(tools)]
    with pytest.warns(ToolkitWarning, match="has no parameter `cuont`") as warnings:
        dispatcher = Dispatcher(Catalog(*tools), permissions=Permissions("auto", [f"deny {name}(cuont=6)"]))
    assert "holds for every call" not in str(warnings[0].message)
    assert (await dispatcher.call(tools[0].name, {"count": 6})).kind == "ok"
    assert (await dispatcher.call(tools[1].name, {"cuont": 6})).kind == "denied"


@pytest.mark.parametrize("condition", ["count=7", "note=worn", "is_all=true"])
async def test_a_value_that_the_tool_never_takes_is_never_denied(condition, recwarn):
    """It is compared, and is another one."""
    dispatcher = make_dispatcher(scrap, f"deny scrap({condition})")
    assert (await dispatcher.call("scrap", {"count": 6})).kind == "ok"


async def test_a_rule_for_a_former_name_forbids_the_calls_of_the_tool(recwarn):
    tool = replace(Tool.described(scrap, aliases=["dump"]), former=("trash",))
    for name in ("dump", "trash"):
        dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("auto", [f"deny {name}(cuont=6)"]))
        assert (await dispatcher.call("scrap", {"count": 6})).kind == "denied"


async def test_a_person_who_approves_lets_the_call_run_once(recwarn):
    dispatcher = make_dispatcher(scrap, "ask scrap(count>5)")
    waiting = await dispatcher.call("scrap", {"count": 6})
    result = await dispatcher.resume(waiting, Decision.approve(by="ada"))
    assert result.value == "scrapped 6"
    assert (await dispatcher.call("scrap", {"count": 6})).kind == "waiting"


class Queries(Access):
    """The call asks a database."""

    kind = "database"


async def test_a_rule_may_name_a_kind_of_access_of_ones_own(recwarn):
    def ask(where: Annotated[str, Queries]) -> str:
        """Ask."""
        return "asked"

    dispatcher = make_dispatcher(ask, "deny ask(database=prod)")
    assert (await dispatcher.call("ask", {"where": "prod"})).kind == "denied"
    assert (await dispatcher.call("ask", {"where": "test"})).kind == "ok"
    assert not recwarn.list


OPEN_SCHEMAS = [
    {"additionalProperties": True},
    {"patternProperties": {"^x": {}}},
    {"anyOf": [{"properties": {"amount": {"type": "integer"}}}]},
]


@pytest.mark.parametrize(("keywords", "kind"), [({}, "denied"), *((keywords, "ok") for keywords in OPEN_SCHEMAS)])
async def test_a_server_that_renames_a_parameter_escapes_no_deny(keywords, kind, recwarn):
    """A schema that does not close the object may still have no such parameter; one that opens it may have any."""
    schema = {"type": "object", "properties": {"amt": {"type": "integer"}}, **keywords}
    tool = Tool.from_schema("pay", "Pay.", schema, lambda arguments: 1, origin="mcp:bank", read_only=True)
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("auto", ["deny pay(amount=5)"]))
    assert (await dispatcher.call("pay", {"amt": 5})).kind == kind


async def test_a_pattern_for_a_tool_without_arguments_is_a_mistake():
    def ping() -> str:
        """Ping."""
        return "pong"

    with pytest.warns(ToolkitWarning, match="`ping` takes no arguments; until it is mended"):
        dispatcher = make_dispatcher(ping, "deny ping(rm*)")
    assert (await dispatcher.call("ping", {})).kind == "denied"
