"""What a job in the background shows, to whom, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Annotated

import pytest

from toolkit import Catalog, Decision, DefinitionError, Dispatcher, Secret, Session, Tool, ToolError
from toolkit.builtin import job_output_for, job_stop_for
from toolkit.calls.background.jobs import find_jobs
from toolkit.context import Progress

pytestmark = pytest.mark.anyio


async def read(dispatcher, session, job="job_1", **options):
    """Read a job as a model does, after it has ended."""
    return (await dispatcher.call("job_output", {"job": job, "wait_seconds": 20}, session=session, **options)).text


@pytest.mark.parametrize("raise_bugs", [False, True])
async def test_the_error_of_a_job_is_masked(raise_bugs, caplog):
    """A secret in the message of an exception is masked in the job, in its end and in the log."""
    catalog, session, reports = Catalog(job_output_for()), Session(), []

    @catalog.tool(background=True)
    async def login(password: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ValueError(f"bad password {password}")

    async with Dispatcher(catalog, raise_bugs=raise_bugs, on_progress=reports.append) as dispatcher:
        await dispatcher.call("login", {"password": "hunter2x", "background": True}, session=session)
        text = await read(dispatcher, session)
        listed = (await dispatcher.call("job_output", {}, session=session)).text
    assert "bad password" in text
    assert "ValueError" in caplog.text
    assert "hunter2x" not in text + listed + caplog.text + str(reports)


@pytest.mark.parametrize("thread", [False, "caller"])
def test_a_sync_tool_that_would_hold_up_its_caller_is_refused(thread):
    """The background is a thread of its own; a sync function elsewhere would make the caller wait for its end."""

    def work() -> str:
        """Work."""
        return "done"

    async def work_on_the_loop() -> str:
        """Work."""
        return "done"

    with pytest.raises(
        DefinitionError, match=rf"work: `background=True` and `thread={thread!r}` .*; leave one of them"
    ):
        Tool.described(work, background=True, thread=thread)
    with pytest.raises(DefinitionError, match="exclude each other"):
        Tool.from_schema("x", "X.", {"type": "object"}, work, background=True, thread=thread)
    assert Tool.described(work_on_the_loop, background=True, thread=False).facts.background


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="eager tasks came with Python 3.12")
async def test_a_job_starts_in_a_loop_with_eager_tasks():
    """A task that runs before its maker has it can become a job all the same, and be stopped."""
    catalog, session = Catalog(job_output_for(), job_stop_for()), Session()

    @catalog.tool(background=True)
    async def sleep(seconds: float) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "slept"

    loop = asyncio.get_running_loop()
    factory_before = loop.get_task_factory()
    loop.set_task_factory(asyncio.eager_task_factory)
    try:
        async with Dispatcher(catalog) as dispatcher:
            for seconds in (0, 60):
                started = await dispatcher.call("sleep", {"seconds": seconds, "background": True}, session=session)
                assert started.kind == "ok", started.text
            assert await read(dispatcher, session) == "slept\njob_1: done"
            stopped = await dispatcher.call("job_stop", {"job": "job_2"}, session=session)
            assert stopped.text == "job_2: stopped"
            assert (await dispatcher.call("sleep", {"seconds": 0}, session=session)).value == "slept"
    finally:
        loop.set_task_factory(factory_before)


async def test_a_call_resumed_inside_another_does_not_make_that_one_a_job():
    """Without a session, the resumed call runs to its end."""
    catalog, session = Catalog(), Session()

    @catalog.tool(background=True, approval="always")
    async def inner() -> str:
        """Do a part."""
        return "inner done"

    @catalog.tool(background=True)
    async def outer() -> str:
        """Do the whole."""
        return (await dispatcher.resume(waiting.request.id, Decision.approve(by="ada"))).text

    async with Dispatcher(catalog) as dispatcher:
        waiting = await dispatcher.call("inner", {"background": True}, session=session)
        assert (await dispatcher.call("outer", {}, session=session)).value == "inner done"
    assert find_jobs(session) is None


async def test_empty_reports_count_for_the_limit():
    """A tool that yields empty texts forever does not fill the memory."""
    catalog, session = Catalog(), Session()

    @catalog.tool(background=True)
    async def stream():
        """Yield nothing of interest."""
        yield ""

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("stream", {"background": True}, session=session)
        (job,) = find_jobs(session).all()
        await asyncio.to_thread(job.wait, 20)
    job.read()
    report = Progress(call_id="x", tool="stream", message="")
    for _ in range(200_010):
        job.record_progress(report)
    text = job.read()
    assert text.startswith("[... 10 earlier reports left out ...]\n")
    assert text.count("\n") == 200_000


async def test_a_foreground_call_that_fails_leaves_no_cycle():
    """The memory of a call that failed is freed at once, and not by the garbage collector."""
    catalog, session = Catalog(), Session()

    class Payload:
        """Something large."""

    payloads = []

    @catalog.tool(background=True)
    async def fail() -> str:
        """Fail."""
        payload = Payload()
        payloads.append(weakref.ref(payload))
        await asyncio.sleep(0)
        raise ToolError("no such thing")  # a bug would be logged, and pytest keeps the log

    async with Dispatcher(catalog) as dispatcher:
        gc.collect()
        gc.disable()
        try:
            result = await dispatcher.call("fail", {}, session=session)
            assert result.kind == "failed"
            del result
            await asyncio.sleep(0)
            assert payloads[0]() is None
        finally:
            gc.enable()


async def test_a_principal_cannot_read_or_stop_the_jobs_of_another():
    """Several principals may share a session."""
    catalog, session = Catalog(job_output_for(), job_stop_for()), Session()

    @catalog.tool(background=True)
    async def work() -> str:
        """Work."""
        return "of ada"

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("work", {"background": True}, session=session, principal="ada")
        for options in ({"principal": "bob"}, {}):
            assert (await dispatcher.call("job_output", {}, session=session, **options)).text == "(no jobs)"
            stopped = await dispatcher.call("job_stop", {"job": "job_1"}, session=session, **options)
            assert "there is no job 'job_1'" in stopped.text
        assert await read(dispatcher, session, principal="ada") == "of ada\njob_1: done"


async def test_jobs_do_not_hold_up_foreground_calls_of_the_same_tool():
    """A call that is no job runs in the threads of all other calls, also if its tool may be a job."""
    catalog, session, may_end = Catalog(), Session(), threading.Event()

    @catalog.tool(background=True)
    def work(*, wait: bool) -> str:
        """Work."""
        if wait:
            may_end.wait(20)
        return threading.current_thread().name

    async with Dispatcher(catalog, max_concurrency=1) as dispatcher:
        await dispatcher.call("work", {"wait": True, "background": True}, session=session)
        other = await dispatcher.call("work", {"wait": False}, session=Session(), timeout_seconds=5)
        may_end.set()
        (job,) = find_jobs(session).all()
        await asyncio.to_thread(job.wait, 20)
        assert (other.value, job.result.value) == ("toolkit", "toolkit-job")
