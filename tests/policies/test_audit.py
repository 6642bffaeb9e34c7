"""
A line is whole or it is not there, and a writer that failed gets an error.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import Clock
from toolkit._plumbing.line_files import LineFile
from toolkit.policies.audit import AuditError, AuditLog

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters()),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


@pytest.fixture
def path(tmp_path):
    """Where the log is going to be."""
    return tmp_path / "audit.jsonl"


def entries(path):
    """Return what was written, without what every line has."""
    return [{key: entry[key] for key in entry if key not in ("version", "at")} for entry in AuditLog.read(path)]


def script(path, text):
    """Run *text* in a process of its own, with `log` open at *path*."""
    lines = f"from toolkit.policies.audit import *\nlog = AuditLog({str(path)!r})\n{textwrap.dedent(text)}"
    return subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)


def test_a_line_has_a_version_a_time_and_an_event(path):
    """They come in this order, as JSON that any reader accepts."""
    with AuditLog(path, clock=Clock()) as log:
        log.write("verdict", tool="rm", word="deny")
    assert path.read_text() == '{"version":1,"at":1000.0,"event":"verdict","tool":"rm","word":"deny"}\n'
    assert log.path == str(path)


def test_only_the_owner_can_read_the_audit_log(path):
    """The umask of the process does not matter."""
    before = os.umask(0)
    try:
        AuditLog(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_lines_are_appended(path):
    """This holds in one process and in the next."""
    for number in range(3):
        AuditLog(path).write("outcome", number=number)
    assert [entry["number"] for entry in entries(path)] == [0, 1, 2]


@given(st.dictionaries(st.text().filter(lambda name: name not in ("version", "at", "event")), JSON))
def test_a_written_entry_can_be_read(tmp_path_factory, fields):
    """It may hold any JSON, with newlines and halves of surrogate pairs, and stands on one line."""
    path = tmp_path_factory.mktemp("audit") / "log"
    AuditLog(path, sync=False).write("intent", **fields)
    assert entries(path) == [{"event": "intent", **fields}]
    assert path.read_bytes().count(b"\n") == 1


def circle():
    items = []
    items.append(items)
    return items


def deep():
    items = []
    for _ in range(100_000):
        items = [items]
    return items


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        (float("nan"), "nan"),
        ((1, 2), [1, 2]),
        ({1: "a", "1": "b"}, {"1": "a", "1 (2)": "b"}),
        (b"\x00", "AA=="),
        (circle(), ["<the same object again>"]),
        (10**5000, hex(10**5000)),
        (ValueError("no"), "ValueError: no"),
    ],
    ids=["not a number", "tuple", "keys that become one", "bytes", "circle", "long number", "object"],
)
def test_a_value_that_is_not_json_is_written_as_text(path, value, rendered):
    AuditLog(path).write("outcome", value=value)
    assert entries(path) == [{"event": "outcome", "value": rendered}]


def test_a_value_that_is_too_deep_is_cut(path):
    AuditLog(path).write("outcome", value=deep())
    assert "<too deep>" in path.read_text()


def test_a_newline_forges_no_line(path):
    """It may stand in a value, in a key and in the event."""
    forged = '\n{"version":1,"event":"answered","approved":true}\n'
    AuditLog(path).write(forged, **{forged: forged})
    assert entries(path) == [{"event": forged, forged: forged}]


def test_secrets_are_masked(path):
    """This holds for values and keys, and not for the frame of the line."""
    log = AuditLog(path, redact=["hunter2", re.compile(r"\d")], clock=Clock())
    log.write("intent", arguments={"password": "hunter2", "hunter2": [1]})
    assert b"hunter2" not in path.read_bytes()
    assert list(AuditLog.read(path)) == [
        {
            "version": 1,
            "at": 1000.0,
            "event": "intent",
            "arguments": {"password": "[redacted]", "[redacted]": ["[redacted]"]},
        }
    ]


@pytest.mark.parametrize("name", ["version", "at", "event"])
def test_the_frame_of_a_line_cannot_be_replaced(path, name):
    """A field of that name is a mistake."""
    with pytest.raises(ValueError, match=f"has its own {name}"):
        AuditLog(path).write("outcome", **{name: 2})


def missing_folder(path):
    return path / "none" / "log"


def a_folder(path):
    path.mkdir()
    return path


def a_link(path):
    path.symlink_to(path.with_name("elsewhere"))
    return path


def a_pipe(path):
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("place", [missing_folder, a_folder, a_link, a_pipe])
def test_a_place_that_cannot_be_written_is_refused_at_once(path, place):
    """A link is not followed, and a pipe is not waited for."""
    with pytest.raises(AuditError, match="cannot be written"):
        AuditLog(place(path))
    assert not path.with_name("elsewhere").exists()


def test_writing_to_a_closed_log_is_an_error(path):
    """The call that wanted to write must not run."""
    log = AuditLog(path)
    log.close()
    with pytest.raises(AuditError, match="it is closed"):
        log.write("intent")
    assert path.read_bytes() == b""


def test_a_missing_folder_is_an_error_and_is_not_created_again(path):
    folder = path.with_name("folder")
    folder.mkdir()
    log = AuditLog(folder / "log")
    (folder / "log").unlink()
    folder.rmdir()
    with pytest.raises(AuditError, match="No such file"):
        log.write("intent")


def test_a_full_disk_is_an_error_and_glues_no_lines(path):
    """Half a line was written when the room ended; the next one starts afresh."""
    ended = script(
        path,
        """
        import resource
        log.write("verdict", number=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))
        try:
            log.write("intent", text="x" * 1000)
        except AuditError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log.write("verdict", number=2)
        """,
    )
    assert "File too large" in ended.stdout, ended.stderr
    lines = entries(path)
    assert [entry.get("number") for entry in lines] == [1, None, 2]
    assert (lines[1]["event"], lines[1]["line"]) == ("unreadable", 2)


def test_a_torn_last_line_is_left_out_with_a_note(path, caplog):
    """After a crash the log is still a log."""
    log = AuditLog(path)
    log.write("verdict", number=1)
    with path.open("ab") as file:
        file.write(b'{"version":1,"event":"intent","tex')
    assert entries(path) == [{"event": "verdict", "number": 1}]
    assert "torn after 34 bytes" in caplog.text
    log.write("verdict", number=2)
    assert [entry["event"] for entry in entries(path)] == ["verdict", "unreadable", "verdict"]


def test_a_complete_last_line_without_a_newline_is_read(path):
    path.write_bytes(b'{"version":1,"event":"intent"}')
    assert entries(path) == [{"event": "intent"}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff", "not JSON"),
        (b'{"version":2}', "version 2, and only 1 can be read"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_an_unreadable_line_is_reported_in_its_place(path, line, reason):
    """It has its number and the reason, and the other lines are read."""
    path.write_bytes(line + b'\n{"version":1,"event":"verdict"}\n')
    bad, good = AuditLog.read(path)
    assert (bad["event"], bad["line"], bad["bytes"]) == ("unreadable", 1, len(line) + 1)
    assert bad["reason"].startswith(reason)
    assert good["event"] == "verdict"


def test_a_rotated_log_goes_on_in_a_new_file(path):
    """Only its owner can read and write it."""
    log = AuditLog(path)
    log.write("verdict", number=1)
    path.rename(path.with_suffix(".1"))
    log.write("verdict", number=2)
    assert [entry["number"] for entry in entries(path)] == [2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="who has a file open is read from /proc")
def test_a_file_that_is_removed_during_a_wait_is_created_again(path):
    """A line in a file without a name would be lost."""
    log = AuditLog(path)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writing = threading.Thread(target=log.write, args=("verdict",))
        writing.start()
        while times_open(path) < 2 and writing.is_alive():
            pass
        path.unlink()
    writing.join()
    assert entries(path) == [{"event": "verdict"}]


def times_open(path):
    """Return how many descriptors this process has of a file."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            count += os.path.samestat(os.stat(f"/proc/self/fd/{name}"), os.stat(path))
    return count


def test_a_file_removed_again_and_again_is_given_up(path):
    """A file that is removed faster than it is made is an error, and the call does not run."""

    class Vanishing(LineFile):
        def _open(self):
            file = super()._open()
            os.unlink(self.path)
            return file

    with pytest.raises(OSError, match="removed again and again"):
        Vanishing(path, wait_seconds=0)


def test_the_wait_for_another_writer_has_a_limit(path):
    """The call that wanted to write does not run, and does not hang."""
    log = AuditLog(path, wait_seconds=0.01)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(AuditError, match="another process holds it"):
            log.write("intent")
    log.write("intent")
    assert len(entries(path)) == 1


def test_long_lines_of_several_threads_are_not_mixed(path):
    log = AuditLog(path, sync=False)

    def write(name):
        for number in range(30):
            log.write("outcome", name=name, number=number, text=name * 20_000)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = entries(path)
    assert len(lines) == 120
    for name in "abcd":
        assert [entry["number"] for entry in lines if entry["name"] == name] == list(range(30))
        assert all(entry["text"] == name * 20_000 for entry in lines if entry["name"] == name)


WRITER = """
    import sys
    print("ready", flush=True)
    sys.stdin.read(1)
    for number in range({count}):
        log.write("outcome", name={name!r}, number=number, text={name!r} * 5000)
"""


def writer(path, name, count):
    """Start a process that writes when it is told to."""
    lines = textwrap.dedent(WRITER).format(name=name, count=count)
    code = f"from toolkit.policies.audit import *\nlog = AuditLog({str(path)!r})\n{lines}"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


@pytest.mark.long
def test_processes_do_not_mix_their_lines_and_one_may_be_killed(path):
    """All lines of the other processes are there and whole, at any moment of the kill."""
    processes = [writer(path, name, 100) for name in "abc"]
    doomed = writer(path, "x", 1_000_000)
    for process in [doomed, *processes]:
        process.stdin.write("g")
        process.stdin.flush()
    for process in processes[:1]:
        process.communicate()
    doomed.send_signal(signal.SIGKILL)
    for process in [doomed, *processes[1:]]:
        process.communicate()
    AuditLog(path).write("verdict")
    records = entries(path)
    for name in "abc":
        lines = [entry for entry in records if entry.get("name") == name]
        assert [entry["number"] for entry in lines] == list(range(100))
        assert all(entry["text"] == name * 5000 for entry in lines)
    assert sum(entry["event"] == "unreadable" for entry in records) <= 1
    assert records[-1] == {"event": "verdict"}


def test_a_parent_and_a_forked_child_write_whole_lines(path):
    """They share the log, and no lock."""
    ended = script(
        path,
        """
        import os
        log.write("outcome", who="parent")
        child = os.fork()
        if not child:
            log.write("outcome", who="child")
            os._exit(0)
        os.waitpid(child, 0)
        log.write("outcome", who="parent")
        """,
    )
    assert ended.returncode == 0, ended.stderr
    assert [entry["who"] for entry in entries(path)] == ["parent", "child", "parent"]


def test_an_intent_is_on_the_disk_when_write_returns(path):
    """Seen from outside: the process asks the system to sync for an intent, and for nothing else."""
    ended = script(
        path,
        """
        import os
        synced = []
        real = os.fsync
        os.fsync = lambda handle: (synced.append(handle), real(handle))
        log.write("verdict")
        log.write("intent")
        log.write("outcome")
        AuditLog(log.path, sync=False).write("intent")
        print(len(synced))
        """,
    )
    assert ended.stdout == "1\n", ended.stderr


def test_lines_of_the_audit_log_are_ascii(path):
    AuditLog(path).write("verdict", text="é\u202e\ud800")
    line = path.read_bytes()
    assert line.isascii()
    assert json.loads(line)["text"] == "é\u202e\ud800"
