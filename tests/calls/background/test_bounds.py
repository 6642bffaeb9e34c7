"""How long jobs in the background live, how many there may be, and who sees them."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from tests.calls.background.kit import read, start, wait_for_jobs
from toolkit import (
    Catalog,
    Context,
    Dispatcher,
    Session,
)
from toolkit.builtin import end_shells, job_output_for, job_stop_for
from toolkit.calls.background.jobs import find_jobs

pytestmark = pytest.mark.anyio


async def test_time_limits_hold(session):
    """Time limits hold as for any call: the limit of an attempt, and that of the whole call."""
    catalog = Catalog(job_output_for())

    @catalog.tool(background=True, timeout_seconds=0.02)
    async def slow() -> str:
        """Take long."""
        await asyncio.Event().wait()
        return ""

    @catalog.tool(background=True)
    async def slower() -> str:
        """Take longer."""
        await asyncio.Event().wait()
        return ""

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("slow", {"background": True}, session=session)
        await dispatcher.call("slower", {"background": True}, session=session, timeout_seconds=0.05)
        for job in ("job_1", "job_2"):
            assert (await read(dispatcher, session, job, wait_seconds=20)).endswith(f"{job}: timeout")


async def test_jobs_belong_to_their_session(work, session):
    """Jobs are scoped by session: another one sees none of them, and cannot stop them."""
    other = Session()
    async with Dispatcher(work.catalog) as dispatcher:
        await start(dispatcher, session)
        assert (await dispatcher.call("job_output", {}, session=other)).text == "(no jobs)"
        other_output = await dispatcher.call("job_stop", {"job": "job_1"}, session=other)
        assert "there is no job 'job_1'; none was started" in other_output.text
        misspelt = await dispatcher.call("job_output", {"job": "job1"}, session=session)
        assert "known are: job_1" in misspelt.text
        work.may_end.set()


async def test_a_call_without_a_session_is_refused_with_the_remedy(work):
    """A job without a session could never be read."""
    async with Dispatcher(work.catalog) as dispatcher:
        result = await dispatcher.call("build", {"target": "app", "background": True})
    assert result.kind == "failed"
    assert "a background job needs a session, and this call has none; pass `session=` with it" in result.text
    assert work.log == []


async def test_the_number_of_jobs_is_bounded(work, session):
    """A session has at most twenty calls in the background; jobs that have ended make room."""
    async with Dispatcher(work.catalog) as dispatcher:
        for number in range(20):
            assert (await start(dispatcher, session, str(number))).kind == "ok"
        refused = await start(dispatcher, session, "one more")
        assert refused.kind == "failed"
        assert "20 jobs run already (job_1, job_2," in refused.text
        await dispatcher.call("job_stop", {"job": "job_7"}, session=session)
        assert (await start(dispatcher, session, "now")).metadata == {"job": "job_21"}


async def test_jobs_hold_no_thread_that_another_call_needs(session):
    """A sync tool in the background does not keep `job_stop` waiting, even if the dispatcher has one thread only."""
    begun, catalog = threading.Event(), Catalog(job_output_for(), job_stop_for())

    @catalog.tool(background=True)
    def watch(*, context: Context) -> None:
        """Watch."""
        begun.set()
        context.stop.wait(20)

    async with Dispatcher(catalog, max_concurrency=1) as dispatcher:
        await dispatcher.call("watch", {"background": True}, session=session)
        await asyncio.to_thread(begun.wait, 20)
        assert (await dispatcher.call("job_stop", {"job": "job_1"}, session=session)).text == "job_1: stopped"


async def test_closing_the_dispatcher_ends_its_jobs(work, session):
    """They are cancelled and may clean up."""
    async with Dispatcher(work.catalog) as dispatcher:
        await start(dispatcher, session)
        await work.has_begun.wait()
    assert work.log == ["begin app", "cancelled app"]
    assert [job.state() for job in find_jobs(session).all()] == ["stopped"]
    assert dispatcher.settings.background_jobs == set()


async def test_ending_the_session_ends_its_jobs(work, session):
    """They are cancelled, and jobs of other sessions go on."""
    other = Session()
    async with Dispatcher(work.catalog) as dispatcher:
        await start(dispatcher, session, "mine")
        await start(dispatcher, other, "theirs")
        await work.has_begun.wait()
        jobs = find_jobs(session)
        await asyncio.to_thread(end_shells, session)
        assert [job.state() for job in jobs.all()] == ["stopped"]
        assert "cancelled mine" in work.log
        assert "cancelled theirs" not in work.log


def test_a_job_lives_on_between_sync_calls(session):
    """A program without an event loop starts a job with one `call_sync`, and reads it with another."""
    may_end = threading.Event()
    catalog = Catalog(job_output_for(), job_stop_for())

    @catalog.tool(background=True)
    def fetch(page: int) -> str:
        """Fetch a page."""
        may_end.wait(20)
        return f"page {page}"

    dispatcher = Dispatcher(catalog)
    dispatcher.call_sync("fetch", {"page": 3, "background": True}, session=session)
    may_end.set()
    assert dispatcher.call_sync("job_output", {"job": "job_1", "wait_seconds": 20}, session=session).text == (
        "page 3\njob_1: done"
    )
    dispatcher.close()


def test_a_job_ends_with_its_event_loop(work, session):
    """A loop that is closed takes its calls with it, and the job says so."""

    async def main():
        await start(Dispatcher(work.catalog), session)

    work.may_end, work.has_begun = asyncio.Event(), asyncio.Event()
    asyncio.run(main())
    (job,) = find_jobs(session).all()
    assert (job.is_over, job.state()) == (True, "stopped")


async def test_cancelling_the_caller_before_the_start_cancels_the_call(session):
    """A caller that goes away while the call is still checked has started nothing."""
    begun, catalog, log = asyncio.Event(), Catalog(), []

    @catalog.tool(background=True)
    async def work() -> None:
        """Work."""
        log.append("ran")

    class Slow:
        async def before(self, call):
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                log.append("cleaned up")

    async with Dispatcher(catalog, hooks=[Slow()]) as dispatcher:
        task = asyncio.ensure_future(dispatcher.call("work", {"background": True}, session=session))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert log == ["cleaned up"]


async def test_a_job_that_has_ended_leaves_no_session_and_no_tasks(work):
    own, tasks_before = Session(), asyncio.all_tasks()
    async with Dispatcher(work.catalog) as dispatcher:
        await start(dispatcher, own)
        work.may_end.set()
        await wait_for_jobs(own)
        job_table = weakref.ref(own.state["toolkit.jobs"])
        del own
        await asyncio.sleep(0)
        gc.collect()
        assert job_table() is None
        assert dispatcher.settings.background_jobs == set()
    assert asyncio.all_tasks() == tasks_before
