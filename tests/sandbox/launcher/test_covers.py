"""When a cover comes off, and when it does not."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit.sandbox.launcher import covers as covers_module
from toolkit.sandbox.launcher.covers import NameWatch

WAYS = {"told": 20_000, "asked": 0}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def covers(request, tmp_path):
    """A secret in a folder of the workspace, watched with the system's help or without."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".env").write_text("secret")
    paths = [str(tmp_path / "app" / ".env"), str(tmp_path / ".npmrc"), str(tmp_path)]
    watched = NameWatch(paths, [str(tmp_path)], max_folders=request.param)
    yield watched
    watched.close()


def anew(path):
    beside = path.with_name("beside")
    beside.write_text("new")
    os.rename(beside, path)


def empty_folder(root):
    (root / "app" / ".env").unlink()
    (root / "app").rmdir()
    (root / "app").mkdir()


LOSING = {
    "saved anew": lambda root: anew(root / "app" / ".env"),
    "made where there was none": lambda root: (root / ".npmrc").write_text("secret"),
    "moved there": lambda root: ((root / "x").write_text("x"), os.rename(root / "x", root / ".npmrc")),
    "a folder instead": lambda root: ((root / "app" / ".env").rename(root / "y"), (root / "app" / ".env").mkdir()),
}
KEEPING = {
    "nothing": lambda root: None,
    "written in place": lambda root: (root / "app" / ".env").write_text("new"),
    "other modes": lambda root: (root / "app" / ".env").chmod(0o600),
    "another file": lambda root: anew(root / "app" / "other"),
    "moved away": lambda root: (root / "app" / ".env").rename(root / "other"),
    "its folder there and back": lambda root: ((root / "app").rename(root / "b"), (root / "b").rename(root / "app")),
    "its folder moved away": lambda root: (root / "app").rename(root / "other"),
    "its folder made anew, and empty": empty_folder,
}


@pytest.mark.parametrize("act", LOSING.values(), ids=LOSING)
def test_replacing_a_covered_name_is_noticed_with_its_path(covers, tmp_path, act):
    act(tmp_path)
    assert covers.find_replaced_path() in {str(tmp_path / "app" / ".env"), str(tmp_path / ".npmrc")}


@pytest.mark.parametrize("act", KEEPING.values(), ids=KEEPING)
def test_a_change_that_leaves_the_cover_in_place_is_not_reported(covers, tmp_path, act):
    """The command sees no more than before."""
    act(tmp_path)
    assert covers.find_replaced_path() is None
    assert covers.find_replaced_path() is None


def test_a_folder_with_a_covered_name_that_replaces_another_is_noticed(covers, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".env").write_text("secret")
    (tmp_path / "app").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "app")
    assert covers.find_replaced_path() == str(tmp_path / "app" / ".env")


def test_a_folder_that_is_created_again_is_watched(covers, tmp_path):
    """A file that is put into it later takes the name as well."""
    (tmp_path / "app").rename(tmp_path / "old")
    (tmp_path / "app").mkdir()
    assert covers.find_replaced_path() is None
    (tmp_path / "app" / ".env").write_text("secret")
    assert covers.find_replaced_path() == str(tmp_path / "app" / ".env")


def test_the_watch_is_readable_as_soon_as_a_name_changes(tmp_path):
    covers = NameWatch([str(tmp_path / ".env")], [str(tmp_path)])
    assert covers.fileno() >= 0
    assert select.select([covers], [], [], 0)[0] == []
    (tmp_path / ".env").write_text("secret")
    assert select.select([covers], [], [], 5)[0] == [covers]
    covers.close()
    assert covers.fileno() == -1


def test_too_many_folders_for_a_watch_leave_no_descriptor_to_wait_for(tmp_path):
    """The launcher has to poll the watch then."""
    covers = NameWatch([str(tmp_path / ".env")], [str(tmp_path)], max_folders=0)
    assert covers.fileno() == -1


WITHOUT = """
import os, resource, sys
sys.path.append(sys.argv[1])
from covers import NameWatch
free = os.dup(0)
os.close(free)
if sys.argv[2] == "descriptors":
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
print(NameWatch([sys.argv[1] + "/shut/.env"], [sys.argv[1]]).fileno() >= 0)
"""


@pytest.mark.parametrize(
    ("missing", "mode", "message"),
    [("nothing", 0o755, "True"), ("a right", 0o711, "False"), ("descriptors", 0o755, "False")],
)
def test_the_watch_says_why_the_system_cannot_notify(missing, mode, message):
    """The system has no descriptor left, or a folder is not readable."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not os.path.exists(python):
        pytest.skip(f"NOT TESTED HERE: needs root, to become another user, and {python}")
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    shutil.copy(covers_module.__file__, folder)
    os.mkdir(f"{folder}/shut")
    os.chmod(f"{folder}/shut", mode)
    argv = [python, "-I", "-S", "-c", WITHOUT, folder, missing]
    done = subprocess.run(argv, user=65534, group=65534, capture_output=True, text=True, check=False)
    shutil.rmtree(folder)
    assert done.stdout.strip() == message, done.stderr


def test_a_command_may_get_the_whole_disk():
    """The root cannot be replaced."""
    covers = NameWatch(["/", "/nowhere"], ["/"])
    assert covers.find_replaced_path() is None
    covers.close()


def test_an_overflow_of_the_event_queue_loses_no_replaced_name(tmp_path):
    """The names themselves are checked then."""
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        most = int(file.read())
    if most > 100_000:
        pytest.skip(f"NOT TESTED HERE: the system keeps {most} events")
    (tmp_path / ".env").write_text("old")
    covers = NameWatch([str(tmp_path / ".env")], [str(tmp_path)])
    file = tmp_path / "a"
    file.touch()
    for number in range(most + 10):
        os.rename(file, file := tmp_path / f"a{number % 2}")
    anew(tmp_path / ".env")
    assert covers.find_replaced_path() == str(tmp_path / ".env")
    covers.close()


def test_a_rename_of_the_workspace_itself_is_not_reported(tmp_path):
    """The command has the folder itself, also if another one takes its name."""
    root = tmp_path / "root"
    root.mkdir()
    covers = NameWatch([str(root)], [str(root)])
    root.rename(tmp_path / "old")
    root.mkdir()
    assert covers.find_replaced_path() is None
    covers.close()


def test_a_missing_file_is_not_present(tmp_path):
    """It cannot be covered."""
    (tmp_path / "there").touch()
    covers = NameWatch([str(tmp_path / "there"), str(tmp_path / "gone" / "file")], [str(tmp_path)])
    assert covers.is_present(str(tmp_path / "there"))
    assert not covers.is_present(str(tmp_path / "gone" / "file"))
    covers.close()


STEPS = st.sampled_from(["write", "anew", "away", "back", "other", "folder away", "folder back"])


@settings(max_examples=limit_examples(60), deadline=None)
@given(steps=st.lists(STEPS, max_size=8), way=st.sampled_from(list(WAYS.values())))
def test_another_file_under_a_covered_name_is_always_noticed(steps, way, tmp_path_factory):
    """After any steps: if the name leads to another file in the end, the watch has reported it."""
    root = tmp_path_factory.mktemp("root")
    secret = root / "app" / ".env"
    secret.parent.mkdir()
    secret.write_text("old")
    before = os.stat(secret).st_ino
    keeper = open(secret)  # noqa: SIM115 -- so that no other file gets its number
    covers = NameWatch([str(secret)], [str(root)], max_folders=way)
    acts = {
        "write": lambda: secret.write_text("x"),
        "anew": lambda: anew(secret),
        "away": lambda: os.rename(secret, root / "away"),
        "back": lambda: os.rename(root / "away", secret),
        "other": lambda: (root / "other").write_text("x"),
        "folder away": lambda: os.rename(root / "app", root / "b"),
        "folder back": lambda: os.rename(root / "b", root / "app"),
    }
    was_reported = False
    for step in steps:
        try:
            acts[step]()
        except OSError:
            continue
        was_reported = covers.find_replaced_path() is not None or was_reported
    is_other = secret.exists() and os.stat(secret).st_ino != before
    assert was_reported or not is_other
    covers.close()
    keeper.close()
