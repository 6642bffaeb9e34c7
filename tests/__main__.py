"""
Run the tests, several files at once: `python -m tests [--all] [--slowest] [--record] [path | option of pytest ...]`.

`make test` leaves out the tests marked `long`. `make test-all` is `--all`: with them, and with the coverage measured.
A few workers, each a pytest of its own, take one file after the other, folder by folder and the longest first
(`tests/file_queue.py`); files share no state. The output of a worker is printed at the end if a test of it failed, and
then what was skipped and why. With `--slowest` it also lists the tests that took most of the processors' time.

`tests/seconds.json` says how long each file keeps a processor busy. `--record` writes what this run has measured there;
do that with and without `--all` when files have become much longer or shorter. A file without figures is taken for one
of two seconds.

A few tests that failed are run once more, alone: some depend on time, and a busy machine may have held them up. Those
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

from tests.file_queue import LIST

HERE = Path(__file__).parent
SECONDS = HERE / "seconds.json"

WORKERS = {"quick": (os.cpu_count() or 1) + 1, "all": (os.cpu_count() or 1) + 2}
"""Many tests wait for processes, so there is time for one worker more than there are processors; for two with `--all`."""

MAX_AGAIN = 20
"""How many tests that failed are run once more: as many as share a fixture, at most. More are no accident."""

UNKNOWN_SECONDS = 2.0
"""The guess for a file without figures: it begins among the first half, and not alone at the end."""


@dataclass
class Worker:
    """One pytest process: what it was told to run, and what it wrote about its tests."""

    name: str
    log: Path
    targets: list[str] = field(default_factory=list)
    queue: Path | None = None
    is_measured: bool = False
    is_running: bool = False
    seconds: float = 0.0
    exit_code: int = 0
    output: str = ""
    outcomes: list[dict] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        """Return how many tests ended with *outcome*."""
        return sum(record["outcome"] == outcome for record in self.outcomes)

    def read_log(self) -> list[dict]:
        """Return the outcomes so far."""
        if not self.log.exists():
            return []
        # The last line may still be being written.
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").split("\n")[:-1]]


def main(arguments: list[str]) -> int:
    """Run all tests and return 1 if any failed."""
    # A shell starts background processes with Ctrl-C ignored. The tests press it in terminals of their own.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    flags = {"--all", "--slowest", "--record"} & set(arguments)
    paths = [Path(argument).resolve() for argument in arguments if Path(argument).exists()]
    options = [argument for argument in arguments if argument not in flags and not Path(argument).exists()]
    column = "all" if "--all" in flags else "quick"
    if column == "quick":
        options += ["-m", "not long"]
    os.environ.setdefault("HYPOTHESIS_PROFILE", column)
    with tempfile.TemporaryDirectory(prefix="toolkit-tests-") as folder:
        logs, queue = Path(folder), Path(folder) / "queue"
        fill_queue(queue, column, paths or [HERE])
        names = [f"worker {number}" for number in range(1, WORKERS[column] + 1)]
        workers = [Worker(name, logs / name, queue=queue, is_measured=column == "all") for name in names]
        started = time.monotonic()
        run_workers(workers, options)
        passed_again = run_again(workers, options, logs)
    if "--slowest" in flags:
        print_slowest(workers)
    if "--record" in flags:
        record_seconds(workers, column)
    print_summary(workers, passed_again, time.monotonic() - started)
    return int(any(worker.exit_code for worker in workers))


def fill_queue(queue: Path, column: str, paths: list[Path]) -> None:
    """Write the list of the files of tests in *paths* to *queue*, the longest first."""
    seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
    tests = [test for test in sorted(HERE.rglob("test_*.py")) if any(test.is_relative_to(path) for path in paths)]
    files = [test.relative_to(HERE).as_posix() for test in tests]
    files.sort(key=lambda file: -seconds.get(file, {}).get(column, UNKNOWN_SECONDS))
    queue.mkdir()
    (queue / LIST).write_text("".join(f"{HERE / file}\n" for file in files), encoding="utf-8")


def record_seconds(workers: list[Worker], column: str) -> None:
    """Write to `tests/seconds.json` how long each file kept a processor busy."""
    recorded = json.loads(SECONDS.read_text(encoding="utf-8"))
    sums: Counter[str] = Counter()
    for record in (record for worker in workers for record in worker.outcomes):
        sums[record["test"].split("::")[0].removeprefix("tests/")] += record["worked"]
    files = sorted(file for file in recorded.keys() | sums.keys() if (HERE / file).exists())
    # A file whose tests are all marked `long` has none in the quick run.
    rows = {file: {**recorded.get(file, {}), column: round(sums[file], 1)} for file in files}
    lines = ",\n".join(f"{json.dumps(file)}: {json.dumps(row, sort_keys=True)}" for file, row in rows.items())
    SECONDS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def run_workers(workers: list[Worker], options: list[str]) -> None:
    """Run *workers* at once; print a line when one ends, and its output if it failed."""
    with ThreadPoolExecutor(len(workers)) as threads:
        waiting: set[Future[Worker]] = {threads.submit(_run_worker, worker, options) for worker in workers}
        while waiting:
            ended, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
            for future in ended:
                _print_worker(future.result())
            _print_progress(workers)
        _print_progress([])


def _run_worker(worker: Worker, options: list[str]) -> Worker:
    # Two processes must not write one cache.
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.outcome_log"]
    # Python writes no compiled file if this variable is set, and pytest would rewrite the asserts in every run.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["TESTS_OUTCOME_LOG"] = str(worker.log)
    if worker.queue is not None:
        pytest += ["-p", "tests.file_queue", "-o", "console_output_style=classic"]
        environment["TESTS_QUEUE"] = str(worker.queue)
    measured = ["-m", "coverage", "run", "--parallel-mode"] if worker.is_measured else []
    if sys.version_info >= (3, 12):
        # The interpreter's own events: each line costs something once. The other way, a run takes two thirds longer.
        environment.setdefault("COVERAGE_CORE", "sysmon")
    started, worker.is_running = time.monotonic(), True
    # To a file, because a pipe would wake this process for every dot.
    with worker.log.with_suffix(".output").open("w+", encoding="utf-8", errors="replace") as output:
        ended = subprocess.run(
            [sys.executable, *measured, *pytest, *options, *worker.targets],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            check=False,
        )
        output.seek(0)
        worker.output = output.read()
    worker.outcomes = worker.read_log()
    worker.seconds, worker.is_running = time.monotonic() - started, False
    # Exit code 5: every test of the worker was deselected.
    worker.exit_code = 0 if ended.returncode == 5 and not worker.outcomes else ended.returncode
    return worker


def _print_worker(worker: Worker) -> None:
    if worker.exit_code:
        print(f"\r{worker.output}")
    kinds = [kind for kind in ("passed", "failed", "skipped") if worker.count(kind)]
    counts = ", ".join(f"{worker.count(kind):,} {kind}" for kind in kinds)
    ending = f" (exit code {worker.exit_code})" if worker.exit_code else ""
    print(f"\r{worker.name:9} {counts or 'no tests'} in {worker.seconds:.0f} s{ending}".ljust(79), flush=True)


def _print_progress(workers: list[Worker]) -> None:
    """Overwrite the last line of a terminal with how far the workers are."""
    if not sys.stdout.isatty():
        return
    logs = [worker.read_log() for worker in workers if worker.is_running]
    text = ", ".join(f"{log[-1]['test'].split('::')[0]} {len(log)}" for log in logs if log)
    print(f"\r{text[:78]:79}", end="\r", flush=True)


def run_again(workers: list[Worker], options: list[str], logs: Path) -> list[str]:
    """Run the tests that failed once more, if they are few; return those that pass now, and count them as passed."""
    failed = [record for worker in workers for record in worker.outcomes if record["outcome"] == "failed"]
    if not failed or len(failed) > MAX_AGAIN or not all("::" in record["test"] for record in failed):
        return []
    again = Worker("once more", logs / "again", sorted({record["test"] for record in failed}))
    _print_worker(_run_worker(again, options))
    passed = {record["test"] for record in again.outcomes if record["outcome"] == "passed"}
    for worker in workers:
        for record in worker.outcomes:
            if record["outcome"] == "failed" and record["test"] in passed:
                record["outcome"] = "passed"
        # Exit code 1: tests failed, and nothing else went wrong.
        if worker.exit_code == 1 and not worker.count("failed"):
            worker.exit_code = 0
    return sorted(passed)


def print_summary(workers: list[Worker], passed_again: list[str], seconds: float) -> None:
    """Print what failed, what passed only the second time, what was skipped and why, and the counts."""
    outcomes = [record for worker in workers for record in worker.outcomes]
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
    # Exit code 1: tests failed, and they are listed; or pytest itself found something at the end.
    broken = [worker for worker in workers if worker.exit_code not in {0, 1 if worker.count("failed") else 0}]
    if failed or broken:
        print("\nFailed:")
        for line in [*failed, *(_describe_end(worker) for worker in broken)]:
            print(f"  {line}")
    passed = sum(worker.count("passed") for worker in workers)
    print(f"\nin {seconds / 60:.1f} minutes:")
    print(f"{passed} passed, {len(failed) + len(broken)} failed, {sum(skipped.values())} skipped")


def _describe_end(worker: Worker) -> str:
    if worker.exit_code == 1:
        return f"{worker.name} ended with exit code 1 although every test passed; its output above says why"
    last = worker.outcomes[-1]["test"] if worker.outcomes else "its start"
    return f"{worker.name} ended with exit code {worker.exit_code} after {last}: what follows in that file did not run"


def print_slowest(workers: list[Worker], *, max_tests: int = 250) -> None:
    """Print the tests that kept the processors busy longest: seconds of processor time, seconds that passed."""
    outcomes = [record for worker in workers for record in worker.outcomes]
    outcomes.sort(key=lambda record: -record["worked"])
    print(f"\nSlowest, of {sum(record['worked'] for record in outcomes):.0f} s of processor time in all:")
    for record in outcomes[:max_tests]:
        print(f"{record['worked']:8.1f} {record['seconds']:8.1f}  {record['test']}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
