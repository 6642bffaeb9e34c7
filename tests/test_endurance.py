"""The endurance run in its shortest form: it finds nothing, and would say so if it did."""

from __future__ import annotations

import pytest

from benchmarks import endurance
from benchmarks.violations import Report

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(("part", "count"), [("batch", 200), ("calls", 600), ("answers", 240)])
def test_a_short_run_finds_no_violation(part, count, capsys):
    """One line is printed, and the exit code is 0."""
    assert endurance.main(["--part", part, "--count", str(count)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{part}: ")
    assert line.endswith("; no violation")


def test_a_violation_is_shown_and_is_exit_code_1(monkeypatch, capsys):
    """So that `make endurance` fails."""

    async def fail(count: int) -> Report:
        return Report(f"{count} tries", ["it broke"])

    monkeypatch.setitem(endurance.PARTS, "batch", (fail, 3))
    assert endurance.main(["--part", "batch"]) == 1
    assert capsys.readouterr().out == "batch: 3 tries; 1 VIOLATIONS\n    it broke\n"
