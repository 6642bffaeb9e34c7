"""The command line without the extra `mcp`: nothing else is lost, and each way to MCP says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
for name in ("mcp", "mcp_types", "httpx2"):
    sys.modules[name] = None
from click.testing import CliRunner
from toolkit.cli.main import cli
ran = [CliRunner().invoke(cli, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[result.exit_code, result.output] for result in ran]))
"""
NEEDS = [
    ["serve", "tools.py"],
    ["serve", "tools.py", "--http", "8000"],
    ["list", "https://docs.example/mcp"],
    ["list", "--command", "npx server"],
    ["list", "servers.json"],
    ["list", "mcp:docs"],
    ["mcp", "trust", "servers.json"],
    ["mcp", "login", "docs"],
    ["mcp", "logout", "docs"],
]
NEEDS_NOT = [["--help"], ["mcp", "--help"], ["serve", "--help"], ["list", "tools.py"], ["settings"]]


PYTHON_SCRIPT = """
import sys
for name in ("mcp", "mcp_types", "httpx2"):
    sys.modules[name] = None
import toolkit.mcp
for name in ("serve", "Servers", "nothing"):
    try:
        getattr(toolkit.mcp, name)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_importing_a_name_without_its_extra_raises_an_error_that_names_the_extra():
    """Server and client have the same message. An unknown name is not mistaken for a missing package."""
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PYTHON_SCRIPT], capture_output=True, text=True, check=True, env=environment
    )
    message = (
        "ToolkitError MCP needs the official SDK, the package `mcp`; run pip install '.[mcp]' in a checkout of toolkit"
    )
    assert done.stdout.splitlines() == [
        message,
        message,
        "AttributeError module 'toolkit.mcp' has no attribute 'nothing'",
    ]


@pytest.mark.long
def test_only_commands_that_need_the_mcp_extra_fail_without_it(shop):
    """The message has the command that installs the extra. No help and no other command fails."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([*NEEDS, *NEEDS_NOT])],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(shop.folder)},
    )
    results = json.loads(done.stdout.splitlines()[-1])
    for words, (code, output) in zip(NEEDS, results, strict=False):
        assert (code, "pip install '.[mcp]'" in output) == (2, True), (words, output)
    for words, (code, output) in zip(NEEDS_NOT, results[len(NEEDS) :], strict=True):
        assert code == 0, (words, output)
