"""The examples run as they are, with nothing but the package."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

# tests/test_permission_examples.py and tests/builtin/test_builtin_calls.py run them, and look at what they show.
SHOWN_ELSEWHERE = {"08_approval_in_a_web_app.py", "10_builtin_tools.py"}
EXAMPLES = sorted(
    example
    for example in (Path(__file__).parents[1] / "examples").glob("*.py")
    # Those are run by tests/formats/test_sdk_examples.py, with a key and without.
    if not example.stem.endswith("_sdk") and example.name not in SHOWN_ELSEWHERE
)


SLOW = {
    "13_large_catalogs.py",
    "15_agent_at_work.py",
    "16_agent_across_processes.py",
    "18_skill.py",
    "19_testing.py",
    "21_sdk_approval_across_processes.py",
    "22_property_test_suite.py",
    "24_serve_mcp.py",
    "25_mcp_servers.py",
    "26_killed_run.py",
    "27_approval_across_workers.py",
    "28_release_flow.py",
    "31_mcp_gateway.py",
    "32_mcp_logins.py",
    "33_mcp_two_workers.py",
}
"""Those that take over a second. They start servers or processes, and `make demo` runs some of them too."""

INPUTS = {"24_serve_mcp.py": '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'}
"""What an example reads from standard input."""

QUICK_EXAMPLES = [example for example in EXAMPLES if example.name not in SLOW]
SLOW_EXAMPLES = [example for example in EXAMPLES if example.name in SLOW]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No example is given a key, so none costs anything."""
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


@pytest.mark.usefixtures("own_defaults")
@pytest.mark.parametrize("example", QUICK_EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs(example, monkeypatch, capsys):
    """It prints some text, and there are no warnings."""
    if example.name == "30_telemetry.py":
        pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK of OpenTelemetry is not installed")
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    written = capsys.readouterr()
    assert written.out
    assert not written.err


@pytest.mark.long
@pytest.mark.parametrize("example", SLOW_EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_in_a_new_process_without_warnings(example):
    command = [sys.executable, "-W", "error", str(example)]
    options = {"capture_output": True, "text": True, "check": False, "encoding": "utf-8"}
    run = subprocess.run(command, input=INPUTS.get(example.name), **options)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert not run.stderr
