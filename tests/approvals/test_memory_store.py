"""What the store in memory forgets when it is full, and that it answers as SQLite does."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.approvals.stored_records import NOW, OUTCOME, claim, deny, record
from toolkit.approvals.memory_store import MemoryApprovals
from toolkit.approvals.records import ApprovalError
from toolkit.approvals.sql_store import SQLiteApprovals
from toolkit.approvals.store import Settlement


def test_memory_does_not_block_and_a_file_does(tmp_path):
    """The dispatcher asks a file from a thread."""
    assert MemoryApprovals().blocking is False
    assert SQLiteApprovals(tmp_path / "a.db").blocking is True


@pytest.mark.parametrize("over", ["denied", "done", "expired"])
def test_a_full_memory_drops_the_oldest_answered_or_expired_request(over):
    store = MemoryApprovals(size=3)
    for name in ("waits", "first", "second"):
        store.add(record(id=name, expires_at=NOW + 1 if over == "expired" and name != "waits" else None))
    for name in ("first", "second"):
        if over == "denied":
            deny(store, name)
        elif over == "done":
            claim(store, name)
            store.finish(name, OUTCOME, owner="me")
    store.add(record(id="new", created_at=NOW + 1))
    assert [name for name in ("waits", "first", "second", "new") if store.get(name)] == ["waits", "second", "new"]


def test_a_memory_full_of_open_requests_refuses_a_new_one():
    """No request that waits or runs is lost."""
    store = MemoryApprovals(size=2)
    store.add(record(id="waits"))
    store.add(record(id="runs"))
    claim(store, "runs")
    with pytest.raises(ApprovalError, match=r"2 calls wait.*size=") as caught:
        store.add(record(id="new"))
    assert caught.value.why == "store"
    assert store.get("waits")
    assert store.get("runs")
    assert store.get("new") is None


@pytest.mark.parametrize("answer", [claim, deny])
def test_a_memory_can_keep_finished_requests_until_they_expire(answer):
    """A sealed request that comes back a second time is then still known."""
    store = MemoryApprovals(size=1, until_expired=True)
    store.add(record(id="used", expires_at=NOW + 10))
    answer(store, "used")
    store.finish("used", OUTCOME, owner="me")
    assert store.purge(before=NOW + 5) == 0
    with pytest.raises(ApprovalError, match="no more are kept"):
        store.add(record(id="new", created_at=NOW + 9))
    assert store.get("used") is not None
    store.add(record(id="new", created_at=NOW + 10))
    assert store.get("used") is None


def test_a_memory_forgets_expired_and_used_requests():
    """The request is expired, so no caller can answer it."""
    store = MemoryApprovals(until_expired=True)
    store.add(record(id="used", expires_at=NOW + 10))
    deny(store, "used")
    assert store.purge(before=NOW + 11) == 1


def test_a_memory_of_size_0_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        MemoryApprovals(size=0)


NAMES = st.sampled_from(["a", "b", "c"])
OWNERS = st.sampled_from(["me", "you"])
TIMES = st.sampled_from([NOW, NOW + 5, NOW + 10])


class BothStores(RuleBasedStateMachine):
    """Check that both stores give the same answers to the same operations."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [MemoryApprovals(), SQLiteApprovals(f"{self.folder.name}/a.db")]

    def same(self, act):
        first, second = map(act, self.stores)
        assert first == second

    @rule(name=NAMES, until=st.none() | TIMES)
    def add(self, name, until):
        stored = record(id=name, expires_at=until)

        def act(store):
            try:
                return store.add(stored)
            except ValueError as error:
                return str(error)

        self.same(act)

    @rule(name=NAMES, state=st.sampled_from(["claimed", "denied"]), owner=OWNERS, now=TIMES)
    def settle(self, name, state, owner, now):
        self.same(lambda store: store.settle(name, Settlement(state, by=owner, owner=owner, now=now)))

    @rule(name=NAMES, from_owner=OWNERS, owner=OWNERS, now=TIMES)
    def reclaim(self, name, from_owner, owner, now):
        self.same(lambda store: store.reclaim(name, from_owner=from_owner, owner=owner, now=now))

    @rule(name=NAMES, owner=OWNERS)
    def finish(self, name, owner):
        self.same(lambda store: store.finish(name, {"by": owner}, owner=owner))

    @rule(before=TIMES)
    def purge(self, before):
        self.same(lambda store: store.purge(before=before))

    @rule(now=TIMES)
    def look(self, now):
        self.same(lambda store: ([store.get(name) for name in "abc"], store.pending(now=now)))

    def teardown(self):
        self.look(NOW)
        self.folder.cleanup()


TestBothStores = BothStores.TestCase
TestBothStores.settings = settings(max_examples=min(15, settings().max_examples), stateful_step_count=20)


def test_a_full_memory_forgets_calls_with_their_requests():
    """The tables of calls do not outgrow the records."""
    store = MemoryApprovals(size=3)
    for number in range(10):
        stored = record()
        store.add_call(stored, f"call {number}", now=NOW)
        deny(store, stored.request.id)
    assert [number for number in range(10) if store.find_call(f"call {number}")] == [7, 8, 9]
    assert (len(store._ids_by_call), len(store._calls_by_id)) == (3, 3)
