"""A call that needs approval: what a person is asked, and what happens if they answer at once."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Annotated

import pytest

from toolkit.approvals import Approvals, DenyAll, MemoryApprovals, TerminalPrompt
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.results import ToolCall
from toolkit.session import Session
from toolkit.verdicts import Finding, Verdict

pytestmark = pytest.mark.anyio


# What a person is asked.


async def test_a_request_has_the_call_the_principal_and_the_reason(office):
    """A person needs all of them, and an answer is checked against them."""
    approvals = Approvals(clock=lambda: 1000.0, expires_seconds=60)
    session = Session(id="s1")
    result = await office.dispatcher(approvals=approvals).call(
        "burn", {"target": "a"}, id="c1", session=session, principal="ada"
    )
    request = result.request
    assert (result.kind, result.is_error, result.attempts, office.ran) == ("waiting", False, 0, [])
    assert result.text == "waiting for approval: `burn` cannot be undone, and mode `default` asks first"
    assert (request.tool, request.call_id, request.arguments) == ("burn", "c1", {"target": "a", "depth": 1})
    assert (request.session, request.principal) == ("s1", "ada")
    assert (request.created_at, request.expires_at) == (1000.0, 1060.0)
    assert (request.reason, request.asked_by) == (
        "`burn` cannot be undone, and mode `default` asks first",
        ("mode `default`",),
    )
    assert [grant.scope for grant in request.grants] == ["tool"]
    assert approvals.store.get(request.id).request == request


async def test_ids_are_128_random_bits(office):
    """An id cannot be guessed, and no two are the same."""
    dispatcher = office.dispatcher()
    ids = [(await dispatcher.call("burn", {"target": "a"})).request.id for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(len(bytes.fromhex(request_id)) == 16 for request_id in ids)


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": "a", "depth": 1},
        {"depth": 1, "target": "a"},
        {"target": "a"},
        '{"target": "a"}',
        {"target": "a", "depth": "1"},
    ],
    ids=["whole", "another order", "a default", "text", "repaired"],
)
async def test_the_same_call_has_the_same_digest_in_any_form(office, arguments):
    """Canonical arguments are decoded, with defaults, in one order."""
    dispatcher = office.dispatcher()
    first, second = [
        await dispatcher.call("burn", arguments_of_call)
        for arguments_of_call in ({"target": "a", "depth": 1}, arguments)
    ]
    assert first.request.digest == second.request.digest
    assert first.request.id != second.request.id


@pytest.mark.parametrize(
    ("tool", "arguments", "options"),
    [
        ("burn", {"target": "b"}, {}),
        ("wipe", {"target": "a"}, {}),
        ("burn", {"target": "a"}, {"principal": "bob"}),
        ("burn", {"target": "a"}, {"session": Session(id="other")}),
    ],
    ids=["arguments", "tool", "principal", "session"],
)
async def test_another_call_has_another_digest(office, tool, arguments, options):
    """A digest is over the tool, the arguments, the session and the principal."""
    dispatcher = office.dispatcher()
    first = await dispatcher.call("burn", {"target": "a"})
    second = await dispatcher.call(tool, arguments, **options)
    assert first.request.digest != second.request.digest


async def test_repairs_are_shown_and_come_back_with_the_result(office):
    """A person sees what was mended before they agree to it; the model sees it afterwards."""
    dispatcher = office.dispatcher()
    request = (await dispatcher.call("burn", {"target": "a", "depth": "2"})).request
    assert request.arguments["depth"] == 2
    assert len(request.repairs) == 1
    result = await dispatcher.resume(request.id, Decision.approve())
    assert tuple(result.repairs) == request.repairs
    assert office.ran == [("a", 2)]


async def test_secrets_are_masked_for_people_and_kept_for_the_tool(office):
    """They are masked in the request and in the copy of the store. The tool gets the true value."""
    approvals = Approvals()
    dispatcher = office.dispatcher(approvals=approvals)
    result = await dispatcher.call("wipe", {"target": "a hunter2 b", "key": "hunter2"})
    record = approvals.store.get(result.request.id)
    for data in (result.to_json(), record.request.to_json()):
        assert "hunter2" not in json.dumps(data)
    assert result.request.arguments == {"target": "a [redacted] b", "depth": 1, "key": "[redacted]"}
    await dispatcher.resume(result.request.id, Decision.approve())
    assert office.ran == [("a hunter2 b", 1, "hunter2")]


async def test_redacted_text_is_masked_in_requests_and_kept_for_the_tool(office):
    """The dispatcher's rules hold for requests too."""
    dispatcher = office.dispatcher(redact=["s3cret"])
    request = (await dispatcher.call("burn", {"target": "x s3cret"})).request
    assert request.arguments["target"] == "x [redacted]"
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "burnt x [redacted]"
    assert office.ran == [("x s3cret", 1)]


async def test_a_judge_that_asks_without_findings_that_do_is_heard():
    """The call does not run without a question, for any other finding."""
    ran = []
    catalog = Catalog()

    @catalog.tool
    async def act() -> None:
        """Act."""
        ran.append(True)

    class Odd:
        def judge(self, request):
            return Verdict("ask", "an odd judge", "because", (Finding("allow", "a rule", "why not"),))

    dispatcher = Dispatcher(catalog, permissions=Odd())
    result = await dispatcher.call("act")
    assert (result.kind, result.request.asked_by, ran) == ("waiting", ("an odd judge",), [])
    assert (await dispatcher.resume(result.request.id, Decision.approve())).kind == "ok"


# A person who is there.


@pytest.mark.parametrize(
    ("answer", "kind", "ran"),
    [
        (True, "ok", [("a", 1)]),
        (False, "denied", []),
        (None, "waiting", []),
        (Decision.approve(), "ok", [("a", 1)]),
        (Decision.approve(arguments={"target": "b", "depth": 2}), "ok", [("b", 2)]),
        (Decision.deny("not today"), "denied", []),
        ("yes", "internal", []),
        (Decision.approve(arguments={"target": 5}), "waiting", []),
    ],
    ids=["true", "false", "none", "approve", "edit", "deny", "nonsense", "bad edit"],
)
@pytest.mark.parametrize("sealed", [False, True])
async def test_an_asker_decides_at_once(office, answer, kind, ran, sealed):
    """Whether requests are kept or sealed; what is no answer does not let it run."""
    approvals = Approvals(ask=lambda request: answer, key=b"k" * 32 if sealed else None)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran) == (kind, ran)


async def test_an_asker_may_be_async_and_grant_for_the_session(office):
    """The next call is not asked about."""
    requests = []

    async def ask(request):
        requests.append(request)
        return Decision.approve(grant=request.grants[0])

    session = Session()
    dispatcher = office.dispatcher(approvals=Approvals(ask=ask))
    for target in ("a", "b"):
        assert (await dispatcher.call("burn", {"target": target}, session=session)).kind == "ok"
    assert (len(requests), office.ran) == (1, [("a", 1), ("b", 1)])


async def test_a_call_without_a_session_offers_no_grants(office):
    """A grant lasts as long as its session."""
    approvals = Approvals(ask=lambda request: Decision.approve(grant=request.grants[0]) if request.grants else True)
    dispatcher = office.dispatcher(approvals=approvals)
    assert (await dispatcher.call("burn", {"target": "a"})).kind == "ok"
    assert (await office.dispatcher().call("burn", {"target": "a"})).request.grants == ()


async def test_a_call_is_denied_if_no_person_can_answer(office):
    """The model learns why."""
    result = await office.dispatcher(approvals=Approvals(ask=DenyAll())).call("burn", {"target": "a"})
    assert result.kind == "denied"
    assert "there is no person to ask" in result.text


@pytest.mark.parametrize("sealed", [False, True])
async def test_a_failing_asker_leaves_no_request_for_a_later_approval(office, sealed):
    """The model has read that the call failed, so a later answer must not let it run."""
    requests = []

    def ask(request):
        requests.append(request)
        raise RuntimeError("the terminal is gone")

    approvals = Approvals(ask=ask, key=b"k" * 32 if sealed else None)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran, approvals.store.pending()) == ("internal", [], [])
    assert "terminal is gone" in result.text


async def test_a_request_that_cannot_be_withdrawn_is_logged(office, caplog):
    """The result has the first error."""

    class Stuck(MemoryApprovals):
        def settle(self, *args, **options):
            raise RuntimeError("stuck")

    approvals = Approvals(Stuck(), ask=lambda request: 1 / 0)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran) == ("internal", [])
    assert "ZeroDivisionError" in result.text
    assert "could not be withdrawn" in caplog.text


@pytest.mark.parametrize(("typed", "kind"), [("y\n", "ok"), ("n\n", "denied"), ("", "denied")])
async def test_person_at_a_terminal_decides(office, typed, kind):
    """The person sees the arguments first, and no answer is a no."""
    output = io.StringIO()
    prompt = TerminalPrompt(input=io.StringIO(typed), output=output, colour=False, by="ada")
    result = await office.dispatcher(approvals=Approvals(ask=prompt)).call("burn", {"target": "the-barn"})
    assert (result.kind, len(office.ran)) == (kind, int(kind == "ok"))
    assert "the-barn" in output.getvalue()


async def test_call_cancelled_during_its_question_cannot_be_approved_later(office):
    """Its request is closed, and the cancellation is raised."""
    started = asyncio.Event()

    async def ask(request):
        started.set()
        await asyncio.Event().wait()

    approvals = Approvals(ask=ask)
    task = asyncio.ensure_future(office.dispatcher(approvals=approvals).call("burn", {"target": "a"}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (office.ran, approvals.store.pending()) == ([], [])


async def test_call_that_times_out_during_its_question_does_not_run(office):
    """The limit of the call counts while people think."""

    async def ask(request):
        await asyncio.Event().wait()

    approvals = Approvals(ask=ask)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"}, timeout_seconds=0.02)
    assert (result.kind, office.ran, approvals.store.pending()) == ("timeout", [], [])


async def test_a_store_that_cannot_keep_a_request_lets_no_call_run(office):
    """Without a request, no approval is possible."""
    approvals = Approvals(MemoryApprovals(size=1))
    dispatcher = office.dispatcher(approvals=approvals)
    assert (await dispatcher.call("burn", {"target": "a"})).kind == "waiting"
    result = await dispatcher.call("burn", {"target": "b"})
    assert (result.kind, office.ran) == ("internal", [])


# Many calls.


async def test_later_changes_of_a_batch_are_held_back_while_a_call_waits(office):
    """Reading goes on. A change that was held back runs when the caller sends it again."""
    dispatcher = office.dispatcher()
    session = Session()

    @office.catalog.tool
    async def note(text: str, key: Annotated[str, Secret] = "") -> str:
        """Note something."""
        office.ran.append(text)
        return text

    Permissions.grant(session, (await dispatcher.call("note", {"text": "x"}, session=session)).request.grants[0])
    calls = [
        ToolCall("burn", {"target": "a"}, "c1"),
        ToolCall("look", {"target": "b"}, "c2"),
        ToolCall("note", {"text": "c hunter2", "key": "hunter2"}, "c3"),
    ]
    first, second, third = await dispatcher.call_many(calls, session=session)
    assert [result.kind for result in (first, second, third)] == ["waiting", "ok", "waiting"]
    assert (third.request.waits_for, office.ran) == ("c1", ["b"])
    assert "hunter2" not in json.dumps(third.to_json())
    await dispatcher.resume(first.request.id, Decision.approve(), session=session)
    assert (await dispatcher.call(calls[2], session=session)).kind == "ok"
    assert office.ran == ["b", ("a", 1), "c hunter2"]
