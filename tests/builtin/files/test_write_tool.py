"""
`write` puts a whole file where it belongs, keeps what the old one was like, and shows the difference.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit import BadArgs, Catalog, Context, Decision, Dispatcher, Permissions, Session, ToolError
from toolkit._plumbing.wording import format_count
from toolkit.builtin.files.changes import digest, remember_digest
from toolkit.builtin.files.read_tool import read_for
from toolkit.builtin.files.write_tool import write_for
from toolkit.decisions import Changed, Precondition
from toolkit.workspace import Workspace

from ..patching import apply_diff

pytestmark = pytest.mark.anyio

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40) | st.text(
    st.sampled_from("ab\n\r +-\\"), max_size=40
)
PATIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def workspace(tmp_path):
    """A scratch folder."""
    return Workspace(tmp_path, max_read_bytes=1_000_000, max_write_bytes=500_000)


@pytest.fixture
def dispatcher(workspace):
    """Makes dispatchers with `read` and `write`, in a mode."""
    catalog = Catalog()
    catalog.add(read_for(workspace))
    catalog.add(write_for(workspace))
    return lambda mode: Dispatcher(catalog, permissions=Permissions(mode), safety=workspace.safety())


@pytest.fixture
def write(dispatcher):
    """Write without being asked."""
    auto = dispatcher("auto")

    async def call(content, path="a.txt", session=None):
        return await auto.call("write", {"path": path, "content": content}, session=session)

    return call


def by_hand(workspace, *preconditions):
    """Return the function, and a context in which a person has agreed to something."""
    tool = write_for(workspace)
    context = Context(facts=tool.facts)
    context.permissions.preconditions = preconditions
    return tool.function, context


def test_write_is_not_read_only_and_not_destructive(workspace):
    """It asks in default mode and not in auto mode."""
    facts = write_for(workspace).facts
    assert (facts.read_only, facts.destructive, facts.group) == (False, False, "files")


async def test_a_new_file_is_written_with_its_folders(tmp_path, write):
    """The answer says how much went where, and shows all of it."""
    result = await write("one\ntwo\n", "src/new/a.txt")
    assert (tmp_path / "src/new/a.txt").read_text() == "one\ntwo\n"
    assert result.text == (
        "Wrote 8 bytes to src/new/a.txt\n--- /dev/null\n+++ b/src/new/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        "(made folders: src, src/new)"
    )


async def test_an_old_file_is_replaced_and_keeps_its_mode(tmp_path, write):
    """The result shows the difference, and an absolute path is shown short."""
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    file.chmod(0o750)
    result = await write("one\n2\n", str(file))
    assert file.read_text() == "one\n2\n"
    assert file.stat().st_mode & 0o777 == 0o750
    assert result.text == "Wrote 6 bytes to a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2"


async def test_writing_the_same_content_is_reported_as_no_change(tmp_path, write):
    (tmp_path / "a.txt").write_text("one\n")
    assert (await write("one\n")).text == "Wrote 4 bytes to a.txt\nno change: a.txt has this content already"


@pytest.mark.unmeasured
@PATIENT
@given(texts)
async def test_written_text_is_read_back(tmp_path, write, dispatcher, text):
    """Every byte comes back with any newlines, and `read` shows every line."""
    (tmp_path / "a.txt").unlink(missing_ok=True)
    result = await write(text)
    data = text.encode()
    assert (tmp_path / "a.txt").read_bytes() == data
    assert result.text.startswith(f"Wrote {format_count(len(data), 'byte')} to a.txt\n")
    read = await dispatcher("plan").call("read", {"path": "a.txt"})
    *lines, note = read.text.split("\n")
    back = "\n".join(line.partition("\t")[2] for line in lines) + "\n" * (bool(lines) and "no newline" not in note)
    assert back == text.removeprefix("\ufeff").replace("\r\n", "\n")


@pytest.mark.unmeasured
@PATIENT
@given(old=texts, new=texts)
async def test_the_difference_turns_the_old_into_the_new(tmp_path, write, old, new):
    """The diff applied to the old file gives the new one."""
    (tmp_path / "a.txt").write_bytes(old.encode())
    diff = (await write(new)).text.partition("\n")[2]
    assert apply_diff(old, diff).encode() == (tmp_path / "a.txt").read_bytes()


@pytest.mark.parametrize(
    ("old", "content", "new", "note"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n", "(the file keeps its CRLF line endings)"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n", None),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n", None),
        (b"a\nb\n", "x\r\ny\r\n", b"x\r\ny\r\n", None),
        (
            "ü\n".encode("utf-16"),
            "ä\n",
            "ä\n".encode("utf-16"),
            "(the file keeps its encoding, UTF-16 (little-endian))",
        ),
        ("ü\n".encode("cp1252"), "ä\n", "ä\n".encode("cp1252"), "(the file keeps its encoding, Windows-1252)"),
        ("ü\n".encode("cp1252"), "日\n", "日\n".encode(), "(it is UTF-8 now; Windows-1252 cannot hold the content)"),
        (b"\0\1\2", "text", b"text", None),
    ],
)
async def test_a_write_keeps_the_line_endings_and_the_encoding_of_a_file(tmp_path, write, old, content, new, note):
    """The result says what was kept, or that the encoding could not be kept."""
    (tmp_path / "a.txt").write_bytes(old)
    result = await write(content)
    assert (tmp_path / "a.txt").read_bytes() == new
    assert f"Wrote {len(new)} bytes" in result.text
    assert (result.text.split("\n")[-1] == note) if note else ("(" not in result.text.replace("(sha256", ""))


async def test_a_long_diff_is_cut_between_lines_with_a_note(tmp_path, write):
    result = await write("0123456789\n" * 4000)
    assert not result.truncated
    assert result.text.split("\n")[-2] == "+0123456789"
    assert result.text.endswith("more lines]")
    assert 29_000 < len(result.text) < 31_000
    shown_lines = result.text.count("+0123456789")
    assert f"... [diff cut: {4000 - shown_lines:,} more lines]" in result.text


@pytest.mark.parametrize(
    ("content", "words"),
    [("a\0b", "content: it holds a NUL character at position 1"), ("\ud800", "half of a surrogate pair at position 0")],
)
def test_a_character_that_no_text_file_can_hold_is_refused(workspace, content, words):
    """The error has its place, and no file is written."""
    function, context = by_hand(workspace)
    with pytest.raises(BadArgs, match=words):
        function("a.txt", content, context=context)
    assert os.listdir(workspace.root) == []


async def test_text_that_no_file_can_hold_is_refused_without_asking(dispatcher):
    """The arguments are refused before a person is bothered."""
    result = await dispatcher("default").call("write", {"path": "a.txt", "content": "a\0b"})
    assert result.kind == "bad_args"


async def test_a_file_that_is_too_large_is_not_replaced(tmp_path, write):
    """The user could not be shown what is lost; nor is more written than the workspace permits."""
    (tmp_path / "big").write_bytes(b"x" * 1_000_001)
    large = await write("y", "big")
    assert "big has 1,000,001 bytes, and files of more than 1,000,000 are not changed here" in large.text
    assert "no more than 500,000 are written" in (await write("y" * 600_000)).text
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("folder", "failed"), ("a.txt/b", "failed"), ("../a", "safety"), (".env", "safety"), (".git/config", "safety")],
)
async def test_a_forbidden_path_is_not_written(tmp_path, write, path, kind):
    """The paths are folders, files used as folders, and files that are outside or protected."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("old")
    assert (await write("new", path)).kind == kind
    assert (tmp_path / "a.txt").read_text() == "old"


# Approval.


async def test_a_person_is_shown_the_difference_that_a_write_makes(tmp_path, dispatcher):
    """The write is the one that the person approved."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    asking = dispatcher("default")
    waiting = await asking.call("write", {"path": "a.txt", "content": "one\n2\n"})
    assert waiting.request.preview == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    condition = Precondition(path=str(tmp_path / "a.txt"), sha256=digest(b"one\ntwo\n"))
    assert waiting.request.preconditions == (condition,)
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
    done = await asking.resume(waiting.request.id, Decision.approve())
    assert done.text.startswith("Wrote 6 bytes to a.txt\n")


async def test_a_person_is_shown_other_encodings_as_text(tmp_path, dispatcher):
    """Two digests do not tell a person what changes."""
    (tmp_path / "a.txt").write_bytes("grün\n".encode("utf-16"))
    waiting = await dispatcher("default").call("write", {"path": "a.txt", "content": "grau\n"})
    assert "the same, as text:\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-grün\n+grau\n" in waiting.request.preview


async def test_agreement_to_another_file_asks_again(tmp_path, dispatcher):
    """The file changed between the answer and the question."""
    asking = dispatcher("default")
    waiting = await asking.call("write", {"path": "a.txt", "content": "mine\n"})
    (tmp_path / "a.txt").write_text("theirs\n")
    again = await asking.resume(waiting.request.id, Decision.approve())
    assert again.kind == "waiting"
    assert "-theirs\n+mine\n" in again.request.preview
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


@pytest.mark.parametrize("sha256", [None, digest(b"other")])
def test_an_agreement_holds_until_the_write(tmp_path, workspace, sha256):
    """This holds also if the file changes after the last look."""
    (tmp_path / "a.txt").write_text("theirs\n")
    function, context = by_hand(workspace, Precondition(path=str(tmp_path / "a.txt"), sha256=sha256))
    with pytest.raises(Changed, match=r"a\.txt is not as it was when a person agreed"):
        function("a.txt", "mine\n", context=context)
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


def test_an_agreement_is_for_one_file(tmp_path, workspace):
    """A link that leads elsewhere by now is another file."""
    (tmp_path / "b.txt").write_text("theirs\n")
    (tmp_path / "a.txt").symlink_to("b.txt")
    function, context = by_hand(workspace, Precondition(path=str(tmp_path / "a.txt"), sha256=digest(b"theirs\n")))
    with pytest.raises(Changed):
        function("a.txt", "mine\n", context=context)


class Busy(Workspace):
    """A workspace in which another program writes between every look and every write."""

    def write(self, path, data, *, expected=...):
        with open(os.path.join(self.root, path), "a") as file:
            file.write("theirs\n")
        return super().write(path, data, expected=expected)

    def stat(self, path):
        with open(os.path.join(self.root, path), "a") as file:
            file.write("theirs\n")
        return super().stat(path)


def test_a_write_in_between_is_not_overwritten(tmp_path):
    """The user was not asked, so the call does not ask again: the model reads the file as it is now."""
    function, context = by_hand(Busy(tmp_path))
    with pytest.raises(ToolError, match="changed by another program just now") as caught:
        function("a.txt", "mine\n", context=context)
    assert not isinstance(caught.value, Changed)
    assert (tmp_path / "a.txt").read_text() == "theirs\n" * 2


def test_a_write_in_between_asks_again(tmp_path):
    """The approved difference is not the one that would happen."""
    function, context = by_hand(Busy(tmp_path), Precondition(path=str(tmp_path / "a.txt"), sha256=digest(b"theirs\n")))
    with pytest.raises(Changed):
        function("a.txt", "mine\n", context=context)
    assert (tmp_path / "a.txt").read_text() == "theirs\n" * 2


# What the session has read.


async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(tmp_path, dispatcher, write):
    """The model has to read the file again first."""
    auto, session = dispatcher("auto"), Session()
    (tmp_path / "a.txt").write_text("one\n")
    await auto.call("read", {"path": "a.txt"}, session=session)
    (tmp_path / "a.txt").write_text("theirs\n")
    refused = await write("mine\n", session=session)
    assert refused.kind == "failed"
    assert "a.txt has changed since it was last read here, so nothing was written; read it again" in refused.text
    assert (await write("mine\n", session=Session())).kind == "ok"
    assert (await write("mine\n", session=session)).kind == "failed"
    await auto.call("read", {"path": "./a.txt"}, session=session)
    assert (await write("mine, too\n", session=session)).kind == "ok"


async def test_a_written_file_counts_as_read(tmp_path, write):
    """It can be written again, also after it was removed."""
    session = Session()
    assert (await write("one\n", session=session)).kind == "ok"
    assert (await write("two\n", session=session)).kind == "ok"
    (tmp_path / "a.txt").unlink()
    assert (await write("three\n", session=session)).kind == "ok"
    (tmp_path / "a.txt").write_text("theirs\n")
    assert (await write("four\n", session=session)).kind == "failed"


def test_the_number_of_read_stamps_is_bounded():
    """The oldest go first."""
    session = Session()
    for number in range(10_005):
        remember_digest(session, f"/{number}", "x")
    stamps = session.state["toolkit.read_stamps"]
    assert len(stamps) == 10_000
    assert ("/4" in stamps, "/5" in stamps) == (False, True)


async def test_a_file_whose_stamp_was_dropped_has_to_be_read_before_a_write(tmp_path, write):
    """Otherwise a change by others since then would be lost."""
    session = Session()
    assert (await write("one\n", session=session)).kind == "ok"
    for number in range(10_000):
        remember_digest(session, f"/{number}", "x")
    (tmp_path / "a.txt").write_text("theirs\n")
    refused = await write("two\n", session=session)
    assert "a.txt is not among the 10,000 files that were read last here; read it first" in refused.text
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


async def test_a_write_through_a_link_names_the_file(tmp_path, write):
    """The one that was really written; a plain path needs no such word."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub/a.txt")
    assert (await write("new", path="link")).text.endswith("(link leads to sub/a.txt, and that file was changed)")
    assert "leads to" not in (await write("newer", path="./sub/../sub/a.txt")).text


async def test_a_path_below_a_file_cannot_be_written(tmp_path, write):
    """The error is about writing, and has the remedy."""
    (tmp_path / "file").touch()
    text = (await write("x", path="file/new")).text
    assert "file/new cannot be written: a name on the way to it is a file and no folder; choose another place" in text


# Time.


def test_a_call_whose_time_is_up_writes_no_file(tmp_path, workspace):
    """The time is checked in the last moment before the file is replaced."""
    tool = write_for(workspace)
    with pytest.raises(ToolError, match="the time was up before a.txt was changed"):
        tool.function("a.txt", "new", context=Context(facts=tool.facts, deadline=0.0))
    assert not (tmp_path / "a.txt").exists()


def test_the_write_tool_has_the_time_limit_of_the_workspace(tmp_path):
    assert write_for(Workspace(tmp_path, timeout_seconds=7)).facts.timeout_seconds == 7
