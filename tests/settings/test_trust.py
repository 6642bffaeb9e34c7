"""
What is trusted, until when, and what is never.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.settings.loading import load_settings
from toolkit.settings.project_files import ProjectFiles
from toolkit.settings.trust import Trust, TrustError, configuration_folder, read_all_instructions


@pytest.fixture
def project(tmp_path):
    """A project with rules and a hook."""
    folder = tmp_path / "project"
    (folder / ".toolkit/hooks").mkdir(parents=True)
    (folder / ".toolkit/toolkit.toml").write_text('allow = ["read"]')
    (folder / ".toolkit/hooks/check.py").write_text("print()")
    (folder / "README.md").write_text("hello")
    return folder


@pytest.fixture
def trust(tmp_path):
    """A user who trusts no folder yet."""
    return Trust(tmp_path / "config/toolkit/trust.json")


def test_nothing_is_trusted_at_first(trust, project):
    """And asking leaves no trace."""
    assert trust.state(project) == "unknown"
    assert not trust.is_trusted(project)
    assert trust.folders() == ()
    assert trust.problem is None
    assert not trust.path.parent.exists()


def test_a_folder_is_trusted_until_it_is_revoked(trust, project):
    """Also by another object on the same file; what else is in the project does not matter."""
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


def test_a_change_can_be_trusted_or_taken_back(trust, project):
    """The content counts, not the time."""
    trust.trust(project)
    change_content(project / ".toolkit")
    trust.trust(project)
    assert trust.is_trusted(project)
    (project / ".toolkit/toolkit.toml").write_text('allow = ["read"]')
    assert trust.state(project) == "changed"


def test_a_folder_without_content_can_be_trusted(trust, tmp_path):
    """Until it has some."""
    trust.trust(tmp_path)
    assert trust.is_trusted(tmp_path)
    (tmp_path / ".toolkit").mkdir()
    (tmp_path / ".toolkit/toolkit.toml").write_text('allow = ["*"]')
    assert trust.state(tmp_path) == "changed"


def test_what_was_shown_is_what_is_trusted(trust, project):
    """A change between looking and agreeing is noticed."""
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
def test_what_cannot_be_vouched_for_is_refused(trust, project, change, message):
    """With the remedy, and nothing is written."""
    change(project / ".toolkit")
    with pytest.raises(TrustError, match=message):
        trust.trust(project)
    assert not trust.path.exists()


def test_the_folder_itself_has_to_be_one(trust, project, tmp_path):
    """Not a link, not a file, not nothing."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/.toolkit").symlink_to(project / ".toolkit")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.toolkit").touch()
    for folder in ("a", "b"):
        with pytest.raises(TrustError, match="has to be a folder"):
            trust.trust(tmp_path / folder)
    for folder in ("c", "b/.toolkit", "x\0y"):
        with pytest.raises(TrustError, match="not a folder"):
            trust.trust(tmp_path / folder)
    assert trust.state(tmp_path / "x\0y") == "unknown"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_cannot_be_trusted(trust, project):
    """Its content is unknown."""
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
def test_the_digest_tells_any_two_folders_apart(tmp_path_factory, first, second):
    """Equal if they are equal, and only then."""
    folders = [tmp_path_factory.mktemp("tree") for _ in range(2)]
    for folder, tree in zip(folders, (first, second), strict=True):
        plant_tree(tree, folder / ".toolkit")
    digests = [ProjectFiles(folder).digest for folder in folders]
    assert (digests[0] == digests[1]) is (first == second)


# The file.


def test_the_file_is_the_users_alone(trust, project):
    """Mode 0600, with a version, and nothing left lying about."""
    trust.trust(project)
    assert stat.S_IMODE(trust.path.stat().st_mode) == 0o600
    data = json.loads(trust.path.read_text())
    assert data["version"] == 1
    assert list(data["folders"]) == [str(project)]
    assert sorted(os.listdir(trust.path.parent)) == ["trust.json", "trust.json.lock"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"version": 2, "folders": {}}',
        b'{"version": 1}',
        b'{"version": 1, "folders": []}',
        b'{"version": 1, "folders": {"/x": true}}',
        b'{"version": 1, "folders": {"/x": {"sha256": 5}}}',
    ],
)
def test_a_corrupt_file_trusts_nothing_and_is_not_overwritten(trust, project, content):
    """The user has to look at it."""
    trust.path.parent.mkdir(parents=True)
    trust.path.write_bytes(content)
    trust.path.chmod(0o600)
    assert trust.state(project) == "unknown"
    assert trust.folders() == ()
    assert "move it away" in trust.problem
    for change in (trust.trust, trust.revoke):
        with pytest.raises(TrustError, match="trusts nothing"):
            change(project)
    assert trust.path.read_bytes() == content


def test_a_file_that_others_may_write_trusts_nothing(trust, project):
    """They could trust what they like."""
    trust.trust(project)
    trust.path.chmod(0o666)
    assert trust.state(project) == "unknown"
    assert "written by others" in trust.problem
    with pytest.raises(TrustError, match="written by others"):
        trust.trust(project)


def test_a_file_that_is_a_folder_or_cannot_be_made_is_an_error(tmp_path, project):
    """Said clearly."""
    (tmp_path / "trust.json").mkdir()
    assert "cannot be read" in Trust(tmp_path / "trust.json").problem
    (tmp_path / "file").touch()
    with pytest.raises(TrustError, match="cannot be written"):
        Trust(tmp_path / "file/trust.json").trust(project)


def test_many_writers_lose_nothing(trust, tmp_path):
    """Processes that trust different folders at the same time."""
    code = (
        "import sys; from pathlib import Path; from toolkit.settings.trust import Trust\n"
        "for number in range(10):\n"
        "    folder = Path(sys.argv[2]) / f'{sys.argv[3]}-{number}'; folder.mkdir(); Trust(sys.argv[1]).trust(folder)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(trust.path), str(tmp_path), str(number)])
        for number in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(trust.folders()) == 30


def test_a_write_that_fails_leaves_the_old_file(trust, project, tmp_path):
    """It is put in place at once, or not at all."""
    trust.trust(project)
    before = trust.path.read_bytes()

    def spoil():
        with trust._change() as entries:
            entries.clear()
            trust.path.unlink()
            trust.path.mkdir()

    with pytest.raises(TrustError, match="cannot be written"):
        spoil()
    assert sorted(os.listdir(trust.path.parent)) == ["trust.json", "trust.json.lock"]
    trust.path.rmdir()
    trust.path.write_bytes(before)
    trust.path.chmod(0o600)
    assert trust.is_trusted(project)


def test_a_link_to_the_file_stays_a_link(trust, project, tmp_path):
    """Some people keep their configuration elsewhere."""
    trust.path.parent.mkdir(parents=True)
    trust.path.symlink_to(tmp_path / "kept.json")
    trust.trust(project)
    assert trust.path.is_symlink()
    assert (tmp_path / "kept.json").is_file()
    assert trust.is_trusted(project)


@pytest.mark.parametrize(
    ("configured", "expected"),
    [("/somewhere", "/somewhere/toolkit"), ("relative", "HOME/.config/toolkit"), ("", "HOME/.config/toolkit")],
)
def test_the_users_configuration_is_where_it_usually_is(monkeypatch, configured, expected):
    """A relative folder would be the project's, and is ignored."""
    monkeypatch.setenv("XDG_CONFIG_HOME", configured)
    assert str(configuration_folder()) == expected.replace("HOME", str(Path.home()))
    assert Trust().path == configuration_folder() / "trust.json"


@pytest.mark.parametrize("home", [".", "home/ada", " ", "~"])
def test_a_home_folder_without_a_whole_path_is_no_place_for_the_users_files(monkeypatch, tmp_path, home):
    """It would lie in the project, whose files would then count as the user's own."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".config/toolkit").mkdir(parents=True)
    (tmp_path / ".config/toolkit/toolkit.toml").write_text('mode = "bypass"\n')
    with pytest.raises(TrustError, match="is no whole path; set HOME or XDG_CONFIG_HOME to one"):
        load_settings(tmp_path)


# The folders that the file is in.


def test_a_file_in_a_folder_where_others_can_write_trusts_nothing(trust, project):
    """They could put another file in its place."""
    trust.trust(project)
    for mode in (0o777, 0o1777, 0o775, 0o722):
        trust.path.parent.chmod(mode)
        assert trust.state(project) == "unknown"
        assert f"others can write in the folder {trust.path.parent}" in trust.problem
        assert f"chmod go-w {trust.path.parent}" in trust.problem
        with pytest.raises(TrustError, match="others can write"):
            trust.trust(project)
    trust.path.parent.chmod(0o755)
    assert trust.is_trusted(project)


def test_nothing_is_written_into_a_folder_where_others_can_write(tmp_path, project):
    """A sticky bit does not help: others could have made the file first."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    with pytest.raises(TrustError, match="others can write"):
        Trust(tmp_path / "shared/trust.json").trust(project)
    assert not (tmp_path / "shared/trust.json").exists()


@pytest.mark.parametrize(("mode", "state"), [(0o777, "unknown"), (0o1777, "trusted"), (0o755, "trusted")])
def test_a_folder_further_up_counts_unless_it_is_sticky(trust, project, mode, state):
    """In a sticky folder others cannot move away what belongs to the user."""
    trust.trust(project)
    trust.path.parent.parent.chmod(mode)
    assert trust.state(project) == state


def test_each_folder_on_the_way_of_a_link_counts(tmp_path, project):
    """Where the link is, and where it leads."""
    for name in ("own", "shared"):
        (tmp_path / name).mkdir()
    own_trust = Trust(tmp_path / "own/trust.json")
    own_trust.trust(project)
    (tmp_path / "shared/trust.json").symlink_to(own_trust.path)
    linked = Trust(tmp_path / "shared/trust.json")
    assert linked.is_trusted(project)
    (tmp_path / "shared").chmod(0o777)
    assert (linked.state(project), own_trust.state(project)) == ("unknown", "trusted")
    (tmp_path / "shared").chmod(0o755)
    (tmp_path / "own").chmod(0o777)
    assert (linked.state(project), own_trust.state(project)) == ("unknown", "unknown")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("up", [0, 1])
def test_a_folder_of_another_user_trusts_nothing(trust, project, up):
    """Its owner can do what they like in it."""
    trust.trust(project)
    folder = trust.path.parents[up]
    os.chown(folder, 12345, -1)
    assert f"the folder {folder} belongs to another user" in trust.problem
    assert trust.state(project) == "unknown"


def test_a_link_in_a_circle_is_an_error(tmp_path):
    """And no endless loop."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "too many links" in Trust(tmp_path / "a").problem


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_a_link_on_the_way_that_others_could_replace_trusts_nothing(tmp_path, project):
    """It may stand for a folder, and another link may lead to it."""
    (tmp_path / "own").mkdir(mode=0o700)
    Trust(tmp_path / "own/trust.json").trust(project)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/link").symlink_to("../own")
    (tmp_path / "again").symlink_to("shared/link")
    ways = [Trust(tmp_path / name / "trust.json") for name in ("shared/link", "again")]
    assert [trust.is_trusted(project) for trust in ways] == [True, True]
    (tmp_path / "shared").chmod(0o777)
    assert [trust.is_trusted(project) for trust in ways] == [False, False]
    assert all(f"others can write in the folder {tmp_path}/shared" in str(trust.problem) for trust in ways)
    (tmp_path / "shared").chmod(0o1777)  # the link is the user's, and the sticky bit keeps it there
    assert [trust.is_trusted(project) for trust in ways] == [True, True]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_links_in_a_circle_trust_nothing(tmp_path, project):
    """There is no file at their end."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert "too many links" in str(Trust(tmp_path / "one/trust.json").problem)


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
