"""
A preview shows all of what a call will do, or says that it is cut. Without a preview there is no question.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading

import pytest

from toolkit.approvals.previews import Preview, PreviewFailed, combined, file_change, find_changed_paths, preview_of
from toolkit.concurrency.thread_pool import ThreadPool
from toolkit.decisions import Precondition
from toolkit.policies.redaction import Redaction
from toolkit.results import ToolCall
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def threads():
    """Where sync previews run."""
    pool = ThreadPool(2)
    yield pool
    pool.close()


@pytest.fixture
def build_preview(threads):
    """Ask a tool with the given `preview=` what it is about to do."""

    async def act(items: list[int]) -> None:
        """Act."""

    async def ask(preview, arguments=None, **options):
        tool = Tool.described(act, **({"preview": preview} if preview else {}))
        return await preview_of(tool, arguments or {"items": [1]}, in_thread=threads.run, **options)

    return ask


async def coroutine(arguments):
    await asyncio.sleep(0)
    return f"{len(arguments['items'])} items"


def later(arguments):
    return coroutine(arguments)


@pytest.mark.parametrize(
    ("preview", "text"),
    [
        (None, ""),
        (lambda arguments: None, ""),
        (lambda arguments: "remove all", "remove all"),
        (lambda arguments: {"removed": [1, "é"]}, '{\n  "removed": [\n    1,\n    "é"\n  ]\n}'),
        (lambda arguments: Preview(text="as it is"), "as it is"),
        (coroutine, "1 items"),
        (later, "1 items"),
        (lambda arguments: "\x1b[2Jp\u0430y\n\tok", "\\x1b[2Jp‹\u0430 U+0430›y\n\tok"),
    ],
    ids=["no preview", "nothing", "text", "json", "preview", "async", "sync that gives a coroutine", "hostile text"],
)
async def test_a_preview_shows_the_text_of_the_tool(build_preview, preview, text):
    """It may be text, JSON, a Preview or None, sync or async. Hidden characters are made visible."""
    assert await build_preview(preview) == Preview(text=text)


async def preview_session_id(arguments, *, call):
    return call.session.id


@pytest.mark.parametrize("preview", [lambda arguments, call: call.session.id, preview_session_id])
async def test_a_preview_that_wants_the_call_gets_a_copy(build_preview, preview):
    """A tool with a state of its own finds its session there."""
    call = ToolCall("act", session=Session(id="s1"))
    assert (await build_preview(preview, call=call)).text == "s1"
    calls = []
    await build_preview(lambda arguments, call: calls.append(call), call=call)
    assert calls[0] is not call


async def test_a_precondition_that_the_tool_checks_is_skipped():
    """A precondition of an unknown kind does not hold."""
    conditions = [Precondition(path=f"/{kind}", sha256="0" * 64, kind=kind) for kind in ("tool", "moon")]
    assert find_changed_paths(conditions) == ["/moon"]


async def test_a_preview_gets_a_copy_of_the_arguments(build_preview):
    arguments = {"items": [1]}
    await build_preview(lambda copied_arguments: copied_arguments["items"].append(2), arguments)
    assert arguments == {"items": [1]}


async def test_a_sync_preview_runs_in_a_thread(build_preview):
    preview = await build_preview(lambda arguments: threading.current_thread().name)
    assert preview.text == "toolkit"


def failing(arguments):
    raise ValueError("bad \x1b[2J luck")


def exiting(arguments):
    raise SystemExit(3)


async def exiting_later(arguments):
    raise SystemExit(3)


async def cancelling(arguments):
    raise asyncio.CancelledError


def unreadable(arguments):
    return file_change("/", "text")


@pytest.mark.parametrize(
    ("preview", "words"),
    [
        (failing, r"ValueError: bad \\x1b\[2J luck"),
        (exiting, "SystemExit: 3"),
        (exiting_later, "SystemExit: 3"),
        (cancelling, "it was cancelled"),
        (lambda arguments: Preview(text=None), "TypeError: the text of a preview has to be text, got NoneType"),
        (unreadable, "/ cannot be compared: it is not a regular file"),
    ],
)
async def test_a_preview_that_fails_fails_closed(build_preview, preview, words):
    """No person is asked without a preview. The message names the tool and the reason."""
    with pytest.raises(PreviewFailed, match=f"the preview of `act` failed, so no person can be asked: {words}"):
        await build_preview(preview)


async def test_arguments_that_cannot_be_copied_have_no_preview(build_preview):
    """The call would share them."""
    with pytest.raises(PreviewFailed, match="cannot pickle"):
        await build_preview(lambda arguments: "text", {"items": threading.Lock()})


async def test_an_interrupt_in_a_preview_is_raised(build_preview):
    """It was meant for the program."""

    async def interrupt(arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await build_preview(interrupt)


async def test_an_interrupt_in_a_thread_is_an_error_of_the_preview(build_preview):
    """Ctrl-C arrives only in the main thread."""

    def interrupt(arguments):
        raise KeyboardInterrupt

    with pytest.raises(PreviewFailed, match="KeyboardInterrupt"):
        await build_preview(interrupt)


async def test_a_slow_sync_preview_is_abandoned(build_preview, tmp_path):
    """The call does not wait for it after its time, and it still may not write."""
    go_on, ended, path = threading.Event(), threading.Event(), tmp_path / "file"

    def slow(arguments):
        go_on.wait()
        try:
            path.write_text("late")
        finally:
            ended.set()

    # Long enough for its thread to begin: what has not begun is called off.
    with pytest.raises(PreviewFailed, match=r"it took longer than 0\.5 s"):
        await build_preview(slow, seconds=0.5)
    go_on.set()
    assert await asyncio.to_thread(ended.wait, 10)
    assert not path.exists()


async def test_a_slow_async_preview_is_cancelled(build_preview):
    """A preview that does not end is abandoned."""
    cancelled = asyncio.Event()

    async def stubborn(arguments):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise ValueError("not reported") from None

    with pytest.raises(PreviewFailed, match="took longer"):
        await build_preview(stubborn, seconds=0.01)
    await cancelled.wait()


async def test_cancelling_the_caller_cancels_the_preview(build_preview):
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def waiting(arguments):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    asking = asyncio.create_task(build_preview(waiting))
    await started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await cancelled.wait()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("swallows", [False, True])
async def test_a_preview_that_writes_fails(build_preview, tmp_path, is_async, swallows):
    """Whether it minds or not, nothing is written."""

    def write(arguments):
        try:
            (tmp_path / "file").write_text("written")
        except OSError:
            if not swallows:
                raise
        return "all is well"

    async def write_later(arguments):
        return write(arguments)

    with pytest.raises(PreviewFailed, match="a preview may only read, and this one tried to open .*file"):
        await build_preview(write_later if is_async else write)
    assert os.listdir(tmp_path) == []


async def test_a_long_preview_is_cut_with_a_note_at_its_beginning(build_preview):
    """The preview is marked as cut, so that no grant is offered."""
    preview = await build_preview(lambda arguments: "x" * 5000, max_chars=100)
    first, rest = preview.text.split("\n", 1)
    assert first == "preview cut: 100 of 5,000 characters shown; it cannot be granted for the session"
    assert (rest, preview.is_cut) == ("x" * 100, True)


async def test_a_preview_that_escapes_make_too_long_is_cut(build_preview):
    preview = await build_preview(lambda arguments: "\x00" * 30, max_chars=100)
    assert preview.text.startswith("preview cut: 100 of 120 characters shown;")
    assert preview.is_cut


async def test_secrets_are_masked_before_anything_is_done_to_the_text(build_preview):
    """Half of one, or one with its letters marked, would not be recognised any more."""
    secret = "p\u0430ss\tword"
    redact = Redaction([secret]).mask_text
    whole = await build_preview(lambda arguments: f"with {secret}", redact=redact)
    assert whole.text == "with [redacted]"
    cut = await build_preview(lambda arguments: f"with {secret} and more", redact=redact, max_chars=10)
    assert cut.text.endswith("\nwith [reda")

    def fail(arguments):
        raise ValueError(secret)

    with pytest.raises(PreviewFailed, match=r"ValueError: \[redacted\]"):
        await build_preview(fail, redact=redact)


async def test_a_preview_of_just_the_length_is_whole(build_preview):
    """The limit is what may be shown."""
    assert await build_preview(lambda arguments: "x" * 100, max_chars=100) == Preview(text="x" * 100)


async def test_a_preview_that_its_author_cut_has_a_note(build_preview):
    """The first line has the note once, whether the author or the library cut the preview."""
    preview = await build_preview(lambda arguments: Preview(text="a part", is_cut=True))
    assert preview.text == "preview cut: its author left something out; it cannot be granted for the session\na part"
    again = await build_preview(lambda arguments: preview)
    assert again == preview


def test_a_change_of_a_file_is_a_diff(tmp_path):
    """The precondition has the digest of the current content."""
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    preview = file_change("notes.txt", "one\n2\n", root=tmp_path)
    assert preview.text == "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    real = str(tmp_path.resolve() / "notes.txt")
    assert preview.preconditions == (Precondition(path=real, sha256=hashlib.sha256(b"one\ntwo\n").hexdigest()),)
    assert find_changed_paths(preview.preconditions) == []
    (tmp_path / "notes.txt").write_text("three")
    assert find_changed_paths(preview.preconditions) == [real]


def test_a_new_file_must_still_be_new(tmp_path):
    """The precondition of a file that is not there is that it is not there."""
    preview = file_change(tmp_path / "folder" / "new.txt", b"text", shown_as="new.txt")
    assert preview.text == "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+text\n\\ No newline at end of file\n"
    assert preview.preconditions[0].sha256 is None


def test_the_preview_of_a_removal_shows_the_file(tmp_path):
    (tmp_path / "old.txt").write_text("gone\n")
    assert file_change("old.txt", None, root=tmp_path).text.endswith("+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n")


def test_a_preview_says_where_a_link_leads(tmp_path):
    """The file behind the link is what the call changes."""
    root = tmp_path.resolve()
    (root / "secret").write_text("a\n")
    (root / "harmless").symlink_to("secret")
    preview = file_change("harmless", "b\n", root=root)
    assert preview.text.startswith(f"harmless leads to {root}/secret\n--- a/harmless\n")
    assert preview.preconditions[0].path == f"{root}/secret"


def test_two_dots_after_a_link_lead_to_the_parent_of_its_target(tmp_path):
    """The system reads such a path in the same way."""
    root = tmp_path.resolve()
    (root / "there" / "inner").mkdir(parents=True)
    (root / "link").symlink_to("there/inner")
    preview = file_change("link/../new", "x", root=root)
    assert preview.preconditions[0].path == f"{root}/there/new"
    assert preview.text.startswith(f"link/../new leads to {root}/there/new\n")


def test_a_relative_path_without_a_root_starts_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert file_change("new", "x").preconditions[0].path == str(tmp_path.resolve() / "new")


def test_the_preview_of_an_executable_file_has_a_note_before_its_diff(tmp_path):
    (tmp_path / "run").write_text("a\n")
    (tmp_path / "run").chmod(0o700)
    assert file_change("run", "b\n", root=tmp_path).text.startswith("run can be executed (mode 700)\n--- a/run\n")


def test_a_file_too_large_to_compare_is_measured(tmp_path):
    """Both sizes are said, and the precondition holds for all of it."""
    (tmp_path / "large").write_bytes(b"x" * 2_500_000)
    preview = file_change("large", "small", root=tmp_path)
    assert preview.text.startswith("large is too large to be compared: 2,500,000 bytes (sha256 ")
    assert "before, 5 bytes" in preview.text
    assert find_changed_paths(preview.preconditions) == []


def test_a_hostile_name_stays_on_its_line(tmp_path):
    """Otherwise it could imitate a header."""
    preview = file_change("a\n+++ b/safe\x1b[2J", "x\n", root=tmp_path)
    assert preview.text.startswith("--- /dev/null\n+++ b/a\\n+++ b/safe\\x1b[2J\n@@")


@pytest.mark.parametrize("path", ["/", "a\0b", "/etc/passwd/x"])
def test_a_path_that_is_not_a_file_cannot_be_previewed(path):
    with pytest.raises(PreviewFailed, match="cannot be compared"):
        file_change(path, "text")


def test_text_that_cannot_be_encoded_is_still_shown(tmp_path):
    """Half a surrogate pair is no reason to see nothing."""
    assert "not compared as text" in file_change("f", "\ud800", root=tmp_path).text


def test_combined_previews_keep_their_order_and_each_precondition_once(tmp_path):
    first, second = (file_change(name, "x\n", root=tmp_path) for name in ("one", "two"))
    both = combined(first, second, first, Preview(text=""))
    assert both.text == f"{first.text}\n\n{second.text}\n\n{first.text}"
    assert both.preconditions == (*first.preconditions, *second.preconditions)
    assert not both.is_cut


def test_a_cut_part_makes_the_whole_cut():
    """Said in the first line of the whole."""
    both = combined(Preview(text="all"), Preview(text="part", is_cut=True))
    assert both.text.split("\n\n") == [
        "preview cut: a part of it is not whole; it cannot be granted for the session",
        "all",
        "part",
    ]
    assert both.is_cut
