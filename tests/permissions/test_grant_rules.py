"""
The allow rule that says for every session what a grant says for one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from toolkit.access import Access, Command, Reads, Url, Writes
from toolkit.builtin import builtin_catalog
from toolkit.catalog import Catalog
from toolkit.decisions import Grant
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import PermissionRequest, Permissions
from toolkit.permissions.grants import find_rule
from toolkit.results import ToolCall
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


async def runit(command: Annotated[str, Command], out: Annotated[Path | None, Writes] = None) -> str:
    """Run a command, and perhaps write its output to a file."""
    return "ran"


async def bash(command: Annotated[str, Command]) -> str:
    """Run a command."""
    return "ran"


async def write(path: Annotated[str, Writes]) -> str:
    """Write a file."""
    return "written"


async def deploy() -> str:
    """Deploy."""
    return "deployed"


async def rules_offered(tool, arguments):
    """Return the rules of the grants that a person is offered for a call, by scope."""
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("default"))
    result = await dispatcher.call(tool.name, arguments, session=Session())
    return {grant.scope: grant.rule for grant in result.request.grants}


def rule_of(tool, scope, target, access):
    call = ToolCall(tool.name)
    request = PermissionRequest(call=call, tool=tool, names=frozenset({tool.name}), accesses=(access,), root="/")
    return find_rule(Grant(tool="0" * 64, scope=scope, target=target), request)


@pytest.mark.parametrize(
    ("scope", "target", "access", "rule"),
    [
        ("tool", "", Command("npm test"), "bash"),
        ("command", "npm test", Command("npm test -- --watch"), "bash(npm test:*)"),
        ("command", "echo ')'", Command("echo ')'"), ""),
        ("command", "npm test", Command("npm run build"), ""),
    ],
)
def test_a_rule_has_the_same_scope_as_its_grant(scope, target, access, rule):
    """A grant without an equal rule has none."""
    assert rule_of(Tool.described(bash), scope, target, access) == rule


@pytest.mark.parametrize(("folder", "rule"), [("/srv/docs", "write(/srv/docs/**)"), ("/srv/[x]", "")])
def test_a_folder_is_a_pattern(folder, rule):
    """A folder whose name would be read as a pattern has no rule."""
    assert rule_of(Tool.described(write), "folder", folder, Writes(f"{folder}/a.txt")) == rule


async def test_a_tool_from_elsewhere_has_no_rule():
    """Its bare name would allow a tool of this program, and its origin would allow later tools of that name."""
    assert await rules_offered(Tool.described(deploy), {}) == {"tool": "deploy"}
    assert await rules_offered(replace(Tool.described(deploy), origin="skill:project"), {}) == {"tool": ""}


async def test_a_command_has_no_rule_if_the_tool_may_touch_something_else():
    """The grant does not cover a call that also writes a file, and a rule about the command would."""
    offered = await rules_offered(Tool.described(runit), {"command": "npm test"})
    assert offered == {"command": "", "tool": "runit"}


def list_commands(arguments) -> list[Command]:
    return [Command(arguments["command"])]


def list_both(arguments) -> list[Command | Url]:
    return [Command(arguments["command"])]


def list_any(arguments) -> list[Access]:
    return []


def list_unknown(arguments) -> list[Missing]:  # noqa: F821 -- a name that cannot be resolved
    return []


@pytest.mark.parametrize(
    ("preflight", "rule"),
    [
        (list_commands, "bash(npm test:*)"),
        (list_both, ""),
        (list_any, ""),
        (list_unknown, ""),
        (lambda arguments: [], ""),
    ],
)
def test_the_annotation_of_a_preflight_limits_its_accesses(preflight, rule):
    """Without one, it may state any access in a later call."""
    tool = Tool.described(bash, preflight=preflight)
    assert rule_of(tool, "command", "npm test", Command("npm test")) == rule


def test_the_built_in_tools_have_rules(tmp_path):
    """Their preflight functions have annotations."""
    catalog = builtin_catalog(tmp_path)
    assert rule_of(catalog["bash"], "command", "npm test", Command("npm test")) == "bash(npm test:*)"
    for name in ("write", "edit"):
        assert rule_of(catalog[name], "folder", "/srv", Writes("/srv/a")) == f"{name}(/srv/**)"
    assert rule_of(catalog["read"], "folder", "/srv", Reads("/srv/a")) == "read(/srv/**)"
