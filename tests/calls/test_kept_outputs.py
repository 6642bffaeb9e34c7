"""Results that were cut are kept in their session: within limits, masked, and for that session alone."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import weakref
from typing import Annotated

import pytest

from toolkit import (
    Catalog,
    Dispatcher,
    JsonPart,
    Permissions,
    ResourcePart,
    Secret,
    Session,
    TextPart,
    Tool,
    ToolResult,
)
from toolkit.builtin import forget_outputs, read_output_for
from toolkit.calls.kept_outputs import READER_KEY, OutputMemory, SessionOutputs, output_memory
from toolkit.decisions import Decision

pytestmark = pytest.mark.anyio

LOG = "\n".join(f"line {number} of the log" for number in range(1000))


def make_dispatcher(*functions, reader=True, **options) -> Dispatcher:
    catalog = Catalog(*functions)
    if reader:
        catalog.add(read_output_for())
    return Dispatcher(catalog, **{"max_chars": 1000, **options})


def log() -> str:
    """Return a long log."""
    return LOG


async def test_the_cut_text_names_a_handle():
    """Oversized results are kept for read-back: the cut text names a handle."""
    session = Session()
    result = await make_dispatcher(log).call("log", {}, session=session)
    line_count, handle, offset = re.search(
        r'\[truncated: (\d+) of 1,000 lines; read_output\(handle="(output_\w{12})", offset=(\d+)\) has the rest\]$',
        result.text,
    ).groups()
    assert (result.truncated, len(result.text) <= 1000, result.value == result.text) == (True, True, True)
    assert result.text.startswith(LOG[: int(offset)] + "[truncated: ")
    assert LOG[: int(offset)].count("\n") == int(line_count)
    assert result.metadata == {"output_handle": handle}
    output = output_memory.find(session, handle)
    assert (output.text, output.tool, output.total_chars) == (LOG, "log", len(LOG))


@pytest.mark.parametrize(
    ("options", "session"),
    [
        ({"reader": False}, Session()),
        ({"permissions": Permissions("bypass", ["deny read_output"])}, Session()),
        ({}, None),
    ],
    ids=["no tool", "denied", "no session"],
)
async def test_a_long_text_is_not_kept_if_no_tool_could_read_it(options, session):
    """Without the tool, the permission or a session, the text is cut."""
    result = await make_dispatcher(log, **options).call("log", {}, session=session)
    assert re.search(r"\n\[truncated: \d+ of 1,000 lines\]$", result.text)
    assert result.metadata is None
    assert session is None or session.state == {}


async def test_a_result_that_fits_is_not_touched():
    """A plain call whose result fits stores nothing."""
    session = Session()
    result = await make_dispatcher(log, max_chars=len(LOG)).call("log", {}, session=session)
    assert (result.text, result.metadata, session.state) == (LOG, None, {})


async def test_the_name_in_the_text_is_that_of_the_catalog():
    """A prefixed tool is named as the model has to call it."""
    dispatcher = Dispatcher(Catalog(log, read_output_for()).prefixed("my_"), max_chars=1000)
    assert "my_read_output(handle=" in (await dispatcher.call("my_log", {}, session=Session())).text


async def test_too_little_room_for_a_handle():
    """If the limit has no room for the handle, the text says how long it was, and nothing is kept."""
    session = Session()
    result = await make_dispatcher(log, max_chars=60).call("log", {}, session=session)
    assert result.text == f"{LOG[:16]}...\n[truncated: 16 of 19,889 characters]"
    assert session.state == {}


async def test_secrets_are_masked_in_kept_outputs():
    """The shown text and the kept text have the same masks."""

    def connect(key: Annotated[str, Secret]) -> str:
        """Connect."""
        return f"{LOG}\nkey={key} token=hunter2"

    session = Session()
    dispatcher = make_dispatcher(connect, redact=["hunter2"])
    result = await dispatcher.call("connect", {"key": "s3cr3t-key"}, session=session)
    text = output_memory.find(session, result.metadata["output_handle"]).text
    assert "hunter2" not in text
    assert "s3cr3t-key" not in text
    assert text.startswith(LOG)
    page = await dispatcher.call(
        "read_output", {"handle": result.metadata["output_handle"], "offset": -40}, session=session
    )
    assert "hunter2" not in page.text


async def test_structured_results_and_parts_are_kept_whole():
    """The JSON of a structured result is kept, and the content of parts that the text does not show."""

    def rows() -> list[int]:
        """List numbers."""
        return list(range(1000))

    async def pieces() -> ToolResult:
        """Return parts."""
        resource = ResourcePart("memo:1", "z" * 2000)
        parts = [TextPart("x" * 100), TextPart("y" * 2000), JsonPart({"a": 1}), resource]
        return ToolResult("x" * 2000, None, parts=parts)

    session, dispatcher = Session(), make_dispatcher(rows, pieces)
    result = await dispatcher.call("rows", {}, session=session)
    assert result.value == list(range(1000))
    assert output_memory.find(session, result.metadata["output_handle"]).text.endswith(",998,999]")
    result = await dispatcher.call("pieces", {}, session=session)
    text = output_memory.find(session, result.metadata["output_handle"]).text
    assert text == "\n".join(["x" * 2000, "y" * 2000, '{"a":1}', "[resource memo:1]", "z" * 2000])


async def test_a_deferred_text_is_kept():
    """It names a handle as well. A call without a session has no extra work."""

    async def rows() -> list[int]:
        """List numbers."""
        return list(range(1000))

    session, dispatcher = Session(), make_dispatcher(rows)
    result = await dispatcher.call("rows", {}, session=session)
    assert 'read_output(handle="output_' in result.text
    assert output_memory.find(session, result.metadata["output_handle"]).text == result_text(result.value)
    assert (await dispatcher.call("rows", {})).text.endswith(" of 1,000 items]")


def result_text(value: list[int]) -> str:
    return f"[{','.join(map(str, value))}]"


async def test_the_limit_of_the_tool_itself_counts():
    """`max_chars` of the tool itself decides what is cut, and how long a page is."""
    catalog = Catalog(read_output_for())
    catalog.tool(max_chars=400)(log)
    session = Session()
    result = await Dispatcher(catalog).call("log", {}, session=session)
    assert len(result.text) <= 400
    page = await Dispatcher(catalog).call("read_output", {"handle": result.metadata["output_handle"]}, session=session)
    assert len(page.text) <= 400


async def test_a_page_is_never_kept_again():
    """Otherwise reading a long output would make further outputs."""
    session = Session()
    catalog = Catalog(log, Tool.described(read_output_for().function, max_chars=150, metadata={READER_KEY: True}))
    dispatcher = Dispatcher(catalog, max_chars=1000)
    handle = (await dispatcher.call("log", {}, session=session)).metadata["output_handle"]
    page = await dispatcher.call("read_output", {"handle": handle}, session=session)
    assert (page.truncated, page.metadata) == (True, None)


async def test_a_call_that_a_person_approved_is_kept_too():
    """The note of the approval and the cut text fit together."""
    session = Session()

    async def noisy(times: int) -> str:
        """Make noise."""
        return "noise " * times

    dispatcher = make_dispatcher(noisy, permissions=Permissions("default"))
    waiting = await dispatcher.call("noisy", {"times": 1}, session=session)
    decision = Decision.approve(arguments={"times": 1000})
    result = await dispatcher.resume(waiting.request.id, decision, session=session)
    assert len(result.text) <= 1000
    assert output_memory.find(session, result.metadata["output_handle"]).text == "noise " * 1000


async def test_a_tool_cannot_choose_the_handle_of_its_result():
    """The handle in the metadata is the dispatcher's."""

    async def forge() -> ToolResult:
        """Name a handle."""
        return ToolResult("x" * 2000, metadata={"output_handle": "output_0"})

    result = await make_dispatcher(forge).call("forge", {}, session=Session())
    assert result.metadata["output_handle"] in result.text


@pytest.mark.parametrize("returned", [LOG, list(range(5000))], ids=["text", "list"])
async def test_one_principal_cannot_read_the_outputs_of_another(returned):
    """Several principals may share a session, and each reads only the outputs of its own calls."""

    async def fetch() -> str | list[int]:
        """Fetch much."""
        return returned

    dispatcher, session = make_dispatcher(fetch), Session()
    result = await dispatcher.call("fetch", {}, session=session, principal="ada")
    assert result.truncated
    handle = {"handle": result.metadata["output_handle"]}
    for options in ({"principal": "bob"}, {}):
        assert (await dispatcher.call("read_output", handle, session=session, **options)).kind == "failed"
    own = await dispatcher.call("fetch", {}, session=session, principal="bob")
    assert own.truncated
    for principal in ("ada", "bob"):  # the same text has the same handle
        assert (await dispatcher.call("read_output", handle, session=session, principal=principal)).kind == "ok"


@pytest.mark.parametrize("options", [{"principal": "ada"}, {}], ids=["named", "not named"])
async def test_a_call_without_a_principal_acts_for_that_of_its_session(options):
    dispatcher, session = make_dispatcher(log), Session(principal="ada")
    handle = {"handle": (await dispatcher.call("log", {}, session=session)).metadata["output_handle"]}
    assert (await dispatcher.call("read_output", handle, session=session, **options)).kind == "ok"


@pytest.mark.parametrize("has_session", [False, True])
async def test_the_result_of_a_resume_names_a_handle_only_if_the_session_was_given(has_session):
    """Otherwise the session of the resumed call ends with it, and the text could not be read."""
    dispatcher, session = make_dispatcher(Tool.described(log, approval="always")), Session()
    waiting = await dispatcher.call("log", {}, session=session)
    options = {"session": session} if has_session else {}
    result = await dispatcher.resume(waiting.request.id, Decision.approve(by="ada"), **options)
    assert result.truncated
    assert ("output_handle" in (result.metadata or {}), "read_output" in result.text) == (has_session, has_session)


async def test_one_session_cannot_read_the_outputs_of_another():
    """A handle is scoped by session: one session can never read another's."""
    dispatcher, ada, bob = make_dispatcher(log), Session(), Session()
    handle = (await dispatcher.call("log", {}, session=ada)).metadata["output_handle"]
    assert output_memory.find(bob, handle) is None
    assert output_memory.find(None, handle) is None
    result = await dispatcher.call("read_output", {"handle": handle}, session=bob)
    assert result.kind == "failed"
    assert "is not kept in this conversation" in result.text
    assert LOG[:20] not in result.text


async def test_a_saved_session_does_not_restore_the_outputs():
    """The same id alone reads no output. The error says that the handle is gone, and has the remedy."""
    dispatcher, session = make_dispatcher(log), Session()
    handle = (await dispatcher.call("log", {}, session=session)).metadata["output_handle"]
    result = await dispatcher.call("read_output", {"handle": handle}, session=Session.from_json(session.to_json()))
    assert result.error.message == (
        f"{handle!r} is not kept in this conversation, or not any more; "
        "if the tool that gave the result only reads, call it again, and ask for less"
    )


async def test_outputs_are_forgotten_with_their_session():
    """Forgetting when the session ends, or at once."""
    session = Session()
    # A thread may hold its last call for a moment after the result is there, so the threads are ended.
    async with make_dispatcher(log) as dispatcher:
        handle = (await dispatcher.call("log", {}, session=session)).metadata["output_handle"]
        forget_outputs(session)
        forget_outputs(session)
        assert output_memory.find(session, handle) is None
        await dispatcher.call("log", {}, session=session)
    outputs = next(weakref.ref(value) for value in session.state.values() if isinstance(value, SessionOutputs))
    assert outputs().size_bytes > len(LOG)
    del session
    gc.collect()
    assert outputs() is None


def keep(memory: OutputMemory, session: Session, text: str) -> str:
    return memory.keep(session, text, tool="t", max_chars=1000)


def test_a_session_keeps_a_limited_amount():
    """Bounded memory per session: the output that was used longest ago is dropped first."""
    memory, session = OutputMemory(max_session_bytes=10_000, max_bytes=10**6), Session()
    first, second = (keep(memory, session, letter * 4000) for letter in "ab")
    assert memory.find(session, first) is not None
    third = keep(memory, session, "c" * 4000)
    assert [memory.find(session, handle) is not None for handle in (first, second, third)] == [True, False, True]
    for number in range(300):
        keep(memory, session, str(number))
    assert memory.size_bytes < 10_000 + 300 * 60


def test_all_sessions_keep_a_limited_amount_together():
    """Bounded memory in all: outputs of other sessions go, the oldest first."""
    memory, sessions = OutputMemory(max_session_bytes=10_000, max_bytes=20_000), [Session() for _ in range(5)]
    handles = [keep(memory, session, f"{number}" * 6000) for number, session in enumerate(sessions)]
    assert memory.size_bytes <= 20_000
    there = [memory.find(session, handle) is not None for session, handle in zip(sessions, handles, strict=True)]
    assert there == [False, False, True, True, True]


@pytest.mark.parametrize("letter", ["a", "é", "€", "𝄞"])
def test_a_text_larger_than_the_limit_is_kept_in_part(letter):
    """Its beginning is kept, and its length is known."""
    memory, session = OutputMemory(max_session_bytes=10_000, max_bytes=10**6), Session()
    output = memory.find(session, keep(memory, session, letter * 50_000))
    assert 2000 < len(output.text) < 10_000
    assert output.total_chars == 50_000
    assert memory.size_bytes <= 10_000


def test_the_same_text_is_kept_once():
    """Its handle comes from the text."""
    memory, session = OutputMemory(), Session()
    assert keep(memory, session, "a" * 99) == keep(memory, session, "a" * 99)
    assert keep(memory, Session(), "a" * 99) != keep(memory, session, "b" * 99)
    assert len(session.state["toolkit.kept_outputs"].entries) == 2


def test_two_texts_never_share_a_handle(monkeypatch):
    """This holds also if the short digests are equal, which a hostile page could bring about."""
    from toolkit.calls import kept_outputs

    class Digest:
        def __init__(self, data, digest_size):
            self.data = data

        def hexdigest(self):
            return "0" * 52 + self.data.decode()[:12].rjust(12, "0")

    monkeypatch.setattr(kept_outputs.hashlib, "blake2b", Digest)
    memory, session = OutputMemory(), Session()
    first, second = keep(memory, session, "aaa"), keep(memory, session, "bbb")
    assert [memory.find(session, handle).text for handle in (first, second)] == ["aaa", "bbb"]


# Texts that a tool has cut itself.


def show_ends() -> ToolResult:
    """Show both ends of a log."""
    return ToolResult(f"{LOG[:100]}\n[...]\n{LOG[-100:]}", full_text=LOG)


def read_kept(session, result) -> str:
    """Return what *session* keeps of *result*; empty if nothing."""
    output = output_memory.find(session, (result.metadata or {}).get("output_handle", ""))
    return "" if output is None else output.text


@pytest.mark.parametrize("in_thread", [True, False])
async def test_a_tool_may_return_a_short_and_a_full_text(in_thread):
    """`ToolResult(text, full_text=...)` shows the text, and names the call that reads the full one after the gap."""

    async def show_ends_async() -> ToolResult:
        """Show both ends of a log."""
        return show_ends()

    session = Session()
    function = show_ends if in_thread else show_ends_async
    result = await make_dispatcher(function).call(function.__name__, {}, session=session)
    excerpt = f"{LOG[:100]}\n[...]\n{LOG[-100:]}"
    handle = result.metadata["output_handle"]
    assert result.text == (
        f'{excerpt}\n[the whole text has 19889 chars; read_output(handle="{handle}", offset=100) reads what is left out]'
    )
    assert (result.truncated, result.full_text, output_memory.find(session, handle).text) == (True, None, LOG)


@pytest.mark.parametrize(("max_chars", "is_kept"), [(290, True), (240, True), (100, False)])
async def test_the_line_about_the_whole_text_counts(max_chars, is_kept):
    """A text that has no room for the line is cut for it; one that has no room for a handle stays as it is."""

    def show_start(count: int) -> ToolResult:
        """Show the start of a log."""
        return ToolResult(LOG[:count], full_text=LOG)

    session = Session()
    dispatcher = make_dispatcher(show_start, max_chars=max_chars)
    result = await dispatcher.call("show_start", {"count": min(max_chars, 207)}, session=session)
    assert len(result.text) <= max_chars
    assert read_kept(session, result) == (LOG if is_kept else "")
    assert result.text.endswith(") has the rest]" if is_kept else LOG[:max_chars])


async def test_a_text_that_the_tool_cut_is_unchanged_without_a_reader():
    """The whole text is dropped, and the result does not mention it."""
    result = await make_dispatcher(show_ends, reader=False).call("show_ends", {}, session=Session())
    assert result.text == f"{LOG[:100]}\n[...]\n{LOG[-100:]}"
    assert (result.truncated, result.full_text) == (False, None)


class Scrubber:
    """A hook that changes the text of a result, in place or in a copy, and perhaps the whole text with it."""

    def __init__(self, *, copies: bool, sets_full_text: bool) -> None:
        self.copies = copies
        self.sets_full_text = sets_full_text

    def after(self, call, result: ToolResult) -> ToolResult:
        full_text = result.full_text
        if self.copies:
            result = copy.copy(result)
        result.text = result.text.replace("log", "***")
        if self.sets_full_text:
            result.full_text = full_text.replace("log", "***")
        return result


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("sets_full_text", [True, False])
async def test_a_hook_that_changes_the_text_decides_about_the_kept_text(copies, sets_full_text):
    """Text that a hook removed cannot be read in the full text. The hook gives another one, or none is kept."""
    session = Session()
    dispatcher = make_dispatcher(show_ends, hooks=[Scrubber(copies=copies, sets_full_text=sets_full_text)])
    result = await dispatcher.call("show_ends", {}, session=session)
    assert read_kept(session, result) == (LOG.replace("log", "***") if sets_full_text else "")
    assert "of the log" not in result.text


async def test_secrets_in_the_whole_text_are_masked():
    """A secret that is only in the part left out is masked before the text is kept, and no object holds it."""
    session = Session()
    dispatcher = make_dispatcher(show_ends, redact=["line 500"])
    result = await dispatcher.call("show_ends", {}, session=session)
    text = read_kept(session, result)
    assert ("line 499" in text, "line 500" in text, result.returned) == (True, False, None)


def test_the_whole_text_is_not_part_of_a_stored_result():
    """Its JSON and its pickle do not have it."""
    result = show_ends()
    assert result.full_text == LOG
    assert ToolResult.from_json(result.to_json()).full_text is None
    assert pickle.loads(pickle.dumps(result)).full_text is None
    assert copy.copy(result).full_text == LOG


async def test_a_text_that_is_read_after_forgetting_is_not_kept_again():
    """The text of a call in a session is written when the call ends, not when a program first reads it."""

    async def numbers() -> list[int]:
        """Return many numbers."""
        return list(range(2000))

    session = Session()
    dispatcher = make_dispatcher(numbers)
    result = await dispatcher.call("numbers", {}, session=session)
    size_bytes = output_memory.size_bytes
    forget_outputs(session)
    assert result.text.startswith("[0,1,2,")
    assert "read_output" in result.text
    assert output_memory.size_bytes <= size_bytes
    assert not any(isinstance(value, SessionOutputs) for value in session.state.values())
    later = await dispatcher.call("numbers", {}, session=session)
    assert read_kept(session, later).endswith(",1999]")
    assert "read_output" in later.text
    assert read_kept(session, later).endswith(",1999]")
