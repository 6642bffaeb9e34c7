"""Every activation ends recorded, lost or given back."""

from __future__ import annotations

import asyncio

import pytest

from tests.durable.kit import FaultyJournal
from toolkit.durable.activations import Activations
from toolkit.durable.errors import DurableError, RunTakenOver
from toolkit.durable.journal.run_journal import open_journal
from toolkit.durable.run_kinds import ActivationEnd, RunKind, RunKinds

pytestmark = pytest.mark.anyio


class Bench:
    """One run, and what works on it."""

    def __init__(self, path):
        self.journal = FaultyJournal(open_journal(f"sqlite:///{path}/runs.sqlite"))
        self.ended = []
        self.row, _ = self.journal.create("a", "toy", {}, now=1.0)
        self.work = self.finish
        kind = RunKind(
            activate=lambda activation: self.work(activation),
            find_requests=None,
            describe_stop=lambda row, status, reason, steps: self.describe_stop(status, reason),
        )
        self.kinds = RunKinds()
        self.kinds.add("toy", kind)
        self.activations = Activations(
            self.journal, self.kinds, worker="w", max_lives=2, on_end=self.on_end, clock=lambda: 5.0
        )

    async def on_end(self, row):
        """Note a row that has ended."""
        self.ended.append(row.status)

    async def finish(self, activation):
        """Be done."""
        return ActivationEnd(status="done", outcome={})

    def describe_stop(self, status, reason):
        """Describe how the run has ended."""
        return {"status": status, "reason": reason}

    async def perform(self):
        """Perform the next activation."""
        return await self.activations.perform(self.journal.get("a"))

    @property
    def status(self):
        """The status of the run."""
        return self.journal.get("a").status


@pytest.fixture
async def bench(tmp_path):
    """Yield a run in a journal that can fail."""
    bench = Bench(tmp_path)
    yield bench
    bench.journal.close()


def build_store_error():
    """Return the error of a database that is gone."""
    return DurableError("the database is gone", why="store")


async def test_writing_the_end_of_a_run_is_retried_while_the_database_is_gone(bench):
    bench.journal.faults["end"] = [build_store_error(), build_store_error()]
    performed = await bench.perform()
    assert (performed.delivery, performed.row.status, bench.ended) == ("done", "done", ["done"])


async def test_work_that_loses_the_database_is_given_back(bench):
    """The run has not failed: another activation goes on with it."""

    async def lose(activation):
        raise build_store_error()

    bench.work = lose
    assert (await bench.perform()).delivery == "return"
    assert (bench.status, bench.ended) == ("queued", ["queued"])


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (None, "TypeError: a run of kind 'toy' has to end with an `ActivationEnd`, got NoneType"),
        (ActivationEnd(status="running", outcome={}), "ValueError: an activation cannot end as 'running'"),
        (
            ActivationEnd(status="done", outcome={"x": float("nan")}),
            "DurableError: the outcome of the run 'a' is not JSON: x",
        ),
    ],
)
async def test_an_end_that_cannot_be_written_is_a_failure(bench, end, reason):
    """Otherwise the run would be under way until the process ends, and the next process would end it in the same way."""

    async def work(activation):
        return end

    bench.work = work
    performed = await bench.perform()
    assert (performed.delivery, bench.status, bench.ended) == ("done", "failed", ["failed"])
    assert bench.journal.get("a").problem.startswith(reason)
    assert type(performed.error).__name__ == reason.partition(":")[0]


async def test_a_job_that_cannot_be_enqueued_is_left_to_the_workers(bench, caplog):
    """The end of the activation counts all the same."""

    async def fail(row):
        raise build_store_error()

    bench.activations.on_end = fail
    assert (await bench.perform()).delivery == "done"
    assert "a worker will do it" in caplog.text


@pytest.mark.parametrize("method", ["activate", "end"])
async def test_an_activation_that_was_taken_over_writes_nothing(bench, method):
    """Another process has the run, before the work or after it."""
    bench.journal.faults[method] = [RunTakenOver("taken over")]
    assert (await bench.perform()).delivery == "lost"
    assert bench.ended == []


async def test_work_that_is_fenced_is_lost(bench):
    """The error of a step ends the activation here, and nothing else."""

    async def learn(activation):
        bench.journal.activate("a", worker="other", now=6.0, max_lives=9)
        raise RunTakenOver("taken over")

    bench.work = learn
    assert (await bench.perform()).delivery == "lost"
    assert (bench.status, bench.ended) == ("running", [])


async def test_work_that_is_fenced_without_another_process_fails(bench):
    """The run does not stay "running" for ever, and it has the reason."""

    async def repeat_a_step(activation):
        raise RunTakenOver("the step 'x' has a record already")

    bench.work = repeat_a_step
    performed = await bench.perform()
    assert (performed.delivery, performed.row.status, bench.ended) == ("done", "failed", ["failed"])
    assert "the step 'x' has a record already" in bench.journal.get("a").problem


@pytest.mark.parametrize("has_deadline", [True, False])
async def test_a_run_that_cannot_be_read_ends(bench, has_deadline):
    """The record that made the work fail may also prevent a description of the end."""

    async def fail(activation):
        raise ValueError("the record has version 2")

    def fail_again(status, reason):
        raise ValueError("the record has version 2")

    bench.work, bench.describe_stop = fail, fail_again
    if has_deadline:
        bench.row, _ = bench.journal.create("late", "toy", {}, deadline=4.0, now=1.0)
    performed = await bench.activations.perform(bench.row)
    assert (performed.delivery, performed.row.outcome) == ("done", {})
    if has_deadline:
        assert performed.row.status == "stopped"
    else:
        assert (performed.row.status, performed.row.problem) == ("failed", "ValueError: the record has version 2")


async def test_a_run_that_was_taken_over_is_not_given_back(bench):
    """It was taken over while the database was away."""

    async def lose(activation):
        bench.journal.activate("a", worker="other", now=2.0, max_lives=9)
        raise build_store_error()

    bench.work = lose
    assert (await bench.perform()).delivery == "lost"
    assert bench.journal.get("a").worker == "other"


async def test_a_run_that_is_over_is_not_performed_again(bench):
    row = bench.row
    await bench.perform()
    assert (await bench.activations.perform(row)).delivery == "lost"  # the epoch is another one
    row = bench.journal.get("a")
    assert (await bench.activations.perform(row)).delivery == "done"


async def test_a_journal_that_cannot_be_used_raises_its_error(bench):
    """The run was not taken, so there is nothing to give back."""
    bench.journal.faults["activate"] = [build_store_error()]
    with pytest.raises(DurableError, match="gone"):
        await bench.perform()
    assert bench.status == "queued"


async def test_a_run_that_was_cut_off_too_often_fails(bench):
    """The row says so, and the work is not begun."""
    for _ in range(2):
        bench.journal.activate("a", worker="dead", now=2.0, max_lives=9)
    performed = await bench.perform()
    assert (performed.delivery, performed.row.status) == ("done", "failed")
    assert "cut off 2 times" in performed.row.problem


async def test_a_run_is_given_back_if_its_caller_is_cancelled_during_the_activation(bench):
    """No activation is left that no process works on."""
    task = asyncio.ensure_future(bench.perform())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.status == "queued"
    assert not bench.activations.has("a")


async def test_the_same_run_is_not_performed_twice_at_once(bench):
    """The second activation is lost before it begins."""
    release = asyncio.Event()

    async def hold(activation):
        await release.wait()
        return ActivationEnd(status="done", outcome={})

    bench.work = hold
    first = asyncio.ensure_future(bench.perform())
    await asyncio.sleep(0)
    assert (await bench.perform()).delivery == "lost"
    release.set()
    assert (await first).delivery == "done"


async def test_a_cancellation_inside_the_work_does_not_end_the_run(bench):
    """A tool that raises CancelledError gives the run back."""

    async def cancel(activation):
        raise asyncio.CancelledError

    bench.work = cancel
    assert (await bench.perform()).delivery == "return"


class EndOfProgram(BaseException):
    """Stands for an error that is no Exception."""


async def test_an_error_that_ends_the_program_is_raised(bench):
    """It is not a failure of the run, and it is not hidden."""

    async def leave(activation):
        raise EndOfProgram

    bench.work = leave
    with pytest.raises(EndOfProgram):
        await bench.perform()


async def test_a_timeout_of_the_work_is_not_mistaken_for_the_deadline(bench, tmp_path):
    """A run with a deadline that raises TimeoutError itself has failed."""
    bench.journal.create("b", "toy", {}, deadline=10_000.0, now=1.0)

    async def time_out(activation):
        raise TimeoutError("of a tool")

    bench.work = time_out
    performed = await bench.activations.perform(bench.journal.get("b"))
    assert (performed.row.status, performed.row.problem) == ("failed", "TimeoutError: of a tool")


async def test_work_is_cleaned_up_before_its_run_is_given_back(bench):
    """The work is cancelled once, so its `finally` blocks run."""
    has_begun, is_clean = asyncio.Event(), False

    async def hold(activation):
        nonlocal is_clean
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.03)  # longer than the time between two looks of `give_back_all`
            is_clean = True

    bench.work = hold
    task = asyncio.ensure_future(bench.perform())
    await has_begun.wait()
    await bench.activations.give_back_all(0.0, only_jobs=False)
    assert ((await task).delivery, is_clean, bench.status) == ("return", True, "queued")


@pytest.mark.parametrize("way", ["the end", "the beginning"])
async def test_a_run_whose_end_could_not_be_written_is_given_back_when_the_database_is_there_again(
    bench, monkeypatch, way
):
    """Its worker lives, so no other worker would ever take it over."""
    monkeypatch.setattr("toolkit.durable.store_retries._WAITS_SECONDS", ())
    if way == "the end":
        bench.journal.faults.update({"end": [build_store_error()], "give_back": [build_store_error()]})
    else:  # the change was committed, and the answer was lost
        bench.journal.activate("a", worker="w", now=1.0, max_lives=9)
        bench.journal.faults["activate"] = [build_store_error()]
    with pytest.raises(DurableError, match="gone"):
        await bench.perform()
    assert bench.status == "running"
    if way == "the end":
        with pytest.raises(DurableError, match="gone"):
            bench.activations.give_back_stopped()
    bench.activations.give_back_stopped()
    assert bench.status == "queued"
    assert (await bench.perform()).row.status == "done"


async def test_an_active_run_is_not_taken_from_its_activation(bench):
    """Only runs that this host does not work on are given back."""
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def hold(activation):
        has_begun.set()
        await may_end.wait()
        return await bench.finish(activation)

    bench.work = hold
    cancelled = asyncio.ensure_future(bench.perform())
    await has_begun.wait()
    cancelled.cancel()
    await asyncio.wait({cancelled})
    has_begun.clear()
    task = asyncio.ensure_future(bench.perform())
    await has_begun.wait()
    bench.activations.give_back_stopped()
    may_end.set()
    assert (await task).row.status == "done"
