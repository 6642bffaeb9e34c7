"""MCP servers in the settings: read, checked and shown."""

from __future__ import annotations

import pytest

from toolkit.settings import McpServer
from toolkit.settings.mcp_servers import find_server_mistakes

NO_NAME = "is no name for a server; use at most 32 letters, digits, `_` and `-`, with a letter first"

NO_SECONDS = "timeout_seconds: has to be a number of seconds above 0"


@pytest.mark.parametrize(
    ("name", "table", "mistakes"),
    [
        ("a", {"command": "x", "args": ["y"], "env": {"A": "b"}, "cwd": "/", "timeout_seconds": 3}, []),
        ("a", {"url": "https://a.example/mcp", "headers": {"A": "b"}, "enabled": False}, []),
        ("a", 3, [("", "has to be a table; write [mcp_servers.a]")]),
        ("a", {}, [("", "a server has either `command`, a program, or `url`, an address; give one of them")]),
        ("a b", {"command": "x"}, [("", f"'a b' {NO_NAME}")]),
        ("a.b", {"command": "x"}, [("", f"'a.b' {NO_NAME}")]),
        ("a", {"command": "x", "trusted": "yes"}, [("trusted", "trusted: has to be true or false")]),
        ("a", {"comand": "x", "url": "http://h"}, [("comand", "'comand' is not known; did you mean `command`?")]),
        ("a", {"url": "http://h", "args": []}, [("args", "args: belongs to a server with `command`; remove it")]),
        ("a", {"command": "x", "headers": {}}, [("headers", "headers: belongs to a server with `url`; remove it")]),
        ("a", {"command": 3}, [("command", "command: has to be a text, and not empty")]),
        ("a", {"url": "ftp://h"}, [("url", 'url: has to be an address: "https://example.com/mcp"')]),
        ("a", {"url": "http://[x"}, [("url", 'url: has to be an address: "https://example.com/mcp"')]),
        ("a", {"command": "x", "args": "y"}, [("args", 'args: has to be a list of texts: ["--verbose"]')]),
        ("a", {"command": "x", "env": {"A": 1}}, [("env", 'env: has to be a table of texts: { NAME = "value" }')]),
        *(
            ("a", {"command": "x", "timeout_seconds": number}, [("timeout_seconds", NO_SECONDS)])
            for number in (True, 0, float("inf"), 10**400)
        ),
        ("a", {"command": "x", "enabled": 1}, [("enabled", "enabled: has to be true or false")]),
    ],
)
def test_each_mistake_of_a_server_is_reported_with_its_key(name, table, mistakes):
    assert find_server_mistakes(name, table) == mistakes


def test_secrets_are_never_shown():
    """The values of variables and headers, a password and a query stay out of texts and JSON."""
    program = McpServer.of("a", {"command": "x", "args": ["y z"], "env": {"TOKEN": "secret"}})
    address = McpServer.of("b", {"url": "https://u:secret@h.example/p?k=secret", "headers": {"X": "secret"}})
    assert str(program) == "x 'y z', with the variables TOKEN"
    assert str(address) == "https://h.example/p?..., with the headers X"
    assert str(McpServer.of("c", {"command": "x", "cwd": "/y", "trusted": True})) == "x, in the folder /y, trusted"
    assert str(McpServer.of("c", {"command": "x", "enabled": False})) == "x (switched off)"
    assert "secret" not in f"{program} {program!r} {program.to_json()} {address} {address.to_json()}"
    assert program.to_json()["env"] == ["TOKEN"]
    assert (program.to_json()["trusted"], program.to_json()["enabled"]) == (False, True)
