"""
Starting `claiming.py`, and talking to it in lines.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["line", "running", "tell"]

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def running(*words: object, module: str = "tests.approvals.claiming") -> Iterator[subprocess.Popen[str]]:
    """Start a process that does what *words* say, and kill it at the end if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """Read the next line that the process prints."""
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    process.stdin.write("\n")
    process.stdin.flush()
