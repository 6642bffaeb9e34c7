"""Which files of a workspace are hidden."""

from __future__ import annotations

import os
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit.errors import ToolError
from toolkit.safety.protected_files import Protected
from toolkit.sandbox.visible_files import ProtectedPath, VisibleFiles, visible_files_of
from toolkit.workspace import Workspace


def protect(root, **options):
    return {
        os.path.relpath(protected.path, root): protected.level
        for protected in visible_files_of(Workspace(root, **options)).find_protected()
    }


def make(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def test_secrets_are_hidden_and_code_is_read_only(tmp_path):
    """A folder on the way to a protected file is held, and what is not protected is not named."""
    make(tmp_path, "a.py", ".env", "b/.ssh/config", ".git/config", ".git/hooks/x", ".git/index")
    assert protect(tmp_path) == {
        ".env": "hidden",
        ".git": "pinned",
        ".git/config": "read-only",
        ".git/hooks": "read-only",
        "b/.ssh": "hidden",
    }


def test_a_folder_that_is_named_like_a_secret_file_is_searched(tmp_path):
    """A virtual environment called .env is no secret, but one in it is."""
    make(tmp_path, ".env/bin/python", ".env/lib/.npmrc")
    assert protect(tmp_path) == {".env": "pinned", ".env/lib/.npmrc": "hidden"}


def test_the_applications_wishes_count(tmp_path):
    """Patterns that it adds, and those that it lifts."""
    make(tmp_path, "notes.txt", ".env")
    assert protect(tmp_path, protected=["notes.txt"], unprotected=[".env"]) == {"notes.txt": "hidden"}


def test_a_link_out_of_the_workspace_hides_no_file(tmp_path):
    """Its target is out of reach. A link that leads nowhere is ignored."""
    root = tmp_path / "root"
    root.mkdir()
    make(tmp_path, "outside")
    (root / ".env").symlink_to(tmp_path / "outside")
    (root / ".npmrc").symlink_to("nowhere")
    assert protect(root) == {}


def test_a_secret_that_appears_later_is_found(tmp_path):
    visible = visible_files_of(Workspace(tmp_path))
    for number in range(50):
        make(tmp_path, f"folder{number}/.env")
        assert len(visible.find_protected()) == number + 1


def test_a_workspace_is_searched_once(tmp_path):
    """A workspace always gives the same object, and another workspace has another one."""
    workspace = Workspace(tmp_path)
    assert visible_files_of(workspace) is visible_files_of(workspace)
    assert visible_files_of(workspace) is not visible_files_of(Workspace(tmp_path))


def test_an_unreferenced_workspace_is_freed_at_once(tmp_path):
    """Its visible files do not keep it alive, and its open folder is closed."""
    workspace = Workspace(tmp_path)
    visible = visible_files_of(workspace)
    reference = weakref.ref(workspace)
    del workspace
    assert reference() is None
    assert visible.find_protected() == []


@pytest.mark.long
def test_several_threads_can_look_for_protected_files(tmp_path):
    """Each look finds the files that existed when it began, while others look and files appear."""
    visible = visible_files_of(Workspace(tmp_path))

    def look(number):
        make(tmp_path, f"folder{number}/.env")
        return f"{tmp_path}/folder{number}/.env" in {protected.path for protected in visible.find_protected()}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(look, range(200)))


def test_a_folder_that_has_not_changed_is_not_judged_again(tmp_path):
    """Only new folders cost time."""
    paths = []

    def is_kept(path, access):
        paths.append(path)
        return path.endswith(".env")

    make(tmp_path, "old/a", "old/.env")
    visible = VisibleFiles((str(tmp_path),), (), is_kept, clock=lambda: time.time_ns() + 10**10)
    first = visible.find_protected()
    paths.clear()
    assert visible.find_protected() == first == [ProtectedPath(f"{tmp_path}/old/.env", "hidden", False)]
    assert paths == []
    make(tmp_path, "new/.env")
    assert len(visible.find_protected()) == 2
    assert not any("/old/" in path for path in paths)


def test_a_command_cannot_hide_a_change_by_setting_times(tmp_path):
    """When a folder was changed is the kernel's to say."""
    make(tmp_path, "app/a")
    os.utime(tmp_path / "app", (1, 1))
    visible = VisibleFiles((str(tmp_path),), (), lambda path, access: path.endswith(".env"))
    assert visible.find_protected() == []
    make(tmp_path, "app/.env")
    os.utime(tmp_path / "app", (1, 1))
    assert [protected.level for protected in visible.find_protected()] == ["hidden"]


def test_folders_that_have_changed_places_are_read_again(tmp_path):
    """They may have been made in one tick of the clock, so that only their numbers differ."""
    for number in range(200):  # until both fall into one tick
        root = tmp_path / str(number)
        first, second = root / "one/sub", root / "two/sub"
        first.mkdir(parents=True)
        second.mkdir(parents=True)
        os.mknod(first / "plain")
        os.mknod(second / ".env")
        if first.stat().st_ctime_ns == second.stat().st_ctime_ns:
            break
    else:
        pytest.skip("this disk has a clock so fine that no two changes share a tick")
    visible = VisibleFiles((str(root),), (), Workspace(root).is_kept, clock=lambda: time.time_ns() + 10**10)
    assert [protected.path for protected in visible.find_protected()] == [str(second / ".env")]
    for old, new in (("one", "aside"), ("two", "one"), ("aside", "two")):
        (root / old).rename(root / new)
    assert [protected.path for protected in visible.find_protected()] == [str(first / ".env")]


def test_a_secret_behind_a_link_to_its_folder_is_found(tmp_path):
    make(tmp_path, "dot-aws/credentials")
    (tmp_path / ".aws").symlink_to("dot-aws")
    assert protect(tmp_path) == {"dot-aws/credentials": "hidden"}


def test_a_secret_far_behind_a_link_is_found(tmp_path):
    """It may lie deeper in the folder that the link leads to, or behind a second link."""
    make(tmp_path, "dot/git/credentials", "dot/git/hooks/x", "really/hosts.yml", "dot/git/ignore", "dot/other/a")
    (tmp_path / ".config").symlink_to("dot")
    (tmp_path / "dot/gh").symlink_to("../really")
    assert protect(tmp_path) == {
        "dot/git/credentials": "hidden",
        "dot/git/hooks": "read-only",
        "really/hosts.yml": "hidden",
    }


@pytest.mark.parametrize(
    "links", [(".husky", ".ssh"), (".ssh", ".husky"), ("a/.ssh", "b/.husky"), ("b/.ssh", "a/.husky")]
)
def test_the_strictest_of_several_names_of_a_folder_counts(tmp_path, links):
    """This holds in every order in which they are found."""
    make(tmp_path, "real/x", "a/x", "b/x")
    for link in links:
        (tmp_path / link).symlink_to(tmp_path / "real")
    assert protect(tmp_path) == {"real": "hidden"}


def test_files_in_a_hidden_folder_are_not_listed(tmp_path):
    """They cannot and need not be covered. A folder whose name has the same beginning is another one."""
    make(tmp_path, "real/id_rsa", "real/sub/.env", "real-not/.env", "real.old/x")
    (tmp_path / ".ssh").symlink_to("real")
    assert protect(tmp_path) == {"real": "hidden", "real-not/.env": "hidden"}


def test_only_secrets_in_a_read_only_folder_are_listed(tmp_path):
    """A folder on the way to another file would be mounted writable."""
    make(tmp_path, "real/.ssh/x", "real/.vscode/tasks.json", "real-old/x")
    (tmp_path / ".husky").symlink_to("real")
    wishes = [Protected("real-old/**", "what was", "not written")]
    assert protect(tmp_path, protected=wishes) == {"real": "read-only", "real/.ssh": "hidden", "real-old": "read-only"}


def test_a_link_to_the_root_is_a_folder_on_the_way_too(tmp_path):
    """It leads round and round, and is followed once."""
    make(tmp_path, "git/credentials")
    (tmp_path / ".config").symlink_to(".")
    assert protect(tmp_path) == {"git/credentials": "hidden"}


def test_links_that_multiply_without_end_are_refused(tmp_path):
    """Each folder leads to the next by several names, so the ways double with every step; no command starts unsearched."""
    for step in range(12):
        (tmp_path / f"step{step}").mkdir()
        for name in (".config", ".aws"):
            (tmp_path / f"step{step}" / name).symlink_to(f"../step{step + 1}")
    with pytest.raises(ToolError, match="links behind .* lead to one another without end; remove them"):
        protect(tmp_path)


def test_a_link_in_a_linked_folder_that_leads_out_hides_no_file(tmp_path):
    """A sandbox cannot cover what it does not show."""
    make(tmp_path, "outside/credentials", "root/dot-aws/config")
    (tmp_path / "root/.aws").symlink_to("dot-aws")
    (tmp_path / "root/dot-aws/credentials").symlink_to(tmp_path / "outside/credentials")
    assert protect(tmp_path / "root") == {"dot-aws/config": "hidden"}


@pytest.mark.parametrize("pattern", ["*file", "s*", "*?e", "some?file"])
def test_a_wide_pattern_hides_no_folder_on_the_way(tmp_path, pattern):
    """A pattern for one file does not protect the folders that hold other protected files."""
    make(tmp_path, ".git/config")
    assert protect(tmp_path, protected=[pattern]) == {".git": "pinned", ".git/config": "read-only"}


def test_a_folder_that_vanishes_is_passed_over(tmp_path):
    """A search never fails because another program tidies up."""
    visible = VisibleFiles((str(tmp_path / "gone"),), (), lambda path, access: True)
    assert visible.find_protected() == []


def test_a_workspace_too_large_to_search_is_refused(tmp_path):
    """A search that ended early would leave files uncovered. The names of unchanged folders count, too."""
    make(tmp_path, "a/1", "a/2", "b/1", "b/2", "b/3")
    visible = VisibleFiles((str(tmp_path),), (), lambda path, access: False, max_names=7)
    assert visible.find_protected() == []
    make(tmp_path, "b/4")
    for _ in range(2):
        with pytest.raises(ToolError, match="more than 7 files and folders, .* choose a smaller root"):
            visible.find_protected()


def test_marks_show_the_changed_files(tmp_path):
    """Changed, made and removed; also if the time of the change was set back."""
    make(tmp_path, ".git/config", ".git/hooks/a", ".git/hooks/b", "plain")
    visible = visible_files_of(Workspace(tmp_path))
    before = visible.snapshot_read_only_files()
    status = os.stat(tmp_path / ".git/config")
    (tmp_path / ".git/config").write_text("y")
    os.utime(tmp_path / ".git/config", ns=(status.st_atime_ns, status.st_mtime_ns))
    (tmp_path / ".git/hooks/b").unlink()
    make(tmp_path, ".git/hooks/c", "plain")
    after = visible.snapshot_read_only_files()
    changed = {os.path.relpath(path, tmp_path) for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed == {".git/config", ".git/hooks", ".git/hooks/b", ".git/hooks/c"}


@pytest.mark.parametrize(
    ("path", "may"), [("a/b", True), ("a/r", False), ("a/r/b", False), ("a/r/w/x", True), ("c", False)]
)
def test_the_innermost_folder_says_whether_one_may_write(path, may):
    """A writable folder inside one that is only read, inside a writable one."""
    visible = VisibleFiles(("/a", "/a/r/w"), ("/a/r",), lambda path, access: False)
    assert visible.may_write(f"/{path}") is may


NAMES = st.sampled_from(["a", ".env", ".git", "config", "hooks", ".ssh", "x.pem", ".npmrc", "main.py"])


@settings(max_examples=limit_examples(40))
@given(paths=st.lists(st.lists(NAMES, min_size=1, max_size=4).map(tuple), max_size=8))
def test_every_protected_file_is_shut_away(paths, tmp_path_factory):
    """In every tree, a file that the workspace does not read is hidden; one that it does not write is not writable."""
    root = tmp_path_factory.mktemp("tree")
    for path in paths:
        place = root.joinpath(*path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x")
        except OSError:
            continue  # a file is in the way, or a folder
    workspace = Workspace(root)
    levels = {protected.path: protected.level for protected in visible_files_of(workspace).find_protected()}
    checks = workspace.safety(without=["folder"])
    from toolkit import Reads, Writes

    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            above = [levels.get(path), *(levels.get(str(parent)) for parent in root.joinpath(path).parents)]
            if checks.judge([Reads(path)]):
                assert "hidden" in above
            elif checks.judge([Writes(path)]):
                assert {"hidden", "read-only"} & set(above)
            else:
                assert not {"hidden", "read-only"} & set(above)


def test_a_fifo_of_a_read_only_folder_is_shut_away(tmp_path):
    """It could be written through a read-only mount; one that may be written is the workspace's own."""
    for name in ("root", "manuals"):
        (tmp_path / name / "below").mkdir(parents=True)
        os.mkfifo(tmp_path / name / "below" / "pipe")
        (tmp_path / name / "below" / "file").touch()
    protected = visible_files_of(Workspace(tmp_path / "root", read_only=[tmp_path / "manuals"])).find_protected()
    assert protected == [ProtectedPath(str(tmp_path / "manuals" / "below" / "pipe"), "hidden", False)]
