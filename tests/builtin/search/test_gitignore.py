"""`.gitignore`: our reading of it against git's own, and against pathspec's."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.builtin.trees import plant
from toolkit.builtin.search.gitignore import GitignoreFilter, GitignoreRules
from toolkit.workspace import Workspace

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed, so nothing to compare with")


def list_unignored(workspace, path=".", **options):
    """Return the files that are not left out."""
    ignoring = GitignoreFilter(workspace, path, **options)
    return [entry.path for entry in workspace.walk(path, skip=ignoring) if entry.kind == "file"]


def git(root, *arguments):
    env = {"PATH": os.environ["PATH"], "HOME": root, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", "-C", root, *arguments], env=env, check=True, capture_output=True).stdout


def list_unignored_by_git(root):
    """Return the files that git does not leave out."""
    output = git(root, "ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
    return sorted(os.fsdecode(path) for path in output.split(b"\0") if path)


TREE = dict.fromkeys(("a", "b/a", "b/c/a", "b/c/d.txt", "c/b/a", "d.txt", "b/d.log", "log/x", "b/log/a b", "é/a"), "")


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("a\n", ["b/c/d.txt", "b/d.log", "b/log/a b", "d.txt", "log/x"]),
        ("/a\n", ["b/a", "b/c/a", "b/c/d.txt", "b/d.log", "b/log/a b", "c/b/a", "d.txt", "log/x", "é/a"]),
        ("log/\n", ["a", "b/a", "b/c/a", "b/c/d.txt", "b/d.log", "c/b/a", "d.txt", "é/a"]),
        ("/b\nc\n", ["a", "d.txt", "log/x", "é/a"]),
        ("*\n!*/\n!d.txt\n", ["b/c/d.txt", "d.txt"]),
        ("b/\n!b/a\n", ["a", "d.txt", "log/x", "é/a"]),
        ("b/**/a\n", ["a", "b/c/d.txt", "b/d.log", "b/log/a b", "c/b/a", "d.txt", "log/x", "é/a"]),
        (
            "# a\n\\#\n\n   \na\\ b\n",
            ["a", "b/a", "b/c/a", "b/c/d.txt", "b/d.log", "c/b/a", "d.txt", "log/x", "é/a"],
        ),
        ("a b\n*.l[!n]g\n", ["a", "b/a", "b/c/a", "b/c/d.txt", "c/b/a", "d.txt", "log/x", "é/a"]),
    ],
)
def test_lines_have_the_same_meaning_as_in_git(tmp_path, lines, left):
    """The cases have names, anchors, folders, negations, stars, sets and escapes."""
    workspace = plant(tmp_path, {**TREE, ".gitignore": lines})
    assert [path for path in list_unignored(workspace) if path != ".gitignore"] == left


def test_an_inner_file_overrules_an_outer_one(tmp_path):
    """A negation in the file of a folder includes the path again."""
    workspace = plant(
        tmp_path,
        {".gitignore": "*.log\n", "in/.gitignore": "!keep.log\n", "in/keep.log": "", "in/x.log": "", "keep.log": ""},
    )
    assert list_unignored(workspace) == [".gitignore", "in/.gitignore", "in/keep.log"]


def test_files_above_the_folder_count(tmp_path):
    """A search that starts in the middle has the same answer as one that starts at the root."""
    workspace = plant(
        tmp_path, {".gitignore": "/in/deep/x\n*.log\n", "in/deep/x": "", "in/deep/y": "", "in/deep/z.log": ""}
    )
    assert list_unignored(workspace, "in/deep") == ["in/deep/y"]


def test_an_ignored_folder_that_is_named_is_searched(tmp_path):
    """It is left out of its parent, but not out of itself."""
    workspace = plant(tmp_path, {".gitignore": "build\n", "build/x": "", "y": ""})
    assert list_unignored(workspace) == [".gitignore", "y"]
    assert list_unignored(workspace, "build") == ["build/x"]


def test_the_rules_of_the_root_do_not_apply_in_another_folder_of_the_workspace(tmp_path):
    """The gitignore file of the other folder applies there."""
    plant(tmp_path, {"root/.gitignore": "x\n", "other/x": "", "other/y": "", "other/.gitignore": "y\n"})
    workspace = Workspace(tmp_path / "root", folders=[tmp_path / "other"])
    other = str(tmp_path / "other")
    assert list_unignored(workspace, other) == [f"{other}/.gitignore", f"{other}/x"]


def test_git_itself_is_never_there(tmp_path):
    """`.git` is left out with any rules, and with the rules off."""
    workspace = plant(tmp_path, {".git/config": "", "in/.git": "gitdir: x", "x": "", ".gitignore": "!.git\n"})
    assert list_unignored(workspace) == [".gitignore", "x"]
    assert list_unignored(workspace, include_ignored=True) == [".gitignore", "x"]


def test_rules_can_be_switched_off(tmp_path):
    """Then everything but `.git` is there, and no count is made."""
    workspace = plant(tmp_path, {".gitignore": "*\n", "x": ""})
    ignoring = GitignoreFilter(workspace, include_ignored=True)
    assert [entry.path for entry in workspace.walk(skip=ignoring)] == [".gitignore", "x"]
    assert ignoring.left_out == 0


def test_entries_left_out_by_gitignore_are_counted(tmp_path):
    """A folder counts once, with all that is in it."""
    workspace = plant(tmp_path, {".gitignore": "x\nb\n", "x": "", "b/1": "", "b/2": "", "y": ""})
    ignoring = GitignoreFilter(workspace)
    list(workspace.walk(skip=ignoring))
    assert ignoring.left_out == 2


def test_a_file_of_rules_that_cannot_be_read_has_none(tmp_path):
    """A folder of that name, and one that is far too large."""
    workspace = plant(tmp_path, {".gitignore/x": "", "in/.gitignore": b"y\n" * 300_000, "in/y": ""})
    assert list_unignored(workspace) == [".gitignore/x", "in/.gitignore", "in/y"]


def test_a_hostile_line_does_not_stall():
    """Such a line would keep `re` busy almost for ever."""
    rules = GitignoreRules(b"*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n" * 50)
    started = time.process_time()
    assert rules.judge("a" * 255, "a" * 255, is_folder=False) is None
    assert rules.judge("a" * 254 + "b", "a" * 254 + "b", is_folder=False) is True
    assert time.process_time() - started < 20


@pytest.mark.long
def test_no_more_lines_count_than_a_person_would_write():
    """Each pattern is tried on every name, so their number is bounded; plain names are looked up, and are not."""
    lines = [b"?%d" % number for number in range(1_500)]
    assert GitignoreRules(b"\n".join(lines)).judge("x1499", "x1499", is_folder=False) is None
    assert GitignoreRules(b"\n".join(lines)).judge("x999", "x999", is_folder=False) is True
    assert (
        GitignoreRules(b"\n".join(b"n%d" % number for number in range(30_000))).judge(
            "n29999", "n29999", is_folder=False
        )
        is True
    )


# Against others.

PIECES = [
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "/",
    "/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[]a]",
    "[[:alpha:]]",
    "[[:digit:]",
    "[[:x:]]",
    "[a",
    "\\a",
    "\\*",
    "\\",
    ".",
    " ",
    "é",
    "-",
    "{a,b}",
]
UNLIKE_PATHSPEC = ("!", "[", "\\", "é", "**", " ", "\r", "{")
"""What pathspec reads in another way than git, which the test above asks: exceptions, sets, bytes, spaces."""


def as_in_pathspec(texts):
    """Return those of *texts* that pathspec reads as git does."""
    return [text for text in texts if not any(odd in text for odd in UNLIKE_PATHSPEC)]


MARKS = ["", "", "!", "#", "\\!", "/"]
ENDS = ["", "", "/", " ", "\\ ", "\r", "  "]


def draw_lines(marks, pieces, ends):
    """Return a strategy for lines of a `.gitignore` file that are made of these parts."""
    return st.builds(
        lambda mark, middle, end: mark + "".join(middle) + end,
        st.sampled_from(marks),
        st.lists(st.sampled_from(pieces), min_size=1, max_size=6),
        st.sampled_from(ends),
    )


LINES = draw_lines(MARKS, PIECES, ENDS)
PATHSPEC_LINES = draw_lines(as_in_pathspec(MARKS), as_in_pathspec(PIECES), as_in_pathspec(ENDS))
NAMES = st.sampled_from(["a", "b", "c", "ab", "ba", "a b", "*", "!a", "#a", "é", "a]", "-", "1", "a\\", "{a,b}", "a "])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
ASCII_PATHS = PATHS.map(lambda path: path.replace("é", "e"))


@pytest.mark.unmeasured
@needs_git
@given(
    files=st.lists(PATHS, min_size=1, max_size=12, unique=True),
    rules=st.dictionaries(
        st.sampled_from(["", "a/", "a/b/", "b/"]), st.lists(LINES, max_size=5), min_size=1, max_size=3
    ),
)
def test_git_gives_the_same_answer(tmp_path_factory, files, rules):
    """This holds on random trees with random rules in several folders."""
    root = tmp_path_factory.mktemp("git")
    for path in files:
        place = root / path
        # A name cannot be a file here and a folder there.
        if any(parent.is_file() for parent in place.parents) or place.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")
    for folder, lines in rules.items():
        if not folder or (root / folder).is_dir():
            (root / folder / ".gitignore").write_bytes("\n".join(lines).encode())
    git(str(root), "init", "-q")
    try:
        assert sorted(list_unignored(Workspace(root))) == list_unignored_by_git(str(root))
    finally:
        shutil.rmtree(root)


@pytest.mark.unmeasured
@given(lines=st.lists(PATHSPEC_LINES, max_size=4), path=ASCII_PATHS)
def test_pathspec_gives_the_same_answer(lines, path):
    """This holds for the lines that pathspec reads as git does."""
    pathspec = pytest.importorskip("pathspec")
    text = "\n".join(lines)
    assume("//" not in text and "**" not in text)  # two pieces side by side
    rules, spec = GitignoreRules(text.encode()), pathspec.GitIgnoreSpec.from_lines(text.split("\n"))
    parts = path.split("/")
    # Git does not look into an ignored folder, so a later rule cannot take a file in it back.
    for count in range(1, len(parts) + 1):
        place, is_folder = "/".join(parts[:count]), count < len(parts)
        ours = bool(rules.judge(place, parts[count - 1], is_folder=is_folder))
        assert ours == spec.match_file(f"{place}/" if is_folder else place)
        if ours:
            break
