"""
`toolkit trust`: what a project may do is shown before it is trusted.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess

import pytest

from tests.cli.terminals import Terminal
from tests.skills.kit import write_skill
from toolkit.cli.commands.trust import _record, read_report
from toolkit.cli.output import Output
from toolkit.settings.trust import Trust

HOOKS = """
[[hooks]]
on = "before"
command = "sh tools/check.sh"
files = ["tools/check.sh"]
"""


@pytest.fixture
def project(shop):
    """A project with a rule that permits something, a hook with a script, and a skill."""
    folder = shop.folder / "shop"
    shop.write("shop/.toolkit/toolkit.toml", f'mode = "auto"\n[rules]\nallow = ["cancel"]\nask = ["order"]\n{HOOKS}')
    shop.write("shop/tools/check.sh", "echo checked \x1b[2J\n")
    write_skill(folder / ".toolkit" / "skills" / "mine.md")
    return folder


def test_trust_shows_the_content_and_records_the_trust(shop, project):
    ran = shop.run("trust", "shop", "--yes")
    assert ran.code == 0
    report = ran.json
    assert (report["folder"], report["state"], report["recorded"]) == (os.path.realpath(project), "unknown", True)
    assert any("auto" in rule for rule in report["rules"])
    assert any("cancel" in rule for rule in report["rules"])
    assert not any("order" in rule for rule in report["rules"])  # an ask rule counts without trust
    assert "sh tools/check.sh" in report["hooks"][0]
    assert report["skills"][0].endswith("mine.md")
    assert {"tools/check.sh", ".toolkit/toolkit.toml"} <= set(report["files"])
    assert Trust().is_trusted(project)
    assert "you trust it already" in shop.run("trust", "shop").err


def test_trust_is_not_recorded_without_a_terminal(shop, project, monkeypatch):
    """The content is shown, no question is asked, and the exit code says that a person is needed."""
    monkeypatch.setattr("toolkit.cli.commands.trust.confirm", lambda question: True)
    ran = shop.run("trust", "shop", "-o", "text")
    assert ran.code == 7
    assert "not recorded; trust it by answering yes in a terminal, or with --yes" in ran.err
    assert "sh tools/check.sh" in ran.out
    assert not Trust().is_trusted(project)


def test_content_that_changes_after_it_was_shown_is_not_trusted(shop, project, monkeypatch):
    """The content that was shown is the content that is recorded."""

    def change_and_agree(question, describe, output):
        (project / "tools" / "check.sh").write_text("rm -rf ~\n")
        return 0

    monkeypatch.setattr("toolkit.cli.commands.trust.ask_for_trust", change_and_agree)
    ran = shop.run("trust", "shop")
    assert ran.code == 2
    assert "has changed since it was shown; look at it again" in ran.err
    assert not Trust().is_trusted(project)


def test_the_text_of_the_files_can_be_shown(shop, project):
    """Escape codes in it are not written."""
    out = shop.run("trust", "shop", "--yes", "--contents", "-o", "text").out
    assert "      | echo checked " in out
    assert "\x1b" not in out


def test_trust_can_be_listed_and_revoked(shop, project):
    """A folder that has changed since is listed as changed."""
    assert shop.run("trust", "--list").json == []
    shop.run("trust", "shop", "--yes")
    assert shop.run("trust", "--list").json == [{"folder": os.path.realpath(project), "state": "trusted"}]
    (project / "tools" / "check.sh").write_text("echo other\n")
    assert shop.run("trust", "--list").json[0]["state"] == "changed"
    assert shop.run("trust", "shop", "--revoke").code == 0
    assert shop.run("trust", "--list").json == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere", "--yes"], "is not a folder"),
        (["shop", "--yes", "--revoke"], "contradict each other"),
    ],
)
def test_a_folder_that_cannot_be_trusted_is_an_error(shop, project, words, says):
    ran = shop.run("trust", *words)
    assert ran.code == 2
    assert says in ran.err
    assert Trust().folders() == ()


def test_mistakes_in_the_files_are_shown(shop, project):
    """A person should not agree to what cannot be read."""
    (project / ".toolkit" / "toolkit.toml").write_text('[rules]\nalow = ["cancel"]\n')
    (problem,) = shop.run("trust", "shop", "--yes").json["problems"]
    assert "alow" in problem


@pytest.mark.long
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 5), ("\x03", 130)])
def test_trust_is_recorded_only_after_a_clear_yes_at_a_terminal(shop, project, answer, code):
    with contextlib.closing(Terminal(["-m", "toolkit", "trust", "shop"])) as terminal:
        terminal.until("[y]es, [n]o: ")
        terminal.type(answer)
        assert terminal.read_to_end() == code
    assert Trust().is_trusted(project) is (code == 0)


@pytest.mark.long
def test_the_report_is_on_the_terminal_if_the_output_is_piped(shop, project):
    """It stands before the question on standard error, and the output stays JSON."""
    with contextlib.closing(Terminal(["-m", "toolkit", "trust", "shop"], stdout=subprocess.PIPE)) as terminal:
        terminal.until("[y]es, [n]o: ")
        assert "sh tools/check.sh" in terminal.written
        terminal.type("y\n")
        assert terminal.read_to_end() == 0
        assert json.loads(terminal.output())["recorded"] is True


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("requested_format", ["json", "text"])
def test_the_report_is_on_the_screen_before_the_question(project, monkeypatch, requested_format):
    """Output that goes into a pipe is not seen, so the report is written to standard error as well."""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    screens = []
    monkeypatch.setattr("toolkit.cli.commands.trust.confirm", lambda question: screens.append(screen.getvalue()))
    _record(read_report(project, Trust()), Trust(), Output(requested_format), is_agreed=False, contents=False)
    assert "sh tools/check.sh" in screens[0]
