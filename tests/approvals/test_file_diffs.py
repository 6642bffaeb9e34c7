"""
A diff shows exactly what changes, for files with any content.
"""

from __future__ import annotations

import hashlib
import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.file_diffs import find_changed_paths, read_file_state, render_diff
from toolkit.decisions import Precondition


def apply_diff(old: str, diff: str) -> str:
    """Return *old* with a unified diff applied, by a second reading of the format."""
    lines, result, at = old.split("\n"), [], 0
    hunks = diff.split("\n")
    hunks = hunks[next(i for i, line in enumerate(hunks) if line.startswith("@@")) :]
    index = 0
    is_ended = old.endswith("\n") or not old
    lines = lines[:-1] if is_ended else lines
    while index < len(hunks):
        line = hunks[index]
        header = re.match(r"@@ -(\d+),?(\d*) \+", line)
        if header:
            start = int(header[1]) - (header[2] != "0")
            result += [text + "\n" for text in lines[at:start]]
            at = start
        elif line.startswith("\\"):
            if hunks[index - 1][0] in "+ ":
                result[-1] = result[-1][:-1]
        elif line[:1] in (" ", "-"):
            assert lines[at] == line[1:]
            at += 1
            if line[0] == " ":
                result.append(line[1:] + "\n")
        elif line[:1] == "+":
            result.append(line[1:] + "\n")
        index += 1
    rest = [text + "\n" for text in lines[at:]]
    if rest and not is_ended:
        rest[-1] = rest[-1][:-1]
    return "".join([*result, *rest])


CONTENTS = st.lists(st.sampled_from(["a", "b", "", "-- x", "++ y", "\x0c", "c\r", "d\u2028e"]), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
)


@given(CONTENTS, CONTENTS)
def test_a_diff_turns_the_old_into_the_new(old, new):
    if old != new:
        assert apply_diff(old, render_diff(old.encode(), new.encode(), "f")) == new


def test_a_diff_has_its_place_in_the_file():
    """Lines before the change count, although they are not compared."""
    old = "".join(f"{number}\n" for number in range(1000))
    diff = render_diff(old.encode(), old.replace("\n500\n", "\nfive hundred\n").encode(), "n.txt")
    expected = (
        "--- a/n.txt\n+++ b/n.txt\n@@ -498,7 +498,7 @@\n 497\n 498\n 499\n-500\n+five hundred\n 501\n 502\n 503\n"
    )
    assert diff == expected


def test_a_diff_shows_a_new_or_removed_file_as_dev_null():
    assert render_diff(None, b"a\nb\n", "f") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert render_diff(b"a\nb\n", None, "f") == "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert "no change: f is not there" in render_diff(None, None, "f")
    assert "no change: f has this content already" in render_diff(b"a", b"a", "f")


def test_a_diff_mentions_a_missing_newline_at_the_end():
    """No line of the diff shows that change."""
    assert render_diff(b"a\n", b"a", "f").endswith("-a\n+a\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"a\r\nb\r\n", b"a\nb\n", "line endings change from CRLF to LF\n"),
        (b"a\nb\n", b"a\r\nb\n", "line endings change from LF to mixed ones\n"),
        (b"a\nb\n", b"a\nc\n", ""),
        (b"a", b"b\r\n", ""),
    ],
)
def test_a_diff_mentions_changed_line_endings(old, new, words):
    """The note stands before the diff, which they make long."""
    assert render_diff(old, new, "f").startswith(f"{words}--- a/f\n")


@pytest.mark.parametrize("content", [b"\x00\x01", b"\xff\xfe", b"x" * 3_000_000], ids=["null", "not UTF-8", "large"])
def test_binary_content_is_described_by_its_size_and_digest(content):
    diff = render_diff(content, b"text\n", "f")
    assert f"{len(content):,} bytes (sha256 {hashlib.sha256(content).hexdigest()}) before" in diff
    assert "5 bytes" in diff


def test_a_large_change_is_compared_within_a_time_limit():
    """Two files in which every line differs are compared without trying every pair, and the diff says so."""
    old, new = ("".join(f"{word} {number % 7}\n" for number in range(30_000)) for word in ("old", "new"))
    start = time.process_time()
    diff = render_diff(f"a\n{old}z\n".encode(), f"a\n{new}z\n".encode(), "f")
    assert time.process_time() - start < 2
    assert "too much for the shortest diff: 30,002 lines are shown as replaced by 30,002" in diff
    assert apply_diff(f"a\n{old}z\n", diff) == f"a\n{new}z\n"


def test_a_file_is_known_by_its_content(tmp_path):
    """Size and digest; and what else matters when it is changed."""
    path = tmp_path / "run.sh"
    path.write_bytes(b"echo\n")
    path.chmod(0o755)
    os.link(path, tmp_path / "other")
    state = read_file_state(str(path))
    assert (state.content, state.size, state.sha256) == (b"echo\n", 5, hashlib.sha256(b"echo\n").hexdigest())
    assert state.facts == ("can be executed (mode 755)", "has 2 names; the file behind all of them changes")


def test_a_large_file_is_measured_without_being_kept(tmp_path):
    """Its digest covers the whole file."""
    path = tmp_path / "large"
    path.write_bytes(b"x" * 2_500_000)
    state = read_file_state(str(path))
    assert (state.content, state.size) == (None, 2_500_000)
    assert state.sha256 == hashlib.sha256(b"x" * 2_500_000).hexdigest()


def condition(path, content):
    """Return what *path* has to hold."""
    return Precondition(path=str(path), sha256=None if content is None else hashlib.sha256(content).hexdigest())


def test_preconditions_of_unchanged_paths_hold(tmp_path):
    """One path has a file with its content, and the other has no file."""
    root = tmp_path.resolve()
    (root / "file").write_bytes(b"content")
    assert find_changed_paths([condition(root / "file", b"content"), condition(root / "none", None)]) == []


def change_content(path):
    path.write_bytes(b"other")


def remove_file(path):
    path.unlink()


def make_link(path):
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def make_folder(path):
    path.unlink()
    path.mkdir()


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def move_behind_link(path):
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to("elsewhere")


@pytest.mark.parametrize("change", [change_content, remove_file, make_link, make_folder, make_pipe, move_behind_link])
def test_a_changed_path_is_named(tmp_path, change):
    """The check follows no link and does not block, and a file that cannot be read counts as changed."""
    path = tmp_path.resolve() / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"content")
    change(path)
    assert find_changed_paths([condition(path, b"content")]) == [str(path)]


def test_a_file_that_was_created_is_a_change(tmp_path):
    """Otherwise the call would overwrite the file of another program."""
    path = tmp_path.resolve() / "file"
    path.write_bytes(b"")
    assert find_changed_paths([condition(path, None), condition("\0", None)]) == [str(path), "\0"]
