"""Runs of `toolkit agent` that are saved, watched and resumed."""

from __future__ import annotations

import contextlib

from tests.cli.kit import words
from tests.cli.terminals import Terminal
from tests.providers.stub import KEY
from toolkit.agent import Run

__all__ = ["again", "read_saved_run", "resume_run", "watch_run"]


def again(stub, *further, prompt=()):
    """Return a command that goes on with the run in `run.json`."""
    target, _, *options = words(stub, "--resume", "run.json", *further)[1:]
    return ["agent", target, *prompt, *options]


def read_saved_run():
    """Read the run in `run.json`."""
    with open("run.json", encoding="utf-8") as file:
        return Run.loads(file.read())


@contextlib.contextmanager
def watch_run(stub, *further):
    terminal = Terminal(["-m", "toolkit", *words(stub, *further)], columns=120, MY_KEY=KEY)
    with contextlib.closing(terminal):
        yield terminal


@contextlib.contextmanager
def resume_run(stub):
    terminal = Terminal(["-m", "toolkit", *again(stub)], columns=120, MY_KEY=KEY)
    with contextlib.closing(terminal):
        yield terminal
