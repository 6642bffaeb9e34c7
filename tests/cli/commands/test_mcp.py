"""`toolkit mcp trust`: the exact commands are shown before a file of servers is trusted."""

from __future__ import annotations

import contextlib
import json

import pytest

from tests.cli.terminals import Terminal
from toolkit.permissions.trust import Trust

SERVERS = {"mcpServers": {"git": {"command": "npx", "args": ["-y", "git mcp"]}, "wrong": {}}}


@pytest.fixture
def file(shop):
    """A file with a server, and with a mistake."""
    shop.write(".mcp.json", json.dumps(SERVERS))
    return shop.folder / ".mcp.json"


def test_trust_is_recorded_and_taken_back(shop, file):
    """The second time, nothing has to be recorded."""
    ran = shop.run("mcp", "trust", ".mcp.json", "--yes")
    assert ran.code == 0
    assert ran.json["servers"][0] == "git: runs npx -y 'git mcp'"
    assert len(ran.json["problems"]) == 1
    assert ran.json["recorded"] is True
    assert Trust().covers_content(file, file.read_bytes())
    assert "you trust it already" in shop.run("mcp", "trust", ".mcp.json").err
    assert shop.run("mcp", "trust", ".mcp.json", "--revoke").code == 0
    assert not Trust().covers_content(file, file.read_bytes())


def test_without_a_terminal_nothing_is_recorded(shop, file):
    """The exit code says that a person is needed."""
    ran = shop.run("mcp", "trust", ".mcp.json", "-o", "text")
    assert ran.code == 7
    assert "git: runs npx -y 'git mcp'" in ran.out
    assert "mistake: .mcp.json: wrong: " in ran.out
    assert not Trust().covers_content(file, file.read_bytes())


def test_contradicting_options_are_refused(shop, file):
    """And nothing is recorded."""
    ran = shop.run("mcp", "trust", ".mcp.json", "--yes", "--revoke")
    assert ran.code == 2
    assert "contradict" in ran.err


@pytest.mark.long
@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("no\n", 5)])
def test_a_person_is_asked_in_a_terminal(shop, file, answer, code):
    """After the commands were shown."""
    with contextlib.closing(Terminal(["-m", "toolkit", "mcp", "trust", ".mcp.json"])) as terminal:
        terminal.until("[y]es, [n]o: ")
        assert "git: runs npx -y 'git mcp'" in terminal.written
        terminal.type(answer)
        assert terminal.ended() == code
    assert Trust().covers_content(file, file.read_bytes()) is (code == 0)
