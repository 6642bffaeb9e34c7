"""Listing and walking: everything below, in one order, never through a link."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings

from toolkit.errors import Safety, ToolError
from toolkit.workspace import Entry, Workspace

from .trees import TREES, plant


@pytest.fixture
def tree(root):
    """Files, folders, links, a secret, and an unfinished write."""
    for path in ("b/z", "b/a/deep", "a.txt", ".hidden/x", ".ssh/id_rsa", ".env", ".toolkit-0123456789abcdef.tmp"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (root / "out").symlink_to("../outside")
    (root / "to_b").symlink_to("b")
    (root / "circle").symlink_to(".")
    os.mkfifo(root / "pipe")
    return root


def test_a_folder_is_listed_by_name(tree, space):
    """Every name with its kind; links are told, not followed; unfinished writes are not shown."""
    assert [(entry.path, entry.kind) for entry in space.entries()] == [
        (".env", "file"),
        (".hidden", "folder"),
        (".ssh", "folder"),
        ("a.txt", "file"),
        ("b", "folder"),
        ("circle", "link"),
        ("out", "link"),
        ("pipe", "other"),
        ("to_b", "link"),
    ]


def test_an_entry_has_size_and_time_and_mode(tree, space):
    os.utime(tree / "a.txt", (5, 7.25))
    (tree / "a.txt").chmod(0o604)
    assert Entry("a.txt", "a.txt", "file", 5, 7.25, 0o604) in space.entries()


@pytest.mark.parametrize(
    ("path", "paths"),
    [("b", ["b/a", "b/z"]), ("to_b", ["to_b/a", "to_b/z"]), ("b/a/", ["b/a/deep"]), ("{root}/b/a", ["b/a/deep"])],
)
def test_entries_have_the_given_path(tree, space, path, paths):
    """Each path can be given back unchanged."""
    paths_found = [entry.path for entry in space.entries(path.format(root=tree))]
    assert paths_found == paths
    assert [space.stat(entry_path).path for entry_path in paths_found] == paths


def test_a_walk_lists_every_entry_once_and_in_order(tree, space):
    """Each folder comes before its entries. Secrets are listed by name only, and links as links."""
    assert [entry.path for entry in space.walk()] == [
        *(".env", ".hidden", ".hidden/x", ".ssh", "a.txt"),
        *("b", "b/a", "b/a/deep", "b/z", "circle", "out", "pipe", "to_b"),
    ]


@pytest.mark.parametrize("path", ["b", "to_b", "./b/"])
def test_a_walk_starts_in_the_given_folder(tree, space, path):
    """A link may lead to that folder."""
    start = path.strip("./")
    assert [entry.path for entry in space.walk(path)] == [f"{start}/a", f"{start}/a/deep", f"{start}/z"]


def test_a_skipped_folder_is_not_entered(tree, space):
    """`skip` is not asked about the entries below."""
    judged = []
    entries = [entry.path for entry in space.walk(skip=lambda entry: judged.append(entry.path) or entry.name == "b")]
    assert "a.txt" in entries
    assert not any(path.startswith("b") for path in entries)
    assert "b/z" not in judged


@pytest.mark.parametrize("verb", ["entries", "walk"])
@pytest.mark.parametrize(
    ("path", "error", "reason"),
    [
        ("a.txt", ToolError, "is not a folder"),
        ("nothing", ToolError, "does not exist"),
        ("out", Safety, "outside"),
        (".ssh", Safety, "keys and settings of SSH"),
        ("circle/../../outside", Safety, "outside"),
    ],
)
def test_a_folder_that_cannot_be_listed_is_an_error_at_once(tree, space, verb, path, error, reason):
    """The error comes with the call, not with the first entry."""
    with pytest.raises(error, match=reason):
        getattr(space, verb)(path)


def test_a_folder_that_vanishes_is_skipped(tree, space):
    """The walk goes on."""
    entries = []
    for entry in space.walk():
        entries.append(entry.path)
        if entry.path == "b":
            shutil.rmtree(tree / "b")
    assert entries[-5:] == ["b", "circle", "out", "pipe", "to_b"]


def test_a_folder_that_turns_into_a_link_is_not_followed(tree, space):
    """A swap during a walk shows nothing from outside."""
    entries = []
    for entry in space.walk():
        entries.append(entry.path)
        if entry.path == "b":
            shutil.rmtree(tree / "b")
            (tree / "b").symlink_to("../outside")
    assert not any("secret" in path for path in entries)


def test_a_walk_goes_only_so_deep(root, space):
    """Folders within folders without end are cut, and nothing overflows."""
    here = os.open(root, os.O_PATH)
    for _ in range(400):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_PATH, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert len(list(space.walk())) == 256


def test_names_that_mean_something_elsewhere_can_be_given_back(root, space):
    """A `~`, a blank, a line break or a byte that is no text: the path of an entry leads to it."""
    for name in ("~", "~root", " ", "a\nb", os.fsdecode(b"\xff"), "-rf", "a\\b", "*"):
        (root / name).mkdir()
        (root / name / "~").write_text(name, errors="surrogateescape")
    for entry in space.walk():
        assert space.stat(entry.path).kind == entry.kind


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=TREES)
def test_a_walk_finds_the_same_names_as_the_system(scratch, way, tree):
    """On any tree the names are those of `os.walk` without links, each once."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        plant(folder, tree)
        expected = {
            os.path.relpath(os.path.join(at, name), folder)
            for at, folders, files in os.walk(folder)
            for name in (*folders, *files)
        }
        entries = [entry.path for entry in Workspace(folder, way=way).walk()]
        assert set(entries) == expected
        assert len(entries) == len(expected)
