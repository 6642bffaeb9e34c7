"""
`toolkit settings`, and the settings at work in `call` and `agent`.
"""

from __future__ import annotations

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, model
from tests.providers.stub import KEY
from toolkit.settings.keys import KEYS
from toolkit.settings.trust import Trust

AGENT = ["agent", "tools.py", "Which days are free?"]


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Write the user's settings."""
    monkeypatch.setenv("MY_KEY", KEY)
    folder = tmp_path / "config" / "toolkit"
    folder.mkdir(parents=True)

    def write(text, name="toolkit.toml"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def provider_settings(stub):
    """Write settings that name the model on loopback."""
    return f'provider = "anthropic"\nmodel = "test-1"\nbase_url = "{stub.url}"\nkey_from = "MY_KEY"\n'


def test_one_page_shows_the_merged_value_and_where_each_part_came_from(shop, user):
    """`toolkit settings` prints the page."""
    own = user('mode = "auto"\n[commands]\nallow = ["npm test",\n"git status"]\n')
    theirs = shop.write(".toolkit/toolkit.toml", '[limits]\nmax_turns = 7\n[commands]\nallow = ["ls"]\n')
    ran = shop.run("settings", "-o", "text", "--set", "budget.tokens=10_000", TOOLKIT_SYSTEM="Be kind.")
    assert ran.code == 0, ran.err
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert f"mode auto user, {own}:1" in lines
    assert f"commands.allow npm test user, {own}:3" in lines
    assert f"git status user, {own}:4" in lines
    assert f"limits.max_turns 7 project, {theirs}:2" in lines
    assert "system Be kind. environment, TOOLKIT_SYSTEM" in lines
    assert "budget.tokens 10000 command line, --set budget.tokens" in lines
    assert "provider none default" in lines
    assert any(line.startswith(f"commands.allow = ls (project, {theirs}:4): you have not trusted") for line in lines)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("address", ["https://ada:hunter2@h.example/v1?key=hunter2", "http://[ada:hunter2@h"])
def test_a_password_in_an_address_is_not_shown(shop, user, form, address):
    """`base_url` is shown without it, also where the value does not count."""
    user(f'base_url = "{address}"\n')
    shop.write(".toolkit/toolkit.toml", f'base_url = "{address}"\n')
    ran = shop.run("settings", "-o", form)
    assert ran.code == 0, ran.err
    assert "hunter2" not in ran.out + ran.err
    assert ("https://h.example/v1?..." in ran.out) == address.startswith("https")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_password_of_a_database_is_not_shown(shop, user, form):
    """The rest of its address is."""
    user('database = "postgresql://ada:hunter2@h.example/runs?password=hunter2"\n')
    ran = shop.run("settings", "-o", form)
    assert ran.code == 0, ran.err
    assert "hunter2" not in ran.out + ran.err
    assert "postgresql://h.example/runs?..." in ran.out


def test_an_invalid_database_address_is_refused_and_not_shown(shop):
    """It may hold a password."""
    ran = shop.run("settings", TOOLKIT_DATABASE="mysql://ada:hunter2@h.example/runs")
    assert ran.code == 2
    assert 'TOOLKIT_DATABASE: has to be the address of a database: "sqlite:///runs.sqlite"' in ran.err
    assert "hunter2" not in ran.err


def test_the_settings_page_can_be_json(shop, user):
    """`--json` has every key, its value, its parts, the ignored values and the instruction files."""
    own = user('mode = "plan"\n[mcp_servers.docs]\nurl = "https://u:pw@docs.example.com/mcp?key=1"\n')
    shop.write("AGENTS.md", "Use tabs.")
    page = shop.run("settings", "--json").json
    assert list(page["settings"]) == list(KEYS)
    mode = page["settings"]["mode"]
    assert mode["value"] == "plan"
    assert mode["parts"][-1] == {"value": "plan", "layer": "user", "place": f"{own}:1"}
    assert page["files"] == [str(own)]
    assert page["instructions"]["files"] == []
    assert page["instructions"]["left_out"][0]["path"] == str(shop.folder / "AGENTS.md")
    server = page["settings"]["mcp_servers"]["value"]["docs"]
    assert (server["url"], server["enabled"]) == ("https://docs.example.com/mcp?...", True)


@pytest.mark.parametrize("words", [["settings"], ["call", "tools.py", "free_days", "year=2026"], AGENT])
def test_a_mistake_ends_every_command_that_makes_calls(shop, user, words):
    """Unknown keys are errors with the nearest name, file and line."""
    own = user('[limits]\nmax_turn = 3\n[commands]\ndeni = ["x"]\n')
    ran = shop.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"{own}:2: limits.max_turn: is not known; did you mean `max_turns`?" in ran.err
    assert f"{own}:4: commands.deni: is not known; did you mean `deny`?" in ran.err
    assert "the module speaks" not in ran.err


def test_the_settings_take_effect_in_a_call(shop, user):
    """Modes, rules and limits of `toolkit.toml` count; an option counts before them."""
    user('mode = "plan"\n[rules]\nallow = ["cancel"]\n[limits]\nmax_chars = 50\n')
    cancel = ["call", "tools.py", "cancel", "day=2026-05-01"]
    assert shop.run(*cancel).code == 5
    assert shop.run(*cancel, "--mode", "default").code == 0
    assert shop.run(*cancel, "--set", "mode=default", "--set", 'rules.deny=["cancel"]').code == 5
    assert shop.run(*cancel, TOOLKIT_MODE="default").code == 0
    ran = shop.run("call", "tools.py", "free_days", "year=2026", "--set", "limits.max_chars=50")
    assert ran.code == 0


@pytest.mark.long
def test_settings_for_files_and_commands_apply_to_the_built_in_tools(shop, user):
    user('[files]\nprotected = ["*.ledger"]\n[commands]\ndeny = ["uname:*"]\nask = ["true"]\n')
    shop.write("a.ledger", "1")
    shop.write("a.txt", "1")
    assert shop.run("call", "builtin", "read", "path=a.ledger").code == 6
    assert shop.run("call", "builtin", "read", "path=a.txt").code == 0
    assert shop.run("explain", "builtin", "bash", "command=uname -a").code == 5
    assert shop.run("explain", "builtin", "bash", "command=true", "--mode", "auto").code == 7
    ask = ["explain", "builtin", "bash", "command=ls", "--set", "commands.allow=[]"]
    assert shop.run(*ask).code == 7
    assert shop.run(*ask[:-1], 'commands.allow=["ls"]').code in (0, 7)  # without a sandbox every command asks


def test_hooks_of_the_settings_run(shop, user):
    """The hooks of `toolkit.toml` are shown."""
    user('[[hooks]]\non = "before"\ncommand = "echo no >&2; exit 2"\n')
    ran = shop.run("call", "tools.py", "free_days", "year=2026")
    assert (ran.code, ran.json["error"]["message"]) == (5, "no")


def test_skills_of_the_settings_can_be_called(shop, user):
    pytest.importorskip("yaml")
    skill = user("---\ndescription: Greet.\narguments: []\n---\nSay hello.\n", "more/greet.md")
    user('[skills]\nfolders = ["more"]\n')
    ran = shop.run("call", "tools.py", "greet")
    assert (ran.code, "Say hello." in ran.out) == (0, True), (ran.err, skill)


def test_mcp_servers_are_shown_without_their_secrets(shop, user):
    """A command for one tool does not start them, and has nothing to say about them."""
    own = user('[mcp_servers.github]\ncommand = "github-mcp-server"\nenv = { TOKEN = "secret-value" }\n')
    called = shop.run("call", "tools.py", "free_days", "year=2026")
    assert "github" not in called.err
    page = shop.run("settings", "-o", "text")
    server_line = f"mcp_servers.github github-mcp-server, with the variables TOKEN user, {own}:1"
    assert server_line in " ".join(page.out.split())
    assert "secret-value" not in called.err + page.out


def test_the_settings_choose_the_model_and_bound_the_run(shop, user):
    """Provider and model, limits and budgets, for `toolkit agent`."""
    with model(LOOK, LOOK, DONE) as stub:
        user(provider_settings(stub) + "[limits]\nmax_turns = 2\n")
        ran = shop.run(*AGENT)
        assert ran.code == 11, ran.err
        assert stub.heard[0].body["model"] == "test-1"
    with model(LOOK, DONE) as stub:
        user(provider_settings(stub) + "[budget]\ntokens = 1\n")
        assert shop.run(*AGENT).code == 11
    with model(CANCEL, DONE) as stub:
        user(provider_settings(stub) + '[rules]\nallow = ["cancel"]\n')
        assert shop.run(*AGENT, "--model", "other").code == 0
        assert stub.heard[0].body["model"] == "other"


def test_without_a_provider_the_error_says_where_to_choose_one(shop, user):
    """It names the file, the variable and the option."""
    ran = shop.run(*AGENT)
    assert ran.code == 2
    assert "no provider is chosen; give --provider (such as anthropic:" in ran.err
    assert "config/toolkit/toolkit.toml, or TOOLKIT_PROVIDER" in ran.err
    assert "no model is chosen" in ran.err


def test_an_untrusted_project_cannot_choose_the_server(shop, user):
    """The conversation and the key could otherwise go to the server of the project."""
    with model(DONE) as stub, model() as other:
        user(provider_settings(stub))
        shop.write(".toolkit/toolkit.toml", f'base_url = "{other.url}"\nmodel = "theirs"\n')
        ran = shop.run(*AGENT)
        assert (ran.code, other.heard) == (0, [])
        assert stub.heard[0].body["model"] == "test-1"
    assert "ignored: base_url = " in ran.err


def test_the_agent_shows_which_instruction_files_the_model_gets(shop, user):
    """Shown by `toolkit agent`: which files, how large, which were left out and why."""
    own = user("Be brief.", "AGENTS.md")
    theirs = shop.write("CLAUDE.md", "Use tabs.")
    with model(DONE, DONE) as stub:
        user(provider_settings(stub))
        ran = shop.run(*AGENT)
        assert f"instructions: {own} (9 characters)" in ran.err
        assert f"instructions left out: {theirs}: you have not trusted {shop.folder}" in ran.err
        assert "Be brief." in str(stub.heard[0].body["system"])
        assert "Use tabs." not in str(stub.heard[0].body)
        assert shop.run("trust", ".", "--yes").code == 0
        ran = shop.run(*AGENT, "--system", "You know the calendar.")
        assert f"instructions: {theirs} (9 characters)" in ran.err
        system = str(stub.heard[1].body["system"])
        assert system.index("You know the calendar.") < system.index("Be brief.") < system.index("Use tabs.")


def test_trust_shows_settings_and_instruction_files(shop, user):
    """New content is shown before it is recorded, and a new instruction file needs a new trust."""
    shop.write(".toolkit/toolkit.toml", 'mode = "auto"\n[limits]\nmax_turns = 3\n')
    shop.write("AGENTS.md", "Use tabs.")
    report = shop.run("trust", ".", "--yes").json
    assert report["instructions"] == ["AGENTS.md"]
    assert [setting.partition(" (")[0] for setting in report["rules"]] == ["mode = auto"]
    assert "AGENTS.md" in report["files"]
    assert shop.run("settings", "--json").json["settings"]["mode"]["value"] == "auto"
    shop.write("AGENTS.md", "Use spaces.")
    assert Trust().is_trusted(shop.folder)
    report = shop.run("trust", ".", "--yes").json
    assert (report["state"], report["recorded"]) == ("changed", True)
    assert len(shop.run("settings", "--json").json["instructions"]["files"]) == 1


def test_the_settings_take_effect_in_a_conversation(shop, user):
    """`toolkit chat` follows the settings as `toolkit agent` does."""
    user("Be brief.", "AGENTS.md")
    with model(DONE) as stub:
        user(provider_settings(stub) + 'system = "You know the calendar."\n')
        ran = shop.run("chat", "tools.py", input="Which days are free?\n")
        assert ran.code == 0, ran.err
        system = str(stub.heard[0].body["system"])
    assert system.index("You know the calendar.") < system.index("Be brief.")
    assert "instructions: " in ran.err


def test_a_target_that_is_a_dispatcher_keeps_its_limits_with_a_note(shop, user):
    """Rules and hooks of the settings are added to those of the dispatcher, and settings without an effect are named."""
    shop.write(
        "own.py", "from toolkit import Dispatcher\nfrom tools import catalog\n\ndispatcher = Dispatcher(catalog)\n"
    )
    own = user('[limits]\nmax_chars = 60\n[rules]\ndeny = ["free_days"]\n')
    ran = shop.run("call", "own.py:dispatcher", "free_days", "year=2026")
    assert ran.code == 5
    assert f"not used: limits.max_chars = 60 (user, {own}:2): the target is a dispatcher" in ran.err
