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
# and the first two wait often enough for three parts to keep two cores busy.
APART = [
    ["approvals", "builtin", "hooks", "permissions", "safety", "sandbox", "workspace"],
    ["agent", "cli", "formats", "providers", "ranking", "skills", "testing", "properties"],
]


def main(further: list[str]) -> int:
    """Run the parts at once; the worst exit code of all."""
    folders = [[str(HERE / name) for name in names] for names in APART]
    rest = [str(HERE), *(f"--ignore={folder}" for part in folders for folder in part)]
    running = [_started(part, further, is_shown=index == 0) for index, part in enumerate([*folders, rest])]
    codes = []
    for process in running:
        output, _ = process.communicate()
        if output:
            sys.stdout.write(output)
            sys.stdout.flush()
        codes.append(process.returncode)
    return max(codes)


def _started(part: list[str], further: list[str], *, is_shown: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "coverage", "run", "--parallel-mode", "-m", "pytest", *further, *part]
    # A cache each: two processes must not write one.
    environment = {**os.environ, "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider"}
    output = None if is_shown else subprocess.PIPE
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
