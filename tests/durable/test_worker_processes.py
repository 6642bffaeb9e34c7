"""Workers are killed, frozen and ended, and their runs go on elsewhere. No effect is doubled or lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clocks import wait_until
from tests.durable.kit import holding, wait_for_status
from tests.durable.notes_process import NOTE_COUNT, build_durable, read_notes
from toolkit.decisions import Decision
from toolkit.providers.messages import ToolMessage

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SCRIPT = Path(__file__).with_name("notes_process.py")
ROOT = SCRIPT.parents[2]


@contextlib.contextmanager
def start_process(folder, *arguments, **options):
    """Start a process, and end it at the end of the block."""
    environment = {**os.environ, **options, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(  # noqa: S603 -- our own script
        [sys.executable, str(SCRIPT), str(folder), *arguments], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


async def wait_for_exit(process):
    """Wait until a process has ended, and return its exit code."""
    await wait_until(lambda: process.poll() is not None)
    return process.returncode


def has_place(folder, line):
    """Return whether a process has reached a place."""
    path = folder / "places"
    return path.exists() and line in path.read_text(encoding="utf-8").split("\n")


def results_of(run):
    """Return the texts of all results of a run."""
    return [result.text for message in run.messages if isinstance(message, ToolMessage) for result in message.results]


def build_expected_notes(run_id):
    """Return the notes of a run, each once."""
    return [f"{run_id} {number}" for number in range(1, NOTE_COUNT + 1)]


@pytest.mark.parametrize("place", ["before 2", "after 2", "reply 3"])
async def test_a_killed_worker_is_replaced_and_no_note_is_doubled(tmp_path, place):
    """The run goes on in another worker. Only a call that was really cut may or may not have happened."""
    options = {"DIE": place, "TAKEOVER": "2"}
    async with build_durable(tmp_path) as durable:
        await durable.start("a", id="a")
        with start_process(tmp_path, "work", **options) as first, start_process(tmp_path, "work", **options) as second:
            await wait_until(lambda: first.poll() or second.poll())
            died_at = time.time()
            run = durable.read_run(await wait_for_status(durable.host, "a", "done"))
        begun_at = [event.at for event in await durable.events("a") if event.kind == "activated"]
    was_lost = place == "before 2"
    assert read_notes(tmp_path) == [note for note in build_expected_notes("a") if not (was_lost and note == "a 2")]
    cut = ["may or may not have happened" in text for text in results_of(run)]
    assert cut == [False, place != "reply 3", False]
    assert len(begun_at) == 2
    assert begun_at[1] - died_at < 15


async def test_a_frozen_worker_is_replaced_and_writes_nothing_after_it_wakes_up(tmp_path):
    """It is stopped for longer than the heartbeat. Another worker ends the run meanwhile, and no step is doubled."""
    async with build_durable(tmp_path) as durable:
        await durable.start("a", id="a")
        with (
            holding(tmp_path / "hold") as release,
            start_process(tmp_path, "work", HOLD="reply 2", NAME="frozen", TAKEOVER="1.5") as first,
        ):
            await wait_until(lambda: has_place(tmp_path, "frozen reply 2"))
            first.send_signal(signal.SIGSTOP)
            with start_process(tmp_path, "work", TAKEOVER="1.5"):
                await wait_until(lambda: len(durable.host._journal.read_workers()) == 2)
                seen_at = time.time()
                row = await wait_for_status(durable.host, "a", "done")
                release()
                first.send_signal(signal.SIGCONT)
                first.send_signal(signal.SIGTERM)
                assert await wait_for_exit(first) == 0
        assert (await durable.get("a")).epoch == row.epoch == 2
        begun_at = [event.at for event in await durable.events("a") if event.kind == "activated"]
    assert begun_at[1] - seen_at < 15
    assert read_notes(tmp_path) == build_expected_notes("a")


async def test_a_worker_that_gets_a_signal_gives_its_run_back_between_two_steps(tmp_path):
    """SIGTERM lets the current call end. Its result is kept, and another worker goes on at once."""
    async with build_durable(tmp_path) as durable:
        await durable.start("a", id="a")
        with (
            holding(tmp_path / "hold") as release,
            start_process(tmp_path, "work", HOLD="after 2", NAME="first") as first,
        ):
            await wait_until(lambda: has_place(tmp_path, "first after 2"))
            first.send_signal(signal.SIGTERM)
            release()
            assert await wait_for_exit(first) == 0
        row = await durable.get("a")
        assert (row.status, row.lives) == ("queued", 0)
        with start_process(tmp_path, "work"):
            run = durable.read_run(await wait_for_status(durable.host, "a", "done"))
    assert read_notes(tmp_path) == build_expected_notes("a")
    assert not any("may or may not" in text for text in results_of(run))


async def test_a_run_of_a_killed_caller_is_continued_by_the_same_id(tmp_path):
    """`run` with the same id goes on at once where the killed process of this machine was."""
    with start_process(tmp_path, "run", "a", DIE="reply 3") as first:
        assert await wait_for_exit(first) == -signal.SIGKILL
    async with build_durable(tmp_path) as durable:
        run = await durable.run("a", id="a")
    assert run.status == "done"
    assert read_notes(tmp_path) == build_expected_notes("a")


async def test_a_run_of_a_killed_caller_is_continued_by_a_worker(tmp_path):
    """A worker takes over runs that had no job."""
    with start_process(tmp_path, "run", "a", DIE="reply 3") as first:
        assert await wait_for_exit(first) == -signal.SIGKILL
    async with build_durable(tmp_path) as durable:
        with start_process(tmp_path, "work", TAKEOVER="2"):
            await wait_for_status(durable.host, "a", "done")
    assert read_notes(tmp_path) == build_expected_notes("a")


async def test_a_run_that_kills_its_process_repeatedly_is_stopped(tmp_path):
    """The run fails after `max_lives` activations that were cut off."""
    for _ in range(3):
        with start_process(tmp_path, "run", "a", DIE="reply 2", DIE_ALWAYS="1") as process:
            assert await wait_for_exit(process) == -signal.SIGKILL
    with start_process(tmp_path, "run", "a", DIE="reply 2", DIE_ALWAYS="1") as process:
        assert await wait_for_exit(process) == 0
        output = process.stdout.read()
    assert output.startswith("failed")
    assert "cut off 3 times" in output
    assert read_notes(tmp_path) == ["a 1"]


async def test_an_approval_is_given_while_no_worker_is_alive(tmp_path):
    """The decision is kept, and the next worker applies it. The approval of each note is asked for once."""
    async with build_durable(tmp_path, mode="default") as durable:
        await durable.start("a", id="a")
        for number in range(1, NOTE_COUNT + 1):
            with start_process(tmp_path, "work", MODE="default"):
                row = await wait_for_status(durable.host, "a", "waiting")
            assert read_notes(tmp_path) == build_expected_notes("a")[: number - 1]
            (request,) = durable.read_run(row).requests
            await durable.decide("a", {request.id: Decision.approve(by="ada")})
            with start_process(tmp_path, "work", MODE="default"):
                await wait_until(lambda: len(read_notes(tmp_path)) == number)  # noqa: B023 -- it is called in this turn
                await wait_for_status(durable.host, "a", "waiting", "done")
        row = await durable.get("a")
    assert row.status == "done"
    assert read_notes(tmp_path) == build_expected_notes("a")


async def test_a_cancellation_reaches_a_worker_in_another_process(tmp_path):
    """The worker stops with its next step or beat, and goes on with other runs."""
    async with build_durable(tmp_path) as durable:
        await durable.start("a", id="a")
        with (
            holding(tmp_path / "hold") as release,
            start_process(tmp_path, "work", HOLD="reply 2", NAME="first", TAKEOVER="1") as first,
        ):
            await wait_until(lambda: has_place(tmp_path, "first reply 2"))
            await durable.cancel("a", "enough")
            release()
            await durable.start("b", id="b")
            await wait_for_status(durable.host, "b", "done")
            first.send_signal(signal.SIGTERM)
            assert await wait_for_exit(first) == 0
        assert (await durable.get("a")).status == "cancelled"
    assert read_notes(tmp_path) == ["a 1", *build_expected_notes("b")]


async def test_two_processes_that_run_the_same_id_run_it_once(tmp_path):
    """Both return the outcome."""
    with start_process(tmp_path, "run", "a") as first, start_process(tmp_path, "run", "a") as second:
        for process in (first, second):
            assert await wait_for_exit(process) == 0
            assert process.stdout.read().startswith("done")
    assert read_notes(tmp_path) == build_expected_notes("a")


@pytest.mark.parametrize("place", ["after 2", "reply 3"])
async def test_a_killed_worker_is_replaced_on_postgresql(tmp_path, postgres_url, place):
    """The journal, the engine and the approvals are in one database of a server."""
    options = {"DIE": place, "TAKEOVER": "2", "DATABASE": postgres_url, "MODE": "default"}
    async with build_durable(tmp_path, mode="default", database=postgres_url) as durable:
        await durable.start("a", id="a")
        with start_process(tmp_path, "work", **options), start_process(tmp_path, "work", **options):
            while (row := await wait_for_status(durable.host, "a", "waiting", "done")).status == "waiting":
                (request,) = durable.read_run(row).requests
                await durable.decide("a", {request.id: Decision.approve(by="ada")})
                await wait_for_change(durable.host, row)
        run = durable.read_run(row)
    assert read_notes(tmp_path) == build_expected_notes("a")
    cut = ["may or may not have happened" in text for text in results_of(run)]
    assert cut == [False, place == "after 2", False]
    assert not list(tmp_path.glob("*.sqlite"))


async def wait_for_change(host, row):
    """Wait until a run has gone on from the state *row*."""

    async def has_changed():
        return (await host.get(row.id)).epoch != row.epoch

    await wait_until(has_changed)
