"""`toolkit worker`: work on the durable runs of a database."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Self

import click

from ..._plumbing.wording import format_count
from ...settings.records import shown_value
from ...values.visible import make_visible
from ..call_policy import CallOptions, call_options
from ..command import subcommand, target_argument
from ..exit_codes import INTERRUPTED
from ..interruptible_loop import run_coroutine
from ..output import Output
from ..run_database import check_queue, database_option
from ..workloads import WorkerOptions, Workload, find_host, open_workload

__all__ = ["command"]

_GIVE_BACK_SECONDS = 20.0
"""How long it may take to give the runs back, after the grace."""
_LEFT_TASKS_SECONDS = 1.0
"""How long the process of a worker that has given its runs back waits for what is left in it."""


@subcommand("worker", piped="text")
@target_argument
@database_option
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="How many runs are worked on at once.",
)
@click.option(
    "--queue", metavar="NAME", callback=check_queue, help="The queue whose runs are worked on; 'toolkit' unless given."
)
@click.option(
    "--grace",
    "grace_seconds",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a call may still take when the worker is ended.",
)
@call_options(for_model=True)
def command(
    output: Output,
    target: str,
    database: str | None,
    concurrency: int,
    queue: str | None,
    grace_seconds: float,
    options: CallOptions,
) -> None:
    """Work on the durable runs of a database.

    TARGET is module:name of an Agent, a Flow, a list of flows, a DurableAgent, a DurableHost, or of a function that
    returns one of these; or a module or file with flows. It may also name tools, as for 'toolkit agent'; then the
    provider, the model and the rules are those of your settings.

    Any number of workers may share a database: on one machine with SQLite, on several with PostgreSQL. If a worker
    dies, another one continues its runs. No one is asked here: a call that needs approval waits, and 'toolkit runs
    approve' answers. Ctrl-C and SIGTERM end the worker; a run that is under way goes on with another one. Loading
    TARGET runs its code.

    \b
    Examples:
      toolkit worker shop.agents:support --database sqlite:///runs.sqlite
      TOOLKIT_DATABASE=postgresql://... toolkit worker shop.agents:support --concurrency 2
    """
    worker_options = WorkerOptions(database=database, queue=queue, concurrency=concurrency, calls=options)
    with open_workload(target, worker_options, output) as workload, _note_log_records(output):
        host = find_host(workload)
        output.note(
            f"worker {host.worker}: {format_count(concurrency, 'run')} at once from {shown_value(host.database)}; "
            "Ctrl-C or SIGTERM ends it"
        )
        with _ProcessEnd(output, grace_seconds) as process_end:
            work = _work(workload, output, process_end, concurrency=concurrency, grace_seconds=grace_seconds)
            run_coroutine(work, take_interrupt=process_end.take_interrupt)


async def _work(
    workload: Workload, output: Output, process_end: _ProcessEnd, *, concurrency: int, grace_seconds: float
) -> None:
    """Work until SIGTERM comes, or until the coroutine is cancelled, as Ctrl-C does."""
    try:
        async with workload:
            work = asyncio.ensure_future(workload.work(concurrency=concurrency, grace_seconds=grace_seconds))
            with _cancel_on_sigterm(work, process_end):
                try:
                    await asyncio.wait([work])
                finally:
                    work.cancel()
                    await asyncio.wait([work])
            if not work.cancelled():
                work.result()
        output.note("the worker has ended; runs that were under way go on with another one")
    finally:
        process_end.expect(_LEFT_TASKS_SECONDS)


class _ProcessEnd:
    """
    Ends the process of a worker that has to end, if something in it does not: a tool, a hook or a provider.

    Python waits at the end of a program for tasks and threads that ignore their cancellation. A run that could not be
    given back is taken over by another worker, as that of a worker that died.
    """

    def __init__(self, output: Output, grace_seconds: float) -> None:
        self._output = output
        self._limit_seconds = grace_seconds + _GIVE_BACK_SECONDS
        self._timer: threading.Timer | None = None
        self._exit_code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def expect(self, seconds: float | None = None) -> None:
        """Let the process end in *seconds* at the latest, or in the time that giving the runs back may take."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._limit_seconds if seconds is None else seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def take_interrupt(self) -> bool:
        """Expect the end from the first Ctrl-C on. The Ctrl-C still has its usual effect."""
        if self._timer is None:
            self._exit_code = INTERRUPTED
            self.expect()
        return False

    def _end(self) -> None:
        self._output.note("something in the worker does not end, so its process ends now")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self._exit_code)


@contextlib.contextmanager
def _cancel_on_sigterm(work: asyncio.Future[None], process_end: _ProcessEnd) -> Iterator[None]:
    """Let the first SIGTERM cancel *work*. A second one ends the process at once, as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread only
        return

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        process_end.expect()
        work.cancel()  # the signal has woken the loop up

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


class _NoteHandler(logging.Handler):
    """Writes each log record as a note, on one line and without its traceback."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        self._output.note(f"{level}{make_visible(record.getMessage(), keep_lines=False)}")


@contextlib.contextmanager
def _note_log_records(output: Output) -> Iterator[None]:
    """Tell the user what the library logs: when a run begins and how it ends, a worker or a database that is gone."""
    log, runs_log, handler = logging.getLogger("toolkit"), logging.getLogger("toolkit.runs"), _NoteHandler(output)
    level = runs_log.level
    runs_log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        runs_log.setLevel(level)
