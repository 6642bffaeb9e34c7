"""
Settings in layers: `toolkit.toml` for the user, the project (only what tightens, until trusted), the command line and
the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from tests.settings.kit import SettingsPlace, as_toml
from toolkit import Catalog, Command, Dispatcher, Url, Writes
from toolkit.builders import dispatcher_options
from toolkit.hooks import ShellHook
from toolkit.hooks.shell.process import NotRun
from toolkit.permissions import MODES
from toolkit.settings import SettingsError
from toolkit.settings.keys import KEYS, is_stricter_mode
from toolkit.settings.trust import why_not_trusted


def test_the_defaults_count_without_files(place):
    """A setting says that it is a default."""
    merged = place.load()
    assert merged["mode"] == "default"
    assert merged["limits.max_turns"] == 50
    assert merged["provider"] is None
    assert list(merged) == list(KEYS)
    assert merged.parts_of("mode")[0].origin == "default"
    assert merged.ignored == merged.files == merged.rules == ()


def test_a_later_layer_counts_before_an_earlier_one(place):
    """`toolkit.toml` for the user, the project, the command line and the environment."""
    user = place.settings(
        'mode = "auto"\nprovider = "openai"\nmodel = "a"\n[budget]\ntokens = 9\ncalls = 9\n', of="user"
    )
    project = place.settings('model = "b"\n[budget]\ntokens = 8\ncalls = 8\nseconds = 8\n')
    place.trust.trust(place.project)
    place.environ.update(TOOLKIT_BUDGET_TOKENS="7", TOOLKIT_BUDGET_CALLS="7", TOOLKIT_MODE="plan")
    merged = place.load(overrides={"budget.tokens": 6})
    origins = {name: (merged[name], merged.parts_of(name)[0].origin) for name in merged if merged.parts_of(name)}
    assert origins["provider"] == ("openai", f"user, {user}:2")
    assert origins["model"] == ("b", f"project, {project}:1")
    assert origins["budget.seconds"] == (8, f"project, {project}:5")
    assert origins["budget.calls"] == (7, "environment, TOOLKIT_BUDGET_CALLS")
    assert origins["mode"] == ("plan", "environment, TOOLKIT_MODE")
    assert origins["budget.tokens"] == (6, "program")
    assert merged.files == (user, project)


def test_lists_are_added_up_and_each_entry_keeps_its_place(place):
    """Protected files, allowed commands, hooks, skills, rule files, MCP servers."""
    user = place.settings(
        """
[files]
protected = ["*.sqlite3"]
unprotected = [".envrc"]
[commands]
allow = [
  "npm test",
  "git status",
]
[rules]
allow = ["read"]
ask = ["bash(git push:*)"]
deny = ["web_fetch"]
[skills]
folders = ["more"]
[[hooks]]
on = "before"
command = "/bin/true"
[mcp_servers.github]
command = "github-mcp-server"
env = { TOKEN = "secret-value" }
""",
        of="user",
    )
    project = place.settings('[files]\nprotected = ["data/**"]\n[commands]\ndeny = ["rm:*"]\n')
    merged = place.load(rules=["deny write"])
    assert merged["files.protected"] == ("*.sqlite3", "data/**")
    assert [part.place for part in merged.parts_of("files.protected")] == [f"{user}:3", f"{project}:2"]
    assert [part.place for part in merged.parts_of("commands.allow")] == [f"{user}:7", f"{user}:8"]
    assert [hook.on for hook in merged["hooks"]] == [("before",)]
    assert merged["skills.folders"] == (str(place.user / "more"),)
    assert merged["mcp_servers"]["github"].command == "github-mcp-server"
    assert {str(rule) for rule in merged.rules} == {
        "allow read",
        "ask bash(git push:*)",
        "deny web_fetch",
        "deny write",
        "allow access:command(npm test)",
        "allow access:command(git status)",
        "deny access:command(rm:*)",
    }
    assert "secret-value" not in str(merged.to_json())
    assert "secret-value" not in repr(merged)


def test_unknown_keys_are_errors_with_the_nearest_name_file_and_line(place):
    """Unknown keys are errors with the nearest name, file and line; all are told at once."""
    user = place.settings('moed = "plan"\n\n[limits]\nmax_turn = 3\ntokens = 1\n', of="user")
    project = place.settings(
        'mode = "atuo"\nlimits = 3\n[budget]\ntokens = 0\n[commands]\nallow = [\n"ls",\n3]\n[mcp_servers.x]\nurl = "x"\nargz = 1\n'
    )
    with pytest.raises(SettingsError) as caught:
        place.load(
            overrides={"budgets.tokens": 1, "hooks": []}, environ={"TOOLKIT_MODL": "x", "TOOLKIT_BUDGET_CALLS": "x"}
        )
    assert caught.value.problems == (
        f"{user}:1: moed: is not known; did you mean `mode`?",
        f"{user}:4: limits.max_turn: is not known; did you mean `max_turns`?",
        f"{user}:5: limits.tokens: is not known; did you mean `budget.tokens`?",
        f"{project}:1: mode: 'atuo' is not known; did you mean `auto`?",
        f"{project}:2: limits: has to be a table; write [limits] above its settings",
        f'{project}:4: budget.tokens: has to be a whole number, 1 or more, or "none" for no limit',
        f"{project}:8: commands.allow[1]: has to be a text, and not empty",
        f"{project}:11: mcp_servers.x: 'argz' is not known; did you mean `args`?",
        f'{project}:10: mcp_servers.x: url: has to be an address: "https://example.com/mcp"',
        "TOOLKIT_BUDGET_CALLS: 'x' cannot be read; write it as in TOML: 30",
        "TOOLKIT_MODL: is not known; did you mean `TOOLKIT_MODEL`?",
        "program: budgets.tokens: is not known; did you mean `budget.tokens`?",
        "program: hooks: can only be written in a file",
    )


def test_mistakes_in_rules_and_hooks_are_reported_with_the_others(place):
    """A program must not run with half of its settings."""
    place.settings('limits = 1\n[rules]\nalow = ["x"]', of="user")
    place.settings('[[hooks]]\non = "befor"\ncommand = "x"\n[[hooks]]\non = "before"\n')
    with pytest.raises(SettingsError) as caught:
        place.load(rules=["denied x"])
    text = str(caught.value)
    for words in ("did you mean `allow`", "toolkit.toml:4: hooks[1]: command: is missing", "did you mean `before`"):
        assert words in text
    assert "it begins with allow, ask or deny" in text


def test_a_file_that_is_not_toml_is_an_error_with_its_line(place):
    """The parser's own message names the line."""
    place.settings('mode = "plan"\nlimits = = 1\n')
    with pytest.raises(SettingsError, match=r"toolkit\.toml: cannot be used \(.*line"):
        place.load()


def test_a_variable_of_another_program_is_reported_and_does_not_count(place):
    """`TOOLKIT_` is no prefix of ours alone; an empty variable is none."""
    merged = place.load(environ={"TOOLKIT_FRUIT": "secret", "TOOLKIT_MODE": "", "TOOLKIT_COMMAND": "1", "OTHER": "x"})
    assert [str(entry) for entry in merged.ignored] == [
        "TOOLKIT_FRUIT = ... (environment, TOOLKIT_FRUIT): there is no such setting; `toolkit settings` shows the names"
    ]


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("TOOLKIT_SYSTEM", "Be kind.", "system", "Be kind."),
        ("TOOLKIT_MODE", "plan", "mode", "plan"),
        ("TOOLKIT_BUDGET_RETRIES", "none", "budget.retries", None),
        ("TOOLKIT_LIMITS_TIMEOUT_SECONDS", "2.5", "limits.timeout_seconds", 2.5),
        ("TOOLKIT_COMMANDS_ALLOW", '["npm test"]', "commands.allow", ("npm test",)),
        ("TOOLKIT_INSTRUCTIONS_NAMES", "[]", "instructions.names", ()),
    ],
)
def test_a_variable_is_written_as_in_toml_and_a_text_without_quotes(place, variable, text, name, value):
    """Every setting but tables has a variable."""
    assert place.load(environ={variable: text})[name] == value


def test_a_name_that_is_not_a_setting_is_a_key_error_with_the_nearest_one(place):
    """`settings["..."]` does not return None for a misspelt name."""
    with pytest.raises(KeyError, match=r"did you mean `budget\.tokens`"):
        place.load()["budget.token"]


# What tightens.


def test_an_untrusted_project_says_why_its_settings_do_not_count(place):
    """A looser setting is listed with its place, the current value and the remedy. A stricter setting counts."""
    project = place.settings(
        'mode = "auto"\nmodel = "theirs"\n[limits]\nmax_turns = 60\ntimeout_seconds = 5\n[commands]\nallow = ["x"]\ndeny = ["y"]\n'
    )
    merged = place.load()
    assert merged["model"] is None
    assert merged["mode"] == "default"
    assert merged["limits.max_turns"] == 50
    assert merged["limits.timeout_seconds"] == 5
    assert [str(rule) for rule in merged.rules] == ["deny access:command(y:*)"]
    why = why_not_trusted(place.trust, place.project)
    assert [str(entry) for entry in merged.ignored] == [
        f"model = theirs (project, {project}:2): {why}",
        f"mode = auto (project, {project}:1): it is not stricter than default; {why}",
        f"limits.max_turns = 60 (project, {project}:4): it is not stricter than 50; {why}",
        f"commands.allow = x (project, {project}:7): {why}",
    ]
    place.trust.trust(place.project)
    merged = place.load()
    assert (merged["model"], merged["mode"], merged["limits.max_turns"]) == ("theirs", "auto", 60)
    assert merged.ignored == ()
    place.settings('model = "other"\n')
    assert place.load()["model"] is None  # the content is not the one that was trusted


def test_skills_of_a_project_are_only_in_the_folder_that_the_trust_covers(place):
    place.settings('[skills]\nfolders = [".toolkit/more"]\n')
    with pytest.raises(SettingsError, match=r"a project's skills are in \.toolkit/skills"):
        place.load()


def test_a_settings_file_that_leads_out_of_the_project_is_refused(place, tmp_path):
    """A link cannot make another file the project's."""
    (tmp_path / "else.toml").write_text('mode = "plan"')
    (place.project / ".toolkit").mkdir()
    (place.project / ".toolkit" / "toolkit.toml").symlink_to(tmp_path / "else.toml")
    with pytest.raises(SettingsError, match="leads out of"):
        place.load()


def test_trust_covers_the_scripts_of_hooks_in_the_settings(place):
    """A hook of `toolkit.toml` that runs a file of the project counts while that file is the one that was trusted."""
    script = place.write("project/check.sh", "exit 0")
    place.settings('[[hooks]]\non = "before"\ncommand = "sh check.sh"\n')
    assert place.load()["hooks"] == ()
    place.trust.trust(place.project)
    (hook,) = place.load()["hooks"]
    assert hook.prepare(hook.argv)[-1].endswith("/check.sh")
    script.write_text("exit 1")
    assert place.load()["hooks"] == ()
    with pytest.raises(NotRun, match="has changed"):
        hook.prepare(hook.argv)


@pytest.mark.parametrize(
    ("mode", "stricter"),
    [
        ("plan", {"plan"}),
        ("deny_unlisted", {"deny_unlisted"}),
        ("default", {"default", "plan", "deny_unlisted"}),
        ("auto", {"auto", "default", "plan", "deny_unlisted"}),
        ("bypass", set(MODES)),
    ],
)
def test_the_order_of_modes(mode, stricter):
    """`plan` and `deny_unlisted` cannot be compared: each allows calls that the other does not."""
    assert {other for other in MODES if is_stricter_mode(other, mode)} == stricter


TEXTS = st.sampled_from(["a", "b c", "x*"])
LIMITS = st.sampled_from([1, 2, 50, 60, 100_000, 200_000])
RULES = st.lists(
    st.sampled_from(
        ["look", "save", "run(ls:*)", "access:write", "access:command(git:*)", "*", "fetch(url=https://a.b/**)"]
    ),
    max_size=2,
)
COMMANDS = st.lists(st.sampled_from(["ls", "git:*", "git push:*", "rm:*"]), max_size=2)
SERVER = st.just({"s": {"command": "x"}})
HOOKS = st.just([{"on": "before", "command": "/bin/true"}])
VALUES = {
    "provider": st.sampled_from(["openai", "gemini", "groq:evil-1"]),
    "model": TEXTS,
    "base_url": st.just("https://evil.example/v1"),
    "key_from": st.just("HOME"),
    "system": TEXTS,
    "mode": st.sampled_from(MODES),
    "budget.retries": LIMITS | st.just("none") | st.just(0),
    "budget.depth": LIMITS | st.just(0),
    "prices": st.just({"m": {"input": 1, "output": 2}}),
    "files.protected": st.lists(st.sampled_from(["*.db", "data/**", "/srv/**"]), max_size=2),
    "files.unprotected": st.lists(st.sampled_from([".envrc", ".git/hooks/**", "*.pem"]), max_size=2),
    **{f"commands.{word}": COMMANDS for word in ("allow", "ask", "deny")},
    **{f"rules.{word}": RULES for word in ("allow", "ask", "deny")},
    "hooks": HOOKS,
    "instructions.names": st.just(["EVIL.md"]),
    "instructions.max_chars": LIMITS | st.just(0),
    "mcp_servers": SERVER,
    "database": st.just("sqlite:///evil.sqlite"),
    **dict.fromkeys(["limits.max_turns", "limits.max_concurrency"], LIMITS),
    "limits.max_chars": st.sampled_from([50, 1000, 200_000]),
    **dict.fromkeys(
        ["limits.timeout_seconds", "budget.tokens", "budget.calls", "budget.seconds", "budget.cost"],
        LIMITS | st.just("none"),
    ),
}
# These have a place of their own in the project.
ELSEWHERE = {"skills.folders"}


def drawn_settings(*, leave_out=ELSEWHERE):
    """Draw valid settings of any keys, by their names."""
    return st.fixed_dictionaries({}, optional={key: value for key, value in VALUES.items() if key not in leave_out})


def test_the_property_draws_every_key():
    """A key that is added has to be drawn too."""
    assert VALUES.keys() | ELSEWHERE == KEYS.keys()


def catalog_of_every_kind():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def look() -> str:
        """Look."""
        return "x"

    @catalog.tool
    def save(path: Annotated[str, Writes]) -> str:
        """Save."""
        return "x"

    @catalog.tool(destructive=True)
    def run(command: Annotated[str, Command]) -> str:
        """Run."""
        return "x"

    @catalog.tool(read_only=True, open_world=True)
    def fetch(url: Annotated[str, Url]) -> str:
        """Fetch."""
        return "x"

    return catalog


CATALOG = catalog_of_every_kind()
CALLS = [
    ("look", {}),
    ("save", {"path": "a.txt"}),
    ("save", {"path": "data/x.db"}),
    ("save", {"path": "key.pem"}),
    ("run", {"command": "ls"}),
    ("run", {"command": "git status && ls"}),
    ("run", {"command": "git push"}),
    ("run", {"command": "rm x"}),
    ("fetch", {"url": "https://a.b/c"}),
]
RANK = {"deny": 0, "ask": 1, "allow": 2}


def verdicts(merged):
    """Judge each call under the settings, without running a hook."""
    options = {**dispatcher_options(merged), "hooks": ()}

    async def judge():
        async with Dispatcher(CATALOG, **options) as dispatcher:
            return [RANK[(await dispatcher.explain(name, arguments)).word] for name, arguments in CALLS]

    return asyncio.run(judge())


def is_at_most(limit, other):
    return other is None or (limit is not None and limit <= other)


def assert_not_looser(merged, without):
    """State for each key what looser means, apart from the table that the library uses."""
    same = {
        "provider",
        "model",
        "base_url",
        "key_from",
        "system",
        "prices",
        "hooks",
        "mcp_servers",
        "files.unprotected",
        "database",
    }
    same |= {"commands.allow", "rules.allow", "instructions.names", "instructions.max_chars", "skills.folders"}
    more = {"files.protected", "commands.ask", "commands.deny", "rules.ask", "rules.deny"}
    less = {key for key in KEYS if key.startswith(("limits.", "budget."))}
    assert same | more | less | {"mode"} == set(KEYS)
    for key in same:
        assert merged[key] == without[key], key
    for key in more:
        assert set(merged[key]) >= set(without[key]), key
    for key in less:
        assert is_at_most(merged[key], without[key]), key
    assert is_stricter_mode(merged["mode"], without["mode"])


LAYERS = {
    "user": drawn_settings(leave_out={*ELSEWHERE, "hooks"}),
    "project": drawn_settings(),
    "overrides": drawn_settings(leave_out={*ELSEWHERE, "hooks", "mcp_servers", "prices"}),
}


def load_both(folder, user, project, overrides):
    """Return the settings with the files of a project and without them."""
    place = SettingsPlace(Path(folder).resolve())
    place.user.mkdir(mode=0o700)
    place.settings(as_toml(user), of="user")
    without = place.load(overrides=overrides)
    place.settings(as_toml(project))
    return place.load(overrides=overrides), without


@given(**LAYERS)
@settings(max_examples=10, deadline=None)
def test_no_untrusted_project_makes_a_setting_looser(user, project, overrides):
    """No untrusted project file ever makes the merged settings looser than without it."""
    with tempfile.TemporaryDirectory() as folder:
        assert_not_looser(*load_both(folder, user, project, overrides))


@pytest.mark.long
@given(**LAYERS)
@settings(max_examples=limit_examples(30), deadline=None)
@pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")
def test_no_untrusted_project_makes_a_verdict_looser(user, project, overrides):
    """No call is allowed, or asked about, that would not be without the project's files."""
    with tempfile.TemporaryDirectory() as folder:
        merged, without = load_both(folder, user, project, overrides)
        assert_not_looser(merged, without)
        assert all(map(int.__le__, verdicts(merged), verdicts(without)))


@pytest.mark.long
@given(text=st.text(max_size=40), key=st.sampled_from(sorted(KEYS)))
@settings(max_examples=limit_examples(100), deadline=None)
def test_any_text_is_settings_or_a_settings_error(text, key):
    """No content of a project's file raises another error."""
    with tempfile.TemporaryDirectory() as folder:
        place = SettingsPlace(Path(folder).resolve())
        place.user.mkdir(mode=0o700)
        for content in (text, f"{key} = {text}", as_toml({key: text})):
            place.settings(content)
            with contextlib.suppress(SettingsError):
                place.load()


def test_the_hooks_are_records_of_the_library(place):
    """They can be given to `ShellHooks`."""
    place.settings('[[hooks]]\non = "before"\ncommand = "/bin/true"\n', of="user")
    (hook,) = place.load()["hooks"]
    assert isinstance(hook, ShellHook)
    assert hook.cwd == place.user
