"""
The command line as a whole: help, versions, what it needs, and that other imports do not load it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from toolkit.cli.exit_codes import EXITS, FOUND, INTERRUPTED, RUN_EXITS, USAGE, VERDICT_EXITS
from toolkit.cli.main import _FILE_NAMES, cli, main

ROOT = Path(__file__).parents[2]
COMMANDS = [
    "list",
    "show",
    "schema",
    "search",
    "call",
    "explain",
    "check",
    "eval",
    "agent",
    "chat",
    "serve",
    "inspect",
    "settings",
    "trust",
    "mcp",
    "worker",
    "runs",
    "stats",
    "trace",
    "init",
    "completion",
]


def test_the_help_has_a_whole_sentence_for_every_command(shop):
    ran = shop.run("--help")
    commands = re.findall(r"^  (\w+) +(.+)$", ran.out.partition("Commands:\n")[2], re.MULTILINE)
    assert [name for name, _ in commands] == COMMANDS
    assert all(text.endswith(".") and not text.endswith("...") for _, text in commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_a_description_and_an_example(shop, name):
    """Every option is described; a command that loads a target says that this runs its code."""
    ran = shop.run(name, "--help")
    assert ran.code == 0
    assert f"toolkit {name} " in ran.out.partition("Usage:")[2].partition("\n")[2]
    command = cli.get_command(click.Context(cli), name)
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    if any(parameter.name == "target" for parameter in command.params):
        assert "runs its code" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lsit"], "there is no command `lsit`; did you mean `toolkit list`?"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["list"], "Missing argument 'TARGET'. Name a file such as tools.py, a module such as shop.tools, or builtin."),
        (["list", "tools.py", "--jsn"], "--json"),
        (["call", "tools.py", "free_days", "--mode", "yolo"], "'yolo' is not one of 'plan', 'default'"),
        (["agent", "tools.py", "hi"], "no provider is chosen; give --provider (such as anthropic:"),
        (["search", "tools.py"], "Missing argument"),
    ],
)
def test_a_wrong_command_line_is_an_error_with_the_remedy_and_exit_code_2(shop, words, says):
    ran = shop.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_the_version_is_that_of_the_distribution(shop):
    assert re.fullmatch(r"toolkit, version \d+\.\d+\.\d+\n", shop.run("--version").out)


def test_the_command_line_can_be_called_from_python(capsys):
    """It ends with `SystemExit`."""
    with pytest.raises(SystemExit) as ended:
        main(["list", "no_such_module"])
    assert ended.value.code == 2
    assert "error: cannot load 'no_such_module'" in capsys.readouterr().err


def python(code, *options):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_package_does_without_the_command_line(shop):
    """Importing it imports neither click nor rich."""
    ran = python("import sys, toolkit, toolkit.agent, toolkit.dispatcher; print({'click', 'rich'} & set(sys.modules))")
    assert ran.stdout == "set()\n", ran.stderr


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_the_error_for_a_missing_package_has_the_command_to_install_the_package(shop, missing):
    """This holds for the command, and for an import of the display."""
    hide = f"import sys; sys.modules['{missing}'] = None; "
    hint = (
        f"the command line needs {missing}, which is not installed; run pip install '.[cli]' in a checkout of toolkit"
    )
    typed = python(f"{hide}from toolkit.__main__ import main; main()")
    assert (typed.returncode, typed.stderr) == (1, f"error: {hint}\n")
    imported = python(f"{hide}import toolkit.cli.display")
    assert imported.stderr.splitlines()[-1] == f"ModuleNotFoundError: {hint}"


def test_the_error_names_another_missing_module(shop):
    ran = python("import sys; sys.modules['tempfile'] = None; from toolkit.__main__ import main; main()")
    assert ran.returncode == 1
    assert "tempfile" in ran.stderr
    assert "pip install" not in ran.stderr


@pytest.mark.long
def test_a_closed_pipe_is_not_an_error(shop):
    """`| head` closes the pipe early."""
    ran = subprocess.run(
        f"'{sys.executable}' -m toolkit list builtin | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(shop.folder)},
    )
    assert (ran.stdout, ran.stderr) == ("[", "")


def test_the_documented_exit_codes_are_the_real_ones():
    """The table in the docs, against the tables in the code."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed_codes = [int(code) for code in re.findall(r"^\| (\d+) \| ", page, re.MULTILINE)]
    codes = {*EXITS.values(), *VERDICT_EXITS.values(), *RUN_EXITS.values(), FOUND, USAGE, INTERRUPTED}
    assert listed_codes == sorted(codes)


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        'exec("raise KeyboardInterrupt")\n',
        (
            "class Field:\n    def __set_name__(self, owner, name):\n        raise KeyboardInterrupt\n\n\n"
            "class Record:\n    field = Field()\n"
        ),
    ],
    ids=["exec", "set_name"],
)
def test_ctrl_c_while_a_class_is_made_ends_with_the_usual_code(shop, text):
    """Ctrl-C that comes while a dataclass is made, or a class, ends `python -m toolkit` with 130 as any other."""
    path = shop.write("interrupted.py", text)
    command = [sys.executable, "-m", "toolkit", "list", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (130, "error: interrupted")


def test_each_file_of_the_folder_of_commands_is_a_command():
    """Shared code stands beside the folder."""
    files = {path.stem for path in (ROOT / "toolkit" / "cli" / "commands").glob("[!_]*.py")}
    assert files == {_FILE_NAMES.get(name, name) for name in COMMANDS}
