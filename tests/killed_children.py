"""
Children of this process that are killed: at a line of the toolkit, or once they have said what they had to say.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["ROOT", "count_lines", "die", "fork", "say"]

ROOT = Path(__file__).parents[1]


def die() -> NoReturn:
    """End as the kernel or the power would have it: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def count_lines(
    number: int, *further_files: str, only: str = str(ROOT / "toolkit"), end: Callable[[], None] = die
) -> tuple[Callable[[], None], Callable[[], int]]:
    """
    Return a function that starts to count lines of the toolkit, in all threads, and one that returns the count.

    The process dies at the line *number*, or does *end*; 0 is never. The lines of *further_files* count too. With *only*, only the lines
    of this part of the toolkit count.
    """
    own_files = (only, *further_files)
    count = 0

    def count_line(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == number:
                end()
        return count_line

    def trace(frame: Any, event: str, arg: Any) -> Any:
        return count_line if frame.f_code.co_filename.startswith(own_files) else None

    def start() -> None:
        threading.settrace(trace)
        sys.settrace(trace)

    return start, lambda: count


def fork(work: Callable[[], Any], *, kill: bool = False) -> Any:
    """
    Return what *work* returns in a child, as JSON; None if the child was killed first.

    With *kill*, the child is killed once it has returned.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.write(writer, json.dumps(work()).encode())
            os.close(writer)
            while kill:
                signal.pause()
        except BaseException:  # noqa: BLE001 -- it is shown; a child must not go on as its parent
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    if kill:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def say(report: dict[str, Any]) -> None:
    """Write a report as a line of JSON."""
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
