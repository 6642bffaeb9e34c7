"""What every store promises."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.approvals.stored_records import NOW, OUTCOME, claim, deny, record
from toolkit.approvals.memory_store import MemoryApprovals
from toolkit.approvals.postgres_store import PostgresApprovals
from toolkit.approvals.records import Claim, Record
from toolkit.approvals.seal import RecordSeal
from toolkit.approvals.sql_store import SQLiteApprovals
from toolkit.approvals.store import Settlement

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
def stored(store):
    """A record the store has."""
    stored = record()
    store.add(stored)
    return stored


def test_a_stored_record_is_found_unchanged(store):
    """The unmasked arguments are part of it."""
    stored = record(arguments={"b": [1, 2.5], "a": "\udc80é"}, session="s", principal="p", expires_at=2000.0)
    store.add(stored)
    assert store.get(stored.request.id) == stored


@pytest.mark.parametrize("other", ["", "x", "A{}", "{} ", "{}\0", "{}%", "\ud800", "_" * 32])
def test_an_id_is_looked_up_exactly(store, stored, other):
    """A similar text is not found, and neither is one that is not Unicode."""
    other = other.replace("{}", stored.request.id)
    assert store.get(other) is None
    assert not claim(store, other)
    assert store.get(stored.request.id.upper()) is None or stored.request.id.isdigit()


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "", "é", "'; DROP TABLE approvals; --"])
def test_any_text_can_be_an_id(store, name):
    """Records with different ids stay apart."""
    store.add(record(id=name))
    store.add(record(id=name + "2"))
    assert claim(store, name)
    assert [store.get(request_id).state for request_id in (name, name + "2")] == ["claimed", "pending"]


def test_adding_a_record_under_a_taken_id_is_refused(store, stored):
    """The first record stays unchanged."""
    with pytest.raises(ValueError, match=f"there is a request '{stored.request.id}' already"):
        store.add(record(id=stored.request.id, arguments={"path": "other"}))
    assert store.get(stored.request.id) == stored


def test_only_a_pending_record_can_be_added(store):
    request = record().request
    claimed = Record(
        request=request, arguments={}, identity="i", state="claimed", claim=Claim(owner="me", at=1.0), decided_at=1.0
    )
    with pytest.raises(ValueError, match="only a pending request can be added; this one is claimed"):
        store.add(claimed)
    assert store.get(request.id) is None


def test_a_record_that_is_not_json_is_refused_and_not_stored(store):
    odd = record(arguments={"path": object()})
    with pytest.raises(ValueError, match="path: a Python object is not JSON"):
        store.add(odd)
    assert store.get(odd.request.id) is None


def test_changing_an_object_does_not_change_its_stored_copy(store):
    arguments, outcome = {"paths": ["a"]}, {"lines": [1]}
    stored = record(arguments=arguments)
    store.add(stored)
    arguments["paths"].append("/etc/passwd")
    store.get(stored.request.id).arguments["paths"].append("/etc/passwd")
    store.pending(now=NOW)[0].arguments["path"] = "/etc/passwd"
    edited = {"paths": ["b"]}
    assert store.get(stored.request.id).arguments == {"paths": ["a"]}
    assert store.get(stored.request.id).request.arguments == {}
    claim(store, stored.request.id, arguments=edited)
    edited["paths"].append("/etc/passwd")
    store.finish(stored.request.id, outcome, owner="me")
    outcome["lines"].append(2)
    assert store.get(stored.request.id).arguments == {"paths": ["b"]}
    assert store.get(stored.request.id).outcome == {"lines": [1]}


def test_the_newest_request_of_a_call_is_found(store):
    """Only the key of the call finds it."""
    stored = record()
    assert store.find_call("k") is None
    assert store.add_call(stored, "k", now=NOW) == stored
    assert (store.find_call("k"), store.find_call("K"), store.get(stored.request.id)) == (stored, None, stored)
    store.add(record())
    assert store.find_call("k") == stored


def test_a_call_with_a_request_gets_no_second_request(store):
    """This holds while it waits, while it runs, and after it has run."""
    stored = record(expires_at=NOW + 10)
    store.add_call(stored, "k", now=NOW)
    name = stored.request.id

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
    """The old request cannot run the call a second time."""
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
    """The state of the other request does not matter. If the other one belonged to no call, neither does this one."""
    first, second, stray, other = record(), record(), record(), record()
    store.add_call(first, "k", now=NOW)
    claim(store, first.request.id)
    assert store.add_call(second, None, now=NOW, replaces=first.request.id) == second
    assert store.find_call("k") == second
    store.add(stray)
    assert store.add_call(other, None, now=NOW, replaces=stray.request.id) == other
    assert store.find_call("k") == second


def test_a_call_without_a_record_is_unknown(store):
    """A purge forgets calls with their requests."""
    stored = record()
    store.add_call(stored, "k", now=NOW)
    deny(store, stored.request.id)
    assert store.purge(before=NOW + 1) == 1
    assert store.find_call("k") is None
    assert store.add_call(record(), "k", now=NOW).request.id != stored.request.id


def test_only_a_pending_record_can_be_added_for_a_call(store):
    stored = record()
    claimed = Record(
        request=stored.request,
        arguments={},
        identity="i",
        state="claimed",
        claim=Claim(owner="me", at=1.0),
        decided_at=1.0,
    )
    with pytest.raises(ValueError, match="only a pending request can be added"):
        store.add_call(claimed, "k", now=NOW)
    store.add(stored)
    with pytest.raises(ValueError, match="already"):
        store.add_call(stored, "k", now=NOW)
    assert store.find_call("k") is None


def test_many_threads_that_ask_about_one_call_get_the_same_request(store):
    records = [record() for _ in range(16)]
    together = threading.Barrier(len(records))

    def ask(own):
        together.wait()
        return store.add_call(own, "k", now=NOW).request.id

    with ThreadPoolExecutor(len(records)) as pool:
        ids = set(pool.map(ask, records))
    assert len(ids) == 1
    assert [request.id for request in store.pending(now=NOW)] == list(ids)


def test_a_claim_has_its_owner_and_its_time(store, stored):
    """The rest of the record is unchanged."""
    assert claim(store, stored.request.id)
    after = store.get(stored.request.id)
    assert (after.state, after.claim, after.decided_by) == ("claimed", Claim(owner="me", at=NOW), "ada")
    assert (after.request, after.arguments, after.identity) == (stored.request, stored.arguments, "i")


def test_a_denied_record_has_no_claim(store, stored):
    assert deny(store, stored.request.id)
    after = store.get(stored.request.id)
    assert (after.state, after.claim, after.decided_by, after.decided_at) == ("denied", None, "ada", NOW)


def test_edited_arguments_replace_the_first_ones(store, stored):
    """The call runs with the approved arguments."""
    assert claim(store, stored.request.id, arguments={"path": "b"})
    assert store.get(stored.request.id).arguments == {"path": "b"}


def test_a_claim_with_arguments_that_are_not_json_changes_nothing(store, stored):
    with pytest.raises(ValueError, match="not JSON"):
        claim(store, stored.request.id, arguments={"path": object()})
    assert store.get(stored.request.id) == stored


@pytest.mark.parametrize("second", [claim, deny])
@pytest.mark.parametrize("first", [claim, deny])
def test_only_the_first_answer_counts(store, stored, first, second):
    assert first(store, stored.request.id)
    after = store.get(stored.request.id)
    assert not second(store, stored.request.id)
    assert store.get(stored.request.id) == after


@pytest.mark.parametrize("answer", ["claimed", "denied"])
def test_an_answer_that_comes_too_late_does_not_count(store, answer):
    """The store sees to it, at the moment it would be kept."""
    stored = record(expires_at=NOW + 10)
    store.add(stored)
    assert not store.settle(stored.request.id, Settlement(answer, by=None, owner="me", now=NOW + 10))
    assert store.settle(stored.request.id, Settlement(answer, by=None, owner="me", now=NOW + 9.9))


@pytest.mark.parametrize(
    ("state", "owner", "problem"),
    [("done", "me", "'denied' or 'claimed'"), ("pending", "me", "cannot be settled"), ("claimed", None, "an owner")],
)
def test_an_impossible_answer_is_refused(store, stored, state, owner, problem):
    """It is a mistake of the program."""
    with pytest.raises(ValueError, match=problem):
        store.settle(stored.request.id, Settlement(state, by=None, owner=owner, now=NOW))
    assert store.get(stored.request.id) == stored


def test_an_outcome_is_stored_unchanged(store, stored):
    """It may be any JSON."""
    claim(store, stored.request.id)
    assert store.finish(stored.request.id, OUTCOME, owner="me")
    after = store.get(stored.request.id)
    assert (after.state, after.outcome, after.claim.owner) == ("done", OUTCOME, "me")


def test_only_the_owner_of_a_claim_can_finish_the_call_and_only_once(store, stored):
    assert not store.finish(stored.request.id, OUTCOME, owner="me")
    claim(store, stored.request.id)
    assert not store.finish(stored.request.id, {}, owner="you")
    assert store.finish(stored.request.id, OUTCOME, owner="me")
    assert not store.finish(stored.request.id, {}, owner="me")
    assert not store.finish("unknown", {}, owner="me")
    assert store.get(stored.request.id).outcome == OUTCOME


def test_an_outcome_that_is_not_json_leaves_the_claim(store, stored):
    """The process that ran the call can store a shorter outcome."""
    claim(store, stored.request.id)
    with pytest.raises(ValueError, match="cannot be kept as JSON"):
        store.finish(stored.request.id, {"value": object()}, owner="me")
    assert store.finish(stored.request.id, {"value": None}, owner="me")


def test_a_claim_is_reclaimed_once(store, stored):
    """Only the owner that was read can be replaced, and the earlier owner cannot finish the call any more."""
    claim(store, stored.request.id, owner="dead")
    assert not store.reclaim(stored.request.id, from_owner="other", owner="me", now=NOW + 1)
    assert store.reclaim(stored.request.id, from_owner="dead", owner="me", now=NOW + 1)
    assert not store.reclaim(stored.request.id, from_owner="dead", owner="you", now=NOW + 2)
    assert not store.finish(stored.request.id, OUTCOME, owner="dead")
    assert store.get(stored.request.id).claim == Claim(owner="me", at=NOW + 1)
    assert store.finish(stored.request.id, OUTCOME, owner="me")


def test_only_a_claimed_request_can_be_reclaimed(store, stored):
    """A request that waits or is done has no process that runs it."""
    assert not store.reclaim(stored.request.id, from_owner="me", owner="you", now=NOW)
    claim(store, stored.request.id)
    store.finish(stored.request.id, OUTCOME, owner="me")
    assert not store.reclaim(stored.request.id, from_owner="me", owner="you", now=NOW)
    assert not store.reclaim("unknown", from_owner="me", owner="you", now=NOW)


def test_pending_requests_come_oldest_first(store):
    """They are ordered by the time of the request, and then by the order of adding."""
    for name, created_at in (("c", 3), ("a", 1), ("b", 2), ("b2", 2)):
        store.add(record(id=name, created_at=created_at))
    assert [request.id for request in store.pending(now=NOW)] == ["a", "b", "b2", "c"]


def test_answered_and_expired_requests_are_not_pending(store):
    for name, until in (("open", None), ("claimed", None), ("denied", None), ("late", NOW), ("soon", NOW + 1)):
        store.add(record(id=name, expires_at=until))
    claim(store, "claimed")
    deny(store, "denied")
    assert [request.id for request in store.pending(now=NOW)] == ["open", "soon"]


def test_pending_requests_are_those_of_this_moment_by_default(store):
    store.add(record(id="late", expires_at=NOW))
    store.add(record(id="soon", expires_at=time.time() + 1000))
    assert [request.id for request in store.pending()] == ["soon"]


@pytest.mark.parametrize(
    ("filters", "ids"),
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
def test_a_list_can_be_of_one_session_or_principal(store, filters, ids):
    """None selects the requests without a principal, and not those of all principals."""
    owners = [("s", "ada"), (None, None), ("s", None), ("\ud800", "ada")]
    for number, (session, principal) in enumerate(owners):
        store.add(record(id=str(number), session=session, principal=principal))
    assert [request.id for request in store.pending(now=NOW, **filters)] == ids


def test_purging_a_session_removes_only_its_answered_requests(store):
    """Requests of other sessions stay, and so does a claim without an outcome."""
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


def test_purging_removes_answered_and_expired_requests(store):
    """Requests that wait or may be running stay."""
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


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("action", ["settle", "reclaim", "finish", "add"])
def test_only_one_of_many_threads_succeeds(store, stored, action):
    owners = [f"thread {number}" for number in range(16)]
    together, name = threading.Barrier(len(owners)), stored.request.id
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
    after = store.get("new" if action == "add" else name)
    winners = {"add": after.arguments.get("by"), "finish": (after.outcome or {}).get("by")}
    assert won == [winners.get(action, after.claim and after.claim.owner)]
