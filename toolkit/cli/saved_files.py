"""
Keep a run or a call in a file, so that another command can continue it.

The file is only data, and approves nothing. The requests that wait for an answer, and the answers to them, are in a
store beside the file. The safety checks keep tools away from the store.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from ..approvals import SQLiteApprovals
from ..storage.shared_files import write_atomically
from .approval_prompt import InterruptiblePrompt
from .command import FILE
from .exit_codes import INTERRUPTED
from .failures import Failure
from .output import Body

__all__ = ["SavedFile", "SavedKind", "raise_if_interrupted", "saved_file_options"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SavedKind(Generic[T]):
    """A kind of thing that a command saves. If the content of a file describes none, *loads* raises `ValueError`."""

    noun: str
    loads: Callable[[bytes], T]
    dumps: Callable[[T], str]


@dataclass(frozen=True, slots=True)
class SavedFile(Generic[T]):
    """The file that a command saves to, with what is in it already. Without a path, nothing is saved."""

    kind: SavedKind[T]
    path: Path | None = None
    content: T | None = None

    def write(self, thing: T) -> None:
        """Write *thing* to the file, in place of what was there."""
        try:
            if self.path is not None:
                write_atomically(self.path, self.kind.dumps(thing))
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror or error}") from error

    def store(self) -> SQLiteApprovals | None:
        """Return the store of the requests and their answers; None if nothing is saved."""
        # The safety checks protect files with this ending.
        return None if self.path is None else SQLiteApprovals(f"{self.path}.approvals.sqlite")


def saved_file_options(kind: SavedKind[Any], save_help: str, *, noun: str = "") -> Callable[[Body], Body]:
    """
    Declare `--save` and `--resume` for a command that saves a thing of *kind*.

    The command gets a `SavedFile` as `saved`. *noun* is what the help calls the thing, if not the noun of the kind.
    """
    resume_help = f"Continue the {noun or kind.noun} in this file."

    def declare(body: Body) -> Body:
        @click.option("--save", type=FILE, metavar="FILE", help=save_help)
        @click.option("--resume", type=FILE, metavar="FILE", help=resume_help)
        @functools.wraps(body)
        def run(*arguments: Any, save: str | None, resume: str | None, **parameters: Any) -> int | None:
            return body(*arguments, saved=_open_file(save, resume, kind), **parameters)

        return run

    return declare


def _open_file(save: str | None, resume: str | None, kind: SavedKind[T]) -> SavedFile[T]:
    """Return the file that `--save` or `--resume` names, with what `--resume` continues."""
    if save and resume:
        raise click.UsageError(f"a resumed {kind.noun} is saved to its own file; give --save or --resume, not both")
    if resume:
        return SavedFile(kind, Path(resume), _read_file(Path(resume), kind))
    if not save:
        return SavedFile(kind)
    path = Path(save)
    if os.path.lexists(path):
        raise Failure(f"{path} exists already; continue it with --resume, or choose another file")
    if not path.parent.is_dir():
        raise Failure(f"{path.parent} is no folder; make it first, or choose another file")
    return SavedFile(kind, path)


def _read_file(path: Path, kind: SavedKind[T]) -> T:
    try:
        return kind.loads(path.read_bytes())
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise Failure(f"{path} holds no {kind.noun}: {error}; name a file that --save has written") from error


def raise_if_interrupted(prompt: InterruptiblePrompt | None, saved: SavedFile[T]) -> None:
    """Raise `Failure` if the user pressed Ctrl-C at a question. It says how to be asked again: with the saved file."""
    if prompt is None or not prompt.is_interrupted:
        return
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(request.tool for request in prompt.open_requests))
    if saved.path is None:
        remedy = "--save FILE would have kept the request, to be asked again"
    else:
        remedy = f"the request is open, and --resume {saved.path} asks again"
    raise Failure(f"interrupted; {names} did not run; {remedy}", INTERRUPTED)
