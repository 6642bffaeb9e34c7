"""
The files of a project: read once, so that what is digested is what is used.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from benchmarks.raced_trust import KINDS, WAYS, race
from toolkit._plumbing.regular_files import read_regular_file
from toolkit.settings.project_files import ProjectFiles, TrustError
from toolkit.settings.trust import Trust


@pytest.fixture
def project(tmp_path):
    """A project with settings and a script."""
    (tmp_path / "project/.toolkit/bin").mkdir(parents=True)
    (tmp_path / "project/.toolkit/toolkit.toml").write_text('mode = "auto"')
    (tmp_path / "project/.toolkit/bin/check.sh").write_text("exit 0")
    return tmp_path / "project"


def rewrite(folder: Path) -> None:
    (folder / "toolkit.toml").write_text('mode = "bypass"')


def remove(folder: Path) -> None:
    (folder / "toolkit.toml").unlink()


def link(folder: Path) -> None:
    remove(folder)
    (folder / "toolkit.toml").symlink_to("bin/check.sh")


def remove_folder(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


@pytest.mark.parametrize("change", [rewrite, remove, link, remove_folder])
def test_the_digest_is_about_the_content_that_was_read(project, change):
    """This holds for any change of the file between reading it and taking the digest."""
    files = ProjectFiles(project)
    content = files.read_settings()
    change(project / ".toolkit")
    digest = files.digest
    assert files.read_settings() == content
    assert digest != ProjectFiles(project).digest


def test_a_file_that_appears_after_the_first_look_stays_missing(project):
    """The digest is that of the project without the file."""
    (project / ".toolkit/toolkit.toml").unlink()
    before = ProjectFiles(project).digest
    files = ProjectFiles(project)
    assert files.read_settings() is None
    rewrite(project / ".toolkit")
    assert (files.digest, files.read_settings()) == (before, None)


def test_links_are_resolved_among_the_entries_that_were_read(project):
    """Swapping a link later leads nowhere else."""
    top = project / ".toolkit"
    (top / "other.toml").write_text('mode = "bypass"')
    (top / "real.toml").write_text('mode = "plan"')
    remove(top)
    (top / "toolkit.toml").symlink_to("real.toml")
    files = ProjectFiles(project)
    assert files.digest
    (top / "toolkit.toml").unlink()
    (top / "toolkit.toml").symlink_to("other.toml")
    assert files.read_settings() == b'mode = "plan"'


def test_a_link_leads_where_the_system_says(project):
    """The user who looks at the file before trusting it sees what is used."""
    top = project / ".toolkit"
    (top / "deep/inner").mkdir(parents=True)
    (top / "folder").symlink_to("deep/inner")
    (top / "rules").write_text("near")
    (top / "deep/rules").write_text("deep")
    (top / "link").symlink_to("folder/../rules")
    entry = ProjectFiles(project).find("link")
    assert entry is not None
    assert entry.data == (top / "link").read_bytes() == b"deep"


@pytest.mark.parametrize("target", ["/etc", "../../../x", "out/../../../x"])
def test_a_link_in_a_deep_folder_that_leads_out_is_refused(project, target):
    folder = project / ".toolkit/deep"
    folder.mkdir()
    (folder / "link").symlink_to(target)
    with pytest.raises(TrustError, match="leads out"):
        _ = ProjectFiles(project).digest


@pytest.mark.parametrize(
    ("target", "content"),
    [
        ("bin/../bin/check.sh", b"exit 0"),
        ("folder/check.sh", b"exit 0"),
        ("PROJECT/.toolkit/bin/check.sh", b"exit 0"),
        ("nowhere", None),
        ("link", None),
    ],
)
def test_a_link_inside_the_folder_leads_to_its_file(project, target, content):
    """This holds also through a link to a folder; a link in a circle leads nowhere."""
    (project / ".toolkit/folder").symlink_to("bin")
    (project / ".toolkit/link").symlink_to(target.replace("PROJECT", str(project)))
    entry = ProjectFiles(project).find("link")
    assert (None if entry is None else entry.data) == content


# Things that are no files. None of them is waited for.


def make_growing(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is not a file"),
        (os.mkdir, "it is not a file"),
        (make_growing, "it is not a file"),
        (lambda path: path.write_bytes(b"x" * 101), "it is larger than 100 bytes"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 2**40), "it is larger than 100 bytes"),
    ],
    ids=["pipe", "folder", "device", "large", "huge"],
)
def test_an_oversized_or_special_file_is_refused_at_once(tmp_path, make, why):
    """At most one byte more than the limit is read."""
    make(tmp_path / "file")
    with pytest.raises(ValueError, match=why):
        read_regular_file(tmp_path / "file", 100)


def test_a_file_that_grows_during_a_read_is_cut_off(tmp_path):
    """The reader asks for a number of bytes, not for the end of the file."""
    path, is_over = tmp_path / "file", threading.Event()
    path.touch()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not is_over.is_set():
                file.write(b"x" * 4096)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        while path.stat().st_size < 100_000:
            pass
        with pytest.raises(ValueError, match="larger than"):
            read_regular_file(path, 1000)
    finally:
        is_over.set()
        writer.join()


@pytest.mark.parametrize("name", ["toolkit.toml", "skills", "bin/check.sh"])
def test_a_pipe_in_the_folder_is_an_error_and_does_not_block(project, name):
    (project / ".toolkit" / name).unlink(missing_ok=True)
    os.mkfifo(project / ".toolkit" / name)
    with pytest.raises(TrustError, match="neither a file nor a folder"):
        Trust(project.parent / "trust.json").trust(project)


def test_an_unknown_project_is_not_read_whole(project, monkeypatch):
    """Only its settings are read, because no other file of it can count."""
    for number in range(3000):
        (project / ".toolkit/bin" / str(number)).touch()
    files = ProjectFiles(project)
    files.read_settings()
    assert Trust(project.parent / "trust.json").state(files) == "unknown"
    assert "entries" not in vars(files)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.long
def test_no_content_counts_that_was_swapped_in(tmp_path, kind, way):
    """A short form of `python -m benchmarks.raced_trust`: another process swaps the file all the time."""
    outcomes = race(KINDS[kind], way, tmp_path, lambda loads: loads >= 25)
    assert (outcomes["foreign"], outcomes.total()) == (0, 25)


@pytest.mark.parametrize("kind", ["settings", "hook scripts"])
def test_no_content_counts_that_was_renamed_into_its_place(tmp_path, kind):
    """The shortest form, for each run of the tests."""
    assert race(KINDS[kind], "rename", tmp_path, lambda loads: loads >= 10)["foreign"] == 0
