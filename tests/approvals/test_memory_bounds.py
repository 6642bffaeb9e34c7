"""How much approvals in memory may take, and what goes first when there is no more room."""

from __future__ import annotations

import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Dispatcher, Permissions
from toolkit.approvals import ApprovalError, Approvals
from toolkit.approvals.memory_store import MemoryApprovals, PackedRecord
from toolkit.approvals.records import Claim, Record
from toolkit.approvals.seal import RecordSeal
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.results import ToolResult

NOW = 1000.0
LARGE = "x" * 95_000


def record(name, *, arguments=None, expires_at=None):
    """Return a record that is pending, and shows the arguments that it runs."""
    given_arguments = {"path": "a"} if arguments is None else arguments
    request = ApprovalRequest(
        tool="write",
        call_id="c",
        reason="asks",
        created_at=NOW,
        id=name,
        arguments=given_arguments,
        expires_at=expires_at,
    )
    return Record(request=request, arguments=given_arguments, identity="i")


def settle(store, name, text=LARGE, value=...):
    """Let a call be approved, run and end with *text*."""
    assert store.settle(name, Settlement("claimed", by="ada", owner="me", now=NOW))
    outcome = ToolResult(text, text if value is ... else value, call_id="c", tool="write").to_json()
    assert store.finish(name, outcome, owner="me")


def test_a_large_result_is_kept_once():
    """Text and value are mostly the same, so are the arguments that are shown and those that run."""
    store = MemoryApprovals()
    store.add(record("warm"))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        store.add(record("one", arguments={"text": LARGE}))
        settle(store, "one")
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2 * len(LARGE) + 10_000
    stored = store.get("one")
    assert stored.arguments == {"text": LARGE}
    assert (stored.outcome["text"], stored.outcome["value"]) == (LARGE, LARGE)


def test_ten_thousand_large_results_stay_within_the_limit():
    """The oldest ones that are over go first, and a second answer to a younger one is still told the outcome."""
    store = MemoryApprovals(max_bytes=1_000_000)
    for number in range(100):
        store.add(record(str(number)))
        settle(store, str(number))
    numbers = [number for number in range(100) if store.get(str(number))]
    assert numbers == list(range(100 - len(numbers), 100))
    assert 5 <= len(numbers) <= 10
    assert sum(PackedRecord(store.get(str(number))).size for number in numbers) <= 1_000_000


def test_waiting_and_running_requests_are_never_dropped_for_room():
    """A new request is refused instead, and the error names the option."""
    store = MemoryApprovals(max_bytes=250_000)
    store.add(record("waits", arguments={"text": LARGE}))
    store.add(record("runs", arguments={"text": LARGE}))
    store.settle("runs", Settlement("claimed", by=None, owner="me", now=NOW))
    with pytest.raises(ApprovalError, match=r"the request takes 9\d,\d+ bytes.*max_bytes=") as caught:
        store.add(record("new", arguments={"text": LARGE}))
    assert caught.value.why == "store"
    assert store.get("new") is None
    assert [request.id for request in store.pending(now=NOW)] == ["waits"]
    assert store.get("runs").state == "claimed"


def test_an_outcome_without_room_is_shortened_with_a_note():
    """The kind of the outcome is always kept, because the call has run."""
    store = MemoryApprovals(max_bytes=30_000)
    store.add(record("one"))
    settle(store, "one", value={"lines": [LARGE]})
    outcome = ToolResult.from_json(store.get("one").outcome)
    assert (outcome.kind, outcome.value, outcome.truncated) == ("ok", {}, True)
    assert outcome.text.startswith("xxx")
    assert "max_bytes" in outcome.text


def test_used_requests_that_travel_are_remembered_without_their_outcomes():
    """A forgotten request could be used again, so only its outcome is dropped."""
    store = MemoryApprovals(max_bytes=250_000, until_expired=True)
    for number in range(20):
        store.add(record(str(number), expires_at=NOW + 10))
        settle(store, str(number))
    assert [store.get(str(number)).state for number in range(20)] == ["done"] * 20
    assert not store.settle("0", Settlement("claimed", by=None, owner="me", now=NOW))


def test_a_limit_of_0_bytes_is_refused():
    with pytest.raises(ValueError, match="max_bytes has to be at least 1, got 0"):
        MemoryApprovals(max_bytes=0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=3)


@given(
    shown_arguments=OBJECTS,
    arguments=OBJECTS | st.none(),
    outcome=st.none() | OBJECTS,
    text=st.text(),
    is_same=st.booleans(),
)
def test_a_packed_record_is_the_same_record(shown_arguments, arguments, outcome, text, is_same):
    """This holds for any content, also where parts look alike: 1 stays 1, and true stays true."""
    if outcome is not None:
        outcome = {**outcome, "text": text, "value": text if is_same else outcome.get("value")}
    request = ApprovalRequest(tool="t", call_id="c", reason="asks", created_at=NOW, arguments=shown_arguments)
    state = "pending" if outcome is None else "done"
    settled = {} if outcome is None else {"decided_at": NOW, "claim": Claim(owner="me", at=NOW), "outcome": outcome}
    whole = Record(
        request=request,
        arguments=shown_arguments if arguments is None else arguments,
        identity="i",
        state=state,
        **settled,
    )
    unpacked = PackedRecord(whole).unpack()
    assert repr(unpacked.to_json()) == repr(whole.to_json())


def test_a_signed_record_that_was_shortened_still_has_its_signature():
    """The record is signed as it is kept."""
    store = MemoryApprovals(max_bytes=30_000)
    store.sign_with(RecordSeal(b"k" * 32))
    store.add(record("one"))
    settle(store, "one", value=[LARGE])
    assert store.get("one").outcome["value"] == []


@pytest.mark.anyio
async def test_a_second_answer_receives_the_outcome_of_a_call_with_large_output():
    catalog = Catalog()

    @catalog.tool(max_chars=len(LARGE))
    async def act() -> str:
        """Do something, and say a lot."""
        return LARGE

    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=Approvals(MemoryApprovals(max_bytes=500_000)))
    waiting = await dispatcher.call("act", {})
    await dispatcher.resume(waiting.request.id, Decision.approve())
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(waiting.request, Decision.approve())
    assert caught.value.why == "answered"
    assert caught.value.outcome["value"] == LARGE
    assert sys.getsizeof(caught.value.outcome["text"]) >= len(LARGE)
