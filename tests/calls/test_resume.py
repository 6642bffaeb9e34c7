"""Going on with a call that waits: which answers are accepted, and which are refused."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from tests.calls.shed import KEY, refusal, waiting, with_another_schema
from tests.clocks import Clock
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


# Answers that are taken.


@pytest.mark.parametrize("store", ["memory", "sqlite", "sealed", "sealed JSON"])
async def test_an_approved_call_runs_exactly_as_requested(shed, store, tmp_path):
    """Another dispatcher may resume it, and the request may have been stored elsewhere."""
    factories = {
        "memory": lambda: Approvals(shared),
        "sqlite": lambda: Approvals(SQLiteApprovals(tmp_path / "x.approvals.sqlite")),
    }
    shared = MemoryApprovals()
    make = factories.get(store, lambda: Approvals(key=KEY))
    request = await waiting(shed.dispatcher(make()), id="c7", principal="ada", session=Session(id="s"))
    request_form = {"sealed": request, "sealed JSON": json.loads(json.dumps(request.to_json()))}.get(store, request.id)
    result = await shed.dispatcher(make()).resume(request_form, Decision.approve(by="ada", principal="ada"))
    assert (result.kind, result.text, result.call_id, result.tool) == ("ok", "cut pine", "c7", "cut")
    assert shed.ran == [("pine", 1)]


async def test_the_outcome_of_a_resumed_call_is_stored(shed):
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = await waiting(dispatcher)
    await dispatcher.resume(request, Decision.approve(by="ada"))
    record = approvals.store.get(request.id)
    assert (record.state, record.decided_by) == ("done", "ada")
    assert ToolResult.from_json(record.outcome).text == "cut pine"


async def test_a_denied_call_never_runs_and_the_model_reads_why(shed):
    """The reason is the person's own."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.deny("that tree is a monument"))
    assert result.kind == "denied"
    assert "that tree is a monument" in result.text
    assert shed.ran == []
    assert await refusal(dispatcher, request.id) == "answered"


async def test_a_denial_without_a_reason_names_the_person(shed):
    """The model needs some text."""
    dispatcher = shed.dispatcher()
    result = await dispatcher.resume(await waiting(dispatcher), Decision.deny())
    assert "the user said no" in result.text


# Answers that are not taken.


async def test_an_answer_counts_once(shed):
    """The second is told what came of the first."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    await dispatcher.resume(request.id, Decision.approve())
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request.id, Decision.approve())
    assert (caught.value.why, caught.value.outcome["text"]) == ("answered", "cut pine")
    assert await refusal(dispatcher, request.id, Decision.deny()) == "answered"
    assert shed.ran == [("pine", 1)]


@pytest.mark.parametrize(("seconds", "kind"), [(59, "ok"), (60, "expired"), (1000, "expired")])
async def test_an_answer_after_the_expiry_of_a_request_is_refused(shed, seconds, kind):
    """The clock of the approvals counts."""
    clock = Clock()
    dispatcher = shed.dispatcher(Approvals(clock=clock, expires_seconds=60))
    request = await waiting(dispatcher)
    clock.now += seconds
    if kind == "ok":
        assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
    else:
        assert await refusal(dispatcher, request.id) == kind
        assert shed.ran == []


@pytest.mark.parametrize(
    ("made_for", "decision", "options"),
    [
        ("ada", Decision.approve(), {}),
        ("ada", Decision.approve(principal="bob"), {}),
        ("ada", Decision.approve(), {"principal": "bob"}),
        ("ada", Decision.approve(principal="ada"), {"principal": "bob"}),
        ("ada", Decision.approve(principal="bob"), {"principal": "ada"}),
        ("ada", Decision.deny(principal="bob"), {}),
        (None, Decision.approve(principal="bob"), {}),
        ("ada", Decision.approve(principal=""), {}),
    ],
)
async def test_only_the_principal_of_a_request_may_answer(shed, made_for, decision, options):
    """A principal that is named in two places has to be the same."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, principal=made_for)
    assert await refusal(dispatcher, request.id, decision, **options) == "principal"
    assert shed.ran == []
    good = Decision.approve(principal=made_for)
    assert (await dispatcher.resume(request.id, good)).kind == "ok"


async def test_the_principal_of_the_session_may_answer(shed):
    dispatcher = shed.dispatcher()
    session = Session(principal="ada")
    request = await waiting(dispatcher, session=session)
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "ok"


@pytest.mark.parametrize("made_in", [None, Session(id="one")])
async def test_an_answer_from_another_session_is_refused(shed, made_in):
    """This holds also for a request that belongs to none."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=made_in)
    assert await refusal(dispatcher, request.id, session=Session(id="two")) == "principal"
    assert shed.ran == []


def another(**facts: Any) -> Catalog:
    """Return a catalog with another tool under the same name."""
    catalog = Catalog()

    @catalog.tool(**{"destructive": True, **facts})
    async def cut(wood: str, pieces: int = 1) -> str:
        """Cut wood."""
        raise AssertionError("it must not run")

    return catalog


@pytest.mark.parametrize(
    "make",
    [
        with_another_schema,
        lambda: another(version="2"),
        lambda: another(idempotent=True),
        lambda: another(destructive=False),
        another,
        Catalog,
    ],
    ids=["schema", "version", "facts", "less dangerous", "origin", "gone"],
)
@pytest.mark.parametrize("sealed", [False, True])
async def test_an_approval_is_for_one_version_of_a_tool(shed, make, sealed):
    """Any change of the tool means that a person has to see the request again."""
    shared = MemoryApprovals()
    approvals = [Approvals(key=KEY) if sealed else Approvals(shared) for _ in range(2)]
    request = await waiting(shed.dispatcher(approvals[0]))
    other = Dispatcher(make(), approvals=approvals[1])
    assert await refusal(other, request) == ("forged" if sealed and "cut" in other.catalog else "changed")
    assert shed.ran == []


@pytest.mark.parametrize("name", ["0" * 32, "", "x" * 5000, "../etc", "\ud800", "' OR 1=1 --"])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_an_unknown_id_is_refused(shed, name, store, tmp_path):
    approval_store = MemoryApprovals() if store == "memory" else SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    dispatcher = shed.dispatcher(Approvals(approval_store))
    await waiting(dispatcher)
    assert await refusal(dispatcher, name) == "unknown"


@pytest.mark.parametrize(
    ("waiting_request", "decision"),
    [(5, Decision.approve()), ({"id": "x"}, Decision.approve()), ("x", True), ("x", None)],
)
async def test_resuming_without_a_request_or_a_decision_is_a_type_error(shed, waiting_request, decision):
    with pytest.raises(TypeError, match=r"resume wants|a decision is"):
        await shed.dispatcher().resume(waiting_request, decision)


@pytest.mark.parametrize("field", ["arguments", "identity", "session", "principal", "digest"])
async def test_a_record_that_was_altered_in_the_store_is_refused(shed, field, tmp_path):
    """The digest holds what was asked together."""
    path = tmp_path / "x.approvals.sqlite"
    dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(path)))
    request = await waiting(dispatcher)
    with sqlite3.connect(path) as connection:
        record = json.loads(connection.execute("SELECT record FROM toolkit_approvals").fetchone()[0])
        part = record if field in ("arguments", "identity") else record["request"]
        part[field] = {"wood": "yew", "pieces": 99} if field == "arguments" else "0" * 64
        connection.execute("UPDATE toolkit_approvals SET record = ?", (json.dumps(record),))
    connection.close()
    principal = "0" * 64 if field == "principal" else None
    why = await refusal(dispatcher, request.id, Decision.approve(principal=principal))
    assert why == ("changed" if field == "identity" else "forged")
    assert shed.ran == []


@pytest.mark.parametrize("approved", ["no", 1, None])
def test_a_decision_whose_approved_is_not_a_bool_is_refused(approved):
    """A text that happens to be true may mean no."""
    with pytest.raises(TypeError, match="approved is True or False"):
        Decision(approved=approved)


async def test_an_asker_cannot_answer_for_another_principal(shed):
    approvals = Approvals(ask=lambda request: Decision.approve(principal="mallory"))
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, principal="ada")
    assert (result.kind, shed.ran) == ("internal", [])


async def test_a_request_whose_result_got_lost_is_withdrawn(shed):
    """An after-hook fails, so the caller does not get the request, and a later answer must not let the call run."""

    class Breaks:
        def after(self, call: Any, result: ToolResult) -> ToolResult:
            raise RuntimeError("no")

    store = MemoryApprovals()
    result = await shed.dispatcher(Approvals(store), hooks=[Breaks()]).call("cut", {"wood": "pine"})
    assert (result.kind, store.pending()) == ("internal", [])
