"""A deny rule for one tool that leaves another one with the same access: `explain` tells."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from toolkit.access import Access, Command, Reads, Url, Writes
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.safety import SafetyChecks
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


class Shelf(Access):
    """A kind of the application's own."""

    kind = "shelf"


catalog = Catalog()


@catalog.tool(group="files")
def put(file: Annotated[Path, Writes]) -> str:
    """Write a file."""
    return "put"


@catalog.tool(group="files")
def patch(place: Annotated[Path, Writes], why: str = "") -> str:
    """Change a file."""
    return "patched"


@catalog.tool(preflight=lambda arguments: [Writes(arguments["name"])])
def spill(name: str) -> str:
    """Write a file, and say so only when asked."""
    return "spilt"


@catalog.tool(read_only=True)
def get(file: Annotated[Path, Reads]) -> str:
    """Read a file."""
    return "got"


@catalog.tool
def run(line: Annotated[str, Command]) -> str:
    """Run a command."""
    return "ran"


@catalog.tool
def visit(place: Annotated[str, Url]) -> str:
    """Reach an address."""
    return "visited"


@catalog.tool
def store(shelf: Annotated[str, Shelf]) -> str:
    """Fill a shelf."""
    return "stored"


@catalog.tool
def restore(shelf: Annotated[str, Shelf]) -> str:
    """Fill a shelf again."""
    return "restored"


catalog.add(
    replace(
        Tool.from_schema(
            "upload",
            "Write a file elsewhere.",
            {"type": "object", "properties": {"path": {"type": "string"}}},
            lambda arguments: "uploaded",
        ),
        origin="mcp:disk",
    )
)


async def warnings(*rules, tool="patch", **arguments):
    """Return what explaining a call warns of, without the warning about commands."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("bypass", rules), safety=SafetyChecks(["."]))
    verdict = await dispatcher.explain(tool, arguments or {"place": "src/a"})
    return [warning for warning in verdict.warnings if "`run`" not in warning or tool == "run"]


async def test_a_rule_gap_names_the_open_tool_and_the_rule():
    """This holds for an explanation of either tool."""
    warning = "`deny put(file=src/**)` does not stop `patch`, which writes files too; write `deny access:write(src/**)`"
    assert await warnings("deny put(file=src/**)") == [warning]
    assert await warnings("deny put(file=src/**)", tool="put", file="src/a") == [warning]
    assert await warnings("deny put(src/**)") == [warning.replace("file=", "")]


async def test_a_tool_that_states_its_access_in_the_call_is_named_there():
    """A preflight says what it touches of a call, and not before."""
    (warning,) = await warnings("deny put(file=src/**)", tool="spill", name="src/a")
    assert warning.startswith("`deny put(file=src/**)` does not stop `patch` and `spill`, which write files too;")


@pytest.mark.parametrize(
    "rules",
    [
        ["deny access:write(src/**)", "deny put(file=src/**)"],
        ["deny access:write", "deny put(file=src/**)"],
        ["deny access:path(src/**)", "deny put(file=src/**)"],
        ["deny put(file=src/**)", "deny patch(place=src/**)"],
        ["deny group:files(src/**)"],
        ["deny p*(src/**)"],
        ["deny get(file=src/**)"],
        ["allow put(file=src/**)"],
        ["deny patch(why=no)"],
    ],
)
async def test_a_rule_without_a_gap_causes_no_warning(rules):
    """The other tool is stopped too, or has no such access."""
    assert await warnings(*rules) == []


async def test_a_rule_without_a_pattern_can_have_a_gap():
    """This holds for deny and ask rules."""
    assert await warnings("deny put") == [
        "`deny put` does not stop `patch`, which writes files too; write `deny access:write`"
    ]
    assert await warnings("ask put(file=src/**)") == [
        "`ask put(file=src/**)` does not ask about `patch`, which writes files too; write `ask access:write(src/**)`"
    ]


async def test_a_custom_kind_has_gaps():
    """The kind comes from the facts of the tools, not from a list of names."""
    assert await warnings("deny store(shelf=top)", tool="restore", shelf="top") == [
        "`deny store(shelf=top)` does not stop `restore`, which touches a shelf too; write `deny access:shelf(top)`"
    ]


async def test_a_rule_for_file_tools_has_a_gap_for_commands():
    """Only the redirections of a command are visible."""
    messages = await warnings("deny put(file=src/**)", "deny patch(place=src/**)", tool="run", line="ls")
    assert messages[0].startswith("`deny put(file=src/**)` does not stop `run`, whose commands can write files too")
    (warning,) = await warnings("deny access:write(src/**)", tool="run", line="ls")
    assert "holds for the redirections of `run`, not for what its programs do with files" in warning


async def test_a_tool_without_stated_accesses_is_reported():
    """An access rule cannot hold for it."""
    (warning,) = await warnings("deny access:write(src/**)", tool="upload", path="src/a")
    assert warning.startswith("`deny access:write(src/**)` cannot hold for `upload`, which does not state what it")
    assert warning.endswith("write a rule about its parameter: `deny mcp:disk/upload(path=src/**)`")


async def test_the_text_of_an_explained_verdict_ends_with_the_warnings():
    """A call does not look for them, so they do not slow it."""
    dispatcher = Dispatcher(
        catalog, permissions=Permissions("bypass", ["deny put(file=src/**)"]), safety=SafetyChecks(["."])
    )
    lines = str(await dispatcher.explain("patch", {"place": "src/a"})).splitlines()
    assert lines[0].startswith("allow by mode `bypass`")
    assert lines[1].startswith("  warning: `deny put(file=src/**)` does not stop `patch`")
