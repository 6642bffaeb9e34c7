"""
Where a path leads, and whether that is inside the folders.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.paths import Folders, resolve_path


def explain_refusal(folders, path, access):
    """Return why *path* may not be accessed, as the checks of files find out; None if it may be."""
    try:
        places = folders.places(path)
    except ValueError as error:
        return str(error)
    return folders.find_objection(path, places, access)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A workspace `app` full of links, with things beside it that are none of its business."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("disk")))
    for folder in ("app/src/deep", "app/vendor/lib", "app-evil", "secret", "app/ü"):
        (top / folder).mkdir(parents=True)
    (top / "app/notes.txt").write_text("notes")
    (top / "secret/key").write_text("key")
    links = {
        "inner": "src/deep",
        "out": "../secret",
        "out-absolute": str(top / "secret"),
        "up": "..",
        "self": ".",
        "key": "../secret/key",
        "dangling-out": "../secret/new",
        "dangling-in": "src/new",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "chain": "chain-2",
        "chain-2": "out",
        "process": "/proc/self/cwd",
        "src/back": "../../app",
        "src/deep/outer": "../../out",
        "through-file": "notes.txt/../../secret",
    }
    for name, target in links.items():
        (top / "app" / name).symlink_to(target)
    return top


@pytest.fixture(scope="module")
def folders(disk):
    """The workspace and nothing else."""
    return Folders([disk / "app"])


INSIDE = """
    notes.txt . ./notes.txt src/../notes.txt src//deep/ new.txt new/folder/file.txt inner inner/x src/back/notes.txt
    dangling-in self/self/notes.txt new/../notes.txt ü/x src/back/src/back/x ./~x a~ ...  .../x notes.txt/x a\\..\\..\\x
"""
OUTSIDE = """
    .. ../app-evil ../app-evil/x ../secret/key src/../../secret / /etc/passwd out out/key out-absolute/key up up/secret/key
    key dangling-out chain chain/key inner/outer src/deep/outer/key src/back/../secret/key self/../secret/key
    inner/../../../secret new/../../secret/key through-file/key //etc/passwd ../app/../secret ../APP-evil
    inner/../../notes.txt/../../secret
"""
NO_PATH = [
    "",
    "~",
    "~/x",
    "~root/x",
    "a\0b",
    "\0",
    "x" * 256,
    "ü" * 128,
    "a/" * 3000,
    "\ud800",
    "loop",
    "loop/x",
    "loop/../notes.txt",
    "ping",
]
OF_A_PROCESS = """
    /proc/self/root/etc/passwd /proc/self/cwd/notes.txt /proc/thread-self/fd/0 /dev/fd/0 /dev/fd/../x /dev/stdin
    process/notes.txt ../../../../../../../proc/self/environ
"""


@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("path", [path for path in INSIDE.split() if path not in {".", "self"}])
def test_a_path_that_leads_inside_is_allowed(folders, path, access):
    assert explain_refusal(folders, path, access) is None


@pytest.mark.parametrize("path", OUTSIDE.split())
def test_a_path_that_leads_outside_is_found(folders, path):
    """It may use dots, links, chains of links, or a similar name."""
    assert "outside the folders" in explain_refusal(folders, path, "read")


@pytest.mark.parametrize("path", INSIDE.split())
def test_the_same_path_written_in_full_is_the_same(folders, disk, path):
    """An absolute path is judged by where it leads, too."""
    assert explain_refusal(folders, f"{disk}/app/{path}", "read") is None


@pytest.mark.parametrize("path", NO_PATH, ids=lambda path: ascii(path)[:30])
def test_a_text_that_cannot_be_a_path_is_a_finding(folders, disk, path):
    """The reason is short, and `resolve_path` raises an error."""
    reason = explain_refusal(folders, path, "read")
    assert reason
    assert len(reason) < 400
    with pytest.raises(ValueError):
        resolve_path(path, str(disk / "app"))


@pytest.mark.skipif(not os.path.exists("/proc/self/root"), reason="this system has no /proc")
@pytest.mark.parametrize("path", OF_A_PROCESS.split())
def test_links_that_differ_for_each_process_are_not_followed(folders, path):
    """They mean another file to the tool than to the check."""
    assert "every process" in explain_refusal(folders, path, "read")


def test_a_path_in_bytes_is_a_finding(folders):
    assert "text" in explain_refusal(folders, b"notes.txt", "read")


def test_a_finding_names_the_place_and_the_remedy(folders, disk):
    """The reader knows from it what to do."""
    reason = explain_refusal(folders, "out/key", "read")
    assert f"'out/key' leads to '{disk}/secret/key'" in reason
    assert f"('{disk}/app')" in reason
    assert "SafetyChecks(folders=...)" in reason


def test_both_ways_to_read_two_dots_have_to_stay_inside(folders):
    """Some programs take out `..` before links are followed, some after."""
    assert explain_refusal(folders, "inner/../x", "read") is None
    assert "outside" in explain_refusal(folders, "up/../x", "read")
    assert "outside" in explain_refusal(folders, "out/../app/notes.txt/../../x", "read")
    places = folders.places("inner/../x")
    assert [place.path.rpartition("/app/")[2] for place in places] == ["src/x", "x"]


def test_every_name_on_the_way_is_known(folders, disk):
    """A link that leads to a link has three names, and each may be the one that is protected."""
    (place,) = folders.places("chain/key")
    assert place.path == f"{disk}/secret/key"
    assert {other_name.removeprefix(f"{disk}/app/") for other_name in place.other_names} == {
        "chain/key",
        "chain-2/key",
        "out/key",
    }


def test_a_link_that_changes_is_followed_again(tmp_path):
    """Each judgement follows it without a memory of the last one."""
    (tmp_path / "app/src").mkdir(parents=True)
    folders = Folders([tmp_path / "app"])
    link = tmp_path / "app/link"
    link.symlink_to("src")
    assert explain_refusal(folders, "link/x", "write") is None
    link.unlink()
    link.symlink_to("..")
    assert "outside" in explain_refusal(folders, "link/x", "write")


def test_a_folder_that_is_created_after_the_checks_does_not_lead_outside(tmp_path):
    """It may turn out to be a link."""
    folders = Folders([tmp_path / "app/new", tmp_path / "app"])
    (tmp_path / "app").mkdir()
    (tmp_path / "app/new").symlink_to("/etc")
    assert "outside" in explain_refusal(folders, "passwd", "read")


def test_a_path_that_is_too_deep_to_resolve_is_a_finding(tmp_path):
    """A folder deeper than the longest path hides its links."""
    name = "d" * 200
    top = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(name, dir_fd=top)
        below = os.open(name, os.O_RDONLY, dir_fd=top)
        os.close(top)
        top = below
    os.symlink("/etc", "link", dir_fd=top)
    os.close(top)
    (tmp_path / "half").symlink_to("/".join([name] * 15))
    path = "/".join(["half", *[name] * 10, "link", "passwd"])
    assert os.path.exists(tmp_path / path)
    assert "cannot be followed" in explain_refusal(Folders([tmp_path]), path, "read")
    shutil.rmtree(tmp_path / name)


# Writing.


@pytest.mark.parametrize("path", [".", "self", "src/..", "src/deep/../..", "src/back"])
def test_the_workspace_itself_is_not_written(folders, path):
    """Its removal would remove everything in it."""
    assert explain_refusal(folders, path, "read") is None
    assert "a folder of this workspace" in explain_refusal(folders, path, "write")


@pytest.mark.parametrize(
    ("path", "reads", "writes"),
    [
        ("app/x", True, True),
        ("app/vendor/x", True, False),
        ("app/VENDOR/x", True, False),
        ("app/vendor/lib/x", True, True),
        ("app/vendor/lib", True, False),
        ("app/vendor", True, False),
        ("app/vendors", True, True),
        ("secret/key", True, False),
        ("app-evil/x", False, False),
    ],
)
def test_the_innermost_of_nested_folders_counts(disk, path, reads, writes):
    """A read-only folder may hold a writable one, and a writable folder a read-only one."""
    folders = Folders([disk / "app", disk / "app/vendor/lib"], read_only=[disk / "app/vendor", disk / "secret"])
    path = str(disk / path)
    assert (explain_refusal(folders, path, "read") is None, explain_refusal(folders, path, "write") is None) == (
        reads,
        writes,
    )


def test_a_folder_that_holds_a_read_only_folder_is_not_written(disk):
    """It could be removed with its content."""
    folders = Folders([disk / "app"], read_only=[disk / "app/src/deep"])
    assert "holds" in explain_refusal(folders, "src", "write")


def test_the_whole_disk_can_be_a_folder():
    """Every path is inside; only the disk itself is not written."""
    folders = Folders(["/"])
    assert explain_refusal(folders, "/etc/passwd", "write") is None
    assert explain_refusal(folders, "etc/passwd", "write") is None
    assert "workspace" in explain_refusal(folders, "/", "write")


# Naming folders.


def test_folders_are_resolved_at_construction(disk, tmp_path):
    """A workspace may be reached by a link."""
    (tmp_path / "link").symlink_to(disk / "app")
    folders = Folders([tmp_path / "link"])
    assert folders.root == str(disk / "app")
    assert explain_refusal(folders, "notes.txt", "write") is None
    assert explain_refusal(folders, str(tmp_path / "link/notes.txt"), "write") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folders": []}, "at least one"),
        ({"folders": ["app/notes.txt"]}, "is a file"),
        ({"folders": ["app"], "read_only": ["app/src/.."]}, "name it once"),
        ({"folders": ["~/app"]}, "whole path"),
        ({"folders": [""]}, "empty"),
        ({"folders": ["app/loop"]}, "circle"),
    ],
)
def test_impossible_folders_are_refused_at_construction(disk, options, message, monkeypatch):
    monkeypatch.chdir(disk)
    with pytest.raises(ValueError, match=message):
        Folders(**options)


@pytest.mark.parametrize("folder", ["/", Path("/"), b"/"])
@pytest.mark.parametrize("option", ["folders", "read_only"])
def test_one_folder_where_a_list_is_wanted_is_refused(folder, option):
    """Text would be taken for a list of letters."""
    with pytest.raises(TypeError, match="list of folders"):
        Folders(**{"folders": ["."], option: folder})


# Against the system's own opinion.


@pytest.mark.parametrize("path", [path for path in (INSIDE + OUTSIDE).split() if "\\" not in path])
def test_a_path_resolves_as_in_the_system(disk, path):
    assert resolve_path(path, str(disk / "app")) == os.path.realpath(disk / "app" / path)


def test_a_root_may_be_relative_or_a_link(disk, monkeypatch):
    monkeypatch.chdir(disk)
    assert resolve_path("x", "app/inner") == f"{disk}/app/src/deep/x"


names = st.sampled_from(
    ["..", ".", "", "a", "ü", "src", "deep", "inner", "out", "up", "self", "key", "back", "outer", "chain", "loop"]
    + ["ping", "app", "secret", "notes.txt", "dangling-out", "through-file", "\u2025", "..\\", "process", "A" * 300]
)
paths = st.builds(
    lambda start, parts: start + "/".join(parts), st.sampled_from(["", "/", "./"]), st.lists(names, max_size=8)
)


@given(path=paths, access=st.sampled_from(["read", "write"]), is_absolute=st.booleans())
def test_no_path_that_the_system_resolves_outside_is_allowed(disk, folders, path, access, is_absolute):
    """This holds for any dots and links, and for each way in which programs read the path."""
    path = f"{disk}/app/{path}" if is_absolute else path
    if explain_refusal(folders, path, access) is None:
        written = os.path.join(disk / "app", path)
        for place in (os.path.realpath(written), os.path.realpath(os.path.normpath(written))):
            assert os.path.commonpath([place, disk / "app"]) == str(disk / "app")
            assert access == "read" or place != str(disk / "app")


@given(path=paths)
def test_an_existing_path_inside_is_allowed(disk, folders, path):
    """The check is no obstacle to ordinary work."""
    written = os.path.join(disk / "app", path)
    places = {os.path.realpath(written), os.path.realpath(os.path.normpath(written))}
    if (
        path
        and os.path.exists(written)
        and "process" not in path
        and all(f"{place}/".startswith(f"{disk}/app/") for place in places)
    ):
        assert explain_refusal(folders, path, "read") is None


@given(st.text())
def test_any_text_can_be_judged(folders, path):
    """No text of a model breaks the check. A path that may not be read may not be written."""
    reading, writing = (explain_refusal(folders, path, access) for access in ("read", "write"))
    assert reading is None or writing is not None
    assert explain_refusal(folders, path, "read") == reading
