"""Previews and preconditions: what a person is shown, and what has to be the same when the call runs."""

from __future__ import annotations

import asyncio

import pytest

from tests.calls.office import Notes
from toolkit.approvals import Approvals, file_change
from toolkit.decisions import Changed, Decision
from toolkit.hooks import Ask
from toolkit.session import Session

pytestmark = pytest.mark.anyio


async def test_a_change_is_shown_as_a_diff_and_bound_to_the_file(tmp_path):
    """The tool finds in its context the version that the person saw."""
    notes = Notes(tmp_path)
    dispatcher = notes.dispatcher()
    request = (await notes.ask(dispatcher)).request
    assert "-old" in request.preview
    assert "+new" in request.preview
    (condition,) = request.preconditions
    assert condition.path == str(notes.path.resolve())
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "written"
    assert notes.seen == [request.preconditions]


async def test_a_file_that_changed_since_the_preview_is_asked_about_again(tmp_path):
    """The new request has the new diff. The old request is closed, and the call has not run."""
    notes = Notes(tmp_path)
    approvals = Approvals()
    dispatcher = notes.dispatcher(approvals=approvals)
    first = (await notes.ask(dispatcher)).request
    notes.path.write_text("changed\n")
    result = await dispatcher.resume(first.id, Decision.approve())
    second = result.request
    assert (result.kind, notes.seen) == ("waiting", [])
    assert "not as it was" in second.reason
    assert "-changed" in second.preview
    assert second.id != first.id
    assert approvals.store.get(first.id).state == "denied"
    assert (await dispatcher.resume(second.id, Decision.approve())).kind == "ok"
    assert notes.path.read_text() == "new\n"


async def test_a_tool_that_finds_a_change_asks_again(tmp_path):
    """`Changed` says that the call has not happened. The person sees the new diff, and the old approval is used up."""
    notes = Notes(tmp_path)
    rounds = []

    @notes.catalog.tool(preview=lambda a: file_change(notes.path, a["text"]))
    async def careful(text: str) -> str:
        """Write with care."""
        rounds.append(text)
        if len(rounds) == 1:
            notes.path.write_text("sneaky\n")
            raise Changed("notes.txt changed just now")
        return "written"

    approvals = Approvals()
    dispatcher = notes.dispatcher(approvals=approvals)
    first = (await dispatcher.call("careful", {"text": "new\n"})).request
    result = await dispatcher.resume(first.id, Decision.approve())
    assert (result.kind, result.request.reason) == (
        "waiting",
        (
            "notes.txt changed just now; "
            "`careful` may change something (it is not `read_only`), and mode `default` asks first"
        ),
    )
    assert "-sneaky" in result.request.preview
    assert approvals.store.get(first.id).state == "done"
    assert (await dispatcher.resume(result.request.id, Decision.approve())).text == "written"


async def test_asker_is_asked_again_at_once(tmp_path):
    """Every request has its outcome in the end."""
    notes = Notes(tmp_path)
    rounds, requests = [], []

    @notes.catalog.tool
    async def careful() -> str:
        """Act with care."""
        rounds.append(True)
        if len(rounds) == 1:
            raise Changed("it changed")
        return "done"

    approvals = Approvals(ask=lambda request: requests.append(request) or True)
    result = await notes.dispatcher(approvals=approvals).call("careful")
    assert (result.text, result.attempts, len(requests)) == ("done", 1, 2)
    assert [approvals.store.get(request.id).state for request in requests] == ["done", "done"]


async def test_an_asker_that_always_agrees_does_not_loop_for_ever(office):
    """A tool that always finds a change ends up waiting."""
    requests = []

    @office.catalog.tool
    async def fickle() -> None:
        """Raise `Changed` every time."""
        raise Changed("again")

    approvals = Approvals(ask=lambda request: requests.append(request) or True)
    result = await office.dispatcher(approvals=approvals).call("fickle")
    assert (result.kind, len(requests)) == ("waiting", 10)


async def test_a_tool_that_changes_its_arguments_does_not_change_the_request(office):
    """The person sees the original arguments, and these run."""
    received = []

    @office.catalog.tool
    async def spoil(items: list[int]) -> None:
        """Spoil it."""
        received.append(list(items))
        items.append(666)
        if len(received) == 1:
            raise Changed("it changed")

    dispatcher = office.dispatcher()
    first = (await dispatcher.call("spoil", {"items": [1]})).request
    second = (await dispatcher.resume(first.id, Decision.approve())).request
    assert second.arguments == {"items": [1]}
    await dispatcher.resume(second.id, Decision.approve())
    assert received == [[1], [1]]


async def test_a_cut_preview_offers_no_grants(tmp_path):
    """A person who has not seen the whole preview can agree to this call only."""
    notes = Notes(tmp_path)
    dispatcher = notes.dispatcher(approvals=Approvals(preview_chars=50))
    request = (await notes.ask(dispatcher, "long\n" * 100, session=Session())).request
    assert request.is_cut
    assert request.preview.startswith("preview cut: ")
    assert request.grants == ()


def writes(arguments):
    with open(arguments["path"], "a") as file:
        file.write("spoilt")


def raises(arguments):
    raise RuntimeError("no idea")


async def hangs(arguments):
    await asyncio.Event().wait()


@pytest.mark.parametrize("preview", [writes, raises, hangs])
async def test_a_call_whose_preview_fails_asks_no_person_and_does_not_run(tmp_path, preview):
    """A preview fails if it raises, takes too long or writes."""
    notes = Notes(tmp_path, preview=preview)
    requests = []
    approvals = Approvals(preview_seconds=0.05, ask=requests.append)
    result = await notes.ask(notes.dispatcher(approvals=approvals))
    assert result.kind == "internal"
    assert "preview of `write` failed" in result.text
    assert (requests, notes.seen, approvals.store.pending(), notes.path.read_text()) == ([], [], [], "old\n")


async def test_a_preview_that_fails_on_resume_is_a_result_too(tmp_path):
    """The file changed and cannot be shown any more: nothing runs, and the old request is closed."""
    is_broken = []
    notes = Notes(tmp_path, preview=lambda a: raises(a) if is_broken else file_change(a["path"], a["text"]))
    dispatcher = notes.dispatcher()
    request = (await notes.ask(dispatcher)).request
    notes.path.write_text("changed\n")
    is_broken.append(True)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, notes.seen) == ("internal", [])


async def test_control_characters_in_texts_for_people_are_made_visible(office):
    """A preview or the reason of a hook cannot repaint the terminal."""

    @office.catalog.tool(preview=lambda a: "a\x1b[2Kb")
    async def act() -> None:
        """Act."""

    class Asks:
        def before(self, call):
            return Ask("really\x1b[1A?")

    request = (await office.dispatcher(hooks=[Asks()]).call("act")).request
    assert "\x1b" not in request.preview + request.reason
