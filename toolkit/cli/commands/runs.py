"""`toolkit runs`: look at durable runs in their database, answer what they wait for, cancel and retry them."""

from __future__ import annotations

import contextlib
import functools
import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, cast, get_args

import click
from rich.text import Text

from ..._plumbing.wording import format_count
from ...approvals.askers import find_user
from ...approvals.terminal.screens import Screen
from ...decisions import ApprovalRequest, Decision
from ...durable.journal.records import RunRow, RunStatus
from ...durable.run_input import create_or_find
from ...durable.run_reports import (
    AGENT,
    describe_waits,
    iterate_runs,
    open_existing_journal,
    read_report,
    read_requests,
    row_to_json,
)
from ..command import SECONDS, read_prompt, subcommand
from ..output import Output
from ..run_database import database_option, find_database, queue_option, require_run, run_argument, use_host
from ..run_decisions import read_answers, select_requests
from ..run_report import describe_report, describe_row, describe_worker_row

if TYPE_CHECKING:  # it loads the engine, which a command that only looks does not need
    from ...durable import DurableHost

__all__ = ["command"]


@click.group("runs")
def command() -> None:
    """Look at durable runs, answer, cancel and retry them.

    These commands work on the database alone. They load no tools. A worker, which 'toolkit worker' runs, does what
    follows from them; it need not run yet.

    \b
    Examples:
      toolkit runs list --database sqlite:///runs.sqlite
      toolkit runs show fix-417
      toolkit runs approve fix-417
    """


@subcommand("list", group=command)
@click.option("--status", type=click.Choice(get_args(RunStatus)), help="Only runs with this status.")
@click.option("--kind", metavar="KIND", help="Only runs of this kind: agent, or flow:NAME.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="How many runs, the newest first."
)
@database_option
def list_command(output: Output, status: RunStatus | None, kind: str | None, limit: int, database: str | None) -> None:
    """List the runs, the newest first.

    \b
    Examples:
      toolkit runs list
      toolkit runs list --status waiting --json | jq -r '.[].id'
    """
    with contextlib.closing(open_existing_journal(find_database(database))) as journal:
        rows = list(iterate_runs(journal, status=status, kind=kind, max_runs=limit + 1))
    if output.is_json:
        output.json([row_to_json(row) for row in rows[:limit]])
    elif rows:
        output.table(["run", "kind", "status", "about", "changed (UTC)"], map(describe_row, rows[:limit]))
    else:
        output.note("there are no such runs")
    if len(rows) > limit:
        output.note(f"there are more runs; --limit {limit * 10} shows more of them")


@subcommand("show", group=command)
@run_argument
@database_option
def show_command(output: Output, run_id: str, database: str | None) -> None:
    """Show what happened in the run ID, step by step, and what it waits for.

    \b
    Examples:
      toolkit runs show fix-417
      toolkit runs show fix-417 --json | jq .requests
    """
    address = find_database(database)
    with contextlib.closing(open_existing_journal(address)) as journal:
        row = require_run(journal, run_id, address)
        report = read_report(journal, row)
    if output.is_json:
        output.json(report.to_json())
        return
    output.show(*describe_report(report))
    screen = Screen(cast("TextIO", output.console.file))
    requests = read_requests(row)
    for request in requests:
        screen.show(request, time.time())
        remark = ", which is answered, and waits for a worker" if request.id in row.decisions else ""
        output.show(Text(f"  request {request.id}{remark}", "bold"))
    if any(request.id not in row.decisions for request in requests):
        output.note(f"toolkit runs approve {shlex.quote(run_id)}, or deny, answers it")


Decide: TypeAlias = Callable[[ApprovalRequest], Decision]


def _decision_options(prepare: Callable[..., Decide]) -> Callable[..., None]:
    """
    Declare the options of a command that answers requests of a run, and let the command do that.

    *prepare* gets the name of the person and the command's own options, and returns what decides about a request.
    """

    @run_argument
    @click.argument("request_ids", nargs=-1, metavar="[REQUEST]...")
    @click.option("--all", "answers_all", is_flag=True, help="Answer all requests of the run.")
    @click.option("--by", metavar="NAME", help="Your name, for the record; that of your account unless given.")
    @database_option
    @queue_option
    @functools.wraps(prepare)
    def answer(
        output: Output,
        *,
        run_id: str,
        request_ids: tuple[str, ...],
        answers_all: bool,
        by: str | None,
        database: str | None,
        queue: str | None,
        **own_options: Any,
    ) -> None:
        decide, address = prepare(by or find_user("the command line"), **own_options), find_database(database)
        with contextlib.closing(open_existing_journal(address)) as journal:
            row = require_run(journal, run_id, address)
            requests = select_requests(journal, row, request_ids, selects_all=answers_all)
        decisions = {request.id: decide(request) for request in requests}
        row = use_host(address, lambda host: host.decide(run_id, decisions), queue=queue, run_id=run_id, kind=row.kind)
        for request in requests:
            verb = "approved" if decisions[request.id].approved else "denied"
            output.note(f"{verb}: {request.tool} (request {request.id})")
        with contextlib.closing(open_existing_journal(address)) as journal:
            run_queue = journal.find_queue(run_id)
            for sentence in describe_waits(row, read_requests(row), journal.list_workers(), run_queue):
                output.note(f"now: {sentence}")
        if output.is_json:
            output.json(row_to_json(row))

    return answer


@subcommand("approve", group=command)
@_decision_options
@click.option(
    "--answer",
    "answer_words",
    multiple=True,
    metavar="KEY=VALUE",
    help="The answer to a question of the tool; KEY:=JSON for any value.",
)
@click.option("--decline", "declined_keys", multiple=True, metavar="KEY", help="A question that you do not answer.")
def approve_command(name: str, answer_words: tuple[str, ...], declined_keys: tuple[str, ...]) -> Decide:
    """Approve a call that the run ID waits for, so that a worker goes on with the run.

    Without REQUEST, it is the only request of the run; 'toolkit runs show ID' shows what would happen, and the ids of
    the requests. If the tool has questions, give each an --answer.

    \b
    Examples:
      toolkit runs approve fix-417
      toolkit runs approve fix-417 5f2c7e --by ada
      toolkit runs approve order-3 --answer size=M
    """

    def approve(request: ApprovalRequest) -> Decision:
        answers = read_answers(request, answer_words, declined_keys)
        return Decision.approve(by=name, principal=request.principal, answers=answers)

    return approve


@subcommand("deny", group=command)
@_decision_options
@click.option("--reason", default="", help="Why not; the model is told.")
def deny_command(name: str, reason: str) -> Decide:
    """Deny a call that the run ID waits for. The run goes on without it.

    \b
    Examples:
      toolkit runs deny fix-417 --reason 'not on a Friday'
    """
    return lambda request: Decision.deny(reason, by=name, principal=request.principal)


@subcommand("cancel", group=command)
@run_argument
@click.option("--reason", default="", help="Why; it is kept with the run.")
@database_option
@queue_option
def cancel_command(output: Output, run_id: str, reason: str, database: str | None, queue: str | None) -> None:
    """Cancel the run ID. A worker that works on it cannot go on.

    A call that runs at this moment may or may not happen. 'toolkit runs retry' queues the run again.

    \b
    Examples:
      toolkit runs cancel fix-417 --reason 'no longer needed'
    """
    _show_row(output, _change(run_id, find_database(database), queue, lambda host: host.cancel(run_id, reason)))


deadline_option = click.option(
    "--deadline", type=SECONDS, metavar="SECONDS", help="When the run has to end, from now on."
)


@subcommand("retry", group=command)
@run_argument
@deadline_option
@click.option(
    "--any-version", is_flag=True, help="Let a worker with other tools go on, also with a run that is queued or waits."
)
@database_option
@queue_option
def retry_command(
    output: Output, run_id: str, deadline: float | None, any_version: bool, database: str | None, queue: str | None
) -> None:
    """Queue the run ID again, which has failed, was stopped or was cancelled.

    What it has done before is not done again. A run whose deadline has passed needs a new one. A run that is queued or
    waits goes on with the version of the agent or flow that it began with, unless --any-version is given.

    \b
    Examples:
      toolkit runs retry fix-417
      toolkit runs retry fix-417 --deadline 600
      toolkit runs retry fix-417 --any-version
    """

    def retry(host: DurableHost) -> Awaitable[RunRow]:
        return host.retry(run_id, deadline_seconds=deadline, any_version=any_version)

    _show_row(output, _change(run_id, find_database(database), queue, retry))


@subcommand("workers", group=command)
@database_option
def workers_command(output: Output, database: str | None) -> None:
    """List the processes that work on runs: what they have, when they last showed that they live, and their runs.

    \b
    Examples:
      toolkit runs workers
    """
    with contextlib.closing(open_existing_journal(find_database(database))) as journal:
        workers = journal.list_workers()
        rows = list(iterate_runs(journal, status="running"))
    runs = {worker.name: [row.id for row in rows if row.worker == worker.name] for worker in workers}
    if output.is_json:
        output.json([{**asdict(worker), "runs": runs[worker.name]} for worker in workers])
    elif workers:
        columns = ["worker", "host", "state", "queue", "has", "last sign of life (UTC)", "runs"]
        output.table(columns, [describe_worker_row(worker, runs[worker.name]) for worker in workers])
    else:
        output.note("no process works on runs")


@subcommand("purge", group=command)
@click.option(
    "--days", type=click.FloatRange(min=0), required=True, help="Delete the runs that have been over for so many days."
)
@database_option
@queue_option
def purge_command(output: Output, days: float, database: str | None, queue: str | None) -> None:
    """Delete runs that are over, and give the space back to the disk.

    Runs that are queued, under way or waiting stay. What a store of approvals keeps about the runs stays too; a program
    deletes it with 'DurableAgent.purge'.

    \b
    Examples:
      toolkit runs purge --days 30
    """
    address = find_database(database)
    with contextlib.closing(open_existing_journal(address)):
        pass  # a mistyped name must not make an empty database
    before = time.time() - days * 86_400
    count = use_host(address, lambda host: host.purge(before=before), queue=queue)
    if output.is_json:
        output.json({"purged": count})
    else:
        output.note(f"{format_count(count, 'run')} deleted")


@subcommand("start", group=command)
@click.argument("run_id", metavar="ID")
@click.argument("prompt")
@click.option("--principal", metavar="NAME", help="On whose behalf the run acts.")
@click.option("--priority", type=int, default=0, help="Runs with a higher number come first.")
@deadline_option
@database_option
@queue_option
def start_command(
    output: Output,
    run_id: str,
    prompt: str,
    principal: str | None,
    priority: int,
    deadline: float | None,
    database: str | None,
    queue: str | None,
) -> None:
    """Start a run of an agent with the id ID, for any worker of the database.

    If PROMPT is -, it is read from standard input. A run with this id and this prompt that exists already is not
    started again, also if a program has started it.

    \b
    Examples:
      toolkit runs start fix-418 'Fix the failing test.'
    """
    text = read_prompt(prompt)

    async def start(host: DurableHost) -> RunRow:
        create = functools.partial(
            host.start, AGENT, run_id, principal=principal, priority=priority, deadline_seconds=deadline
        )
        # A program that has started the run has also given it a session, which this command has not.
        return await create_or_find(create, lambda: host.get(run_id), {"prompt": text})

    _show_row(output, use_host(find_database(database), start, queue=queue, kind=AGENT))


def _change(run_id: str, address: str, queue: str | None, work: Callable[[DurableHost], Awaitable[RunRow]]) -> RunRow:
    with contextlib.closing(open_existing_journal(address)) as journal:
        require_run(journal, run_id, address)
    return use_host(address, work, queue=queue, run_id=run_id)


def _show_row(output: Output, row: RunRow) -> None:
    if output.is_json:
        output.json(row_to_json(row))
    else:
        output.note(f"the run {row.id!r} is {row.status}")
