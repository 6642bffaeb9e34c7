"""The command line without the extra `durable`: looking at runs works, and what needs the engine says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
sys.modules["dbos"] = None
from click.testing import CliRunner
from toolkit.cli.main import cli
from toolkit.durable.journal.run_journal import open_journal
journal = open_journal("sqlite:///runs.sqlite")
journal.create("fix", "agent", {"prompt": "x"}, now=1.0)
ran = [CliRunner().invoke(cli, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[result.exit_code, result.output] for result in ran]))
"""
NEEDS = [["worker", "agents.py:agent"], ["runs", "start", "new", "Do it."], ["runs", "cancel", "fix"]]
NEEDS_NOT = [["--help"], ["worker", "--help"], ["runs", "list"], ["runs", "show", "fix"]]
AGENTS = "from toolkit import Agent\nfrom toolkit.providers import ScriptedProvider\nagent = Agent(ScriptedProvider([]), [])\n"


@pytest.mark.long
def test_only_commands_that_need_the_durable_extra_fail_without_it(shop):
    """The message has the command that installs the extra. Runs can be looked at without it."""
    shop.write("agents.py", AGENTS)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([*NEEDS, *NEEDS_NOT])],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "HOME": str(shop.folder),
            "TOOLKIT_DATABASE": "sqlite:///runs.sqlite",
        },
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    for words, (code, output) in zip(NEEDS, results, strict=False):
        assert (code, "pip install '.[durable]'" in output) == (2, True), (words, output)
    for words, (code, output) in zip(NEEDS_NOT, results[len(NEEDS) :], strict=True):
        assert code == 0, (words, output)
