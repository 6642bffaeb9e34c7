"""MCP servers as targets of commands."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.mcp.importing.kit import SCRIPT
from toolkit import Tool
from toolkit.cli.server_targets import _place_command, name_server
from toolkit.mcp.importing.remote_server import read_server
from toolkit.testing.laws.violations import _find_location

COMMAND = shlex.join([sys.executable, "-I", "-S", str(SCRIPT), ""])
ORIGIN = f"mcp:{name_server(COMMAND)}"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--command", "npx x", "echo", "a=1"], ["command:npx x", "echo", "a=1"]),
        (["--json", "echo", "--command=npx x", "a=1"], ["command:npx x", "--json", "echo", "a=1"]),
        (["tools.py", "--", "--command", "x"], ["tools.py", "--", "--command", "x"]),
        (["tools.py", "--command"], ["tools.py", "--command"]),
    ],
)
def test_a_command_takes_the_place_of_the_target(words, expected):
    """It may stand anywhere before `--`."""
    assert _place_command(words) == expected


def test_the_tools_of_a_command_are_listed_and_called(shop):
    """They have the names of the server, and a rule names them by their origin."""
    listed = shop.run("list", "--command", COMMAND)
    assert listed.code == 0
    assert ("echo", ORIGIN) in {(tool["name"], tool["origin"]) for tool in listed.json}
    called = shop.run("call", "--command", COMMAND, "echo", "text=hi", "--rule", f"allow {ORIGIN}/echo")
    assert called.code == 0
    assert "hi" in called.json["text"]


def test_tools_of_a_server_are_shown_as_not_trusted(shop):
    """They are not shown as destructive, because the server did not say so."""
    listed = " ".join(shop.run("list", "--command", COMMAND, "-o", "text").out.split())
    assert "echo not trusted" in listed
    assert "destructive" not in listed
    assert "facts: not trusted" in shop.run("show", "--command", COMMAND, "echo", "-o", "text").out


def test_the_place_of_a_tool_is_its_server(shop):
    """No file of this package is named, which the user has not written."""
    report = shop.run("show", "--command", COMMAND, "echo", "-o", "text").out
    assert f"from: tool `echo` from {ORIGIN}\n" in report
    assert _find_location(Tool.from_schema("echo", "Say it.", {"type": "object"}, len, origin="mcp:shop")) == "mcp:shop"


def test_a_rule_for_one_server_holds_for_no_other(shop):
    """Addresses and commands that differ in anything have different names, which are readable and legal."""
    texts = [
        "https://docs.example/mcp",
        "https://docs.example/mcp?t=1",
        "https://docs.example/other",
        "npx a",
        "npx b",
        "9",
    ]
    names = [name_server(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert [name[:-7] for name in names[:4]] == ["docs-example-mcp", "docs-example-mcp", "docs-example-other", "npx-a"]
    assert [read_server(name, "https://docs.example").name for name in names] == names
    other = COMMAND + " other"
    assert shop.run("call", "--command", other, "echo", "text=hi", "--rule", f"allow {ORIGIN}/echo").code == 7


def test_a_call_to_a_server_asks_a_person_without_a_rule(shop):
    assert shop.run("call", "--command", COMMAND, "echo", "text=hi").code == 7


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--command", "'"], '--command "\'" cannot be split into words: No closing quotation'),
        (["--command", ""], "a command is a list of words that is not empty"),
        (["--command", "no-such-program-at-all"], "--command 'no-such-program-at-all': "),
        (["ftp://example.com"], "is no address"),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error(shop, arguments, says):
    """It has the server in the words of the user."""
    ran = shop.run("list", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_a_file_of_servers_is_a_target_after_it_is_trusted(shop):
    """Its mistakes are notes."""
    words = shlex.split(COMMAND)
    entries = {"evil": {"command": words[0], "args": words[1:]}, "wrong": {}}
    shop.write("servers.json", json.dumps({"mcpServers": entries}))
    refused = shop.run("list", "servers.json")
    assert refused.code == 2
    assert "toolkit mcp trust" in refused.err
    assert shop.run("mcp", "trust", "servers.json", "--yes").code == 0
    listed = shop.run("list", "servers.json")
    assert "evil_echo" in {tool["name"] for tool in listed.json}
    assert "note: servers.json: wrong: a server has either" in listed.err
