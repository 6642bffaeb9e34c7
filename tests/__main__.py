"""
Run all tests, in parts at once: `python -m tests`.

The parts share no state. Each prints what pytest prints, one after the other; what they covered is added up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

# What starts processes, waits and races; what is about models and schemas; the rest computes. They take about as long,
# and wait often enough for several to keep two cores busy.
MEASURED = [
    ["approvals", "builtin", "hooks", "permissions", "safety", "sandbox", "workspace"],
    ["agent", "cli", "formats", "providers", "ranking", "skills", "testing"],
]
# Properties try thousands of cases; each line they reach has a test of its own elsewhere, and being watched costs
# them half as much again.
UNMEASURED = ["properties"]


def main(further: list[str]) -> int:
    """Run the parts at once; the worst exit code of all."""
    apart = [_folders(names) for names in [*MEASURED, UNMEASURED]]
    rest = [str(HERE), *(f"--ignore={folder}" for part in apart for folder in part)]
    first, *others, unmeasured = apart
    running = [_started([*_COVERED, *further, *first], is_shown=True)]
    running += [_started([*_COVERED, *further, *part]) for part in [*others, rest]]
    codes = [_ended(running[0])]
    # Only now: some tests have to be quick enough, and four parts at once would leave two cores too little.
    running.append(_started([*_PYTEST, *further, *unmeasured]))
    codes += map(_ended, running[1:])
    return max(codes)


_PYTEST = ["-m", "pytest"]
_COVERED = ["-m", "coverage", "run", "--parallel-mode", *_PYTEST]


def _ended(process: subprocess.Popen[str]) -> int:
    output, _ = process.communicate()
    if output:
        sys.stdout.write(output)
        sys.stdout.flush()
    return process.returncode


def _folders(names: list[str]) -> list[str]:
    return [str(HERE / name) for name in names]


def _started(arguments: list[str], *, is_shown: bool = False) -> subprocess.Popen[str]:
    # A cache each: two processes must not write one.
    environment = {**os.environ, "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider"}
    output = None if is_shown else subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT, text=True, env=environment
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
