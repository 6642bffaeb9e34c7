"""Report errors on standard error, with the remedy. The exit code says what kind of error it was."""

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
from ..values.visible import make_visible
from .exit_codes import EXITS, INTERRUPTED, USAGE

__all__ = ["Failure", "find_exit_code", "report_errors"]

_EXIT_CODES: list[tuple[type[ToolkitError], int]] = [(UnknownTool, EXITS["not_found"]), (BadArgs, EXITS["bad_args"])]


class Failure(click.ClickException):
    """Raised to end the command: *message* is shown to the user, and *code* is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc] # click reads the code from the exception, of any class

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {make_visible(self.message)}", file=file, err=True)


class _VisibleFormatter(logging.Formatter):
    """Formats a log record for a terminal: foreign text in it is passed through `make_visible`."""

    def format(self, record: logging.LogRecord) -> str:
        return make_visible(super().format(record))


@contextmanager
def report_errors(*, debug: bool) -> Iterator[None]:
    """
    Turn each `ToolkitError` inside the block into a `Failure`, and print each `ToolkitWarning` as one line.

    Ctrl-C becomes a `Failure` too. With *debug* the traceback of an error is printed first, and log records are shown,
    with the traceback of every tool that fails.
    """
    logs = [logging.getLogger(name) for name in ("toolkit", "mcp")]
    level = logs[0].level
    # Without any handler, Python would print logged warnings, with the traceback of a tool or a login that fails.
    handler: logging.Handler = logging.StreamHandler() if debug else logging.NullHandler()
    handler.setFormatter(_VisibleFormatter())
    if debug:
        logs[0].setLevel(logging.DEBUG)
    for log in logs:
        log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
            yield
    except ToolkitError as error:
        if debug:
            traceback.print_exception(error, file=sys.stderr)
        raise Failure(str(error), find_exit_code(error)) from None
    except KeyboardInterrupt:
        click.echo(err=True)  # end the line on which the terminal has just shown ^C
        raise Failure("interrupted", INTERRUPTED) from None
    finally:
        logs[0].setLevel(level)
        for log in logs:
            log.removeHandler(handler)


def find_exit_code(error: ToolkitError) -> int:
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), USAGE)


def _show_warning(
    show_default: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any
) -> None:
    if issubclass(category, ToolkitWarning):
        click.echo(f"warning: {make_visible(str(message))}", err=True)
    else:
        show_default(message, category, *place)
