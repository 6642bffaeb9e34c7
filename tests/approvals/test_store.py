"""
What every store promises.
"""

from __future__ import annotations

import math
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from toolkit.approvals.memory_store import MemoryApprovals
from toolkit.approvals.postgres_store import PostgresApprovals
from toolkit.approvals.records import ApprovalError, Claim, Record
from toolkit.approvals.seal import RecordSeal
from toolkit.approvals.sql_store import SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest

NOW = 1000.0
OUTCOME = {"version": 1, "kind": "ok", "value": {"lines": [1, 2.5, None, "é\udc80"]}}


def record(*, created_at=NOW, arguments=None, **fields):
    """A record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=created_at, **fields)
    return Record(request=request, arguments={"path": "a"} if arguments is None else arguments, identity="i")


def claim(store, request_id, owner="me", **further):
    return store.settle(request_id, Settlement("claimed", by="ada", owner=owner, now=NOW, **further))


def deny(store, request_id, now=NOW):
    return store.settle(request_id, Settlement("denied", by="ada", now=now))


KINDS = ["memory", "sqlite", "postgres"]
SIGNED = ["signed memory", *(pytest.param(f"signed {kind}", marks=pytest.mark.long) for kind in ("sqlite", "postgres"))]


@pytest.fixture(params=[*KINDS, *SIGNED])
def store(request, tmp_path):
    """Each of the stores, with and without a key."""
    if "memory" in request.param:
        store = MemoryApprovals()
    elif "sqlite" in request.param:
        store = SQLiteApprovals(tmp_path / "approvals.db")
    else:
        store = PostgresApprovals(request.getfixturevalue("postgres_schema_url"))
    if "signed" in request.param:
        store.sign_with(RecordSeal(b"k" * 32))
    yield store
    if "postgres" in request.param:
        store.close()


@pytest.fixture
def kept(store):
    """A record the store has."""
    kept = record()
    store.add(kept)
    return kept


# Keeping.


def test_what_is_added_is_found(store):
    """All of it, true arguments included."""
    kept = record(arguments={"b": [1, 2.5], "a": "\udc80é"}, session="s", principal="p", expires_at=2000.0)
    store.add(kept)
    assert store.get(kept.request.id) == kept


@pytest.mark.parametrize("other", ["", "x", "A{}", "{} ", "{}\0", "{}%", "\ud800", "_" * 32])
def test_an_id_is_looked_up_exactly(store, kept, other):
    """What is almost right, or no text at all, finds nothing."""
    other = other.replace("{}", kept.request.id)
    assert store.get(other) is None
    assert not claim(store, other)
    assert store.get(kept.request.id.upper()) is None or kept.request.id.isdigit()


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "", "é", "'; DROP TABLE approvals; --"])
def test_any_text_can_be_an_id(store, name):
    """Two that differ are two."""
    store.add(record(id=name))
    store.add(record(id=name + "2"))
    assert claim(store, name)
    assert [store.get(each).state for each in (name, name + "2")] == ["claimed", "pending"]


def test_a_taken_id_is_refused(store, kept):
    """The first record stays."""
    with pytest.raises(ValueError, match=f"there is a request '{kept.request.id}' already"):
        store.add(record(id=kept.request.id, arguments={"path": "other"}))
    assert store.get(kept.request.id) == kept


def test_only_what_is_pending_can_be_added(store):
    """A claim has to be made, not brought."""
    request = record().request
    claimed = Record(
        request=request, arguments={}, identity="i", state="claimed", claim=Claim(owner="me", at=1.0), decided_at=1.0
    )
    with pytest.raises(ValueError, match="only a pending request can be added; this one is claimed"):
        store.add(claimed)
    assert store.get(request.id) is None


def test_what_is_not_json_is_refused(store):
    """Nothing of it is kept."""
    odd = record(arguments={"path": object()})
    with pytest.raises(ValueError, match="path: a Python object is not JSON"):
        store.add(odd)
    assert store.get(odd.request.id) is None


def test_nobody_holds_what_the_store_has(store):
    """Changing an object afterwards changes nothing that was agreed to."""
    arguments, outcome = {"paths": ["a"]}, {"lines": [1]}
    kept = record(arguments=arguments)
    store.add(kept)
    arguments["paths"].append("/etc/passwd")
    store.get(kept.request.id).arguments["paths"].append("/etc/passwd")
    store.pending(now=NOW)[0].arguments["path"] = "/etc/passwd"
    edited = {"paths": ["b"]}
    assert store.get(kept.request.id).arguments == {"paths": ["a"]}
    assert store.get(kept.request.id).request.arguments == {}
    claim(store, kept.request.id, arguments=edited)
    edited["paths"].append("/etc/passwd")
    store.finish(kept.request.id, outcome, owner="me")
    outcome["lines"].append(2)
    assert store.get(kept.request.id).arguments == {"paths": ["b"]}
    assert store.get(kept.request.id).outcome == {"lines": [1]}


# The requests of one call.


def test_the_newest_request_of_a_call_is_found(store):
    """By the key of the call, and by no other."""
    kept = record()
    assert store.find_call("k") is None
    assert store.add_call(kept, "k", now=NOW) == kept
    assert (store.find_call("k"), store.find_call("K"), store.get(kept.request.id)) == (kept, None, kept)
    store.add(record())
    assert store.find_call("k") == kept


def test_a_call_that_has_a_request_gets_no_other(store):
    """While it waits, while it runs, and when it has run."""
    kept = record(expires_at=NOW + 10)
    store.add_call(kept, "k", now=NOW)
    name = kept.request.id

    def add():
        return store.add_call(record(), "k", now=NOW).request.id

    assert add() == name
    claim(store, name)
    assert add() == name
    store.finish(name, OUTCOME, owner="me")
    assert add() == name
    assert len(store.pending(now=NOW)) == 0


@pytest.mark.parametrize("ending", ["denied", "expired", "done and expired", "not begun"])
def test_a_call_whose_request_is_over_gets_a_new_one(store, ending):
    """Nothing can run twice through it."""
    first, second = record(expires_at=NOW + 10), record()
    store.add_call(first, "k", now=NOW)
    if ending == "denied":
        deny(store, first.request.id)
    elif ending != "expired":
        claim(store, first.request.id)
        no_effect = {"error": {"details": {"happened": "no"}}}
        store.finish(first.request.id, no_effect if ending == "not begun" else OUTCOME, owner="me")
    assert store.add_call(second, "k", now=NOW + (10 if "expired" in ending else 0)) == second
    assert store.find_call("k") == second


def test_a_request_that_takes_the_place_of_another_belongs_to_the_same_call(store):
    """Whatever the state of the other one is; if that belonged to no call, this one does not either."""
    first, second, stray, other = record(), record(), record(), record()
    store.add_call(first, "k", now=NOW)
    claim(store, first.request.id)
    assert store.add_call(second, None, now=NOW, replaces=first.request.id) == second
    assert store.find_call("k") == second
    store.add(stray)
    assert store.add_call(other, None, now=NOW, replaces=stray.request.id) == other
    assert store.find_call("k") == second


def test_a_call_of_which_nothing_is_kept_is_unknown(store):
    """A purge forgets calls with their requests."""
    kept = record()
    store.add_call(kept, "k", now=NOW)
    deny(store, kept.request.id)
    assert store.purge(before=NOW + 1) == 1
    assert store.find_call("k") is None
    assert store.add_call(record(), "k", now=NOW).request.id != kept.request.id


def test_only_what_is_pending_can_be_added_for_a_call(store):
    """As without a call."""
    kept = record()
    claimed = Record(
        request=kept.request,
        arguments={},
        identity="i",
        state="claimed",
        claim=Claim(owner="me", at=1.0),
        decided_at=1.0,
    )
    with pytest.raises(ValueError, match="only a pending request can be added"):
        store.add_call(claimed, "k", now=NOW)
    store.add(kept)
    with pytest.raises(ValueError, match="already"):
        store.add_call(kept, "k", now=NOW)
    assert store.find_call("k") is None


def test_of_many_threads_that_ask_about_one_call_one_makes_the_request(store):
    """All get the same one."""
    records = [record() for _ in range(16)]
    together = threading.Barrier(len(records))

    def ask(own):
        together.wait()
        return store.add_call(own, "k", now=NOW).request.id

    with ThreadPoolExecutor(len(records)) as pool:
        ids = set(pool.map(ask, records))
    assert len(ids) == 1
    assert [request.id for request in store.pending(now=NOW)] == list(ids)


# Answering.


def test_a_claim_says_who_and_when(store, kept):
    """And leaves the rest as it was."""
    assert claim(store, kept.request.id)
    found = store.get(kept.request.id)
    assert (found.state, found.claim, found.decided_by) == ("claimed", Claim(owner="me", at=NOW), "ada")
    assert (found.request, found.arguments, found.identity) == (kept.request, kept.arguments, "i")


def test_a_denial_has_no_claim(store, kept):
    """No process runs the call."""
    assert deny(store, kept.request.id)
    found = store.get(kept.request.id)
    assert (found.state, found.claim, found.decided_by, found.decided_at) == ("denied", None, "ada", NOW)


def test_edited_arguments_take_the_place_of_the_first(store, kept):
    """What was agreed to is what runs."""
    assert claim(store, kept.request.id, arguments={"path": "b"})
    assert store.get(kept.request.id).arguments == {"path": "b"}


def test_edited_arguments_that_are_not_json_change_nothing(store, kept):
    """It can still be answered."""
    with pytest.raises(ValueError, match="not JSON"):
        claim(store, kept.request.id, arguments={"path": object()})
    assert store.get(kept.request.id) == kept


@pytest.mark.parametrize("second", [claim, deny])
@pytest.mark.parametrize("first", [claim, deny])
def test_only_the_first_answer_counts(store, kept, first, second):
    """Whatever the second one is."""
    assert first(store, kept.request.id)
    after = store.get(kept.request.id)
    assert not second(store, kept.request.id)
    assert store.get(kept.request.id) == after


@pytest.mark.parametrize("answer", ["claimed", "denied"])
def test_an_answer_that_comes_too_late_does_not_count(store, answer):
    """The store sees to it, at the moment it would be kept."""
    kept = record(expires_at=NOW + 10)
    store.add(kept)
    assert not store.settle(kept.request.id, Settlement(answer, by=None, owner="me", now=NOW + 10))
    assert store.settle(kept.request.id, Settlement(answer, by=None, owner="me", now=NOW + 9.9))


@pytest.mark.parametrize(
    ("state", "owner", "problem"),
    [("done", "me", "'denied' or 'claimed'"), ("pending", "me", "cannot be settled"), ("claimed", None, "an owner")],
)
def test_an_impossible_answer_is_refused(store, kept, state, owner, problem):
    """It is a mistake in the program."""
    with pytest.raises(ValueError, match=problem):
        store.settle(kept.request.id, Settlement(state, by=None, owner=owner, now=NOW))
    assert store.get(kept.request.id) == kept


# Running.


def test_an_outcome_is_kept(store, kept):
    """With everything that JSON can say."""
    claim(store, kept.request.id)
    assert store.finish(kept.request.id, OUTCOME, owner="me")
    found = store.get(kept.request.id)
    assert (found.state, found.outcome, found.claim.owner) == ("done", OUTCOME, "me")


def test_only_the_owner_finishes_and_only_once(store, kept):
    """Neither before the claim, nor for another, nor again."""
    assert not store.finish(kept.request.id, OUTCOME, owner="me")
    claim(store, kept.request.id)
    assert not store.finish(kept.request.id, {}, owner="you")
    assert store.finish(kept.request.id, OUTCOME, owner="me")
    assert not store.finish(kept.request.id, {}, owner="me")
    assert not store.finish("nobody's", {}, owner="me")
    assert store.get(kept.request.id).outcome == OUTCOME


def test_an_outcome_that_is_not_json_leaves_the_claim(store, kept):
    """The process that ran the call can store a shorter outcome."""
    claim(store, kept.request.id)
    with pytest.raises(ValueError, match="cannot be kept as JSON"):
        store.finish(kept.request.id, {"value": object()}, owner="me")
    assert store.finish(kept.request.id, {"value": None}, owner="me")


def test_a_claim_is_taken_over_once(store, kept):
    """From the owner it was seen to have; the earlier one has no say any more."""
    claim(store, kept.request.id, owner="dead")
    assert not store.reclaim(kept.request.id, from_owner="other", owner="me", now=NOW + 1)
    assert store.reclaim(kept.request.id, from_owner="dead", owner="me", now=NOW + 1)
    assert not store.reclaim(kept.request.id, from_owner="dead", owner="you", now=NOW + 2)
    assert not store.finish(kept.request.id, OUTCOME, owner="dead")
    assert store.get(kept.request.id).claim == Claim(owner="me", at=NOW + 1)
    assert store.finish(kept.request.id, OUTCOME, owner="me")


def test_only_a_claim_can_be_taken_over(store, kept):
    """A request that waits or is done has no process that runs it."""
    assert not store.reclaim(kept.request.id, from_owner="me", owner="you", now=NOW)
    claim(store, kept.request.id)
    store.finish(kept.request.id, OUTCOME, owner="me")
    assert not store.reclaim(kept.request.id, from_owner="me", owner="you", now=NOW)
    assert not store.reclaim("nobody's", from_owner="me", owner="you", now=NOW)


# Listing and forgetting.


def test_pending_requests_come_oldest_first(store):
    """By when they were made, then by when they were added."""
    for name, created_at in (("c", 3), ("a", 1), ("b", 2), ("b2", 2)):
        store.add(record(id=name, created_at=created_at))
    assert [each.id for each in store.pending(now=NOW)] == ["a", "b", "b2", "c"]


def test_only_what_can_still_be_answered_is_pending(store):
    """Neither what was answered nor what expired."""
    for name, until in (("open", None), ("claimed", None), ("denied", None), ("late", NOW), ("soon", NOW + 1)):
        store.add(record(id=name, expires_at=until))
    claim(store, "claimed")
    deny(store, "denied")
    assert [each.id for each in store.pending(now=NOW)] == ["open", "soon"]


def test_pending_means_at_this_moment_unless_told(store):
    """A caller does not have to give the time."""
    store.add(record(id="late", expires_at=NOW))
    store.add(record(id="soon", expires_at=time.time() + 1000))
    assert [each.id for each in store.pending()] == ["soon"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["0", "1", "2", "3"]),
        ({"session": "s"}, ["0", "2"]),
        ({"principal": "ada"}, ["0", "3"]),
        ({"session": "s", "principal": "ada"}, ["0"]),
        ({"principal": None}, ["1", "2"]),
        ({"session": None}, ["1"]),
        ({"session": "S"}, []),
    ],
)
def test_a_list_can_be_of_one_session_or_principal(store, asked, found):
    """None selects the requests without a principal, and not those of all principals."""
    owners = [("s", "ada"), (None, None), ("s", None), ("\ud800", "ada")]
    for number, (session, principal) in enumerate(owners):
        store.add(record(id=str(number), session=session, principal=principal))
    assert [each.id for each in store.pending(now=NOW, **asked)] == found


def test_what_is_over_is_forgotten_for_single_sessions(store):
    """What others have stays, and so does a claim without an outcome."""
    for name, session in (("denied", "a"), ("open", "a"), ("claimed", "a"), ("other", "b"), ("none", None)):
        store.add(record(id=name, session=session))
    for name in ("denied", "other", "none"):
        deny(store, name)
    claim(store, "claimed")
    assert store.purge(before=math.inf, sessions=["a", "unknown"]) == 1
    assert [name for name in ("denied", "open", "claimed", "other", "none") if store.get(name)] == [
        "open",
        "claimed",
        "other",
        "none",
    ]
    assert store.purge(before=NOW, sessions=["b"]) == 0
    assert store.purge(before=math.inf, sessions=[]) == 0


def test_what_is_over_is_forgotten(store):
    """What waits, and what may be running, is not."""
    for name, until in (
        ("open", None),
        ("soon", NOW + 5),
        ("late", NOW - 5),
        ("no", None),
        ("runs", None),
        ("did", None),
    ):
        store.add(record(id=name, expires_at=until))
    deny(store, "no")
    claim(store, "runs")
    claim(store, "did")
    store.finish("did", OUTCOME, owner="me")
    assert store.purge(before=NOW) == 1
    assert store.purge(before=NOW + 1) == 2
    assert [name for name in ("open", "soon", "late", "no", "runs", "did") if store.get(name)] == [
        "open",
        "soon",
        "runs",
    ]
    assert not claim(store, "did")


# Several at once.


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("action", ["settle", "reclaim", "finish", "add"])
def test_of_many_threads_one_succeeds(store, kept, action):
    """However they come together."""
    owners = [f"thread {number}" for number in range(16)]
    together, name = threading.Barrier(len(owners)), kept.request.id
    if action in ("reclaim", "finish"):
        claim(store, name, owner="dead")

    def act(owner):
        together.wait()
        if action == "settle":
            return claim(store, name, owner=owner)
        if action == "reclaim":
            return store.reclaim(name, from_owner="dead", owner=owner, now=NOW)
        if action == "finish":
            return store.finish(name, {"by": owner}, owner="dead")
        try:
            store.add(record(id="new", arguments={"by": owner}))
        except ValueError:
            return False
        return True

    with ThreadPoolExecutor(len(owners)) as pool:
        won = [owner for owner, success in zip(owners, pool.map(act, owners), strict=True) if success]
    assert len(won) == 1
    found = store.get("new" if action == "add" else name)
    said = {"add": found.arguments.get("by"), "finish": (found.outcome or {}).get("by")}
    assert won == [said.get(action, found.claim and found.claim.owner)]


# In memory.


def test_memory_does_not_block_and_a_file_does(tmp_path):
    """The dispatcher asks a file from a thread."""
    assert MemoryApprovals().blocking is False
    assert SQLiteApprovals(tmp_path / "a.db").blocking is True


@pytest.mark.parametrize("over", ["denied", "done", "expired"])
def test_a_full_memory_forgets_what_is_over_oldest_first(over):
    """And nothing else."""
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


def test_a_memory_full_of_open_questions_takes_no_more():
    """Nothing that waits or runs is lost in silence."""
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
def test_a_memory_can_keep_what_is_over_until_it_expired(answer):
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


def test_a_memory_forgets_for_good_what_expired_and_was_used():
    """The request is expired, so no caller can answer it."""
    store = MemoryApprovals(until_expired=True)
    store.add(record(id="used", expires_at=NOW + 10))
    deny(store, "used")
    assert store.purge(before=NOW + 11) == 1


def test_a_memory_without_room_is_refused():
    """It would be a mistake."""
    with pytest.raises(ValueError, match="at least 1, got 0"):
        MemoryApprovals(size=0)


# All of it together.

NAMES = st.sampled_from(["a", "b", "c"])
OWNERS = st.sampled_from(["me", "you"])
TIMES = st.sampled_from([NOW, NOW + 5, NOW + 10])


class BothStores(RuleBasedStateMachine):
    """Whatever is done to both, they say the same."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [MemoryApprovals(), SQLiteApprovals(f"{self.folder.name}/a.db")]

    def same(self, act):
        first, second = map(act, self.stores)
        assert first == second

    @rule(name=NAMES, until=st.none() | TIMES)
    def add(self, name, until):
        kept = record(id=name, expires_at=until)

        def act(store):
            try:
                return store.add(kept)
            except ValueError as error:
                return str(error)

        self.same(act)

    @rule(name=NAMES, state=st.sampled_from(["claimed", "denied"]), owner=OWNERS, now=TIMES)
    def settle(self, name, state, owner, now):
        self.same(lambda store: store.settle(name, Settlement(state, by=owner, owner=owner, now=now)))

    @rule(name=NAMES, one=OWNERS, other=OWNERS, now=TIMES)
    def reclaim(self, name, one, other, now):
        self.same(lambda store: store.reclaim(name, from_owner=one, owner=other, now=now))

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
        kept = record()
        store.add_call(kept, f"call {number}", now=NOW)
        deny(store, kept.request.id)
    assert [number for number in range(10) if store.find_call(f"call {number}")] == [7, 8, 9]
    assert (len(store._ids_by_call), len(store._calls_by_id)) == (3, 3)
