"""`make demo` ends with a command that opens the inspector on what it did."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def recipe(tmp_path):
    """The commands of the demo, as `make` would run them, with what they write in *tmp_path*."""
    if shutil.which("make") is None:
        pytest.skip("the program make is not here")
    command = ["make", "--dry-run", "--always-make", "demo", f"DEMO={sys.prefix}", f"DEMO_FOLDER={tmp_path / 'demo'}"]
    # The tests themselves may run under make, which hands its options on and then names each folder it enters.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.long
def test_demo_ends_with_a_command_that_shows_the_runs(recipe, tmp_path):
    """The command is the last line. It shows the calls of the agent, and the run that was killed."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    for line in recipe:
        if "mkdir" in line or "15_agent" in line or "26_killed" in line and not line.startswith("echo"):
            subprocess.run(line, shell=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    inspect = re.fullmatch(r'echo "(.*)"', recipe[-1])[1]
    server = subprocess.Popen(
        f"exec env {inspect} --port 0", shell=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        address, _, token = server.stdout.readline().split()[-1].partition("#token=")
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=120) as browser:
            (run,) = browser.get(f"{address}api/runs").json()["runs"]
            steps = browser.get(f"{address}api/run?id={run['id']}").json()["steps"]
            calls = browser.get(f"{address}api/calls").json()["calls"]
            tools = browser.get(f"{address}api/tools").json()["tools"]
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()
    assert (run["id"], run["status"]) == ("bills-may", "done")
    assert any("may or may not have happened" in step["what"] for step in steps)
    assert {"edit", "bash", "note_change", "pay", "read_book"} <= {call["tool"] for call in calls}
    assert [tool["name"] for tool in tools] == ["read_book", "pay"]
    assert (tmp_path / "demo" / "book.txt").read_text().split() == ["A-7", "A-8", "A-9"]
