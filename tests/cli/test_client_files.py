"""The files of MCP clients: an entry comes and goes, and all else in the file stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolkit.cli.client_files import CLIENTS, ClientFile, build_entry, find_client_path
from toolkit.cli.failures import Failure

HOME = Path.home()
ENTRY = build_entry(CLIENTS["cursor"], "tools.py", Path("/shop"))


@pytest.mark.parametrize(
    ("client", "system", "path"),
    [
        ("claude-desktop", "linux", HOME / ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", HOME / "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", HOME / "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("vscode", "linux", HOME / ".config/Code/User/mcp.json"),
        ("vscode", "darwin", HOME / "Library/Application Support/Code/User/mcp.json"),
        ("cursor", "win32", HOME / ".cursor/mcp.json"),
        ("claude-code", "linux", HOME / ".claude.json"),
        ("gemini", "darwin", HOME / ".gemini/settings.json"),
    ],
)
def test_the_file_of_a_client_is_in_the_usual_place_of_the_system(client, system, path):
    assert find_client_path(CLIENTS[client], system, {}) == path


def test_the_folder_of_programs_can_be_elsewhere(tmp_path):
    """The system says so in a variable."""
    vscode = CLIENTS["vscode"]
    assert find_client_path(vscode, "win32", {"APPDATA": str(tmp_path)}) == tmp_path / "Code/User/mcp.json"
    assert find_client_path(vscode, "linux", {"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "Code/User/mcp.json"


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_adding_and_removing_a_server_leaves_the_rest_unchanged(tmp_path, indent):
    """Keys that are not about servers, other servers, the order and the indentation stay."""
    path = tmp_path / "mcp.json"
    rest = {"theme": "dunkelgrün", "mcpServers": {"git": {"command": "git-mcp", "env": {"A": "1"}}}, "last": [1.5]}
    before = json.dumps(rest, indent=indent, ensure_ascii=False)
    path.write_text(before, encoding="utf-8")
    file = ClientFile(path, "mcpServers")
    file.add("shop", ENTRY)
    file.write()
    assert json.loads(path.read_text(encoding="utf-8")) == {**rest, "mcpServers": {**rest["mcpServers"], "shop": ENTRY}}
    file = ClientFile(path, "mcpServers")
    file.add("shop", ENTRY)
    assert file.list_changes() == []
    file.remove("shop")
    assert all(line.startswith(("-", "+", " ", "@")) for line in file.list_changes())
    file.write()
    assert path.read_text(encoding="utf-8") == before


def test_a_file_that_a_link_leads_to_is_changed_there(tmp_path):
    (tmp_path / "real.json").write_text("{}\n")
    (tmp_path / "link.json").symlink_to("real.json")
    file = ClientFile(tmp_path / "link.json", "mcpServers")
    file.add("shop", ENTRY)
    file.write()
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {"mcpServers": {"shop": ENTRY}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            '{\n  // mine\n  "mcpServers": {}\n}',
            r"mcp.json: not JSON: .* at line 2, column 3; nothing is written: .*--print",
        ),
        ('{"mcpServers": {},}', "at line 1, column 1"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ('{"a": 1e999}', "nothing is written"),
        ("[]", "its content is not an object"),
        ('{"mcpServers": []}', "`mcpServers` is not an object"),
    ],
)
def test_a_file_that_would_lose_content_is_refused(tmp_path, content, reason):
    """The message has the place of the problem, and the file is unchanged."""
    path = tmp_path / "mcp.json"
    path.write_text(content)
    with pytest.raises(Failure, match=reason):
        ClientFile(path, "mcpServers")
    assert path.read_text() == content


def test_a_file_that_changed_after_it_was_shown_is_not_written(tmp_path):
    """The client may have written it."""
    path = tmp_path / "mcp.json"
    file = ClientFile(path, "mcpServers")
    file.add("shop", ENTRY)
    path.write_text('{"by": "the client"}')
    with pytest.raises(Failure, match="was changed meanwhile"):
        file.write()
    assert path.read_text() == '{"by": "the client"}'


@pytest.fixture
def other_servers(tmp_path):
    """Return a file with a server that is not ours, and one for another folder."""
    path = tmp_path / "mcp.json"
    elsewhere = build_entry(CLIENTS["cursor"], "tools.py", tmp_path / "other")
    path.write_text(json.dumps({"mcpServers": {"git": {"command": "git-mcp"}, "shop": elsewhere}}))
    return ClientFile(path, "mcpServers")


@pytest.mark.parametrize("name", ["git", "shop"])
def test_servers_of_others_are_not_replaced(other_servers, name):
    with pytest.raises(Failure, match=f"another server `{name}`; choose another name with --name"):
        other_servers.add(name, ENTRY)


def test_servers_of_others_are_not_removed(other_servers):
    with pytest.raises(Failure, match="remove it by hand"):
        other_servers.remove("git")
    with pytest.raises(Failure, match="has no server `other`; toolkit serves shop"):
        other_servers.remove("other")
