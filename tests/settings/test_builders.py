"""The settings can be used from Python: a dispatcher, a provider and an agent that follow them."""

from __future__ import annotations

import contextlib
import re
from typing import Annotated

import pytest

from toolkit import Agent, Catalog, Command, Permissions, Reads, ToolCall
from toolkit.builders import build_agent, build_budget, build_dispatcher, build_provider
from toolkit.errors import ProviderError
from toolkit.hooks import Proceed
from toolkit.providers import AnthropicProvider, ScriptedProvider
from toolkit.settings import SettingsError


@pytest.fixture
def tools():
    """Return tools that read a file and run a command."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def read(path: Annotated[str, Reads]) -> str:
        """Read a file."""
        return "x" * 500

    @catalog.tool(destructive=True)
    def run(command: Annotated[str, Command]) -> str:
        """Run a command."""
        return f"$ {command}"

    return catalog


def test_a_dispatcher_follows_the_settings(place, tools):
    """Mode, limits, protected files, allowed commands, rules and hooks take effect."""
    pytest.importorskip("tree_sitter_bash")
    place.settings(
        """
[limits]
max_chars = 100
timeout_seconds = 7
max_concurrency = 3
[files]
protected = ["*.ledger"]
unprotected = [".envrc"]
[commands]
allow = ["npm test", "git status"]
ask = ["git:*"]
deny = ["rm:*"]
[[hooks]]
on = "before"
tools = "read"
command = "grep -q stop.txt && exit 2 || exit 0"
""",
        of="user",
    )
    with contextlib.closing(build_dispatcher(place.load(), tools)) as dispatcher:
        kinds = [
            dispatcher.call_sync("run", {"command": text}).kind for text in ("npm test", "git status", "rm x", "ls")
        ]
        assert kinds == ["ok", "waiting", "denied", "waiting"]
        paths = ["a.ledger", ".envrc", ".env", "stop.txt"]
        assert [dispatcher.call_sync("read", {"path": path}).kind for path in paths] == [
            "safety",
            "ok",
            "safety",
            "denied",
        ]
        assert len(dispatcher.call_sync("read", {"path": "a.txt"}).text) <= 100
        assert (dispatcher.settings.timeout_seconds, dispatcher.settings.max_concurrency) == (7, 3)


def test_an_option_of_the_program_counts_before_the_settings(place, tools):
    """Hooks are added to those of the settings."""
    place.settings('mode = "plan"\n', of="user")
    calls = []

    class Listener:
        def before(self, call):
            calls.append(call.name)
            return Proceed()

    options = {"permissions": Permissions("bypass"), "max_chars": 77, "hooks": [Listener()]}
    with contextlib.closing(build_dispatcher(place.load(), tools, **options)) as dispatcher:
        dispatcher.call_sync("run", {"command": "ls"})
        assert dispatcher.settings.max_chars == 77
    assert calls == ["run"]


@pytest.mark.anyio
async def test_an_agent_follows_the_settings(place, tools):
    """Limits and budgets, the system prompt, the rules."""
    merged = place.load(overrides={"limits.max_turns": 2, "budget.calls": 5, "system": "Be brief.", "mode": "plan"})
    model = ScriptedProvider([[ToolCall("read", {"path": "a.txt"})], [ToolCall("read", {"path": "b.txt"})], "never"])
    agent = build_agent(merged, tools, provider=model)
    assert isinstance(agent, Agent)
    run = await agent.run("go")
    assert (run.status, run.turns) == ("stopped", 2)
    assert model.requests[0].system.startswith("Be brief.")
    assert build_budget(merged).calls == 5


def test_a_provider_is_made_of_the_settings(place, monkeypatch):
    """Provider, model, address, and the variable with the key."""
    monkeypatch.setenv("MY_KEY", "k-123")
    text = 'provider = "anthropic"\nmodel = "m-1"\nbase_url = "http://localhost:9"\nkey_from = "MY_KEY"\n'
    place.settings(text, of="user")
    provider = build_provider(place.load())
    assert isinstance(provider, AnthropicProvider)
    assert provider.model == "m-1"
    monkeypatch.setenv("MY_KEY", "")
    with pytest.raises(SettingsError, match=r"toolkit\.toml:4 MY_KEY: there is no such environment variable"):
        build_provider(place.load())


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ('provider = "groq:a"\n', {}, ("groq", "a")),
        ('provider = "OpenRouter:x/y:free"\n', {}, ("openrouter", "x/y:free")),
        ('model = "b"\nprovider = "groq:a"\n', {}, ("groq", "b")),
        ('provider = "groq:a"\nmodel = "b"\n', {}, ("groq", "b")),
        ('provider = "groq:a"\n', {"model": "c"}, ("groq", "c")),
        ('provider = "anthropic"\nmodel = "b"\n', {"provider": "groq:c"}, ("groq", "c")),
        ('provider = "anthropic:b"\n', {"provider": "groq"}, ("groq", "b")),
    ],
)
def test_a_provider_may_name_its_model(place, text, overrides, expected):
    """The later layer counts, and in one layer the setting `model`."""
    place.settings(text, of="user")
    merged = place.load(overrides=overrides)
    assert (merged["provider"], merged["model"]) == expected
    provider = build_provider(merged)
    assert (provider.name, provider.model) == expected


@pytest.mark.parametrize(
    ("overrides", "address", "key"),
    [
        ({}, "http://localhost:9", "MY_KEY"),
        ({"model": "n"}, "http://localhost:9", "MY_KEY"),
        ({"provider": "anthropic:n"}, "http://localhost:9", "MY_KEY"),
        ({"provider": "groq:n"}, None, None),
        ({"provider": "groq:n", "key_from": "OTHER_KEY"}, None, "OTHER_KEY"),
    ],
)
def test_the_key_of_one_provider_does_not_go_to_another(place, overrides, address, key):
    """The address and the key in a file do not count if the command line chooses another provider."""
    place.settings('provider = "anthropic:m"\nbase_url = "http://localhost:9"\nkey_from = "MY_KEY"\n', of="user")
    merged = place.load(overrides=overrides)
    assert (merged["base_url"], merged["key_from"]) == (address, key)
    whys = {part.why_ignored for part in merged.parts if part.why_ignored}
    assert whys == (set() if address else {"it is for the provider anthropic, and groq is chosen"})


def test_a_key_without_a_provider_is_for_any(place):
    place.settings('key_from = "MY_KEY"\n', of="user")
    assert place.load(overrides={"provider": "groq:n"})["key_from"] == "MY_KEY"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('"grok:x"', "provider: the provider 'grok' is not known; did you mean `xai`?"),
        ('"groq:"', "provider: 'groq:' names no model"),
        ("7", "provider: the provider 7 is not known"),
    ],
)
def test_a_wrong_provider_gets_a_suggestion(place, value, words):
    file = place.settings(f"provider = {value}\n", of="user")
    with pytest.raises(SettingsError, match=re.escape(f"{file}:1: {words}")):
        place.load()


def test_a_limit_in_money_needs_prices(place):
    """The error names the place of the limit; with prices the budget counts money."""
    own = place.settings("[budget]\ncost = 0.5\n", of="user")
    with pytest.raises(SettingsError, match=rf"budget\.cost \(user, {own}:2\): needs prices"):
        build_budget(place.load())
    place.settings('[budget]\ncost = 0.5\n[prices."m-1"]\ninput = 3\noutput = 15\n', of="user")
    budget = build_budget(place.load())
    assert (budget.cost, budget.prices["m-1"].output) == (0.5, 15)
    place.settings('[prices."m-1"]\ninptu = 3\noutput = 15\n[prices.x]\ninput = -1\noutput = 1\n', of="user")
    with pytest.raises(SettingsError, match=r"prices\.m-1: has to say what a million tokens cost.*\n.*:4: prices\.x: "):
        place.load()


@pytest.mark.parametrize(("model", "has_prices"), [("m-1", True), ("m-1-20260101", True), ("m-2", False)])
def test_a_budget_has_the_prices_of_its_model(place, model, has_prices):
    place.settings('[prices."m-1"]\ninput = 3\noutput = 15\n', of="user")
    assert (build_budget(place.load(), model=model).prices is not None) == has_prices


@pytest.mark.anyio
async def test_prices_of_one_model_do_not_stop_another(place, tools):
    """Without a limit in money, a model without a price runs, and its cost is not counted."""
    place.settings('[prices."m-1"]\ninput = 3\noutput = 15\n', of="user")
    run = await build_agent(place.load(), tools, provider=ScriptedProvider(["Fine."])).run("go")
    assert run.status == "done"
    place.settings('[budget]\ncost = 1\n[prices."m-1"]\ninput = 3\noutput = 15\n', of="user")
    with pytest.raises(ProviderError, match="no price is known"):
        build_agent(place.load(), tools, provider=ScriptedProvider(["Fine."]))


def test_skills_of_the_settings_are_tools(place, tools):
    """The user's folder, folders that the settings name, and the project's once it is trusted."""
    pytest.importorskip("yaml")
    skill = "---\ndescription: Greet.\narguments: []\n---\nSay hello.\n"
    place.write("user/skills/one.md", skill)
    place.write("user/more/two.md", skill)
    place.write("project/.toolkit/skills/three.md", skill)
    place.settings('[skills]\nfolders = ["more"]\n', of="user")
    merged = place.load()
    assert [entry.what for entry in merged.ignored] == [f"skills.folders = {place.project}/.toolkit/skills (project)"]
    with contextlib.closing(build_dispatcher(merged, tools)) as dispatcher:
        assert {"one", "two"} <= set(dispatcher.catalog.names())
        assert "three" not in dispatcher.catalog
    place.trust.trust(place.project)
    with contextlib.closing(build_dispatcher(place.load(), tools)) as dispatcher:
        assert "three" in dispatcher.catalog


def test_a_dispatcher_is_built_from_a_list_of_functions(place):
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with contextlib.closing(build_dispatcher(place.load(overrides={"mode": "auto"}), [add])) as dispatcher:
        assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
