"""What a user writes to forbid something forbids it."""

from __future__ import annotations

import contextlib
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.settings.kit import as_toml
from toolkit import Catalog, Command, Reads
from toolkit.builders import build_dispatcher
from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.permissions.rules import Rule
from toolkit.settings.keys import write_command_rule

WORDS = st.lists(
    st.sampled_from(["git", "push", "rm", "-r", "-C", "x", "'a b'", "sudo", "echo"]), min_size=1, max_size=4
)


@pytest.fixture
def tools():
    """Return tools that read a file and run a command."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def read(path: Annotated[str, Reads]) -> str:
        """Read a file."""
        return "text"

    @catalog.tool
    def run(command: Annotated[str, Command]) -> str:
        """Run a command."""
        return "done"

    return catalog


@pytest.mark.parametrize(
    ("pattern", "path", "kind"),
    [
        ("secrets", "secrets/a.txt", "safety"),
        ("secrets", "secrets/deep/a.txt", "safety"),
        ("secrets", "pkg/secrets/a.txt", "safety"),
        ("secrets", "secrets", "safety"),
        ("secrets/", "secrets/a.txt", "safety"),
        ("secrets/**", "secrets/a.txt", "safety"),
        ("./secrets", "secrets/a.txt", "safety"),
        ("{project}/secrets", "secrets/a.txt", "safety"),
        ("{project}/not-yet", "not-yet/a.txt", "safety"),
        ("pkg/secrets", "pkg/secrets/a.txt", "safety"),
        ("secret*", "secrets/a.txt", "safety"),
        ("*.ledger", "a.ledger", "safety"),
        ("secrets", "secrets.txt", "ok"),
        ("secrets", "pkg/a.txt", "ok"),
        ("pkg/secrets", "secrets/a.txt", "ok"),
    ],
)
def test_a_protected_name_covers_the_content_of_its_folder(place, tools, monkeypatch, pattern, path, kind):
    """A folder is protected with all that lies in it, however its name is written."""
    (place.project / "secrets" / "deep").mkdir(parents=True)
    (place.project / "pkg" / "secrets").mkdir(parents=True)
    monkeypatch.chdir(place.project)
    place.settings(as_toml({"files.protected": [pattern.format(project=place.project)]}), of="user")
    with contextlib.closing(build_dispatcher(place.load(), tools)) as dispatcher:
        assert dispatcher.call_sync("read", {"path": path}).kind == kind


@pytest.mark.parametrize(
    ("key", "entry", "command", "kind"),
    [
        ("deny", "git push", "git push", "denied"),
        ("deny", "git push", "git push origin main", "denied"),
        ("deny", "git push", "git -C x push origin", "denied"),
        ("deny", "git push:*", "git push origin main", "denied"),
        ("deny", "rm", "rm -r x", "denied"),
        ("deny", "rm", "ls && /bin/rm x", "denied"),
        ("deny", "git push", "git pull", "ok"),
        ("deny", "rm", "rmdir x", "ok"),
        ("deny", "*", "ls", "denied"),
        ("ask", "git push", "git push origin main", "waiting"),
        ("ask", "git push", "git status", "ok"),
    ],
)
def test_a_command_is_denied_or_asked_about_with_any_further_words(place, tools, key, entry, command, kind):
    """`git push` is about `git push origin main`, too."""
    pytest.importorskip("tree_sitter_bash")
    place.settings(as_toml({"rules.allow": ["run"], f"commands.{key}": [entry]}), of="user")
    settings = place.load()
    assert settings[f"commands.{key}"] == (entry,)
    with contextlib.closing(build_dispatcher(settings, tools)) as dispatcher:
        assert dispatcher.call_sync("run", {"command": command}).kind == kind


def test_a_command_is_allowed_only_in_its_exact_words(place, tools):
    """With further words it is another command, unless the entry ends with `:*`."""
    pytest.importorskip("tree_sitter_bash")
    place.settings(as_toml({"commands.allow": ["npm test", "git:*"]}), of="user")
    with contextlib.closing(build_dispatcher(place.load(), tools)) as dispatcher:
        commands = ["npm test", "npm test --fix", "git status -s"]
        kinds = [dispatcher.call_sync("run", {"command": command}).kind for command in commands]
    assert kinds == ["ok", "waiting", "ok"]


@given(pattern=WORDS, command=WORDS)
def test_the_words_after_a_command_only_tighten(pattern, command):
    """A command line that the exact pattern is about is one that the entry of the settings is about."""
    pytest.importorskip("tree_sitter_bash")
    exact, line = " ".join(pattern), " ".join(command)
    rule = Rule("deny", write_command_rule("deny", exact))
    assert commands_concerned(line, str(rule.pattern)) or not commands_concerned(line, exact)
    assert commands_concerned(f"{exact} more words", str(rule.pattern))
