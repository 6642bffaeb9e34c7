"""MCP servers of the settings in commands."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import closing

import pytest

from tests.cli.kit import DONE, LOOK, model
from tests.cli.terminals import Terminal
from tests.mcp.importing.kit import SCRIPT, is_alive
from tests.providers.protocols import Turn
from tests.providers.stub import KEY
from toolkit.results import ToolCall

AGENT = ["agent", "tools.py", "Say it again."]
ECHO = Turn(text="I ask the server.", calls=(ToolCall("evil_echo", {"text": "hi"}, "c1"),))
FAMILY = Turn(text="I ask the server.", calls=(ToolCall("evil_family", {}, "c1"),))
HANG = Turn(text="And again.", calls=(ToolCall("evil_hang", {}, "c2"),))
ALLOW = '[rules]\nallow = ["mcp:evil/*"]\n'


def server(name="evil", mode=""):
    """Return settings that name the hostile server."""
    return f'[mcp_servers.{name}]\ncommand = "{sys.executable}"\nargs = ["-I", "-S", "{SCRIPT}", "{mode}"]\n'


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Write the user's settings, with those of a model."""
    monkeypatch.setenv("MY_KEY", KEY)
    folder = tmp_path / "config" / "toolkit"
    folder.mkdir(parents=True, mode=0o700)

    def write(text, stub=None):
        model_text = (
            ""
            if stub is None
            else f'provider = "anthropic"\nmodel = "m"\nbase_url = "{stub.url}"\nkey_from = "MY_KEY"\n'
        )
        path = folder / "toolkit.toml"
        path.write_text(model_text + text, encoding="utf-8")
        return path

    return write


def list_offered(stub, turn=0):
    """Return the names of the tools that the model was told of."""
    return {tool["name"] for tool in stub.heard[turn].body["tools"]}


@pytest.mark.long
def test_an_agent_has_the_tools_of_the_servers(shop, user):
    """Beside those of the target, under the user's rules; the processes have ended with the command."""
    with model(FAMILY, DONE) as stub:
        user(server() + ALLOW, stub)
        ran = shop.run(*AGENT, "--json")
    assert ran.code == 0, ran.err
    assert {"free_days", "evil_family"} <= list_offered(stub)
    assert "starting MCP servers: evil" in ran.err
    results = [result for message in ran.json["messages"] for result in message.get("results", ())]
    assert not any(map(is_alive, json.loads(results[0]["text"])))


@pytest.mark.long
def test_a_chat_has_the_servers_of_the_settings(shop, user):
    """`--no-servers` leaves them out."""
    with model(ECHO, DONE, DONE) as stub:
        user(server() + ALLOW, stub)
        ran = shop.run("chat", "tools.py", input="Say it again.\n")
        assert (ran.code, "hi" in ran.out) == (0, True), ran.err
        ran = shop.run("chat", "tools.py", "--no-servers", input="Say it again.\n")
        assert "starting" not in ran.err
        assert "evil_echo" not in list_offered(stub, 2)


def test_a_server_that_fails_is_a_note(shop, user):
    """The others and the target are used."""
    with model(LOOK, DONE) as stub:
        path = user(
            server("crash", "crash") + server() + '[mcp_servers.lost]\nurl = "https://${NO_SUCH_VARIABLE}/mcp"\n'
            '[mcp_servers.off]\ncommand = "never"\nenabled = false\n',
            stub,
        )
        ran = shop.run(*AGENT)
    assert ran.code == 0, ran.err
    assert "starting MCP servers: crash, evil, lost" in ran.err
    assert "MCP server crash: " in ran.err
    assert "MCP server lost: url: the variable NO_SUCH_VARIABLE is not set" in ran.err
    assert f"(user, {path}:11)" in ran.err
    assert "evil_echo" in list_offered(stub)


@pytest.mark.long
def test_no_server_starts_if_the_file_of_pins_cannot_be_read(shop, user):
    """The note says what is wrong, and the command goes on."""
    with model(LOOK, DONE) as stub:
        path = user(server(), stub).with_name("mcp-pins.json")
        path.write_text("nonsense", encoding="utf-8")
        path.chmod(0o600)
        ran = shop.run(*AGENT)
    assert ran.code == 0
    assert f"MCP servers are not started: {path} cannot be read" in ran.err


@pytest.mark.long
def test_servers_of_a_project_start_after_the_project_is_trusted(shop, user):
    """The report of trust shows the exact command and the names of its variables."""
    shop.write(".toolkit/toolkit.toml", server() + 'env = { TOKEN = "secret" }\n')
    with model(DONE, DONE) as stub:
        user("", stub)
        ran = shop.run(*AGENT)
        assert "ignored: mcp_servers.evil = " in ran.err
        assert "evil_echo" not in list_offered(stub)
        (report,) = shop.run("trust", ".", "--yes").json["settings"]
        assert f"{sys.executable} -I -S {SCRIPT} '', with the variables TOKEN (project" in report
        shop.run(*AGENT)
        assert "evil_echo" in list_offered(stub, 1)


@pytest.mark.long
def test_a_server_of_the_settings_is_a_target(shop, user):
    """`mcp:NAME` is one for every command, also if the server is switched off; `list` and `call` start no other."""
    user(server() + "enabled = false\n" + ALLOW + server("crash", "crash"))
    names = {tool["name"] for tool in shop.run("list", "mcp:evil").json}
    assert "evil_echo" in names
    called = shop.run("call", "mcp:evil", "evil_echo", "text=hi")
    assert (called.code, called.json["text"], called.err) == (0, "hi", "")
    joined = {tool["name"] for tool in shop.run("list", "tools.py,mcp:evil").json}
    assert {"evil_echo", "free_days"} <= joined


@pytest.mark.long
def test_a_server_that_is_the_target_is_not_started_again(shop, user):
    """Its tools would otherwise collide with themselves."""
    with model(DONE) as stub:
        user(server(), stub)
        ran = shop.run("agent", "mcp:evil", "Say it again.")
    assert (ran.code, "starting" in ran.err, "left out" in ran.err) == (0, False, False), ran.err
    assert "evil_echo" in list_offered(stub)


def test_an_unknown_server_is_an_error_with_a_remedy(shop, user):
    """The message names those that there are, or why one does not count."""
    assert "write [mcp_servers.evil] in toolkit.toml" in shop.run("list", "mcp:evil").err
    user(server())
    shop.write(".toolkit/toolkit.toml", server("theirs"))
    ran = shop.run("list", "mcp:evl")
    assert (ran.code, ran.out) == (2, "")
    assert "error: mcp:evl: your settings name no server `evl`; they name evil" in ran.err
    assert "you have not trusted" in shop.run("list", "mcp:theirs").err


@pytest.mark.long
def test_skills_may_use_the_tools_of_a_server(shop, user):
    """A skill that lists one counts, because the skills stand above the servers."""
    pytest.importorskip("yaml")
    with model(DONE) as stub:
        path = user(server(), stub).with_name("skills") / "again.md"
        path.parent.mkdir()
        path.write_text("---\ndescription: Repeat.\narguments: []\ntools: [evil_echo]\ndefer: false\n---\nRepeat.\n")
        ran = shop.run(*AGENT)
    assert "left out" not in ran.err
    assert "again" in list_offered(stub)


@pytest.mark.long
def test_no_process_is_left_after_ctrl_c(shop, user):
    """A tool of a server hangs at that moment, and the server does not get the signal of the terminal."""
    with model(FAMILY, HANG) as stub:
        user(server() + ALLOW, stub)
        with closing(Terminal(["-m", "toolkit", *AGENT, "--save", "run.json"], MY_KEY=KEY)) as terminal:
            terminal.until("evil_hang")
            terminal.type("\x03")
            assert terminal.read_to_end() == 130
    messages = json.loads((shop.folder / "run.json").read_text())["messages"]
    results = [result for message in messages for result in message.get("results", ())]
    assert not any(map(is_alive, json.loads(results[0]["text"])))


@pytest.mark.long
def test_ctrl_c_while_servers_start_leaves_no_process(shop, user, tmp_path):
    """A server that never answers is ended too."""
    started = tmp_path / "started"
    with model(DONE) as stub:
        user(server(mode=f"note:{started}"), stub)
        with closing(Terminal(["-m", "toolkit", *AGENT], MY_KEY=KEY)) as terminal:
            terminal.until("starting MCP servers")
            while not (started.exists() and started.read_text().endswith("\n")):
                pass
            terminal.signal(signal.SIGINT)
            assert terminal.read_to_end() == 130
    assert not is_alive(int(started.read_text()))
