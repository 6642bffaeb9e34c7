"""The endurance run in its shortest form: it finds nothing, and would say so if it did."""

from __future__ import annotations

import pytest

from benchmarks import endurance
from benchmarks.violations import Report

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(("part", "count"), [("batch", 200), ("calls", 600), ("answers", 240)])
@pytest.mark.long
def test_a_short_run_finds_no_violation(part, count, capsys):
    """One line is printed, and the exit code is 0."""
    assert endurance.main(["--part", part, "--count", str(count)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{part}: ")
    assert line.endswith("; no violation")


def test_a_violation_is_shown_and_is_exit_code_1(monkeypatch, capsys):
    """So `make endurance` fails."""

    async def fail(count: int) -> Report:
        return Report(f"{count} tries", ["it broke"])

    monkeypatch.setitem(endurance.PARTS, "batch", (fail, 3))
    assert endurance.main(["--part", "batch"]) == 1
    assert capsys.readouterr().out == "batch: 3 tries; 0 s; 1 VIOLATIONS\n    it broke\n"


def test_a_part_that_breaks_off_is_a_violation(monkeypatch, capsys):
    """The other parts are run all the same."""

    async def break_off(count: int) -> Report:
        raise OSError("no room left")

    async def succeed(count: int) -> Report:
        return Report(f"{count} tries")

    monkeypatch.setitem(endurance.PARTS, "batch", (break_off, 3))
    monkeypatch.setitem(endurance.PARTS, "calls", (succeed, 3))
    assert endurance.main(["--part", "batch", "--part", "calls"]) == 1
    broken, reason, done = capsys.readouterr().out.splitlines()
    assert broken == "batch: it broke off; 0 s; 1 VIOLATIONS"
    assert reason == "    OSError: no room left"
    assert done == "calls: 3 tries; 0 s; no violation"


@pytest.mark.long
def test_the_soak_runs_beside_the_other_parts(capfd):
    """Each prints its line at its end. A soak as short as this measures nothing that may fail."""
    shortened = ["--part", "batch", "--part", "soak", "--count", "50", "--minutes", "0", "--tools", "20"]
    assert endurance.main(shortened) == 0
    assert {line.partition(":")[0] for line in capfd.readouterr().out.splitlines()} == {"batch", "soak"}
