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
from typing import Any, Generic, NamedTuple, TypeVar

import click

from ...approvals import SQLiteApprovals
from ...storage.shared_files import write_atomically
from ..approval_prompt import InterruptiblePrompt
from ..exit_codes import INTERRUPTED
from ..failures import Failure
from ..settings_options import Body

__all__ = ["OpenedFile", "SavedFile", "SavedKind", "raise_if_interrupted", "saved_file_options"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SavedKind(Generic[T]):
    """
    A kind of thing that a command saves.

    Attributes:
        noun: What it is called in messages.
        loads: Returns the thing that the content of a file describes, and raises `ValueError` if it describes none.
        dumps: Returns the content of a file for the thing.
    """

    noun: str
    loads: Callable[[bytes], T]
    dumps: Callable[[T], str]


class SavedFile(Generic[T]):
    """The thing of *kind* in the file at *path*."""

    def __init__(self, path: str | os.PathLike[str], kind: SavedKind[T]) -> None:
        self.path = Path(path)
        self._kind = kind

    def require_new(self) -> None:
        """Raise `Failure` if the file exists, or its folder does not."""
        if os.path.lexists(self.path):
            raise Failure(f"{self.path} exists already; continue it with --resume, or choose another file")
        if not self.path.parent.is_dir():
            raise Failure(f"{self.path.parent} is no folder; make it first, or choose another file")

    def read(self) -> T:
        """Return what was written last; raise `Failure` if the file cannot be read, or holds something else."""
        try:
            return self._kind.loads(self.path.read_bytes())
        except OSError as error:
            raise Failure(f"{self.path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            noun = self._kind.noun
            raise Failure(f"{self.path} holds no {noun}: {error}; name a file that --save has written") from error

    def write(self, thing: T) -> None:
        """Write *thing* to the file, in place of what was there."""
        try:
            write_atomically(self.path, self._kind.dumps(thing))
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror or error}") from error

    def store(self) -> SQLiteApprovals:
        """Return the store of the requests and their answers."""
        # The safety checks protect files with this ending.
        return SQLiteApprovals(self.path.with_name(f"{self.path.name}.approvals.sqlite"))


class OpenedFile(NamedTuple, Generic[T]):
    """The file that a command saves to, and what is in it already. Each is None if there is none."""

    file: SavedFile[T] | None
    content: T | None


def saved_file_options(kind: SavedKind[Any], save_help: str, *, noun: str = "") -> Callable[[Body], Body]:
    """
    Declare `--save` and `--resume` for a command that saves a thing of *kind*.

    The command gets an `OpenedFile` as `saved`. *noun* is what the help calls the thing, if not the noun of the kind.
    """
    file = click.Path(dir_okay=False)
    resume_help = f"Continue the {noun or kind.noun} in this file."

    def declare(body: Body) -> Body:
        @click.option("--save", type=file, metavar="FILE", help=save_help)
        @click.option("--resume", type=file, metavar="FILE", help=resume_help)
        @functools.wraps(body)
        def run(*arguments: Any, save: str | None, resume: str | None, **parameters: Any) -> int | None:
            return body(*arguments, saved=_open_file(save, resume, kind), **parameters)

        return run

    return declare


def _open_file(save: str | None, resume: str | None, kind: SavedKind[T]) -> OpenedFile[T]:
    """Return the file that `--save` or `--resume` names, and what `--resume` continues."""
    if save and resume:
        raise click.UsageError(f"a resumed {kind.noun} is saved to its own file; give --save or --resume, not both")
    if resume:
        file = SavedFile(resume, kind)
        return OpenedFile(file, file.read())
    if save:
        new_file = SavedFile(save, kind)
        new_file.require_new()
        return OpenedFile(new_file, None)
    return OpenedFile(None, None)


def raise_if_interrupted(prompt: InterruptiblePrompt | None, file: SavedFile[T] | None) -> None:
    """Raise `Failure` if the user pressed Ctrl-C at a question. It says how to be asked again: with *file*, if any."""
    if prompt is None or not prompt.is_interrupted:
        return
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(request.tool for request in prompt.open_requests))
    if file is None:
        remedy = "--save FILE would have kept the request, to be asked again"
    else:
        remedy = f"the request is open, and --resume {file.path} asks again"
    raise Failure(f"interrupted; {names} did not run; {remedy}", INTERRUPTED)
