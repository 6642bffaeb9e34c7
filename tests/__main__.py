"""
Run all tests, in parts at once: `python -m tests`.

The parts share no state. Each prints what pytest prints, one after the other; what they covered is added up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent

# What starts processes, waits and races; what is about models and schemas; the rest computes. They take about as long,
# and wait often enough for several to keep two cores busy.
MEASURED = [
    ["approvals", "builtin", "hooks", "permissions", "safety", "sandbox", "workspace"],
    ["agent", "cli", "formats", "providers", "ranking", "skills", "testing"],
]
# Properties and limits try thousands of cases, or large ones; each line they reach has a test of its own elsewhere,
# and being watched costs them as much again, or several times. Single tests of this kind are marked `unmeasured`.
UNMEASURED = ["properties", "formats/test_limits.py", "test_hostile.py"]

AT_ONCE = 3
"""Some tests have to be quick enough, and four parts at once would leave two cores too little."""


def main(further: list[str]) -> int:
    """Run the parts, some at once; the worst exit code of all."""
    # What a shell starts in the background ignores Ctrl-C, and so would the terminals in which tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    *measured, unmeasured = [[str(HERE / name) for name in names] for names in [*MEASURED, UNMEASURED]]
    apart = [f"--ignore={name}" for part in [*measured, unmeasured] for name in part]
    unwatched = [f"--ignore={name}" for name in unmeasured]
    commands = [[*_COVERED, *further, *part, *unwatched] for part in measured]
    commands += [[*_COVERED, *further, str(HERE), *apart], [*_PYTEST, *further, *unmeasured]]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        ended = [threads.submit(_run, command, is_shown=command is commands[0]) for command in commands]
        for each in ended:
            sys.stdout.write(each.result().stdout or "")
            sys.stdout.flush()
    return max(each.result().returncode for each in ended)


_PYTEST = ["-m", "pytest"]
_COVERED = ["-m", "coverage", "run", "--parallel-mode", *_PYTEST]


def _run(arguments: list[str], *, is_shown: bool) -> subprocess.CompletedProcess[str]:
    # A cache each: two processes must not write one.
    environment = {**os.environ, "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider"}
    output = None if is_shown else subprocess.PIPE
    return subprocess.run(
        [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT, text=True, env=environment, check=False
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
