"""Protected files are hidden when a command begins, and stay hidden while it runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.clocks import block_until
from toolkit.errors import ToolError
from toolkit.sandbox.base import SandboxOptions, launcher_command
from toolkit.sandbox.bubblewrap import bubblewrap
from toolkit.sandbox.landlock import find_landlock_version, landlock
from toolkit.sandbox.system_paths import find_trusted_program
from toolkit.sandbox.visible_files import VisibleFiles, visible_files_of
from toolkit.workspace import Workspace

from .levels import REAL, level, report, run, running

pytestmark = pytest.mark.first_cases(2)


@pytest.fixture
def folder(tmp_path):
    """A workspace with a secret and something that makes programs run code."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "app").mkdir()
    (root / "app" / ".env").write_text("TOKEN=secret")
    return root


def bwrap(visible, **options):
    """Return Bubblewrap with these visible files; skip the test, and say why, where it cannot be used."""
    level(Workspace(visible.workspace_folders.popitem()[0]), "bubblewrap")
    return bubblewrap(visible, program=find_trusted_program("bwrap", ()), options=SandboxOptions(**options))


def of_level(name, visible):
    """Return the level of that name with these visible files, or skip the test loudly."""
    if name == "bubblewrap":
        return bwrap(visible)
    if not find_landlock_version():
        pytest.skip("NOT TESTED HERE: this kernel has no Landlock")
    return landlock(visible, version=find_landlock_version())


class Busy(VisibleFiles):
    """A workspace in which another program makes secrets: one before each look after the first, for so many looks."""

    def __init__(self, root, most):
        super().__init__((str(root),), (), Workspace(root).is_kept)
        self.root, self.most, self.looks = root, most, 0

    def find_protected(self):
        self.looks += 1
        if 1 < self.looks <= self.most + 1:
            place = self.root / f"new{self.looks}"
            place.mkdir()
            (place / ".env").write_text("TOKEN=secret")
        return super().find_protected()


@pytest.mark.parametrize("name", REAL)
def test_a_secret_that_appears_before_the_start_is_hidden(name, folder):
    """It did not exist when the sandbox was planned."""
    sandbox = level(Workspace(folder), name)
    done = run(sandbox, "cat .npmrc", cwd=folder, before=lambda: (folder / ".npmrc").write_text("secret"))
    assert done.stdout == ""
    assert done.returncode == 1


@pytest.mark.parametrize("name", REAL)
def test_a_secret_that_appears_while_the_sandbox_is_made_is_hidden(name, folder):
    """The second look finds it, and the sandbox is made anew."""
    visible = Busy(folder, most=2)
    done = run(of_level(name, visible), "cat new*/.env; echo done", cwd=folder)
    assert visible.looks == 4
    assert done.stdout == "done\n"


@pytest.mark.parametrize("name", REAL)
def test_a_command_does_not_run_if_secrets_keep_appearing(name, folder):
    """The report says so, and does not call it a failure of the command."""
    outcome, done = report(of_level(name, Busy(folder, most=1000)), "echo ran; cat new*/.env", cwd=folder)
    assert outcome["failure"].startswith("protected files keep appearing in the workspace")
    assert (done.returncode, done.stdout) == (125, "")


@pytest.mark.parametrize("name", REAL)
def test_a_secret_that_vanishes_before_the_start_causes_no_error(name, folder):
    """It is not created as an empty file either."""
    done = run(level(Workspace(folder), name), "echo ran", cwd=folder, before=lambda: shutil.rmtree(folder / "app"))
    assert done.stdout == "ran\n"
    assert not (folder / "app").exists()


def save_anew(path, text):
    """Save as most editors and programs do: a new file takes the name of the old one."""
    beside = path.with_name("beside")
    beside.write_text(text)
    os.rename(beside, path)


@pytest.mark.parametrize("name", REAL)
def test_a_secret_that_is_saved_again_before_the_start_is_hidden(name, folder):
    """The name is what counts, not the file that was found."""
    done = run(
        level(Workspace(folder), name),
        "cat app/.env; echo done",
        cwd=folder,
        before=lambda: save_anew(folder / "app" / ".env", "secret"),
    )
    assert done.stdout == "done\n"


def start_command(sandbox, script, cwd):
    argv, env = sandbox.command(["/bin/sh", "-c", script], cwd=str(cwd), env={"PATH": "/usr/bin:/bin"})
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@pytest.mark.parametrize("path", ["app/.env", ".git/config"])
def test_a_command_is_ended_when_a_protected_file_is_saved_again(folder, path):
    """The kernel takes the cover away, so the command could read the secret, or change what makes programs run code."""
    sandbox = level(Workspace(folder), "bubblewrap")
    with start_command(sandbox, "echo ready; sleep 51.71; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        save_anew(folder / path, "secret")
        out, err = process.communicate(timeout=30)
    assert out == ""
    assert (
        err == f"toolkit: stopped: {folder}/{path} was replaced or removed while the command ran, and could be seen\n"
    )
    assert process.returncode == 137
    assert running("51.71") == []


def test_a_command_that_ends_together_with_a_replacement_is_reported(folder):
    """Its output may be the secret."""
    sandbox = level(Workspace(folder), "bubblewrap")
    # The launcher sleeps meanwhile, so it hears of both at once.
    script = "echo ready; read go; cat app/.env; exit 3"
    with start_command(sandbox, script, folder) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        save_anew(folder / "app" / ".env", "secret")
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.read(6) == "secret"
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=30)
    assert err.endswith("app/.env was replaced or removed while the command ran, and could be seen\n")


def test_a_folder_that_replaces_another_ends_the_command(folder):
    """The secrets in it were never covered."""
    (folder / "other").mkdir()
    (folder / "other" / ".env").write_text("secret")
    sandbox = level(Workspace(folder, unprotected=[]), "bubblewrap")
    with start_command(sandbox, "echo ready; sleep 52.71; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        os.rename(folder / "app", folder / "away")
        os.rename(folder / "other", folder / "app")
        out, err = process.communicate(timeout=30)
    assert out == ""
    assert "app/.env was replaced or removed" in err


def test_a_secret_that_is_written_in_place_or_moved_stays_hidden(folder):
    """The cover stays on the file, so the command goes on."""
    sandbox = level(Workspace(folder), "bubblewrap")
    with start_command(sandbox, "echo ready; read go; cat app/.env app/.moved; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        (folder / "app" / ".env").write_text("another secret")
        os.rename(folder / "app" / ".env", folder / "app" / ".moved")
        out, _ = process.communicate("go\n", timeout=30)
    assert (out, process.returncode) == ("survived\n", 0)


def move_and_remove(path):
    os.rename(path, path.with_name("old"))
    path.with_name("old").unlink()


@pytest.mark.parametrize("act", [os.unlink, move_and_remove])
@pytest.mark.parametrize("place", ["app", "a b\\ü\n\r#"])
def test_a_command_is_ended_when_a_secret_is_removed(folder, act, place):
    """The kernel takes the cover away before the file, which can be seen in between under the name it has then."""
    os.rename(folder / "app", folder / place)
    sandbox = level(Workspace(folder), "bubblewrap")
    with start_command(sandbox, "echo ready; sleep 53.71; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        act(folder / place / ".env")
        out, err = process.communicate(timeout=30)
    assert out == ""
    assert err.endswith("/.env was replaced or removed while the command ran, and could be seen\n")
    assert running("53.71") == []


def test_a_secret_that_is_removed_while_the_command_ends_is_reported(folder):
    """The output of the command may be the secret."""
    sandbox = level(Workspace(folder), "bubblewrap")
    with start_command(sandbox, "echo ready; read go; exit 3", folder) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        os.unlink(folder / "app" / ".env")
        process.stdin.write("go\n")
        process.stdin.flush()
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=30)
    assert "app/.env was replaced or removed" in err


def test_a_readable_file_can_be_removed_during_a_command(folder):
    """Only hidden files could become visible, so the command goes on."""
    sandbox = level(Workspace(folder), "bubblewrap")
    with start_command(sandbox, "echo ready; read go; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        os.unlink(folder / ".git" / "config")
        out, _ = process.communicate("go\n", timeout=30)
    assert (out, process.returncode) == ("survived\n", 0)


def test_a_command_may_change_files_beside_covered_ones(folder):
    """It may also move folders with covered files in them."""
    script = "echo x > app/new && mv app/new app/newer && mv app lib && mv lib app && mv .git/config x; cat app/.env; echo $?"
    done = run(level(Workspace(folder), "bubblewrap"), script, cwd=folder)
    assert done.stdout == "1\n"
    assert done.returncode == 0


def test_landlock_does_not_grant_a_file_that_is_saved_again(folder):
    """It grants files and not names, so no command has to be ended."""
    sandbox = level(Workspace(folder), "landlock")
    with start_command(sandbox, "echo ready; read go; cat app/.env; echo survived", folder) as process:
        assert process.stdout.readline() == "ready\n"
        save_anew(folder / "app" / ".env", "secret")
        out, _ = process.communicate("go\n", timeout=30)
    assert out == "survived\n"


@pytest.mark.long
def test_more_than_bubblewrap_can_cover_is_an_error_with_the_number(tmp_path):
    """The error does not look like a failure of the command."""
    for number in range(3001):
        (tmp_path / f"{number}.pem").touch()
    sandbox = bubblewrap(visible_files_of(Workspace(tmp_path)), program="/usr/bin/bwrap")
    with pytest.raises(ToolError, match=r"3,001 protected files and folders, more than .*level=.landlock"):
        sandbox.command(["true"], cwd=str(tmp_path), env={})


@pytest.mark.long
def test_any_number_of_secrets_is_covered(tmp_path):
    """The options for them are too long for a command line."""
    long = "x" * 200
    for number in range(600):
        (tmp_path / f"{long}{number}.pem").write_text("secret")
    done = run(bwrap(visible_files_of(Workspace(tmp_path))), "cat *.pem; echo done", cwd=tmp_path)
    assert done.stdout == "done\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo bwrap: no permission >&2; exit 1", "no permission"),
        ("kill -9 $$", "ended before the command began"),
        ("exec sleep 0", "ended before the command began"),
    ],
    ids=["says why", "is killed", "does nothing"],
)
def test_a_failure_of_bubblewrap_is_not_a_failure_of_the_command(tmp_path, folder, script, message):
    """The report says why it failed."""
    sandbox = bubblewrap(visible_files_of(Workspace(folder)), program=fake(tmp_path, script))
    outcome, done = report(sandbox, "echo ran", cwd=folder)
    assert outcome["exit_code"] == done.returncode == 125
    assert message in outcome["failure"]
    assert (done.stdout, done.stderr) == ("", "")


def fake(folder, script):
    """Write a program that stands in for bubblewrap, and return its path."""
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_that_only_starts_the_command_is_watched(tmp_path, folder):
    """No process is counted then, because bubblewrap does not hold it."""
    path = fake(tmp_path, 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    outcome, done = report(
        bubblewrap(visible_files_of(Workspace(folder)), program=path), "echo ran; exit 4", cwd=folder
    )
    assert outcome == {"exit_code": 4, "processes_left": 0}
    assert done.stdout == "ran\n"


def test_a_sandbox_program_that_is_not_ready_in_time_is_ended(tmp_path, folder):
    sandbox = bubblewrap(visible_files_of(Workspace(folder)), program=fake(tmp_path, "sleep 55.71"))
    request = sandbox.plan(["echo", "ran"], str(folder), None) | {"max_ready_seconds": 0.2, "starter_pid": os.getpid()}
    done = subprocess.run(launcher_command(request), capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.endswith("it was not ready in time\n")
    assert running("55.71") == []


def test_a_command_that_is_stopped_before_its_start_never_runs(tmp_path, folder):
    """The program that makes its sandbox is ended."""
    script = f"echo made > {tmp_path}/made; sleep 56.71"
    with start_command(
        bubblewrap(visible_files_of(Workspace(folder)), program=fake(tmp_path, script)), "echo ran", folder
    ) as process:
        block_until((tmp_path / "made").exists)
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("", 143)
    assert running("56.71") == []


@pytest.mark.parametrize("name", REAL)
def test_a_failed_second_look_prevents_the_command(name, folder):
    """It is not known then which files could be seen."""

    class Failing(Busy):
        def find_protected(self):
            if self.looks:
                raise MemoryError("too much")
            return super().find_protected()

    outcome, done = report(of_level(name, Failing(folder, most=0)), "echo ran", cwd=folder)
    assert outcome["failure"] == "what is protected could not be looked up again: MemoryError: too much"
    assert done.stdout == ""


@pytest.mark.parametrize("code", [1, 125, 127])
def test_a_failure_of_the_command_is_not_mistaken_for_one_of_the_sandbox(folder, code):
    """This holds for every message and every exit code."""
    outcome, done = report(level(Workspace(folder), "bubblewrap"), f"echo bwrap: no >&2; exit {code}", cwd=folder)
    assert outcome == {"exit_code": code, "processes_left": 0}
    assert done.stderr == "bwrap: no\n"


def test_a_folder_that_cannot_be_entered_is_bubblewraps_failure(folder):
    """The real one says what is wrong."""
    outcome, done = report(level(Workspace(folder), "bubblewrap"), "echo ran", cwd=folder / "nowhere")
    assert "nowhere" in outcome["failure"]
    assert done.stdout == ""


def test_a_read_only_sandbox_cannot_write_in_the_workspace(folder):
    """A sandbox for searching is read-only."""
    sandbox = bwrap(visible_files_of(Workspace(folder)), read_only=True)
    done = run(sandbox, "cat .git/config app/.env; echo x > new; echo x > app/new", cwd=folder)
    assert done.stdout == "[core]\n"
    assert sorted(os.listdir(folder)) == [".git", "app"]
    assert os.listdir(folder / "app") == [".env"]


@pytest.mark.parametrize("name", REAL)
def test_processes_that_a_command_leaves_running_are_ended_and_counted(name, folder):
    """A process that has left the session counts, too."""
    outcome, done = report(level(Workspace(folder), name), "setsid sleep 53.71 & sleep 53.71 & echo $?", cwd=folder)
    assert outcome == {"exit_code": 0, "processes_left": 2}
    assert running("53.71") == []


def test_a_leftover_process_may_clean_up_before_it_is_killed(folder):
    script = "(trap 'echo tidied > tidied; exit' TERM; echo ready; sleep 54.71 & wait) & sleep 0.3"
    outcome, done = report(level(Workspace(folder), "bubblewrap"), script, cwd=folder)
    assert outcome["processes_left"] == 2
    assert (folder / "tidied").read_text() == "tidied\n"


@pytest.mark.parametrize("name", REAL)
def test_the_command_has_no_descriptor_of_the_gate(folder, name):
    """It has its three pipes. The fourth descriptor is that of the listing."""
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:4])"
    done = run(level(Workspace(folder), name), f'{sys.executable} -I -c "{code}"', cwd=folder)
    assert done.stdout == "[0, 1, 2, 3]\n"  # the last one is the listing itself
