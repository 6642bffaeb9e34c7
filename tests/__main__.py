"""
Run the tests, several folders at once: `python -m tests [--all] [--slowest] [option of pytest ...]`.

`make test` leaves out the tests marked `long`. `make test-all` is `--all`: with them, and with the coverage measured.
Each folder is a part, run by a pytest of its own; parts share no state. A line tells when a part ends, the output of
a part is printed if it failed, and the end lists what was skipped and why. With `--slowest` it also lists the tests
that took most of the processors' time.

A few tests that failed are run once more, alone: some measure time, and a busy machine may have held them up. Those
that pass then are listed, so that they are seen and mended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent

AT_ONCE = 3
"""Many tests wait for processes, so two cores have time for three parts. With four, tests of speed fail."""

MAX_AGAIN = 20
"""How many tests that failed are run once more: as many as share a fixture, at most. More are no accident."""

REST = "the rest"
SLOWEST_FIRST = [
    "builtin",
    "properties",
    REST,
    "durable",
    "providers",
    "calls",
    "sandbox",
    "approvals",
    "testing",
    "cli",
    "values",
    "mcp",
    "safety",
    "permissions",
]
"""These parts begin first, so that no long part is left alone at the end."""

UNMEASURED = ["properties", "formats/schemas/test_limits.py", "functions/test_hostile.py"]
"""
Properties and limits try thousands of cases, or large ones. Coverage would make them several times as slow, and every
line they reach has a test of its own elsewhere. Single tests of this kind are marked `unmeasured`.
"""


@dataclass
class Part:
    """One pytest process: what it runs, and what it wrote about its tests."""

    name: str
    targets: list[str]
    is_measured: bool
    log: Path
    started: float = 0.0
    seconds: float = 0.0
    exit_code: int = 0
    output: str = ""
    outcomes: list[dict] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        """Return how many tests ended with *outcome*."""
        return sum(record["outcome"] == outcome for record in self.outcomes)

    def read_log(self) -> tuple[int, list[dict]]:
        """Return how many tests were selected, and the outcomes so far."""
        if not self.log.exists():
            return 0, []
        # The last line may still be being written.
        lines = self.log.read_text(encoding="utf-8").split("\n")[:-1]
        records = [json.loads(line) for line in lines]
        return sum(record.get("selected", 0) for record in records), [r for r in records if "outcome" in r]


def main(arguments: list[str]) -> int:
    """Run all parts and return 1 if any failed."""
    # A shell starts background processes with Ctrl-C ignored. The tests press it in terminals of their own.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_all, is_slowest_shown = "--all" in arguments, "--slowest" in arguments
    options = [argument for argument in arguments if argument not in {"--all", "--slowest"}]
    if not is_all:
        options += ["-m", "not long"]
        os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
    with tempfile.TemporaryDirectory(prefix="toolkit-tests-") as folder:
        parts = find_parts(Path(folder), is_all=is_all)
        started = time.monotonic()
        run_parts(parts, options)
        passed_again = run_again(parts, options, Path(folder))
    if is_slowest_shown:
        print_slowest(parts)
    print_summary(parts, passed_again, time.monotonic() - started)
    return int(any(part.exit_code for part in parts))


def find_parts(logs: Path, *, is_all: bool) -> list[Part]:
    """Return a part for each folder of tests, and one for the files beside them."""
    folders = [path.name for path in sorted(HERE.iterdir()) if path.is_dir() and any(path.rglob("test_*.py"))]
    parts = {name: [name] for name in folders}
    parts[REST] = sorted(path.name for path in HERE.glob("test_*.py"))
    ordered = sorted(parts, key=lambda name: SLOWEST_FIRST.index(name) if name in SLOWEST_FIRST else len(SLOWEST_FIRST))
    parts = {name: parts[name] for name in ordered}
    apart = {name for name in UNMEASURED if name not in folders} if is_all else set()
    for name, targets in parts.items():
        parts[name] = [target for target in targets if target not in apart]
    if apart:
        parts["limits"] = sorted(apart)
    return [
        Part(name, _as_arguments(targets, apart), is_all and not set(targets) & set(UNMEASURED), logs / name)
        for name, targets in parts.items()
    ]


def _as_arguments(targets: list[str], apart: set[str]) -> list[str]:
    ignored = [f"--ignore={HERE / name}" for name in sorted(apart - set(targets))]
    return [*(str(HERE / target) for target in targets), *ignored]


def run_parts(parts: list[Part], options: list[str]) -> None:
    """Run *parts*, some at once; print a line when one ends, and its output if it failed."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        waiting: set[Future[Part]] = {threads.submit(_run_part, part, options) for part in parts}
        while waiting:
            ended, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
            for future in ended:
                _print_part(future.result())
            _print_progress(parts)
        _print_progress([])


def _run_part(part: Part, options: list[str]) -> Part:
    # Two processes must not write one cache.
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.outcome_log"]
    measured = ["-m", "coverage", "run", "--parallel-mode"] if part.is_measured else []
    part.started = time.monotonic()
    ended = subprocess.run(
        [sys.executable, *measured, *pytest, *options, *part.targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "TESTS_OUTCOME_LOG": str(part.log)},
        check=False,
    )
    _, part.outcomes = part.read_log()
    part.seconds = time.monotonic() - part.started
    part.output = ended.stdout
    # Exit code 5: every test of the part was deselected.
    part.exit_code = 0 if ended.returncode == 5 and not part.outcomes else ended.returncode
    return part


def _print_part(part: Part) -> None:
    if part.exit_code:
        print(f"\r{part.output}")
    counts = ", ".join(f"{part.count(kind):,} {kind}" for kind in ("passed", "failed", "skipped") if part.count(kind))
    ending = f" (exit code {part.exit_code})" if part.exit_code else ""
    print(f"\r{part.name:12} {counts or 'no tests'} in {part.seconds:.0f} s{ending}".ljust(79), flush=True)


def _print_progress(parts: list[Part]) -> None:
    """Overwrite the last line of a terminal with what is running now."""
    if not sys.stdout.isatty():
        return
    running = [part for part in parts if part.started and not part.seconds]
    counts = [(part.name, *part.read_log()) for part in running]
    text = ", ".join(f"{name} {len(outcomes)}/{selected or '?'}" for name, selected, outcomes in counts)
    print(f"\r{text[:78]:79}", end="\r", flush=True)


def run_again(parts: list[Part], options: list[str], logs: Path) -> list[str]:
    """Run the tests that failed once more, if they are few; return those that pass now, and count them as passed."""
    failed = [record for part in parts for record in part.outcomes if record["outcome"] == "failed"]
    if not failed or len(failed) > MAX_AGAIN or not all("::" in record["test"] for record in failed):
        return []
    again = Part("once more", sorted({record["test"] for record in failed}), is_measured=False, log=logs / "again")
    _print_part(_run_part(again, options))
    passed = {record["test"] for record in again.outcomes if record["outcome"] == "passed"}
    for part in parts:
        for record in part.outcomes:
            if record["outcome"] == "failed" and record["test"] in passed:
                record["outcome"] = "passed"
        # Exit code 1: tests failed, and nothing else went wrong.
        if part.exit_code == 1 and not part.count("failed"):
            part.exit_code = 0
    return sorted(passed)


def print_summary(parts: list[Part], passed_again: list[str], seconds: float) -> None:
    """Print what failed, what passed only the second time, what was skipped and why, and the counts."""
    outcomes = [record for part in parts for record in part.outcomes]
    skipped = Counter(record["reason"] for record in outcomes if record["outcome"] == "skipped")
    if skipped:
        print("\nSkipped:")
        for reason, count in skipped.most_common():
            print(f"{count:7,}  {' '.join(reason.split())[:200]}")
    if passed_again:
        print("\nPassed only when run once more, alone; find out why:")
        for test in passed_again:
            print(f"  {test}")
    failed = [record["test"] for record in outcomes if record["outcome"] == "failed"]
    broken = [part.name for part in parts if part.exit_code and not part.count("failed")]
    if failed or broken:
        print("\nFailed:")
        for line in [*failed, *(f"{name}: the part ended without saying which test failed" for name in broken)]:
            print(f"  {line}")
    passed = sum(part.count("passed") for part in parts)
    print(f"\nin {seconds / 60:.1f} minutes:")
    print(f"{passed} passed, {len(failed) + len(broken)} failed, {sum(skipped.values())} skipped")


def print_slowest(parts: list[Part], *, max_tests: int = 250) -> None:
    """Print the tests that kept the processors busy longest: seconds of processor time, seconds that passed."""
    outcomes = [record for part in parts for record in part.outcomes]
    outcomes.sort(key=lambda record: -record["worked"])
    print(f"\nSlowest, of {sum(record['worked'] for record in outcomes):.0f} s of processor time in all:")
    for record in outcomes[:max_tests]:
        print(f"{record['worked']:8.1f} {record['seconds']:8.1f}  {record['test']}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
