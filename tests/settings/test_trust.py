"""
What is trusted, until when, and what is never.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.settings.project_files import ProjectFiles
from toolkit.settings.trust import Trust, TrustError, read_all_instructions


def test_no_folder_is_trusted_at_first(trust, project):
    """Asking writes no file."""
    assert trust.state(project) == "unknown"
    assert not trust.is_trusted(project)
    assert trust.folders() == ()
    assert trust.problem is None
    assert not trust.path.parent.exists()


def test_a_folder_is_trusted_until_it_is_revoked(trust, project):
    """Another object on the same file sees the trust. Other files of the project do not matter."""
    trust.trust(project)
    (project / "README.md").write_text("changed")
    assert trust.is_trusted(project)
    assert Trust(trust.path).state(str(project)) == "trusted"
    assert trust.folders() == (project,)
    assert trust.revoke(project)
    assert trust.state(project) == "unknown"
    assert trust.folders() == ()
    assert not trust.revoke(project)


def test_trust_goes_by_the_real_path(trust, project, tmp_path):
    """A link to the folder is the folder; a folder inside, or a copy, is another."""
    (tmp_path / "link").symlink_to("project")
    trust.trust(tmp_path / "link")
    assert trust.is_trusted(project)
    assert trust.is_trusted(tmp_path / "nowhere/../project")
    (project / "sub").mkdir()
    assert trust.state(project / "sub") == "unknown"
    assert trust.state(tmp_path) == "unknown"


def change_content(top: Path) -> None:
    (top / "toolkit.toml").write_text('allow = ["bash"]')


def new_file(top: Path) -> None:
    (top / "more.toml").write_text("")


def new_folder(top: Path) -> None:
    (top / "skills").mkdir()


def remove_file(top: Path) -> None:
    (top / "hooks/check.py").unlink()


def rename_file(top: Path) -> None:
    (top / "hooks/check.py").rename(top / "hooks/other.py")


def move_file(top: Path) -> None:
    (top / "hooks/check.py").rename(top / "check.py")


def make_executable(top: Path) -> None:
    (top / "hooks/check.py").chmod(0o755)


def replace_by_link(top: Path) -> None:
    (top / "hooks/check.py").rename(top / "check.py")
    (top / "hooks/check.py").symlink_to("../check.py")


def new_link_inside(top: Path) -> None:
    (top / "again").symlink_to("toolkit.toml")


def new_link_outside(top: Path) -> None:
    (top / "again").symlink_to("../../../etc/passwd")


def unreadable_kind(top: Path) -> None:
    os.mkfifo(top / "pipe")


def all_removed(top: Path) -> None:
    for path in sorted(top.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    top.rmdir()


CHANGES = [
    change_content, new_file, new_folder, remove_file, rename_file, move_file, make_executable, replace_by_link,
    new_link_inside, new_link_outside, unreadable_kind, all_removed,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_any_change_asks_again(trust, project, change):
    """Names, content, modes, links, and things that cannot be vouched for."""
    trust.trust(project)
    assert trust.state(project) == "trusted"
    change(project / ".toolkit")
    assert trust.state(project) == "changed"
    assert not trust.is_trusted(project)


def test_only_the_content_that_was_trusted_last_counts(trust, project):
    """The older content does not count any more, although the user trusted it once."""
    trust.trust(project)
    change_content(project / ".toolkit")
    trust.trust(project)
    assert trust.is_trusted(project)
    (project / ".toolkit/toolkit.toml").write_text('allow = ["read"]')
    assert trust.state(project) == "changed"


def test_a_folder_without_content_is_trusted_until_it_gets_content(trust, tmp_path):
    trust.trust(tmp_path)
    assert trust.is_trusted(tmp_path)
    (tmp_path / ".toolkit").mkdir()
    (tmp_path / ".toolkit/toolkit.toml").write_text('allow = ["*"]')
    assert trust.state(tmp_path) == "changed"


def test_content_that_changed_after_it_was_shown_is_not_trusted(trust, project):
    digest = ProjectFiles(project).digest
    trust.trust(project, digest=digest)
    change_content(project / ".toolkit")
    with pytest.raises(TrustError, match="changed since it was shown"):
        trust.trust(project, digest=digest)
    assert not trust.is_trusted(project)


# What cannot be trusted.


def link_to_folder(top: Path) -> None:
    (top / "skills").symlink_to(top.parent)


def link_to_root(top: Path) -> None:
    (top / "root").symlink_to("/")


def link_in_a_circle(top: Path) -> None:
    (top / "loop").symlink_to("../.toolkit-evil/loop")


def too_deep(top: Path) -> None:
    (top / "/".join("x" * 20)).mkdir(parents=True)


def too_many(top: Path) -> None:
    for number in range(2001):
        (top / f"f{number}").touch()


def too_large(top: Path) -> None:
    with (top / "large").open("wb") as file:
        file.truncate(20 * 2**20)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (new_link_outside, "leads out of"),
        (link_to_folder, "leads out of"),
        (link_to_root, "leads out of"),
        (link_in_a_circle, "leads out of"),
        (unreadable_kind, "neither a file nor a folder"),
        (too_deep, "nested too deeply"),
        (too_many, "more than 2000 files"),
        (too_large, "larger than 16,777,216 bytes"),
    ],
    ids=lambda change: getattr(change, "__name__", ""),
)
def test_content_that_a_digest_cannot_cover_is_refused(trust, project, change, message):
    """The error has the remedy, and no file is written."""
    change(project / ".toolkit")
    with pytest.raises(TrustError, match=message):
        trust.trust(project)
    assert not trust.path.exists()


@pytest.mark.parametrize(
    "make",
    [lambda path, project: path.symlink_to(project / ".toolkit"), lambda path, project: path.touch()],
    ids=["link", "file"],
)
def test_content_that_is_not_in_a_real_folder_is_not_trusted(trust, project, tmp_path, make):
    (tmp_path / "a").mkdir()
    make(tmp_path / "a/.toolkit", project)
    with pytest.raises(TrustError, match="has to be a folder"):
        trust.trust(tmp_path / "a")


@pytest.mark.parametrize("name", ["missing", "file", "x\0y"])
def test_only_a_folder_can_be_trusted(trust, tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(TrustError, match="not a folder"):
        trust.trust(tmp_path / name)
    assert trust.state(tmp_path / name) == "unknown"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_completely_is_not_trusted(trust, project):
    (project / ".toolkit/hooks").chmod(0)
    with pytest.raises(TrustError, match="cannot be read completely"):
        trust.trust(project)
    (project / ".toolkit/hooks").chmod(0o700)


_NAMES = st.text("ab", min_size=1, max_size=2)
_TREES = st.recursive(st.binary(max_size=2), lambda inner: st.dictionaries(_NAMES, inner, max_size=3), max_leaves=5)


def plant_tree(tree: Any, path: Path) -> None:
    """Write a tree of files."""
    if isinstance(tree, bytes):
        path.write_bytes(tree)
        return
    path.mkdir()
    for name, content in tree.items():
        plant_tree(content, path / name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(first=st.dictionaries(_NAMES, _TREES, max_size=3), second=st.dictionaries(_NAMES, _TREES, max_size=3))
def test_two_folders_have_the_same_digest_if_and_only_if_they_have_the_same_content(tmp_path_factory, first, second):
    folders = [tmp_path_factory.mktemp("tree") for _ in range(2)]
    for folder, tree in zip(folders, (first, second), strict=True):
        plant_tree(tree, folder / ".toolkit")
    digests = [ProjectFiles(folder).digest for folder in folders]
    assert (digests[0] == digests[1]) is (first == second)


def test_a_message_about_a_folder_is_one_line(tmp_path):
    """The name of a file in the project cannot look like a further message."""
    (tmp_path / ".toolkit").mkdir()
    (tmp_path / ".toolkit" / "x\nnote: verified").symlink_to("/etc/passwd")
    with pytest.raises(TrustError) as caught:
        Trust(tmp_path / "trust.json").trust(tmp_path)
    assert r"x\nnote: verified is a link" in str(caught.value)


def test_a_program_can_name_further_instruction_files(tmp_path):
    """The names of its settings can be trusted, and only names of files can be given."""
    (tmp_path / "RULES.md").write_text("Be kind.\n")
    assert set(read_all_instructions(tmp_path, names=["RULES.md", "MISSING.md"])) == {"RULES.md"}
    with pytest.raises(ValueError, match="is no file name"):
        read_all_instructions(tmp_path, names=["../RULES.md"])
