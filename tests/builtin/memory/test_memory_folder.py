"""The default store of the memory tools is a folder of Markdown files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import ToolError
from toolkit.builtin import MemoryFolder, MemoryNote
from toolkit.builtin.memory.memory_folder import _folder_name


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return MemoryFolder(tmp_path / "notes")


def folder_of(store, principal):
    """Return the folder of a principal."""
    return store.path / _folder_name(principal)


def test_notes_are_markdown_files(store):
    """A folder of Markdown files by default, which only their owner can read, and which people may edit."""
    store.save("ada@example.com", MemoryNote(name="tea", text="# Tea\ngreen"))
    (folder,) = store.path.iterdir()
    assert folder.name.startswith("ada-example-com-")
    assert (folder / "tea.md").read_text() == "# Tea\ngreen"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "tea.md").stat().st_mode) == 0o600
    (folder / "milk.md").write_text("oat")
    (folder / "README.txt").write_text("not a note")
    (folder / "Not A Note.md").write_text("not a note")
    assert [(note.name, note.text) for note in store.notes("ada@example.com")] == [
        ("milk", "oat"),
        ("tea", "# Tea\ngreen"),
    ]
    assert store.delete("ada@example.com", "milk") is True
    assert store.delete("ada@example.com", "milk") is False


def test_reading_makes_no_folders(store):
    """A principal without notes leaves no trace."""
    assert store.notes("ada") == []
    assert store.delete("ada", "x") is False
    assert not store.path.exists()


@given(st.lists(st.one_of(st.none(), st.text()), min_size=2, max_size=2, unique=True))
def test_no_two_principals_share_a_folder(principals):
    """Names are safe file names: a folder has its own name also where case does not matter, and is one plain name."""
    first, second = map(_folder_name, principals)
    assert first.casefold() != second.casefold()
    for name in (first, second):
        assert Path(name).name == name
        assert len(os.fsencode(name)) < 100


def test_a_link_to_another_principal_is_not_followed(store, tmp_path):
    """A note that is a link is not read, and writing it does not change the file behind the link."""
    store.save("bob", MemoryNote(name="secret", text="bob's"))
    store.save("ada", MemoryNote(name="own", text="ada's"))
    theirs, mine = folder_of(store, "bob"), folder_of(store, "ada")
    (mine / "stolen.md").symlink_to(theirs / "secret.md")
    (mine / "hard.md").hardlink_to(theirs / "secret.md")
    os.mkfifo(mine / "pipe.md")
    (mine / "folder.md").mkdir()
    assert [note.name for note in store.notes("ada")] == ["own"]
    store.save("ada", MemoryNote(name="stolen", text="mine now"))
    assert (theirs / "secret.md").read_text() == "bob's"


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.notes("eve"),
        lambda store: store.save("eve", MemoryNote(name="secret", text="eve's")),
        lambda store: store.delete("eve", "secret"),
    ],
    ids=["notes", "save", "delete"],
)
def test_a_folder_that_is_a_link_to_another_principal_is_refused(store, use):
    store.save("bob", MemoryNote(name="secret", text="bob's"))
    theirs = folder_of(store, "bob")
    folder_of(store, "eve").symlink_to(theirs)
    with pytest.raises(ToolError, match="is a link or a file, and is not used"):
        use(store)
    assert (theirs / "secret.md").read_text() == "bob's"


@pytest.mark.parametrize("name", ["../bob/secret", "/etc/passwd", "..", "", "a/b", "A"])
def test_a_path_is_not_a_name(store, name):
    """The store itself refuses such names, so path traversal fails for every caller."""
    store.save(None, MemoryNote(name="x", text="y"))
    with pytest.raises(ToolError, match="cannot be the name of a note"):
        store.save(None, MemoryNote(name=name, text="x"))
    with pytest.raises(ToolError, match="cannot be the name of a note"):
        store.delete(None, name)


def test_sizes_are_bounded(tmp_path):
    """Sizes bounded: the length of a note, their number, and what is read of a file that a person made."""
    store = MemoryFolder(tmp_path, max_bytes=10, max_notes=2)
    with pytest.raises(ToolError, match="a note may have 10 bytes, and this one has 12"):
        store.save(None, MemoryNote(name="x", text="é" * 6))
    for name in ("a", "b"):
        store.save(None, MemoryNote(name=name, text=name))
    with pytest.raises(ToolError, match="there are 2 notes already; forget one first"):
        store.save(None, MemoryNote(name="c", text="c"))
    store.save(None, MemoryNote(name="a", text="again"))
    folder = folder_of(store, None)
    (folder / "b.md").write_text("x" * 1000)
    (folder / "c.md").write_text("one too many")
    assert [(note.name, note.text) for note in store.notes(None)] == [("a", "again"), ("b", "x" * 10)]


@pytest.mark.parametrize("options", [{"max_bytes": 0}, {"max_notes": 1.5}, {"max_notes": True}])
def test_an_invalid_limit_is_refused(tmp_path, options):
    with pytest.raises(ValueError, match="has to be a whole number above 0"):
        MemoryFolder(tmp_path, **options)


def test_notes_stay_whole_if_threads_write_at_once(tmp_path):
    """The limit on their number holds, and no temporary file is left."""
    store = MemoryFolder(tmp_path, max_notes=8)
    texts = {f"text {number} " * 200 for number in range(8)}

    def write(item):
        number, text = item
        store.save(None, MemoryNote(name="shared", text=text))
        try:
            store.save(None, MemoryNote(name=f"own-{number}", text=text))
        except ToolError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        written = sum(pool.map(write, enumerate(sorted(texts))))
        notes = [note for _ in range(20) for note in store.notes(None)]
    assert written == 7
    assert all(note.text in texts for note in notes)
    assert [path.name for path in folder_of(store, None).iterdir() if path.name.endswith(".tmp")] == []


WRITER = """
import sys
from toolkit import ToolError
from toolkit.builtin import MemoryFolder, MemoryNote
store = MemoryFolder(sys.argv[1], max_notes=10)
for number in range(10):
    try:
        store.save("ada", MemoryNote(name=f"{sys.argv[2]}-{number}", text="x" * 5000))
    except ToolError:
        pass
"""


@pytest.mark.long
def test_processes_that_write_at_once_keep_the_limit(tmp_path):
    """Concurrent writers: processes count the notes one after the other."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    notes = MemoryFolder(tmp_path).notes("ada")
    assert len(notes) == 10
    assert {note.text for note in notes} == {"x" * 5000}
