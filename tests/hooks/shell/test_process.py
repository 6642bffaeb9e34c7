"""
Commands that behave badly: bounded, ended as a group, reaped, and told apart from those that behave.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from tests.processes.kit import is_reaped
from toolkit.hooks.shell.process import HookCommand, HookCommandResult, NotRun, build_environment, run_command
from toolkit.processes.child import exit_file

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[exit_file, lambda pid: None], ids=["told of the end", "looking for the end"])
def watch(request):
    """Both ways to notice that a command has ended."""
    return request.param


def shell(script: str, **options) -> HookCommand:
    """Return a command for the shell, soon killed if it has to be stopped."""
    return HookCommand(
        **{
            "argv": ["/bin/sh", "-c", script],
            "stdin": b"",
            "env": build_environment((), {}),
            "grace_seconds": 0.1,
            **options,
        }
    )


async def test_input_and_output_of_a_command_are_not_limited_by_a_pipe(watch):
    """Both go on at once, and the exit code is kept."""
    data = os.urandom(1_000_000)
    ended = await run_command(shell("tee /dev/stderr; exit 7", stdin=data, exit_file=watch, max_stderr_bytes=2_000_000))
    assert ended == HookCommandResult(code=7, stdout=data, stderr=data)


@pytest.mark.parametrize("script", ["exec <&-; exit 5", "exit 5"])
async def test_unread_input_is_not_an_error(watch, script):
    """The pipe breaks, and that is all."""
    ended = await run_command(shell(script, stdin=b"x" * 5_000_000, exit_file=watch))
    assert (ended.code, ended.stop_reason) == (5, None)


async def test_a_command_that_closes_its_pipes_runs_to_its_end(watch):
    ended = await run_command(shell("exec <&- >&- 2>&-; sleep 0.05; exit 6", exit_file=watch))
    assert ended == HookCommandResult(code=6, stdout=b"", stderr=b"")


async def test_a_command_that_a_signal_ended_has_a_code_below_0(watch):
    ended = await run_command(shell("kill -KILL $$", exit_file=watch))
    assert ended.code == -signal.SIGKILL


async def test_a_command_that_ignores_sigterm_is_killed_with_its_group(tmp_path, watch):
    """No zombie process is left."""
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script = f"trap '' TERM; exec 5>{tmp_path}/alive; echo $$; sleep 600 & sleep 600; sleep 600"
    ended = await run_command(shell(script, timeout_seconds=1, exit_file=watch))
    assert (ended.code, ended.stop_reason) == (None, "it took longer than 1 s")
    assert is_reaped(int(ended.stdout))
    assert await line_from(reader) == b""  # every process that could write has ended
    os.close(reader)


async def test_a_command_that_ends_on_sigterm_has_time_to_clean_up(tmp_path, watch):
    """A trap runs before anything is killed."""
    script = f"trap 'echo tidy >{tmp_path}/left; exit 0' TERM; while :; do sleep 0.01; done"
    ended = await run_command(shell(script, timeout_seconds=1, grace_seconds=20, exit_file=watch))
    assert ended.stop_reason == "it took longer than 1 s"
    assert (tmp_path / "left").read_text() == "tidy\n"


@pytest.mark.parametrize("script", ["yes", "yes | head -c 20000"], ids=["endless", "then it ends"])
async def test_a_flood_is_stopped(watch, script):
    """It is stopped at the limit, long before the time is up."""
    ended = await run_command(shell(script, max_stdout_bytes=10_000, exit_file=watch))
    assert (ended.code, len(ended.stdout), ended.stop_reason) == (None, 10_001, "it printed more than 10,000 bytes")


async def test_a_flood_ends_the_whole_process_group(tmp_path, watch):
    """The background processes of a command that has ended are in it."""
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script = f"exec 5>{tmp_path}/alive; sleep 600 & head -c 20000 /dev/zero"
    ended = await run_command(shell(script, max_stdout_bytes=10_000, exit_file=watch))
    assert ended.stop_reason == "it printed more than 10,000 bytes"
    assert await line_from(reader) == b""  # every process that could write has ended
    os.close(reader)


async def test_output_of_exactly_the_limit_is_accepted(watch):
    ended = await run_command(shell("yes | head -c 10000", max_stdout_bytes=10_000, exit_file=watch))
    assert (ended.code, len(ended.stdout)) == (0, 10_000)


async def test_long_errors_are_cut_and_do_not_stop_the_command(watch):
    """The beginning is kept, and the rest is read and dropped."""
    ended = await run_command(shell("yes | head -c 3000000 >&2; echo done", max_stderr_bytes=100, exit_file=watch))
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"done\n", b"y\n" * 50)


@pytest.mark.parametrize("child", ["sleep 600", "yes", "yes >&2"])
async def test_a_background_process_of_a_command_does_not_delay_its_end(watch, child):
    """That process may hold the pipes open and print for ever."""
    ended = await run_command(shell(f"{child} & echo $!; exit 3", exit_file=watch))
    try:
        assert (ended.code, ended.stop_reason) in ((3, None), (None, "it printed more than 8,388,608 bytes"))
    finally:
        for line in ended.stdout.split(b"\n"):
            if line.isdigit():
                os.kill(int(line), signal.SIGKILL)


def refuse(argv: list[str]) -> list[str]:
    raise NotRun("it is not trusted")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"argv": ["/no/such"]}, "it could not be started (No such file or directory: /no/such)"),
        ({"argv": ["/etc"]}, "it could not be started (Permission denied: /etc)"),
        ({"cwd": "/no/such"}, "it could not be started (No such file or directory: /no/such)"),
        ({"argv": ["a\0b"]}, "it could not be started (embedded null byte)"),
        ({"prepare": refuse}, "it is not trusted"),
        ({"prepare": lambda argv: 1 // 0}, "it could not be run: ZeroDivisionError"),
    ],
)
async def test_a_command_that_cannot_be_started_is_an_error_with_the_reason(options, problem):
    """No file descriptor is left open."""
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(NotRun) as caught:
        await run_command(shell("true", **options))
    assert problem in str(caught.value)
    assert len(os.listdir("/dev/fd")) == before


async def test_a_command_can_be_changed_before_its_start():
    """The list that `prepare` returns is run."""
    assert (await run_command(shell("exit 4", prepare=lambda argv: [*argv[:2], "exit 5"]))).code == 5


async def test_no_file_descriptor_is_left_open(watch):
    """The pipes and the watcher of the end are closed."""
    await run_command(shell("true"))
    before = len(os.listdir("/dev/fd"))
    await run_command(shell("cat", stdin=b"x" * 100_000, exit_file=watch))
    await run_command(shell("sleep 600", timeout_seconds=0.01, exit_file=watch))
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("times", [1, 2])
async def test_cancelled_caller_ends_the_process_first(tmp_path, watch, times):
    """This holds also if they are cancelled again while it is being ended."""
    os.mkfifo(tmp_path / "up")
    reader = os.open(tmp_path / "up", os.O_RDONLY | os.O_NONBLOCK)
    script = f"trap '' TERM; exec >{tmp_path}/up; echo $$; while :; do sleep 600; done"
    running = asyncio.ensure_future(run_command(shell(script, exit_file=watch)))
    pid = int(await line_from(reader))
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert times == 2 or is_reaped(pid)  # cancelled once, one waits for that
    assert await line_from(reader) == b""  # every process that could write has ended
    os.close(reader)
    for thread in threading.enumerate():
        if thread.name == "toolkit-hook":
            thread.join(20)
    assert is_reaped(pid)


async def test_caller_cancelled_when_the_process_just_ended_is_cancelled():
    """The command has ended, and the loop has not heard of it yet."""
    running = asyncio.ensure_future(run_command(shell("true")))
    await asyncio.sleep(0)
    for thread in threading.enumerate():
        if thread.name == "toolkit-hook":
            thread.join(20)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_caller_that_is_cancelled_before_the_start_starts_no_process():
    """The caller is cancelled while the trust is being checked."""
    is_asked, answered = threading.Event(), threading.Event()
    started: list[int] = []

    def prepare(argv: list[str]) -> list[str]:
        is_asked.set()
        answered.wait(20)
        return argv

    running = asyncio.ensure_future(run_command(shell("true", prepare=prepare, exit_file=started.append)))
    await asyncio.to_thread(is_asked.wait, 20)
    running.cancel()
    asyncio.get_running_loop().call_later(0, asyncio.get_running_loop().call_soon, answered.set)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert started == []


async def line_from(file: int) -> bytes:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(file, ready.set)
    async with asyncio.timeout(20):
        await ready.wait()
    loop.remove_reader(file)
    return os.read(file, 100)


def run_python(code: str) -> str:
    """Return what a Python of its own prints, which sees to nothing but *code*."""
    head = "import asyncio, os, signal, threading\nfrom toolkit.hooks.shell.process import *\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_lost_exit_code_is_not_a_success():
    """If the program ignores SIGCHLD, the system drops exit codes, and Python would return 0."""
    code = """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print(asyncio.run(run_command(HookCommand(argv=["/bin/sh", "-c", "exit 1"], stdin=b"", env={}))))
    """
    assert "code=None" in run_python(code)
    assert "ignores SIGCHLD" in run_python(code)


@pytest.mark.skipif(
    sys.version_info < (3, 11, 4), reason="before 3.11.4, Python's own subprocess leaves pipes open when it fails"
)
def test_a_command_without_free_files_is_not_run():
    """For any number of free descriptors, it either runs or fails, and nothing is left behind."""
    code = """
        import resource
        async def main():
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            used, found = len(os.listdir("/dev/fd")) - 1, []
            for left in range(20):
                resource.setrlimit(resource.RLIMIT_NOFILE, (used + left, hard))
                try:
                    found.append((await run_command(HookCommand(argv=["/bin/cat"], stdin=b"x", env={}))).stdout == b"x")
                except NotRun:
                    found.append(False)
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                if len(os.listdir("/dev/fd")) - 1 != used:
                    print("files are left")
            print(found[0], found[-1], found == sorted(found))
            try:
                print(os.waitpid(-1, os.WNOHANG))
            except ChildProcessError:
                print("no children")
        asyncio.run(main())
    """
    assert run_python(code) == "False True True\nno children\n"


async def test_a_command_without_a_free_thread_is_not_run(monkeypatch):
    """No descriptor is left open."""

    def refuse(self) -> None:
        raise RuntimeError("can't start new thread")

    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(NotRun, match="no thread left"):
        await run_command(shell("true"))
    assert len(os.listdir("/dev/fd")) == before


def test_a_loop_that_went_away_does_not_matter():
    """The command is ended without a message."""
    code = """
        threads = set(threading.enumerate())
        loop = asyncio.new_event_loop()
        task = loop.create_task(run_command(HookCommand(argv=["/bin/sh", "-c", "trap '' TERM; exec sleep 600"], stdin=b"", env={}, grace_seconds=0.2)))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            loop.close()
        for thread in set(threading.enumerate()) - threads:
            thread.join(20)
            print(thread.is_alive())
    """
    assert run_python(code) == "False\n"


def test_the_environment_has_a_path_of_whole_names_only(monkeypatch):
    """A relative entry would be looked for in a project. Without any entry, the system's path is used."""
    monkeypatch.setenv("PATH", ".:/usr/bin::bin:/bin")
    monkeypatch.setenv("LC_ALL", "C")
    environ = build_environment(["NOT_THERE"], {"HOOK_EVENT": "before"})
    assert (environ["PATH"], environ["LC_ALL"], environ["HOOK_EVENT"]) == ("/usr/bin:/bin", "C", "before")
    monkeypatch.delenv("PATH")
    assert build_environment((), {})["PATH"] == os.defpath.removeprefix(":")
