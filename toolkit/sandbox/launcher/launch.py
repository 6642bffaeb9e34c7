"""
Starts one command in its sandbox and outlives it, so that nothing of it is left behind.

Run by path, `python -I -S launcher.py JSON...`: it stands alone, with the few files beside it that it imports. It forks
while it has one thread; the child takes away its own rights and becomes the command. The parent waits for it, adopts
whatever it orphans, and on SIGTERM, or when the command is done, ends all of that: politely first, then not. It does
the same when the process that started it dies.

Where files are shut away, the child stops at a gate once they are. We ask whoever started us whether there is more to
shut away by now; if so the child is ended, and the next one begins with that. If not, the command begins.

The outcome goes to a pipe that the command never sees, as one JSON object: `{"exit": 0, "left": 0}`. If nothing was
run it has `failed`, the reason. If the command was ended it has `stopped`: "asked", "crowd" or "uncovered". If a
protected file could be seen, its `path`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

if __package__:
    from .attempt import Attempt, failed, moved
    from .confine import FAILED, prctl, put, write
    from .process_tree import STOP
else:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    from attempt import Attempt, failed, moved  # type: ignore[import-not-found, no-redef]
    from confine import FAILED, prctl, put, write  # type: ignore[import-not-found, no-redef]
    from process_tree import STOP  # type: ignore[import-not-found, no-redef]

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MOST_TRIES = 5


def main(arguments: list[str]) -> int:
    """Run what *arguments*, the pieces of a JSON text, ask for; its exit code, as a shell counts them."""
    wish = json.loads("".join(arguments))
    status = None if wish.get("status_fd") is None else moved(wish["status_fd"])
    third = None if wish.get("third_fd") is None else moved(wish["third_fd"])
    if third is not None:
        os.dup2(third, 3, inheritable=True)
    errors = moved(os.dup(2))
    news = _listened_to()
    if _LINUX:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != wish.get("starter", os.getppid()):
        return FAILED  # it died before we could ask to be told
    if "pen" not in wish:
        wish["pen"] = _pen(wish["crowd"]) if wish.get("crowd") else None
    outcome = _outcome(wish, news, errors, third)
    _remove(wish["pen"])
    if "failed" in outcome and status is None:
        _say(errors, outcome["failed"])
    elif "path" in outcome:
        stopped = "stopped: " if outcome.get("stopped") else ""
        _say(errors, f"{stopped}{outcome['path']} was replaced or removed while the command ran, and could be seen")
    if status is not None:
        write(status, json.dumps(outcome).encode())
    return int(outcome["exit"])


def _outcome(wish: dict[str, Any], news: int, errors: int, third: int | None) -> dict[str, Any]:
    """How the command ended, or why none was run; tried again as long as there is more to shut away than was."""
    for _ in range(_MOST_TRIES):
        attempt = Attempt(wish, news=news, errors=errors)
        found = attempt.at_the_gate()
        if found is None:
            if third is not None:
                os.close(third)
                os.close(3)
            return attempt.let_in()
        if "shut" not in found:
            return found
        wish = {**wish, **found}
    return failed("protected files keep appearing in the workspace; try again when whoever makes them is done")


def _say(file: int, text: str) -> None:
    """Tell the reader of *file*, if there is one."""
    if select.select([], [file], [], 1.0)[1]:
        with contextlib.suppress(OSError):
            write(file, f"toolkit: {text}\n".encode(errors="replace"))


def _pen(crowd: int) -> str | None:
    """A control group with room for that many processes; None if none can be made. Only root needs and gets one."""
    for folder in _own_groups():
        _clear_pens(folder)
        place = f"{folder}/toolkit-{os.getpid()}"
        try:
            os.mkdir(place)
        except OSError:
            continue
        try:
            put(f"{place}/pids.max", str(crowd))
        except OSError:
            os.rmdir(place)
            continue
        return place
    return None


def _clear_pens(folder: str) -> None:
    """Remove what launchers left that were killed; one with somebody in it cannot be removed."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        number = name.removeprefix("toolkit-")
        if number != name and number.isdigit() and not os.path.exists(f"/proc/{number}"):
            try:
                os.rmdir(f"{folder}/{name}")
            except OSError:
                continue


def _own_groups() -> Iterator[str]:
    try:
        with open("/proc/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if "pids" in kinds.split(","):
            yield f"/sys/fs/cgroup/{kinds}{path.rstrip('/')}"
        elif not kinds:
            yield f"/sys/fs/cgroup{path.rstrip('/')}"


def _listened_to() -> int:
    """A pipe in which the number of every signal arrives that matters here."""
    news, sent = os.pipe()
    for end in (news, sent):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOP):
        signal.signal(number, lambda *_: None)
    return news


def _remove(pen: str | None) -> None:
    for _ in range(100 if pen else 0):
        with contextlib.suppress(OSError):
            os.rmdir(str(pen))
            return
        time.sleep(0.01)  # the last one has ended, and is still counted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
