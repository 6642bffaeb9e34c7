"""The launcher by itself: what it reports, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from tests.clocks import block_until
from toolkit.errors import ToolError
from toolkit.sandbox.base import LAUNCHER_SCRIPT, Limits, launcher_command
from toolkit.sandbox.launcher import confine as confining
from toolkit.sandbox.launcher import launch as launcher

from ..levels import running


def outcome(launch, **options):
    """Return what the launcher reports for *launch*, and the finished process."""
    read, write = os.pipe()
    with os.fdopen(read) as status:
        done = subprocess.run(
            launcher_command({**launch, "status_fd": write}),
            pass_fds=(write,),
            capture_output=True,
            text=True,
            check=False,
            **options,
        )
        os.close(write)
        return json.load(status), done


def shell(script, **launch):
    return {"argv": ["/bin/sh", "-c", script], "cwd": "/", **launch}


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_code_is_a_shells(script, code):
    """A signal counts as 128 and its number."""
    report, done = outcome(shell(script))
    assert report == {"exit_code": code, "processes_left": 0}
    assert done.returncode == code


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ({"argv": ["/nowhere"]}, "cannot run /nowhere"),
        ({"argv": ["/bin/true"], "cwd": "/nowhere"}, "cannot enter the folder for /bin/true"),
        ({"argv": ["/bin/true"], "seccomp_filter": "AAAA"}, "cannot apply seccomp to /bin/true"),
        (
            {
                "argv": ["/bin/true"],
                "landlock": {"handled_access_fs": 1 << 60, "handled_access_net": 0, "scoped": 0, "struct_bytes": 8},
            },
            "cannot apply Landlock to /bin/true",
        ),
        ({"argv": ["/bin/true"], "limits": {"CPU": "many"}}, "cannot limit /bin/true"),
    ],
)
def test_a_command_does_not_run_if_its_setup_fails(launch, message):
    """The report names the step that failed."""
    report, done = outcome(launch)
    assert report["exit_code"] == done.returncode == 125
    assert report["failure"].startswith(message)


def test_a_failure_without_a_report_pipe_goes_to_standard_error():
    done = subprocess.run(launcher_command({"argv": ["/nowhere"]}), capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith("toolkit: cannot run /nowhere")


def test_processes_left_running_are_ended_and_counted():
    """A process that has left the group and the session counts, too."""
    report, done = outcome(shell("setsid sleep 71.31 & sleep 71.31 & echo $!"))
    assert report == {"exit_code": 0, "processes_left": 2}
    assert running("71.31") == []


DAEMON = """
import os, signal, sys
if os.fork(): sys.exit()
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.chdir("/"); os.closerange(0, 100)
os.execve("/bin/sleep", ["sleep", "71.41"], {})
"""


def test_a_daemon_is_ended_and_counted():
    """It has left its parents, its session and its environment, closed its pipes, and ignores the polite signal."""
    report, done = outcome({"argv": [sys.executable, "-I", "-S", "-c", DAEMON], "cwd": "/"})
    assert report == {"exit_code": 0, "processes_left": 1}
    assert running("71.41") == []


def test_orphans_that_end_are_not_zombies():
    """The launcher adopts and reaps them."""
    script = "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.01 &); done; echo ready; read go"
    with subprocess.Popen(
        launcher_command(shell(script)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        block_until(lambda: len(children(process.pid)) == 1)
        process.communicate("go\n", timeout=20)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


def test_the_command_cannot_write_the_report():
    """It has descriptor 3 only if it was given."""
    report, done = outcome(shell("ls /proc/self/fd"))
    assert done.stdout.split() == ["0", "1", "2", "3"]  # the last one is the listing itself
    with tempfile.TemporaryFile() as third:
        subprocess.run(
            launcher_command(shell("echo said >&3", third_fd=third.fileno())), pass_fds=(third.fileno(),), check=True
        )
        third.seek(0)
        assert third.read() == b"said\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_everything(number):
    """Politely first: what listens may tidy up."""
    script = "trap 'echo tidied; exit 0' TERM; echo ready; sleep 72.41 & wait"
    with subprocess.Popen(launcher_command(shell(script)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "tidied\n"
    assert running("72.41") == []


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace_period():
    script = "trap '' TERM; echo ready; while :; do sleep 73.51; done"
    with subprocess.Popen(
        launcher_command(shell(script, grace_seconds=0.2)), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(20) == 137
    assert running("73.51") == []


def test_the_death_of_the_starting_process_ends_everything():
    """A process that is killed takes its commands along."""
    argv = launcher_command(shell("echo ready; sleep 74.61"))
    code = f"import subprocess, sys; subprocess.Popen({argv!r}, start_new_session=True).wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout.readline() == "ready\n"
        starter.kill()
    block_until(lambda: not running("74.61"))


def test_an_orphan_does_not_start():
    """Its starter ended before it could ask for a signal."""
    done = subprocess.run(
        launcher_command(shell("echo ran", starter_pid=1 << 30)), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 125)


def test_a_command_with_too_many_processes_is_ended():
    """The launcher counts processes on a system without cgroups."""
    script = "i=0; while [ $i -lt 60 ]; do sleep 75.71 & i=$((i+1)); done; echo all; wait"
    report, done = outcome(shell(script, max_processes=30, cgroup=None))
    assert report["stop_reason"] == "too_many_processes"
    assert running("75.71") == []


def test_a_command_with_too_many_processes_is_ended_while_other_programs_end():
    """That the machine has no more processes than before does not mean that the command has few."""
    others = [subprocess.Popen(["sleep", "77.91"]) for _ in range(100)]
    script = "echo ready; read go; i=0; while [ $i -lt 60 ]; do sleep 77.81 & i=$((i+1)); done; wait"
    read, write = os.pipe()
    launch = shell(script, max_processes=30, cgroup=None, status_fd=write)
    with subprocess.Popen(
        launcher_command(launch), pass_fds=(write,), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as launcher:
        os.close(write)
        assert launcher.stdout.readline() == "ready\n"
        for other in others:
            other.kill()
            other.wait()
        launcher.stdin.write("go\n")
        launcher.stdin.flush()
        with os.fdopen(read) as status:
            assert json.load(status)["stop_reason"] == "too_many_processes"
    assert running("77.81") == []


FORK_BOMB = "f() { f | f & }; f; wait; sleep 76.81"


def test_a_fork_bomb_is_bounded_for_an_ordinary_user():
    """The system limits the number of processes of every user but root; the bomb fizzles, and nothing is left."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not os.path.exists(python):
        pytest.skip(f"NOT TESTED HERE: needs root, to become another user, and {python}")
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    shutil.copytree(os.path.dirname(launcher.__file__), f"{folder}/launcher")
    launch = shell(FORK_BOMB, limits={"NPROC": 40}, grace_seconds=0.1)
    with subprocess.Popen(
        [python, "-I", "-S", "-c", LAUNCHER_SCRIPT, folder, json.dumps(launch)],
        user=65534,
        group=65534,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "ork" in process.stderr.readline()  # "Cannot fork"
        process.terminate()
        process.communicate(timeout=30)
    shutil.rmtree(folder)
    assert running("76.81") == []


def test_limits_above_the_hard_limit_are_lowered():
    """A hard limit is not raised, and an unknown limit is skipped."""
    report, done = outcome(shell("ulimit -n", limits={"NOFILE": 1 << 40, "UNKNOWN": 3, **Limits().resource_limits()}))
    assert report["exit_code"] == 0
    assert int(done.stdout) <= 4096


def test_a_request_without_an_address_is_not_rechecked():
    """The command begins as soon as the files are hidden."""
    report, done = outcome({"argv": ["/bin/echo", "ran"], "protected_mounts": []})
    assert report == {"exit_code": 0, "processes_left": 0}
    assert done.stdout == "ran\n"


def test_a_command_does_not_run_if_the_starter_does_not_answer():
    """The files that have to be hidden are not known then."""
    report, done = outcome(
        {
            "argv": ["/bin/echo", "ran"],
            "protected_mounts": [],
            "recheck_address": "toolkit-missing",
            "starter_pid": os.getpid(),
        }
    )
    assert report["failure"].startswith("what is protected could not be looked up again: ")
    assert done.stdout == ""


ANOTHER = """
from toolkit.sandbox.recheck import RecheckServer
server = RecheckServer(lambda: {"protected_mounts": []})
print(server.address, flush=True)
input()
"""


def test_an_answer_of_another_process_than_the_starter_is_refused():
    """Another process could have any file shown."""
    argv = [sys.executable, "-c", ANOTHER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        name = other.stdout.readline().strip()
        report, done = outcome(
            {"argv": ["/bin/echo", "ran"], "protected_mounts": [], "recheck_address": name, "starter_pid": os.getpid()}
        )
        other.communicate("\n")
    assert report["failure"].endswith(f"process {other.pid} answered, which did not start this one")
    assert done.stdout == ""


def test_options_go_through_a_file():
    """They may be longer than a command line, and end with the command itself."""
    launch = {
        "argv": ["bwrap", "true"],
        "bubblewrap_options": ["--bind", "/a", "/b"],
        "protected_mounts": [["--x", "/c"]],
        "bubblewrap_last_options": ["--y"],
    }
    argv = confining.build_bubblewrap_command({**launch, "bubblewrap_filter": "QUJD"}, is_gated=False)
    file, content = int(argv[2]), b""
    try:
        content = os.read(file, 1000).split(b"\0")
        number = int(content[1])
        assert os.read(number, 10) == b"ABC"
        os.close(number)
    finally:
        os.close(file)
    assert content[2:] == [b"--bind", b"/a", b"/b", b"--x", b"/c", b"--y", b""]
    assert argv[3:] == ["--", "true"]


def test_too_many_protected_files_for_a_command_line_are_refused():
    """The message has the reason. The kernel would only say that the list is too long."""
    with pytest.raises(ToolError, match="more protected files than a sandbox can hide"):
        launcher_command({"argv": ["x" * 1000] * 1600})


MISSED = """
import os
from toolkit.sandbox.launcher import process_tree
from toolkit.sandbox.launcher.confine import prctl

prctl(36, 1)  # what it orphans becomes ours, as in the launcher
news, _ = os.pipe()
child = os.fork()
if child == 0:
    if os.fork():
        os._exit(0)
    os.execv("/bin/sleep", ["sleep", "73.41"])
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
real, calls = process_tree._processes, []


def processes(names=None):
    calls.append(names)
    return iter(()) if len(calls) < 3 else real(names)


process_tree._processes = processes
print(process_tree.ProcessTree(child, {"argv": []}, signal_pipe=news, name_watch=None).wait_for_end())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: elsewhere there is no table of processes")
def test_a_process_that_the_process_table_missed_is_ended_and_counted():
    """It forks and ends while the table is read."""
    done = subprocess.run([sys.executable, "-c", MISSED], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "{'exit_code': 0, 'processes_left': 1}\n", done.stderr
    assert running("73.41") == []
