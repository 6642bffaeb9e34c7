"""The file that says which folders are trusted, and the folders that it is in."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.settings.loading import load_settings
from toolkit.settings.trust import Trust, TrustError, configuration_folder


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
@pytest.mark.parametrize("change", [Trust.trust, Trust.revoke])
def test_a_corrupt_file_trusts_no_folder_and_is_not_overwritten(trust, project, content, change):
    """The user has to look at the file."""
    trust.path.parent.mkdir(parents=True)
    trust.path.write_bytes(content)
    trust.path.chmod(0o600)
    assert trust.state(project) == "unknown"
    assert trust.folders() == ()
    assert "move it away" in trust.problem
    with pytest.raises(TrustError, match="trusts nothing"):
        change(trust, project)
    assert trust.path.read_bytes() == content


def test_a_file_that_others_may_write_trusts_no_folder(trust, project):
    """They could trust any folder."""
    trust.trust(project)
    trust.path.chmod(0o666)
    assert trust.state(project) == "unknown"
    assert "written by others" in trust.problem
    with pytest.raises(TrustError, match="written by others"):
        trust.trust(project)


def test_a_trust_file_that_is_a_folder_or_cannot_be_written_is_an_error(tmp_path, project):
    (tmp_path / "trust.json").mkdir()
    assert "cannot be read" in Trust(tmp_path / "trust.json").problem
    (tmp_path / "file").touch()
    with pytest.raises(TrustError, match="cannot be written"):
        Trust(tmp_path / "file/trust.json").trust(project)


def test_many_writers_lose_no_entry(trust, tmp_path):
    """Several processes trust different folders at the same time."""
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


def test_a_write_that_fails_leaves_no_temporary_file(trust, project, tmp_path):
    """The old content works again when it is put back."""
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
def test_the_configuration_of_the_user_is_in_the_usual_place(monkeypatch, configured, expected):
    """A relative folder would belong to the project, and is ignored."""
    monkeypatch.setenv("XDG_CONFIG_HOME", configured)
    assert str(configuration_folder()) == expected.replace("HOME", str(Path.home()))
    assert Trust().path == configuration_folder() / "trust.json"


@pytest.mark.parametrize("home", [".", "home/ada", " ", "~"])
def test_a_relative_home_folder_is_not_a_place_for_the_files_of_the_user(monkeypatch, tmp_path, home):
    """It would lie in the project, whose files would then count as those of the user."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".config/toolkit").mkdir(parents=True)
    (tmp_path / ".config/toolkit/toolkit.toml").write_text('mode = "bypass"\n')
    with pytest.raises(TrustError, match="is no whole path; set HOME or XDG_CONFIG_HOME to one"):
        load_settings(tmp_path)


# The folders that the file is in.


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o722], ids=oct)
def test_a_file_in_a_folder_where_others_can_write_trusts_no_folder(trust, project, mode):
    """Others could put another file in its place."""
    trust.trust(project)
    trust.path.parent.chmod(mode)
    assert trust.state(project) == "unknown"
    assert f"others can write in the folder {trust.path.parent}" in trust.problem
    assert f"chmod go-w {trust.path.parent}" in trust.problem
    with pytest.raises(TrustError, match="others can write"):
        trust.trust(project)
    trust.path.parent.chmod(0o755)
    assert trust.is_trusted(project)


def test_no_trust_file_is_written_into_a_folder_where_others_can_write(tmp_path, project):
    """A sticky bit does not help, because others could have made the file first."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    with pytest.raises(TrustError, match="others can write"):
        Trust(tmp_path / "shared/trust.json").trust(project)
    assert not (tmp_path / "shared/trust.json").exists()


@pytest.mark.parametrize(("mode", "state"), [(0o777, "unknown"), (0o1777, "trusted"), (0o755, "trusted")])
def test_a_folder_further_up_counts_unless_it_is_sticky(trust, project, mode, state):
    """Others cannot move the files of the user out of a sticky folder."""
    trust.trust(project)
    trust.path.parent.parent.chmod(mode)
    assert trust.state(project) == state


def test_each_folder_on_the_way_of_a_link_counts(tmp_path, project):
    """It may be the folder of the link, or that of its target."""
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
def test_a_trust_file_in_a_folder_of_another_user_trusts_no_folder(trust, project, up):
    """The owner of the folder can replace the file."""
    trust.trust(project)
    folder = trust.path.parents[up]
    os.chown(folder, 12345, -1)
    assert f"the folder {folder} belongs to another user" in trust.problem
    assert trust.state(project) == "unknown"


def test_a_link_in_a_circle_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "too many links" in Trust(tmp_path / "a").problem


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_a_link_that_others_could_replace_trusts_no_folder(tmp_path, project):
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
def test_links_in_a_circle_trust_no_folder(tmp_path, project):
    """There is no file at their end."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert "too many links" in str(Trust(tmp_path / "one/trust.json").problem)
