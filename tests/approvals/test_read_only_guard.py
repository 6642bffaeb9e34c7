"""
Inside a preview nothing that Python reports is changed, started or sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from toolkit.approvals import read_only_guard as guard
from toolkit.approvals.read_only_guard import WriteRefused, describe_forbidden_event, read_only
from toolkit.errors import Safety


@pytest.fixture(autouse=True)
def trace_hook(monkeypatch):
    """Python switches tracing off inside an audit hook, so the coverage would miss the lines that ran."""
    monkeypatch.setattr(guard._hook, "__cantrace__", True, raising=False)


@pytest.fixture
def place(tmp_path):
    """A folder with one file in it."""
    (tmp_path / "file").write_text("as it was")
    return tmp_path


WRITES = {
    "open": lambda place: (place / "new").open("w"),
    "open to update": lambda place: (place / "file").open("r+"),
    "open a descriptor": lambda place: os.fdopen(1, "w", closefd=False),
    "os.open": lambda place: os.open(place / "new", os.O_CREAT),
    "remove": lambda place: os.remove(place / "file"),
    "rename": lambda place: os.rename(place / "file", place / "new"),
    "replace": lambda place: os.replace(place / "file", place / "new"),
    "mkdir": lambda place: os.mkdir(place / "new"),
    "rmdir": lambda place: os.rmdir(place),
    "chmod": lambda place: os.chmod(place / "file", 0),
    "utime": lambda place: os.utime(place / "file"),
    "truncate": lambda place: os.truncate(place / "file", 0),
    "link": lambda place: os.link(place / "file", place / "new"),
    "symlink": lambda place: os.symlink(place / "file", place / "new"),
    "copy": lambda place: shutil.copy(place / "file", place / "new"),
    "rmtree": lambda place: shutil.rmtree(place),
    "temporary": lambda place: tempfile.mkstemp(dir=place),
    "subprocess": lambda place: subprocess.run(["true"], check=False),
    "system": lambda place: os.system("true"),
    "spawn": lambda place: os.posix_spawn("/bin/true", ["true"], {}),
    "fork": lambda place: os.fork(),
    "connect": lambda place: socket.create_connection(("127.0.0.1", 1)),
    "send": lambda place: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", 9)),
    "database": lambda place: sqlite3.connect(place / "new"),
    "environment": lambda place: os.environ.update(TOOLKIT_TEST="1"),
    "chdir": lambda place: os.chdir(place),
    "kill": lambda place: os.kill(os.getpid(), 0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_writes_are_refused(place, write):
    """The file is unchanged, and the refusal says what was tried and is recorded."""
    with read_only() as tried, pytest.raises(WriteRefused, match="may only read"):
        write(place)
    assert len(tried) == 1
    assert os.listdir(place) == ["file"]
    assert (place / "file").read_text() == "as it was"
    assert "TOOLKIT_TEST" not in os.environ


READS = {
    "open": lambda place: (place / "file").open().close(),
    "list": lambda place: os.listdir(place),
    "scan": lambda place: list(os.scandir(place)),
    "stat": lambda place: os.stat(place / "file"),
    "database in memory": lambda place: sqlite3.connect(":memory:").close(),
    "database to read": lambda place: sqlite3.connect(f"file:{place}/file?mode=ro", uri=True).close(),
    "environment": lambda place: os.environ.get("HOME"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads_are_not(place, read):
    """A preview has to look at what is there."""
    with read_only() as tried:
        read(place)
    assert tried == []


def test_writing_is_allowed_before_and_after_and_beside_the_read_only_block(place):
    with read_only():
        pass
    (place / "new").write_text("written")
    beside = contextvars.copy_context()
    with read_only():
        beside.run((place / "new").write_text, "again")
    assert (place / "new").read_text() == "again"


def test_a_swallowed_refusal_is_still_known(place):
    """Code that handles every error has tried all the same."""
    with read_only() as tried, contextlib.suppress(OSError):
        (place / "file").unlink()
    assert "os.remove" in tried[0]


@pytest.mark.anyio
async def test_tasks_and_their_threads_inherit_the_read_only_guard(place):
    """Code that is started inside may not write later either."""
    with read_only() as tried:
        task = asyncio.create_task(asyncio.to_thread((place / "file").write_text, "changed"))
    with pytest.raises(WriteRefused):
        await task
    assert len(tried) == 1
    assert (place / "file").read_text() == "as it was"


def test_an_import_does_without_its_bytecode(place, write_module, monkeypatch):
    """Python may not write the bytecode, and the import succeeds without it."""
    name = write_module("imported_by_a_preview", "answer = 42")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with read_only() as tried:
        assert importlib.import_module(name).answer == 42
    assert tried == []
    assert not (place / "__pycache__").exists()


@pytest.mark.parametrize(
    ("event", "args", "words"),
    [
        ("open", ("x", "rb", 0), None),
        ("open", ("x", None, os.O_RDONLY | os.O_CLOEXEC), None),
        ("open", ("x", "a", 0), "for writing"),
        ("open", ("x", None, os.O_APPEND), "for writing"),
        ("sqlite3.connect", ("file:x?mode=rw",), "for writing"),
        ("sqlite3.connect", (b"file:x?mode=ro",), None),
        ("sqlite3.connect", (3,), "for writing"),
        ("shutil.move", ("a", "b"), "use shutil"),
        ("ctypes.dlopen", (None,), "use ctypes"),
        ("winreg.SetValue", (None, "a"), "use winreg"),
        ("http.client.send", (None, b"x"), "reach outside"),
        ("import", ("x",), None),
        ("os.listdir", ("x",), None),
    ],
)
def test_forbidden_audit_events_are_recognized(event, args, words):
    """The name decides, and for opening the mode."""
    description = describe_forbidden_event(event, args)
    assert description is None if words is None else words in description


def test_an_audit_hook_that_refuses_ours_is_noticed():
    """There is no preview without the guard."""
    script = """
        import sys
        from toolkit.approvals.read_only_guard import read_only
        from toolkit.errors import Safety

        def first(event, args):
            if event == "sys.addaudithook":
                raise RuntimeError("no more hooks")

        sys.addaudithook(first)
        try:
            with read_only():
                print("ran")
        except Safety as error:
            print(error)
    """
    lines = "\n".join(line[8:] for line in script.splitlines())
    ended = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert ended.stdout == "a preview cannot be watched here: another audit hook keeps ours out\n"


def test_a_refusal_is_a_safety_error():
    """For code that handles files, it is also a permission error."""
    assert issubclass(WriteRefused, Safety)
    assert issubclass(WriteRefused, PermissionError)
