"""
Tab completion: what was listed last is offered, and no target is imported for it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminals import Terminal

EXPLODES = "raise SystemExit('this target was imported')\n"


def completions(shop, line, shell="bash"):
    """Return what *shell* is offered for *line*."""
    words = line.split(" ")
    environments = {
        "bash": {"COMP_WORDS": line, "_TOOLKIT_COMPLETE": "bash_complete"},
        "zsh": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_TOOLKIT_COMPLETE": "zsh_complete"},
        "fish": {"COMP_WORDS": line, "COMP_CWORD": words[-1], "_TOOLKIT_COMPLETE": "fish_complete"},
    }
    ran = shop.run(**environments[shell])
    assert (ran.code, ran.err) == (0, "")
    return {
        "bash": lambda: [entry.split(",", 1)[1] for entry in ran.out.splitlines() if entry],
        "zsh": lambda: ran.out.splitlines()[1::3],
        "fish": lambda: [entry.split(",", 1)[1].split("\t")[0] for entry in ran.out.splitlines() if entry],
    }[shell]()


@pytest.fixture
def completion_target(shop):
    """A target that was listed, and would fail if it were imported again."""
    shop.run("list", "tools.py:catalog")
    shop.write("tools.py", EXPLODES)
    return shop


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("toolkit call tools.py:catalog fr", ["free_days"]),
        ("toolkit show tools.py:catalog ", ["free_days", "cancel", "order", "flaky", "sleep", "broken"]),
        ("toolkit call tools.py:catalog free_days ", ["year=", "country=", "after="]),
        ("toolkit explain tools.py:catalog free_days year=1 co", ["country="]),
        ("toolkit list too", ["tools.py:catalog"]),
        ("toolkit show elsewhere.py fr", []),
        ("toolkit sea", ["search"]),
        ("toolkit call tools.py:catalog free_days --arg", ["--arguments"]),
        ("toolkit explain tools.py:catalog free_days --js", ["--json"]),
    ],
)
def test_listed_names_are_offered_without_importing(completion_target, shell, line, offered):
    """The names are targets, tools and parameters, in every shell."""
    assert completions(completion_target, line, shell) == offered


@pytest.mark.long
def test_completion_works_in_a_process_that_a_shell_starts(completion_target):
    line = {"COMP_WORDS": "toolkit call tools.py:catalog fr", "_TOOLKIT_COMPLETE": "bash_complete"}
    ran = completion_target.process(**line)
    assert (ran.code, ran.out, ran.err) == (0, "plain,free_days\n", "")


def test_the_completion_target_fails_if_it_is_imported(completion_target):
    """Otherwise the other tests would show nothing."""
    assert "this target was imported" in completion_target.process("list", "tools.py:catalog").err


def test_files_are_offered_for_a_target_that_was_never_listed(shop):
    """The shell offers them."""
    assert shop.run(COMP_WORDS="toolkit list too", _TOOLKIT_COMPLETE="bash_complete").out == "file,too\n"


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", "complete -o nosort -F"),
        ("bash", "compopt -o nospace"),
        ("zsh", "compdef"),
        ("zsh", "autoload -Uz compinit"),
        ("zsh", "compadd -U -V unsorted -S ''"),
        ("fish", "complete --no-files"),
    ],
)
def test_a_completion_script_extends_the_script_of_click(shop, shell, words):
    """It is printed for the shell to read. Click may change its own part."""
    ran = shop.run("completion", shell)
    assert words in ran.out
    assert "_TOOLKIT_COMPLETE" in ran.out


def needs(shell):
    """Return a mark that skips a test, and says so, where *shell* is not installed."""
    reason = f"{shell} is not installed: completion in it was NOT tested"
    return pytest.mark.skipif(shutil.which(shell) is None, reason=reason)


START = {
    "bash": (["--norc", "--noprofile", "-i"], "source {script}"),
    "zsh": (["-f", "-i"], "zle_highlight=(none); source {script}"),
    "fish": (["--no-config", "-i"], "source {script}"),
}
"""For each shell: what it is started with, and what stands in the file that it reads at its start."""

PROGRAM = """\
#!/bin/sh
[ -z "$_TOOLKIT_COMPLETE" ] && {{ printf '%s\\n' "$@" >'{typed}'; exit; }}
exec '{python}' -m toolkit "$@"
"""


@pytest.fixture
def at_a_prompt(completion_target, tmp_path):
    """Type at a real shell's prompt, in which `toolkit` writes down what it is called with; what that was."""
    typed = tmp_path / "typed"
    program = tmp_path / "bin" / "toolkit"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(typed=typed, python=sys.executable))
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"

    def words(shell, *pieces):
        script = tmp_path / f"completion.{shell}"
        script.write_text(completion_target.run("completion", shell).out)
        options, reading = START[shell]
        with contextlib.closing(Terminal(options, program=shell, PATH=path, PS1="> ")) as terminal:
            # In two halves, so that what is typed is not taken for what is answered.
            terminal.type(f"{reading.format(script=script)}; echo rea''dy\n")
            terminal.until("ready")
            for piece, echo in pieces:
                terminal.type(piece)
                terminal.until(echo)
            terminal.type("\n")
            terminal.type("exit\n")
            terminal.read_to_end()
        return typed.read_text().splitlines()

    return words


@pytest.mark.long
@pytest.mark.parametrize("shell", [pytest.param(shell_name, marks=needs(shell_name)) for shell_name in START])
def test_a_real_shell_completes_names_catalogs_and_parameters(at_a_prompt, shell):
    """Shells split words in different ways. No blank follows a word that still needs a value."""
    pieces = [
        ("toolkit cal\t", "l "),
        ("tools.py:cat\t", "alog "),
        ("fre\t", "e_days "),
        ("ye\t", "ar="),
        ("2026 co\t", "untry="),
        ("FR", "FR"),
    ]
    assert at_a_prompt(shell, *pieces) == ["call", "tools.py:catalog", "free_days", "year=2026", "country=FR"]


@pytest.mark.parametrize("shell", [pytest.param(shell_name, marks=needs(shell_name)) for shell_name in START])
@pytest.mark.long
def test_a_real_shell_completes_files_for_a_target_that_was_never_listed(at_a_prompt, completion_target, shell):
    completion_target.write("unheard_of.py", "")
    assert at_a_prompt(shell, ("toolkit list unh\t", "eard_of.py")) == ["list", "unheard_of.py"]


@pytest.mark.long
@needs("fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("toolkit sea", ["search"]),
        ("toolkit show tools.py:catalog ", ["broken", "cancel", "flaky", "free_days", "order", "sleep"]),
        ("toolkit call tools.py:catalog free_days year=1 ", ["after=", "country=", "year="]),
        ("toolkit call 'tools.py:catalog' fr", ["free_days"]),
        ("toolkit show elsewhere.py fr", []),
    ],
)
def test_fish_offers_the_completions_on_request(completion_target, tmp_path, line, offered):
    """Its own query lists the offers of the tab key."""
    script = tmp_path / "completion.fish"
    script.write_text(completion_target.run("completion", "fish").out)
    program = tmp_path / "toolkit"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m toolkit \"$@\"\n")
    program.chmod(0o755)
    run = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C {shlex.quote(line)}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert sorted(entry.split("\t")[0] for entry in run.stdout.splitlines()) == offered
    assert run.stderr == ""
