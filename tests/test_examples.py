"""The examples run as they are, with nothing but the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted(
    example
    for example in (Path(__file__).parents[1] / "examples").glob("*.py")
    # Those are run by tests/formats/test_sdk_examples.py, with a key and without.
    if not example.stem.endswith("_sdk")
)


# `make demo` runs this one too, and it takes longer than most of the others together.
SLOW = {
    "10_builtin_tools.py",
    "13_large_catalogs.py",
    "15_agent_at_work.py",
    "16_agent_across_processes.py",
    "18_skill.py",
    "19_testing.py",
    "21_sdk_approval_across_processes.py",
    "22_property_test_suite.py",
    "24_serve_mcp.py",
    "26_killed_run.py",
    "27_approval_across_workers.py",
    "28_release_flow.py",
}

INPUTS = {"24_serve_mcp.py": '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'}
"""What an example reads from standard input."""


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, id=path.name, marks=[pytest.mark.long] * (path.name in SLOW)) for path in EXAMPLES],
)
def test_an_example_runs(example):
    """It ends well, says something, and warns of nothing; it is given no key, so it costs nothing."""
    command = [sys.executable, "-W", "error", str(example)]
    without_keys = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    options = {"capture_output": True, "text": True, "check": False, "encoding": "utf-8", "env": without_keys}
    run = subprocess.run(command, input=INPUTS.get(example.name), **options)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert not run.stderr
