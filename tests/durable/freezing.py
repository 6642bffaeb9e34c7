"""
Durable runs whose processes are frozen, taken over, and wake up again, for `test_kill.py` and `make endurance`.

    python -m tests.durable.freezing FOLDER SEED FREEZES [POSTGRES_URL]

A process stops itself with SIGSTOP at a random line of the toolkit, with all its threads. A second process takes its
run over. The first one wakes up at a random line of the second, or when the second has ended. Which of its threads
wakes first is up to the kernel: the event loop, or the heart that tells it that it was replaced.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.durable.killing import AgentPlace, Place, live_and_count, run_to_the_end
from tests.killed_children import fork, say
from toolkit.approvals import ApprovalError
from toolkit.durable import DurableError

GAP_SECONDS = 0.3
"""How long a process that woke up works before the other one wakes up as well."""


class FrozenChild:
    """A child that does *work*, and can be frozen."""

    def __init__(self, work: Callable[[], Any]) -> None:
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(reader)
            try:
                os.write(writer, json.dumps(work()).encode())
            except BaseException:  # noqa: BLE001 -- it is shown; a child must not go on as its parent
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(writer)
        self._reader = reader
        self.has_ended = False

    def wait(self) -> None:
        """Wait until the child is frozen or has ended."""
        _, status = os.waitpid(self._pid, os.WUNTRACED)
        self.has_ended = not os.WIFSTOPPED(status)

    def wake(self) -> None:
        """Let the child go on."""
        if not self.has_ended:
            os.kill(self._pid, signal.SIGCONT)

    def finish(self) -> Any:
        """Let the child go on to its end, and return what its work returned; None if it broke off."""
        while not self.has_ended:
            self.wake()
            self.wait()
        with open(self._reader, "rb") as pipe:
            text = pipe.read()
        return json.loads(text) if text else None


def freeze() -> None:
    """Stop this process with all its threads, until another one lets it go on."""
    os.kill(os.getpid(), signal.SIGSTOP)


def live_and_freeze(place: Place, line: int, first: FrozenChild | None = None) -> dict[str, Any]:
    """
    Work on the run, frozen at *line*.

    A process that is frozen inside a transaction locks all others out of a SQLite database. So *first* wakes up when
    the database is locked, and this process tries again.
    """
    while True:
        try:
            return live_and_count(place, line, freeze)
        except (ApprovalError, DurableError) as error:
            if error.why != "store":
                raise
            line = 0
            if first is not None:
                first.wake()


def freeze_run(place: Place, first_line: int, second_line: int) -> dict[str, Any]:
    """Freeze a process that works on a run at *first_line*, and the one that takes over at *second_line*."""
    first = FrozenChild(lambda: live_and_freeze(place, first_line))
    first.wait()
    frozen = int(not first.has_ended)
    second = FrozenChild(lambda: live_and_freeze(place, second_line, first))
    second.wait()
    frozen += not second.has_ended
    first.wake()
    if not second.has_ended:
        time.sleep(GAP_SECONDS)  # the first one finds out that it was replaced, or tries to go on
    ends = [second.finish(), first.finish()]
    outcome = fork(lambda: live_and_freeze(place, 0))
    report = {"run": place.run_id, "deaths": [first_line, second_line], "kills": frozen, "outcome": outcome}
    if outcome is None:
        return {**report, "violations": ["the last process broke off"]}
    violations = place.find_violations(outcome, place.read_effects(), frozen)
    if None in ends:
        violations.append("a process broke off")
    if any(end is not None and end["text"] != outcome["text"] for end in ends):
        violations.append(f"the processes saw different ends: {ends}, {outcome}")
    return {**report, "violations": violations}


def freeze_processes(
    make_place: Callable[..., Place], folder: str, seed: str, freezes: str, postgres_url: str | None = None
) -> None:
    """Freeze processes as often as asked for, and write a line for each run."""
    chance = random.Random(int(seed))  # noqa: S311 -- it chooses where to freeze
    whole = fork(lambda: run_to_the_end(make_place(Path(folder) / "whole", f"{seed}/whole", postgres_url), []))
    say(whole)
    lines, frozen, number = whole["outcome"]["lines"], 0, 0
    while frozen < int(freezes):
        number += 1
        place = make_place(Path(folder) / str(number), f"{seed}/{number}", postgres_url)
        # A second line beyond the end is never reached: the first process wakes up when the second has ended.
        second_line = chance.randint(1, lines) if int(freezes) - frozen > 1 else 0
        report = freeze_run(place, chance.randint(1, lines), second_line)
        frozen += report["kills"]
        say(report)
        if report["outcome"] is None:
            return


if __name__ == "__main__":
    freeze_processes(AgentPlace, *sys.argv[1:])
