"""
What went wrong, told on standard error with the remedy; the exit code says what sort of thing it was.
"""

from __future__ import annotations

import functools
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from ..errors import BadArgs, ToolkitError, ToolkitWarning, UnknownTool
from ..values.visible import visible
from .exit_codes import EXITS, INTERRUPTED, USAGE

__all__ = ["Failure", "told"]

_CODES: list[tuple[type[ToolkitError], int]] = [(UnknownTool, EXITS["not_found"]), (BadArgs, EXITS["bad_args"])]


class Failure(click.ClickException):
    """Ends the command: *message* is shown, and *code* is how it ends."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc] # click reads it from the exception, whosever it is

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {visible(self.message)}", file=file, err=True)


@contextmanager
def told(*, debug: bool) -> Iterator[None]:
    """
    Errors of ours as a `Failure`, and warnings of ours as a line.

    With *debug* the traceback of an error comes first, and what is logged is shown.
    """
    log, silence = logging.getLogger("toolkit"), logging.NullHandler()
    if not debug:
        log.addHandler(silence)  # without any, Python would print warnings, with the traceback of a tool that fails
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(_warn, warnings.showwarning)
            yield
    except ToolkitError as error:
        if debug:
            traceback.print_exception(error, file=sys.stderr)
        code = next((code for kind, code in _CODES if isinstance(error, kind)), USAGE)
        raise Failure(str(error), code) from None
    except KeyboardInterrupt:
        click.echo(err=True)  # a terminal has just shown ^C
        raise Failure("interrupted", INTERRUPTED) from None
    finally:
        log.removeHandler(silence)


def _warn(usual: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    if issubclass(category, ToolkitWarning):
        click.echo(f"warning: {visible(str(message))}", err=True)
    else:
        usual(message, category, *place)
