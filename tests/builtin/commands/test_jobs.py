"""Commands in the background: listed, read, stopped, and never left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from tests.clocks import block_until
from toolkit import Catalog, Decision, Dispatcher, Permissions, Session
from toolkit.builtin.commands.bash_tool import bash_for
from toolkit.builtin.commands.job_tools import job_output_for, job_stop_for
from toolkit.builtin.commands.jobs import BackgroundJob
from toolkit.builtin.commands.process import CommandSpec
from toolkit.builtin.commands.shell_state import end_shells, shell_of
from toolkit.calls.background.jobs import SessionJobs
from toolkit.errors import ToolError
from toolkit.sandbox import best_sandbox
from toolkit.workspace import Workspace

from ...sandbox.levels import running

pytestmark = pytest.mark.anyio
exists = os.path.exists


@pytest.fixture
def workspace(tmp_path):
    """An empty one."""
    return Workspace(tmp_path)


@pytest.fixture
async def dispatcher(workspace):
    """The three tools of the shell, without a sandbox."""
    catalog = Catalog()
    for job_tool in (bash_for(workspace, sandbox="none"), job_output_for(workspace), job_stop_for(workspace)):
        catalog.add(job_tool)
    async with Dispatcher(catalog) as job_dispatcher:
        yield job_dispatcher


@pytest.fixture
def start(workspace):
    """How a job is started without a tool."""
    sandbox = best_sandbox(workspace, level="none")
    return lambda script: CommandSpec(
        argv=["/bin/sh", "-c", script], sandbox=sandbox, cwd="/", env={"PATH": "/usr/bin:/bin"}
    )


def start_command(jobs, title, spec):
    """Start a command as one of *jobs*."""
    return jobs.start(lambda name: BackgroundJob(name, title, spec))


async def test_a_principal_cannot_read_or_stop_the_commands_of_another(dispatcher, session):
    """Several principals may share a session."""
    arguments = {"command": "sleep 91.12", "background": True}
    await dispatcher.call("bash", arguments, session=session, principal="ada")
    assert (await dispatcher.call("job_output", {}, session=session, principal="bob")).text == "(no jobs)"
    assert (await dispatcher.call("job_stop", {"job": "job_1"}, session=session)).kind == "failed"
    stopped = await dispatcher.call("job_stop", {"job": "job_1"}, session=session, principal="ada")
    assert stopped.text == "job_1: stopped"


async def test_an_approved_job_needs_the_session_of_its_call(dispatcher, session, workspace):
    """A command that `resume` starts without the session could not be read or stopped by any later call."""
    asking = dispatcher.extended(permissions=Permissions("default"))
    waiting = await asking.call("bash", {"command": "touch started", "background": True}, session=session)
    result = await asking.resume(waiting, Decision.approve())
    assert (result.kind, "pass `session=` with the call" in result.text) == ("failed", True)
    assert not exists(f"{workspace.root}/started")


async def test_a_job_is_started_read_and_stopped(dispatcher, session, workspace):
    """Reading gives what is new, stopping ends it."""
    started = await dispatcher.call("bash", {"command": "echo one; sleep 91.11", "background": True}, session=session)
    assert started.text == "started job_1; `job_output` shows what it prints, `job_stop` ends it"
    job = shell_of(session, workspace.root).jobs.all()[0]
    block_until(lambda: job.output.total == 4)
    listed = await dispatcher.call("job_output", {}, session=session)
    assert listed.text.startswith("job_1: running for ")
    assert listed.text.endswith(" s: echo one; sleep 91.11")
    read = await dispatcher.call("job_output", {"job": "job_1"}, session=session)
    assert read.text.startswith("one\njob_1: running for ")
    again = await dispatcher.call("job_output", {"job": "job_1"}, session=session)
    assert again.text.startswith("(no new output)\njob_1: running")
    stopped = await dispatcher.call("job_stop", {"job": "job_1"}, session=session)
    assert stopped.text == "job_1: stopped"
    assert running("91.11") == []


async def test_a_finished_job_shows_its_exit_code_and_both_streams(dispatcher, session, workspace):
    await dispatcher.call("bash", {"command": "echo a; echo b >&2; exit 3", "background": True}, session=session)
    shell_of(session, workspace.root).jobs.all()[0].wait(20)
    read = await dispatcher.call("job_output", {"job": "job_1"}, session=session)
    assert sorted(read.text.splitlines()[:2]) == ["a", "b"]
    assert read.text.endswith("job_1: exit code: 3")


async def test_an_empty_list_of_jobs_has_a_text(dispatcher, session):
    assert (await dispatcher.call("job_output", {}, session=session)).text == "(no jobs)"


async def test_a_job_of_another_session_is_not_visible(dispatcher, session):
    await dispatcher.call("bash", {"command": "sleep 92.22", "background": True}, session=session)
    block_until(lambda: running("92.22"))
    other = Session()
    result = await dispatcher.call("job_stop", {"job": "job_1"}, session=other)
    assert "there is no job 'job_1'; none was started" in result.text
    assert running("92.22") != []
    end_shells(other)


async def test_a_job_needs_a_conversation(dispatcher):
    """Without one, no later call could read or stop the job."""
    result = await dispatcher.call("bash", {"command": "sleep 93.33", "background": True})
    assert result.kind == "failed"
    assert "pass `session=`" in result.text


async def test_an_unknown_job_is_answered_with_the_nearest_names(dispatcher, session):
    await dispatcher.call("bash", {"command": "true", "background": True}, session=session)
    assert "known are: job_1" in (await dispatcher.call("job_output", {"job": "job1"}, session=session)).text


async def test_a_long_command_is_listed_in_one_line(dispatcher, session, workspace, start):
    """Cut, and without what would act on a terminal."""
    start_command(shell_of(session, workspace.root).jobs, "true\n: \x1b[31m" + "x" * 500, start("true"))
    line = (await dispatcher.call("job_output", {}, session=session)).text
    assert line.endswith("xxx...")
    assert "true : xxx" in line
    assert len(line) < 260


async def test_jobs_end_with_their_conversation(dispatcher, workspace):
    """A conversation ends when nothing refers to it any more; its private folder is removed too."""
    session = Session()
    await dispatcher.call("bash", {"command": "sleep 94.44", "background": True}, session=session)
    private = shell_of(session, workspace.root).private_folder
    block_until(lambda: running("94.44"))
    del session
    gc.collect()
    block_until(lambda: not running("94.44"))
    assert not exists(private)


async def test_a_conversation_can_be_ended(dispatcher, session):
    """A caller that knows that it is over can end it; another may begin in its place."""
    await dispatcher.call("bash", {"command": "sleep 95.55", "background": True}, session=session)
    session.state["toolkit.shell:odd"] = "something else"
    end_shells(session)
    assert running("95.55") == []
    assert session.state == {}
    assert (await dispatcher.call("job_output", {}, session=session)).text == "(no jobs)"


@pytest.mark.long
def test_jobs_end_with_the_program(tmp_path):
    """This holds also if it ends in the ordinary way, with the session still held."""
    code = f"""
import asyncio
from toolkit import Catalog, Decision, Dispatcher, Permissions, Session
from toolkit.builtin.commands.bash_tool import bash_for
from toolkit.builtin.commands.shell_state import shell_of
from toolkit.workspace import Workspace
workspace, catalog, session = Workspace({str(tmp_path)!r}), Catalog(), Session()
catalog.add(bash_for(workspace, sandbox="none"))
dispatcher = Dispatcher(catalog)
dispatcher.call_sync("bash", {{"command": "echo x; sleep 96.66", "background": True}}, session=session)
shell = shell_of(session, workspace.root)
while not shell.jobs.all()[0].output.total:
    pass
print(shell.private_folder)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    block_until(lambda: not running("96.66"))
    assert not os.path.exists(done.stdout.strip())


def test_too_many_jobs_are_refused(start):
    """The error names the jobs that run."""
    jobs = SessionJobs()
    for _ in range(20):
        start_command(jobs, "sleep", start("sleep 97.77"))
    with pytest.raises(ToolError, match="20 jobs run already .*job_20.*stop one"):
        start_command(jobs, "sleep", start("sleep 97.77"))
    jobs.end(wait_seconds=30)
    assert running("97.77") == []
    with pytest.raises(ToolError, match="has ended"):
        start_command(jobs, "sleep", start("true"))


@pytest.mark.long
def test_only_the_newest_jobs_are_kept(start):
    jobs = SessionJobs()
    for _ in range(52):
        start_command(jobs, "true", start("true")).wait(20)
    assert [job.id for job in jobs.all()][-1] == "job_52"
    assert len(jobs.all()) <= 51


def test_the_state_of_a_job_that_could_not_be_started_has_the_reason(workspace):
    sandbox = best_sandbox(workspace, level="none")
    job = start_command(SessionJobs(), "nowhere", CommandSpec(argv=["/nowhere"], sandbox=sandbox, cwd="/", env={}))
    assert job.wait(20)
    assert job.state().startswith("failed: the sandbox could not be set up")


async def test_a_job_that_does_not_end_at_once_is_reported(workspace, session, start):
    """It was asked to end, and its state can be read again."""
    job = start_command(
        shell_of(session, workspace.root).jobs, "stubborn", start("trap '' TERM; echo x; sleep 98.33; sleep 98.33")
    )
    tool = job_stop_for(workspace, patience_seconds=0.01)
    block_until(lambda: job.output.total == 2)
    catalog = Catalog()
    catalog.add(tool)
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("job_stop", {"job": "job_1"}, session=session)
    assert "job_1 was asked to end, and has not yet" in result.text
