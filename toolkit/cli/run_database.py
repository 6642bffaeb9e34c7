"""The database of durable runs, on which commands work without loading a target."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem

from ..durable.run_hosts import open_host
from ..durable.run_reports import iterate_runs, open_existing_journal
from ..errors import find_nearest
from ..settings.records import shown_value
from .exit_codes import EXITS
from .failures import Failure
from .interruptible_loop import run_coroutine
from .settings_options import load_command_settings

if TYPE_CHECKING:  # they load the engine and drivers of databases, which other commands do not need
    from ..durable import DurableHost
    from ..durable.journal.records import RunRow
    from ..durable.journal.run_journal import Journal

__all__ = ["check_queue", "database_option", "find_database", "queue_option", "require_run", "run_argument", "use_host"]

T = TypeVar("T")

_MAX_COMPLETED = 100
# Completion must not offer an id with characters that a shell would interpret.
_SAFE_ID = re.compile(r"[A-Za-z0-9_.:@/+-]{1,200}\Z")

database_option = click.option(
    "--database",
    metavar="URL",
    help="Where the runs are kept: sqlite:///runs.sqlite, or postgresql://HOST/NAME. Settings may name it instead.",
)


def check_queue(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """Return the name of a queue; raise `click.BadParameter` if no queue can have it."""
    from ..durable.run_jobs import check_queue_name  # no other command needs it

    try:
        return None if name is None else check_queue_name(name)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


queue_option = click.option(
    "--queue",
    metavar="NAME",
    callback=check_queue,
    help="The queue of the workers, see DurableAgent; that of the run unless given, and 'toolkit' for a new one.",
)


def find_database(address: str | None) -> str:
    """Return the address of the database: the one of the option, or that of the settings."""
    database: str | None = load_command_settings(database=address)["database"]
    if database is None:
        raise Failure(
            "no database is named; give --database sqlite:///runs.sqlite, or set TOOLKIT_DATABASE, or `database` in "
            "your toolkit.toml"
        )
    return database


def use_host(
    database: str,
    work: Callable[[DurableHost], Awaitable[T]],
    *,
    queue: str | None = None,
    run_id: str | None = None,
    kind: str | None = None,
) -> T:
    """Return what *work* returns for a host of the runs in *database*; the options are those of `open_host`."""

    async def open_and_work() -> T:
        async with open_host(database, queue=queue, run_id=run_id, kind=kind) as host:
            return await work(host)

    return run_coroutine(open_and_work())


def require_run(journal: Journal, run_id: str, database: str) -> RunRow:
    """Return the run with this id; raise `Failure`, which names the nearest ids, if there is none."""
    row = journal.get(run_id)
    if row is None:
        nearest = find_nearest(run_id, (other.id for other in iterate_runs(journal)))
        hint = f"did you mean {' or '.join(map(repr, nearest))}?" if nearest else "'toolkit runs list' lists all runs"
        raise Failure(f"there is no run {run_id!r} in {shown_value(database)}; {hint}", EXITS["not_found"])
    return row


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the ids of the newest runs that begin with *incomplete*; none if the database cannot be read."""
    # Completion is only a convenience, and must not write to the terminal.
    with contextlib.suppress(Exception):
        with contextlib.closing(open_existing_journal(find_database(ctx.params.get("database")))) as journal:
            ids = [row.id for row in iterate_runs(journal)]
        fitting = [run_id for run_id in ids if run_id.startswith(incomplete) and _SAFE_ID.match(run_id)]
        return [CompletionItem(run_id) for run_id in fitting[:_MAX_COMPLETED]]
    return []


run_argument = click.argument("run_id", metavar="ID", shell_complete=complete_run)
