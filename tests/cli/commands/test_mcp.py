"""`toolkit mcp`: the commands of a file are shown before it is trusted, a user logs in at a server, and a client gets ours."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.terminals import Terminal
from tests.mcp.importing.oauth_site import serving_site
from toolkit.mcp.importing.logins import Logins
from toolkit.settings.trust import Trust

SERVERS = {"mcpServers": {"git": {"command": "npx", "args": ["-y", "git mcp"]}, "wrong": {}}}


@pytest.fixture
def file(shop):
    """A file with a server, and with a mistake."""
    shop.write(".mcp.json", json.dumps(SERVERS))
    return shop.folder / ".mcp.json"


def test_trust_is_recorded_and_revoked(shop, file):
    """Nothing has to be recorded the second time."""
    ran = shop.run("mcp", "trust", ".mcp.json", "--yes")
    assert ran.code == 0
    assert ran.json["servers"][0] == "git: runs npx -y 'git mcp'"
    assert len(ran.json["problems"]) == 1
    assert ran.json["recorded"] is True
    assert Trust().covers_content(file, file.read_bytes())
    assert "you trust it already" in shop.run("mcp", "trust", ".mcp.json").err
    assert "is not trusted any more" in shop.run("mcp", "trust", ".mcp.json", "--revoke").err
    again = shop.run("mcp", "trust", ".mcp.json", "--revoke")
    assert (again.code, again.err.strip()) == (0, ".mcp.json was not trusted")
    assert not Trust().covers_content(file, file.read_bytes())


def test_trust_is_not_recorded_without_a_terminal(shop, file):
    """The exit code says that a person is needed."""
    ran = shop.run("mcp", "trust", ".mcp.json", "-o", "text")
    assert ran.code == 7
    assert "git: runs npx -y 'git mcp'" in ran.out
    assert "mistake: .mcp.json: wrong: " in ran.out
    assert not Trust().covers_content(file, file.read_bytes())


def test_contradictory_options_are_refused(shop, file):
    ran = shop.run("mcp", "trust", ".mcp.json", "--yes", "--revoke")
    assert ran.code == 2
    assert "contradict" in ran.err


@pytest.mark.long
@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("no\n", 5)])
def test_a_person_is_asked_in_a_terminal_after_the_commands_were_shown(shop, file, answer, code):
    with contextlib.closing(Terminal(["-m", "toolkit", "mcp", "trust", ".mcp.json"])) as terminal:
        terminal.until("[y]es, [n]o: ")
        assert "git: runs npx -y 'git mcp'" in terminal.written
        terminal.type(answer)
        assert terminal.read_to_end() == code
    assert Trust().covers_content(file, file.read_bytes()) is (code == 0)


# Logins.


@pytest.fixture(scope="module")
def site():
    """Serve a site that wants a login."""
    with serving_site() as served:
        yield served


@pytest.mark.parametrize("way", ["address", "config", "settings"])
def test_a_user_logs_in_and_out(shop, site, monkeypatch, way):
    """The server is named by its address, or by its name in a file or in the settings."""
    monkeypatch.setattr("webbrowser.open", site.browse)
    shop.write("servers.json", json.dumps({"mcpServers": {"docs": {"url": site.url}}}))
    shop.run("mcp", "trust", "servers.json", "--yes")
    names = {
        "address": [site.url],
        "config": ["docs", "--config", "servers.json"],
        "settings": ["docs"],
    }
    if way == "settings":
        Logins().path.with_name("toolkit.toml").write_text(f'[mcp_servers.docs]\nurl = "{site.url}"\n')
    ran = shop.run("mcp", "login", *names[way])
    assert ran.code == 0, ran.err
    assert ran.json == {"server": site.url, "kept_in": str(Logins().path)}
    assert shop.run("list", site.url).json[0]["name"] == "whoami"
    out = shop.run("mcp", "logout", *names[way])
    assert out.json == {"server": site.url, "forgotten": True}
    assert "is forgotten" in out.err
    again = shop.run("mcp", "logout", *names[way])
    assert again.json["forgotten"] is False
    assert "there is no login" in again.err
    refused = shop.run("list", site.url)
    assert refused.code == 2
    assert f"toolkit mcp login {site.url}" in refused.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing"], "no server is named `nothing`; write its address, or --config FILE"),
        (["other", "--config", ".mcp.json"], "no server is named `other`; there are: git"),
        (["git", "--config", ".mcp.json"], "the server `git` is a command, and needs no login here"),
        (["http://127.0.0.1:9/mcp"], "cannot be asked for a login"),
    ],
)
def test_a_server_without_a_login_is_an_error(shop, file, arguments, says):
    """The error has the known names."""
    shop.run("mcp", "trust", ".mcp.json", "--yes")
    ran = shop.run("mcp", "login", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_no_browser_prints_the_address_and_opens_no_browser(shop, site, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a browser was opened"))
    ran = shop.run("mcp", "login", site.url, "--no-browser", "--timeout", "0.01")
    assert ran.code == 2
    assert f"open this address to log in: {site.base}/authorize?" in ran.err
    assert "no login came back within 0.01 s" in ran.err


# Clients.


async def list_tools(entry, folder):
    """Start a server as a client does, in a folder of the client's own, and return the names of its tools."""
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], cwd=folder)
    with (folder / "errors.log").open("w") as errors:  # by default, the SDK takes the stderr of its first import
        client = Client(stdio_client(parameters, errlog=errors))
        async with client:
            return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.long
def test_a_client_starts_the_installed_server(shop, tmp_path):
    """The module is found although the client works in another folder."""
    shop.write(
        "goods.py",
        'from toolkit import tool\n\n@tool(read_only=True)\ndef count() -> int:\n    """Count."""\n    return 1\n',
    )
    ran = shop.run("mcp", "install", "goods", "--client", "vscode", "--yes", "-o", "text", "--", "--mode", "plan")
    assert ran.code == 0, ran.err
    assert '+    "goods": {' in ran.out
    path = tmp_path / "config/Code/User/mcp.json"
    entry = json.loads(path.read_text())["servers"]["goods"]
    assert entry["type"] == "stdio"
    assert entry["args"] == ["-m", "toolkit", "serve", "goods", "--folder", str(shop.folder), "--mode", "plan"]
    assert asyncio.run(list_tools(entry, tmp_path)) == ["count"]
    undone = shop.run("mcp", "uninstall", "goods", "--client", "vscode", "--yes")
    assert undone.json["written"] is True
    assert json.loads(path.read_text()) == {"servers": {}}


def test_printing_writes_no_file(shop, tmp_path):
    ran = shop.run("mcp", "install", "tools.py", "--client", "cursor", "--print", "--name", "days")
    assert list(ran.json["mcpServers"]) == ["days"]
    assert not (tmp_path / "home").exists()


def test_a_client_file_is_written_only_after_a_yes(shop):
    """Without a terminal, the exit code says that a person is needed."""
    words = ["mcp", "install", "tools.py", "--client", "claude-desktop", "--config", "desktop.json"]
    ran = shop.run(*words)
    assert (ran.code, ran.json["written"]) == (7, False)
    assert "with --yes" in ran.err
    assert not (shop.folder / "desktop.json").exists()
    assert shop.run(*words, "--yes").json["written"] is True
    again = shop.run(*words)
    assert (again.code, again.json["diff"]) == (0, [])


def test_a_target_with_a_mistake_is_not_installed(shop):
    """It would fail in the client, where the reason is not shown."""
    shop.write("wrong.py", "import nothing_of_this_name\n")
    ran = shop.run("mcp", "install", "wrong.py", "--client", "cursor", "--yes", "--config", "cursor.json")
    assert ran.code == 2
    assert "nothing_of_this_name" in ran.err
    assert not (shop.folder / "cursor.json").exists()
