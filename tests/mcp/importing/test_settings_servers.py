"""Servers that the settings name, used from Python."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.clocks import wait_until
from tests.settings.kit import SettingsPlace
from toolkit import Catalog, Permissions, ToolCall
from toolkit.builders import build_agent, build_dispatcher
from toolkit.mcp import Pins, Servers
from toolkit.mcp.importing.private_json import PrivateFileError
from toolkit.mcp.importing.server_file import read_settings_servers
from toolkit.providers import ScriptedProvider

from .kit import SCRIPT, is_alive

EVIL = f'[mcp_servers.evil]\ncommand = "{sys.executable}"\nargs = ["-I", "-S", "{SCRIPT}", ""]\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Folders of a user and of a project; the real ones are not touched."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    place = SettingsPlace(tmp_path)
    place.user.mkdir(mode=0o700)
    place.project.mkdir()
    return place


@pytest.fixture
def catalog():
    """Return a catalog with a tool of the program."""
    own = Catalog()

    @own.tool(read_only=True)
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return own


@pytest.mark.long
@pytest.mark.anyio
async def test_an_agent_uses_the_servers_of_the_settings(place, catalog):
    """Their tools stand beside those of the program, the rules of the settings hold, and the processes end."""
    place.settings(EVIL + '[rules]\nallow = ["mcp:evil/family", "mcp:evil/environment"]\n', of="user")
    settings = place.load()
    calls = [ToolCall("evil_family", {}), ToolCall("evil_environment", {}), ToolCall("add", {"a": 1, "b": 2})]
    async with Servers.from_settings(settings, catalog) as tools:
        agent = build_agent(settings, tools, provider=ScriptedProvider([calls, "Done."]))
        run = await agent.run("go")
        results = {result.tool: result for message in run.messages for result in getattr(message, "results", ())}
        assert (run.text, tools.problems) == ("Done.", [])
    processes = json.loads(results["evil_family"].text)
    await wait_until(lambda: not any(map(is_alive, processes)))
    # A program of the settings runs in the folder of the project.
    assert json.loads(results["evil_environment"].text)["folder"] == str(place.project)
    assert results["add"].value == 3


def test_a_dispatcher_uses_the_servers_of_the_settings_and_pins_their_tools(place, catalog):
    """The definitions are in a file beside the settings, so the next program notices a change."""
    place.settings(EVIL, of="user")
    settings = place.load()
    with Servers.from_settings(settings, catalog) as tools:
        dispatcher = build_dispatcher(settings, tools, permissions=Permissions("bypass"))
        assert dispatcher.call_sync("evil_echo", {"text": "hi"}).text == "hi"
        dispatcher.close()
    pins = json.loads((place.user / "mcp-pins.json").read_text(encoding="utf-8"))["pins"]
    assert [name.rpartition(" ")[2] for name in pins] == ["echo"]
    os.chmod(place.user / "mcp-pins.json", 0o666)
    with pytest.raises(PrivateFileError, match="mcp-pins"):
        Servers.from_settings(settings, catalog)
    assert Servers.from_settings(settings, catalog, pins=Pins()).servers


def test_a_project_names_servers_only_with_trust(place):
    """Until then they do not count, and the settings say so."""
    place.settings('[mcp_servers.theirs]\ncommand = "x"\n[mcp_servers.off]\nurl = "https://h"\nenabled = false\n')
    settings = place.load()
    assert Servers.from_settings(settings).servers == []
    assert [entry.what.partition(" ")[0] for entry in settings.ignored] == ["mcp_servers.theirs", "mcp_servers.off"]
    place.trust.trust(place.project)
    assert [server.name for server in Servers.from_settings(place.load()).servers] == ["theirs"]
    assert [server.name for server in Servers.from_settings(place.load(), names=["off"]).servers] == ["off"]


def test_variables_folders_and_options_are_filled_in(place):
    """A relative folder starts where the file of the settings lies, and a missing variable leaves out one server."""
    place.settings(
        '[mcp_servers.a]\ncommand = "~/bin/a"\nargs = ["${WORD:-x}"]\nenv = { TOKEN = "${TOKEN}" }\ncwd = "sub"\n'
        'trusted = true\ntimeout_seconds = 7\n[mcp_servers.b]\nurl = "https://${HOST}/mcp"\n'
        '[mcp_servers.c]\nurl = "https://h.example/mcp"\nheaders = { Key = "${TOKEN}" }\n'
        '[mcp_servers.d]\ncommand = "${EMPTY}"\n',
        of="user",
    )
    environ = {"TOKEN": "t-1", "EMPTY": ""}
    servers, problems = read_settings_servers(place.load(), environ=environ)
    assert list(servers) == ["a", "c"]
    assert servers["a"].target == (os.path.expanduser("~/bin/a"), "x")
    assert (servers["a"].env, servers["a"].cwd) == ({"TOKEN": "t-1"}, str(place.user / "sub"))
    assert (servers["a"].trusted, servers["a"].timeout_seconds) == (True, 7)
    assert servers["c"].headers == {"Key": "t-1"}
    file = place.user / "toolkit.toml"
    assert problems == (
        f"b: url: the variable HOST is not set; set it, or write ${{HOST:-default}} (user, {file}:8)",
        f"d: command: has to be a text, and not empty (user, {file}:13)",
    )


def test_slash_commands_of_a_catalog_with_skills_go_on_working(place, catalog):
    """A view of a catalog with skills expands a prompt as the catalog does, and any other leaves it alone."""
    pytest.importorskip("yaml")
    from toolkit.skills import Skills

    place.write("user/skills/greet.md", "---\ndescription: Greet.\narguments: []\n---\nSay hello.\n")
    assert Servers(Skills(catalog, place.user / "skills")).expanded("/greet") == "Say hello."
    assert Servers(catalog).expanded("/greet") == "/greet"
