"""Any tool may be started in the background, with `job_output` and `job_stop` as `bash` has them."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated

import pytest

from tests.calls.background.kit import read, start, wait_for_jobs
from toolkit import (
    Agent,
    Approvals,
    AuditLog,
    Catalog,
    Context,
    Decision,
    Dispatcher,
    Permissions,
    Secret,
    Tool,
    ToolCall,
    ToolResult,
)
from toolkit.agent import ToolProgress
from toolkit.builtin import job_output_for, job_stop_for
from toolkit.calls.background.jobs import find_jobs
from toolkit.hooks import Deny, Proceed
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


async def test_the_model_gets_a_job_at_once_and_reads_its_output(work, session):
    """Progress and partial output of the running call can be read, and the end is seen."""
    async with Dispatcher(work.catalog) as dispatcher:
        started = await start(dispatcher, session)
        assert started.text == "started job_1; `job_output` shows what it reports and its result, `job_stop` ends it"
        assert (started.kind, started.tool, started.metadata) == ("ok", "build", {"job": "job_1"})
        await work.has_begun.wait()
        assert (await read(dispatcher, session)).startswith("1/2 compiling\njob_1: running for ")
        assert (await read(dispatcher, session)).startswith("(no new output)\njob_1: running")
        listed = await dispatcher.call("job_output", {}, session=session)
        assert listed.text.startswith("job_1: running for ")
        assert listed.text.endswith(' s: build {"target": "app"}')
        work.may_end.set()
        assert await read(dispatcher, session, wait_seconds=20) == '{"built":"app"}\njob_1: done'
        assert await read(dispatcher, session) == "(no new output)\njob_1: done"
    assert work.log == ["begin app", "end app"]


async def test_a_call_without_the_background_parameter_waits_for_its_result(work, session):
    work.may_end.set()
    async with Dispatcher(work.catalog) as dispatcher:
        for arguments in ({"target": "a"}, {"target": "a", "background": False}):
            result = await dispatcher.call("build", arguments, session=session)
            assert (result.value, result.attempts, result.metadata) == ({"built": "a"}, 1, None)
    assert find_jobs(session) is None


async def test_the_end_is_reported(work, session):
    """The end of a job is reported to the listener of the dispatcher, as its progress is."""
    reports = []
    async with Dispatcher(work.catalog, on_progress=reports.append) as dispatcher:
        await start(dispatcher, session, id="t1")
        work.may_end.set()
        await wait_for_jobs(session)
    assert [(report.call_id, report.message) for report in reports] == [("t1", "compiling"), ("t1", "job_1: done")]


async def test_an_async_tool_is_cancelled(work, session):
    """Cancellation reaches async tools: `job_stop` waits until the tool has cleaned up."""
    async with Dispatcher(work.catalog) as dispatcher:
        await start(dispatcher, session)
        await work.has_begun.wait()
        stopped = await dispatcher.call("job_stop", {"job": "job_1"}, session=session)
        assert stopped.text == "1/2 compiling\njob_1: stopped"
        again = await dispatcher.call("job_stop", {"job": "job_1"}, session=session)
        assert again.text == "job_1: stopped"
    assert work.log == ["begin app", "cancelled app"]


async def test_a_sync_tool_sees_that_its_job_was_stopped(session):
    """`context.cancelled` is true."""
    begun, is_cancelled = threading.Event(), threading.Event()

    def watch(*, context: Context) -> str:
        """Watch a file."""
        begun.set()
        context.stop.wait(20)
        is_cancelled.set() if context.cancelled else None
        return "over"

    catalog = Catalog(job_output_for(), job_stop_for())
    catalog.add(Tool.described(watch, background=True))
    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("watch", {"background": True}, session=session)
        await asyncio.to_thread(begun.wait, 20)
        stopped = await dispatcher.call("job_stop", {"job": "job_1"}, session=session)
        assert stopped.text == "job_1: stopped"
        assert await asyncio.to_thread(is_cancelled.wait, 20)


async def test_a_sync_generator_can_be_read_during_its_run(session):
    """The partial output has the values so far."""
    may_go_on = threading.Event()
    catalog = Catalog(job_output_for())
    yielded = threading.Event()

    @catalog.tool(background=True)
    def count():
        """Count."""
        yield "one"
        yield {"two": 2}
        yielded.set()
        may_go_on.wait(20)
        yield 3

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("count", {"background": True}, session=session)
        await asyncio.to_thread(yielded.wait, 20)
        assert (await read(dispatcher, session)).startswith('one\n{"two": 2}\njob_1: running')
        may_go_on.set()
        assert (await read(dispatcher, session, wait_seconds=20)).endswith("job_1: done")


@pytest.mark.parametrize("is_sync", [True, False])
async def test_reports_from_a_thread_of_the_tool_reach_the_job(session, is_sync):
    """A tool that starts a thread itself, and reports from there, is read with `job_output` like any other."""
    catalog = Catalog(job_output_for())

    def report_from_thread(context: Context) -> None:
        thread = threading.Thread(target=context.report, args=(1, 3, "from a thread"))
        thread.start()
        thread.join()

    @catalog.tool(background=True)
    def build_sync(context: Context) -> str:
        """Build the program."""
        report_from_thread(context)
        return "built"

    @catalog.tool(background=True)
    async def build_async(context: Context) -> str:
        """Build the program."""
        report_from_thread(context)
        await asyncio.sleep(0)
        return "built"

    reports = []
    async with Dispatcher(catalog, on_progress=reports.append) as dispatcher:
        name = "build_sync" if is_sync else "build_async"
        await dispatcher.call(name, {"background": True}, session=session)
        await wait_for_jobs(session)
        result = await dispatcher.call("job_output", {"job": "job_1"}, session=session)
    assert result.text == "1/3 from a thread\nbuilt\njob_1: done"
    assert reports[0].message == "from a thread"


class NoFriday:
    """Denies every call for the target `app`."""

    def before(self, call):
        return Deny("not on a Friday") if call.arguments["target"] == "app" else Proceed()


@pytest.mark.parametrize(
    "options", [{"hooks": [NoFriday()]}, {"permissions": Permissions("plan")}], ids=["hook", "mode"]
)
async def test_a_denied_call_starts_no_job(work, session, options):
    async with Dispatcher(work.catalog, **options) as dispatcher:
        assert (await start(dispatcher, session)).kind == "denied"
    assert find_jobs(session) is None
    assert work.log == []


async def test_a_call_with_wrong_arguments_starts_no_job(work, session):
    async with Dispatcher(work.catalog) as dispatcher:
        wrong = await dispatcher.call("build", {"targt": "app", "background": True}, session=session)
        assert wrong.kind == "bad_args"
    assert find_jobs(session) is None
    assert work.log == []


async def test_a_job_waits_for_approval_like_any_call(work, session):
    """Approvals hold as for any call: nothing starts before a person agreed, and then the job starts."""
    async with Dispatcher(work.catalog, permissions=Permissions("default")) as dispatcher:
        waiting = await start(dispatcher, session)
        assert (waiting.kind, waiting.request.arguments) == ("waiting", {"target": "app", "background": True})
        assert find_jobs(session) is None
        resumed = await dispatcher.resume(waiting.request.id, Decision.approve(by="ada"), session=session)
        assert resumed.metadata == {"job": "job_1"}
        work.may_end.set()
        assert await read(dispatcher, session, wait_seconds=20) == '1/2 compiling\n{"built":"app"}\njob_1: done'


async def test_an_approved_call_resumed_without_its_session_runs_to_its_end(work, session):
    """A host that resumes without the session could not find the job, so it gets the result."""
    work.may_end.set()
    async with Dispatcher(work.catalog, permissions=Permissions("default")) as dispatcher:
        waiting = await start(dispatcher, session)
        done = await dispatcher.resume(waiting.request.id, Decision.approve(by="ada"))
        assert done.value == {"built": "app"}


async def test_a_person_can_remove_the_background_option(work, session):
    """The call then runs to its end without `background`."""
    work.may_end.set()

    async def ask(request):
        return Decision.approve(arguments={"target": "app", "background": False})

    approvals = Approvals(ask=ask)
    async with Dispatcher(work.catalog, permissions=Permissions("default"), approvals=approvals) as dispatcher:
        assert (await start(dispatcher, session)).value == {"built": "app"}


async def test_hooks_and_the_audit_log_see_the_whole_call(work, session, tmp_path):
    """Hooks and audit hold as for any call: they see the result of the job, when it is there."""
    events = []

    class Watch:
        async def around(self, call, run):
            events.append("around")
            result = await run()
            events.append(result.value)
            return result

        def after(self, call, result):
            events.append(result.kind)
            return ToolResult("after", result.value)

    log = AuditLog(str(tmp_path / "audit.jsonl"))
    async with Dispatcher(work.catalog, hooks=[Watch()], audit=log) as dispatcher:
        await start(dispatcher, session, id="t1")
        await work.has_begun.wait()
        assert events == ["around"]
        work.may_end.set()
        await wait_for_jobs(session)
        assert events == ["around", {"built": "app"}, "ok"]
        kinds = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
        assert [line["event"] for line in kinds if line.get("call_id") == "t1"] == ["verdict", "intent", "outcome"]
    (job,) = find_jobs(session).all()
    assert job.read() == "1/2 compiling\nafter"


async def test_a_batch_goes_on_while_a_job_runs(work, session):
    """A call in the background does not hold up the calls after it, with any facts of its tool."""
    async with Dispatcher(work.catalog) as dispatcher:
        calls = [
            ToolCall("build", {"target": "a", "background": True}),
            ToolCall("build", {"target": "b", "background": True}),
            ToolCall("job_output", {}),
        ]
        first, second, listed = await dispatcher.call_many(calls, session=session)
        assert [first.metadata["job"], second.metadata["job"]] == ["job_1", "job_2"]
        assert len(listed.text.splitlines()) == 2


async def test_secrets_are_masked_in_a_job(session):
    """The list of jobs and their output show no secret."""
    catalog = Catalog(job_output_for())

    @catalog.tool(background=True)
    async def login(key: Annotated[str, Secret], *, context: Context) -> str:
        """Log in."""
        context.report(message=f"using {key}")
        return f"logged in with {key}"

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("login", {"key": "hunter2!", "background": True}, session=session)
        text = await read(dispatcher, session, wait_seconds=20)
        listed = (await dispatcher.call("job_output", {}, session=session)).text
    assert "using" in text
    assert "hunter2" not in text + listed


async def test_a_failure_is_read_like_any_result(session):
    """A job that fails says why, and its state is the kind of its result."""
    catalog = Catalog(job_output_for())

    @catalog.tool(background=True)
    async def fail() -> str:
        """Fail."""
        raise ValueError("no such thing")

    async with Dispatcher(catalog) as dispatcher:
        await dispatcher.call("fail", {"background": True}, session=session)
        text = await read(dispatcher, session, wait_seconds=20)
    assert "no such thing" in text
    assert text.endswith("job_1: failed")


async def test_an_agent_starts_a_job_and_reads_its_output_in_a_later_turn(work):
    """The listener receives its end also after the run."""
    events = []
    provider = ScriptedProvider(
        [
            [ToolCall("build", {"target": "app", "background": True})],
            [ToolCall("job_output", {"job": "job_1"})],
            "It is under way.",
        ]
    )
    async with Dispatcher(work.catalog) as dispatcher:
        run = await Agent(provider, dispatcher, on_event=events.append).run("Build it.")
        texts = [result.text for message in run.messages for result in getattr(message, "results", ())]
        assert texts[0].startswith("started job_1;")
        assert "job_1: running" in texts[1]
        work.may_end.set()
        await wait_for_jobs(run.session)
    reports = [event.progress.message for event in events if isinstance(event, ToolProgress)]
    assert reports == ["compiling", "job_1: done"]
