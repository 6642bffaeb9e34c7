"""
Run all tests, a part on each core: `python -m tests`.

The parts share no state. Each prints what pytest prints, one after the other; what they covered is added up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

# What starts processes, waits and races; the rest computes. Both take about as long.
BUSY = ["approvals", "builtin", "hooks", "permissions", "safety", "sandbox", "workspace"]


def main(further: list[str]) -> int:
    """Run the parts at once; the worst exit code of all."""
    folders = [str(HERE / name) for name in BUSY]
    parts = [folders, [str(HERE), *(f"--ignore={folder}" for folder in folders)]]
    running = [_started(part, further, is_shown=index == 0) for index, part in enumerate(parts)]
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
