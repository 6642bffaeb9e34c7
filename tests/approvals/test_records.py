"""
What a record may look like, and how it is written and read.
"""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.records import ApprovalError, Claim, Record, dump_record, load_record
from toolkit.decisions import ApprovalRequest, AuthRequest, Grant, Precondition
from toolkit.errors import ToolkitError

REQUEST = ApprovalRequest(
    tool="write",
    call_id="c1",
    reason="it changes a file",
    arguments={"path": "a", "key": "***"},
    asked_by=("mode",),
    preview="\udc80",
    preconditions=(Precondition(path="a", sha256=None),),
    grants=(Grant(tool="t", scope="folder", target="/x", shown="under /x"),),
    auth=AuthRequest(provider="github", scopes=("repo",)),
    created_at=1000.5,
)
FURTHER = {
    "pending": {},
    "denied": {"decided_at": 2.0, "decided_by": "ada"},
    "claimed": {"decided_at": 2.0, "claim": Claim(owner="me", at=2.5)},
    "done": {"decided_at": 2.0, "claim": Claim(owner="me", at=2.5), "outcome": {"text": "x"}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def record(state="pending", **fields):
    options = {"request": REQUEST, "arguments": {"path": "a", "key": "s3cret"}, "identity": "i", **FURTHER[state]}
    return Record(state=state, **{**options, **fields})


@pytest.mark.unmeasured
@pytest.mark.parametrize("state", FURTHER)
@given(arguments=JSON, outcome=st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_a_record_in_any_state_is_read_back_unchanged(state, arguments, outcome):
    """The written text is ASCII."""
    further = {"outcome": outcome} if state == "done" else {}
    stored = record(state, arguments=arguments, **further)
    assert load_record(dump_record(stored)) == stored
    assert dump_record(stored).isascii()


def test_the_repr_of_a_record_shows_no_arguments_and_no_outcome():
    """Otherwise secrets could get into a log."""
    assert "s3cret" not in repr(record(arguments={"key": "s3cret"}))
    assert "s3cret" not in repr(record("done", outcome={"text": "s3cret"}))


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        ("pending", {"decided_at": 1.0}),
        ("pending", {"claim": Claim(owner="me", at=1.0)}),
        ("pending", {"outcome": {}}),
        ("denied", {"decided_at": None}),
        ("denied", {"claim": Claim(owner="me", at=1.0)}),
        ("claimed", {"claim": None}),
        ("claimed", {"outcome": {}}),
        ("done", {"outcome": None}),
        ("done", {"claim": None}),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(state, fields):
    """There is nothing between two states."""
    with pytest.raises(ValueError, match=f"a record that is {state} has to have"):
        record(state, **fields)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"version": 3}, "version 3 cannot be read; version 1 can"),
        ({"version": True}, "version True"),
        ({"version": 1.0}, "version 1.0"),
        ({"extra": 1}, "lacks or adds extra"),
        ({"state": "running"}, "unknown state 'running'; use one of pending"),
        ({"state": None}, "'state' cannot be NoneType"),
        ({"seal": 5}, "'seal' cannot be int"),
        ({"identity": 5}, "'identity' cannot be int"),
        ({"request": None}, "'request' cannot be NoneType"),
        ({"request": {"version": 7}}, "version 7"),
        ({"decided_at": True}, "'decided_at' cannot be bool"),
        ({"claim": {"owner": "me"}}, "its claim"),
        ({"claim": {"owner": 1, "at": 1}}, "its claim"),
        ({"claim": {"owner": "me", "at": "now"}}, "its claim"),
        ({"claim": {"owner": "me", "at": 1, "by": 1}}, "its claim"),
    ],
)
def test_a_malformed_record_is_refused(fields, problem):
    with pytest.raises(ValueError, match=problem):
        Record.from_json({**record().to_json(), **fields})


@pytest.mark.parametrize("name", sorted(record().to_json()))
def test_a_record_with_a_missing_field_is_refused(name):
    """A claimed record without its claim has no process that runs it."""
    data = record().to_json()
    del data[name]
    with pytest.raises(ValueError, match=name):
        Record.from_json(data)


@pytest.mark.parametrize("data", [None, [], "pending", 5])
def test_a_record_that_is_not_an_object_is_refused(data):
    with pytest.raises(ValueError, match="version None"):
        Record.from_json(data)


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[" * 100_000, "[NaN]", dump_record(record("claimed")).replace("2.0", "NaN"), b"{}", 5]
    + [dump_record(record()).replace('["repo"]', "5"), dump_record(record()).replace('"t"', '"t","x":1')],
)
def test_a_damaged_text_is_a_value_error(text):
    with pytest.raises(ValueError):
        load_record(text)


def endless():
    value = {}
    value["below"] = value
    return value


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (record(arguments={"a": {1: 2}}), "arguments of `write` cannot be kept: a: the key 1 is not a string"),
        (record(arguments=(1,)), "a Python tuple is not JSON"),
        (record("done", outcome={"value": object()}), "record of `write` cannot be kept as JSON"),
        (record("done", outcome={"value": float("inf")}), "record of `write` cannot be kept as JSON"),
        (record("done", outcome=endless()), "record of `write` cannot be kept as JSON"),
        (record("denied", decided_at=float("nan")), "record of `write` cannot be kept as JSON"),
    ],
)
def test_a_record_that_is_not_json_is_not_written(stored, problem):
    """The message names the record and the place, and does not show the values."""
    with pytest.raises(ValueError, match=problem):
        dump_record(stored)


@pytest.mark.parametrize(
    ("until", "now", "expired"),
    [(None, 1e10, False), (5.0, 4.9, False), (5.0, 5.0, True), (5.0, 6.0, True), (float("nan"), 0.0, True)],
)
def test_a_request_expires_at_its_time(until, now, expired):
    """It expires at that very moment. A time that is not a number has passed."""
    fields = {name: getattr(REQUEST, name) for name in ("tool", "call_id", "reason")}
    assert record(request=ApprovalRequest(**fields, expires_at=until)).is_expired(now) is expired


@pytest.mark.parametrize(
    "duplicate", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"]
)
def test_a_copied_error_still_says_why_in_one_word(duplicate):
    """An error that comes from another process is such a copy."""
    error = ApprovalError("too late; ask again", why="expired")
    assert isinstance(error, ToolkitError)
    error_copy = duplicate(error)
    assert (str(error_copy), error_copy.why) == ("too late; ask again", "expired")


def test_a_record_is_plain_json_with_a_version():
    """A program in another language could read it."""
    assert json.loads(dump_record(record()))["version"] == 1
