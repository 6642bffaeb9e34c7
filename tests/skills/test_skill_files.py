"""
Which files of a folder are skills, and which are not read.
"""

from __future__ import annotations

import os
import socket

import pytest

from tests.skills.kit import write_skill
from toolkit.skills.skill_files import is_settled, list_paths, list_tree, read_contents, stamp_paths


def read(folder):
    """Return the names of what was read, and the reasons for what was not."""
    contents, problems = read_contents(folder)
    names = [str(path.relative_to(folder)) for path in contents]
    return names, {str(problem.path.relative_to(folder)): problem.message for problem in problems}


def stamp_folder(folder):
    return stamp_paths([folder, *list_paths(folder)])


def test_files_and_folders_are_skills_in_the_order_of_their_names(tmp_path):
    """The order of the file system does not matter."""
    for name in ("b.md", "a.md", "c/SKILL.md", "B.md"):
        write_skill(tmp_path / name)
    assert read(tmp_path) == (["B.md", "a.md", "b.md", "c/SKILL.md"], {})


@pytest.mark.parametrize(
    "name",
    [".hidden.md", "README.md", "readme.md", "notes.txt", "a.MD.bak", "c/other.md", "c/d/SKILL.md", ".git/SKILL.md"],
)
def test_files_that_are_not_skills_are_ignored(tmp_path, name):
    write_skill(tmp_path / name)
    assert read(tmp_path) == ([], {})


def test_a_link_within_the_folder_is_followed(tmp_path):
    write_skill(tmp_path / "a.md")
    (tmp_path / "b.md").symlink_to("a.md")
    assert read(tmp_path)[0] == ["a.md", "b.md"]


def test_the_folder_itself_may_be_a_link(tmp_path):
    """Many people keep their configuration elsewhere."""
    write_skill(tmp_path / "real" / "a.md")
    (tmp_path / "link").symlink_to("real")
    assert read(tmp_path / "link")[0] == ["a.md"]


@pytest.mark.parametrize("name", ["a.md", "a/SKILL.md", "a"])
def test_a_link_that_leads_out_is_not_followed(tmp_path, name):
    """Be it a file, a file in a folder, or the folder."""
    folder = tmp_path / "skills"
    target = write_skill(tmp_path / "outside" / "SKILL.md")
    link = folder / name
    link.parent.mkdir(parents=True)
    link.symlink_to(target if name.endswith(".md") else target.parent)
    names, problems = read(folder)
    assert names == []
    assert [message.startswith("it is a link that leads out of") for message in problems.values()] == [True]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: os.mkfifo(path), "it is not a file"),
        (lambda path: path.mkdir(), "it is not a file"),
        (lambda path: path.symlink_to("nowhere"), "it is not a file"),
        (lambda path: path.symlink_to(path.name), "it is a link"),
        (lambda path: path.write_bytes(b"x" * 65_537), "it is larger than 65,536 bytes"),
    ],
    ids=["pipe", "folder", "nowhere", "circle", "large"],
)
def test_an_oversized_or_special_file_is_not_read(tmp_path, make, words):
    """The other files are read, and no handle stays open."""
    write_skill(tmp_path / "b.md")
    make(tmp_path / "a.md")
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    names, problems = read(tmp_path)
    after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert names == ["b.md"]
    assert words in problems["a.md"]
    assert before == after


def test_a_socket_is_not_read(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "a.md"))
        names, problems = read(tmp_path)
    assert (names, list(problems)) == ([], ["a.md"])


def test_a_file_may_be_64_kb_long(tmp_path):
    """The limit belongs to what is allowed."""
    (tmp_path / "a.md").write_bytes(b"x" * 65_536)
    assert read(tmp_path) == (["a.md"], {})


def test_a_folder_with_too_many_entries_is_not_read(tmp_path):
    """It is probably the wrong folder."""
    for index in range(1001):
        (tmp_path / f"{index}").touch()
    contents, problems = read_contents(tmp_path)
    assert (contents, problems[0].path) == ({}, tmp_path)
    assert "more than 1000 entries" in problems[0].message


def test_a_file_in_place_of_the_folder_is_a_problem(tmp_path):
    path = write_skill(tmp_path / "a.md")
    contents, problems = read_contents(path)
    assert contents == {}
    assert "Not a directory" in str(problems[0])


def change_content(path):
    path.write_text(path.read_text() + "!")


def change_time(path):
    os.utime(path, ns=(1, 1))


def replace_it(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    times = os.stat(path)
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [change_content, change_time, replace_it, os.unlink])
def test_a_stamp_changes_with_a_file(tmp_path, change):
    """The file is not read."""
    path = write_skill(tmp_path / "c" / "SKILL.md")
    before = stamp_folder(tmp_path), stamp_paths(list_tree(tmp_path)), stamp_paths([path])
    assert before == (stamp_folder(tmp_path), stamp_paths(list_tree(tmp_path)), stamp_paths([path]))
    change(path)
    assert stamp_folder(tmp_path) != before[0]
    assert stamp_paths(list_tree(tmp_path)) != before[1]
    assert stamp_paths([path]) != before[2]


def test_a_stamp_changes_with_a_new_file(tmp_path):
    """This holds also if there was no folder before."""
    folder = tmp_path / "skills"
    stamps = [stamp_folder(folder)]
    for name in ("a.md", "b/SKILL.md"):
        write_skill(folder / name)
        stamps.append(stamp_folder(folder))
    assert len(set(stamps)) == 3


def test_the_stamp_of_a_tree_has_an_end(tmp_path):
    """A tree that large is never trusted, so it is not counted to its end."""
    for index in range(41):
        for inner in range(100):
            path = tmp_path / str(index) / str(inner)
            path.parent.mkdir(exist_ok=True)
            path.touch()
    assert len(list_tree(tmp_path)) == 4001


def test_a_stamp_is_relied_on_once_the_files_have_rested(tmp_path):
    """Two changes in one tick of the clock look like one."""
    path = write_skill(tmp_path / "a.md")
    changed = path.stat().st_ctime_ns
    stamps = stamp_paths([path])
    assert not is_settled(stamps, changed + 10**9)
    assert is_settled(stamps, changed + 3 * 10**9)
