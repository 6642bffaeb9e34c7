"""
A request is known again, and an altered one is not.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import fields, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.approvals.seal import Seal
from toolkit.decisions import ApprovalRequest, ArgumentEdit, AuthRequest, Grant, Precondition
from toolkit.questions import DECLINED, AnsweredQuestion, Question

KEY = bytes(range(32))
IDENTITY = "f" * 64
TEXT = st.text(max_size=5)
MAYBE = st.none() | TEXT
TIMES = st.floats(0, 1e10)
ARGUMENTS = st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=2)
WORDS = st.text(min_size=1, max_size=5).filter(str.strip)
QUESTIONS = st.builds(Question, key=WORDS, message=WORDS, schema=ARGUMENTS)
DRAWN = {
    **dict.fromkeys(("id", "tool", "origin", "call_id", "reason", "digest"), TEXT),
    **dict.fromkeys(("alias", "preview", "session", "principal", "waits_for", "trace_parent"), MAYBE),
    **dict.fromkeys(("asked_by", "repairs"), st.lists(TEXT, max_size=2).map(tuple)),
    "arguments": ARGUMENTS,
    "edits": st.lists(st.builds(ArgumentEdit, by=MAYBE, before=ARGUMENTS, after=ARGUMENTS), max_size=2).map(tuple),
    "is_cut": st.booleans(),
    "cost": st.just(0.0) | st.floats(0, 1e6),
    "preconditions": st.lists(st.builds(Precondition, path=TEXT, sha256=MAYBE), max_size=2).map(tuple),
    "grants": st.lists(
        st.builds(Grant, tool=TEXT, scope=st.sampled_from(["tool", "command", "folder"]), target=TEXT, shown=TEXT),
        max_size=2,
    ).map(tuple),
    "auth": st.none()
    | st.builds(AuthRequest, provider=TEXT, scopes=st.lists(TEXT, max_size=2).map(tuple), url=MAYBE, reason=TEXT),
    "questions": st.lists(QUESTIONS, max_size=2).map(tuple),
    "answers": st.lists(
        st.builds(AnsweredQuestion, question=QUESTIONS, answer=st.just(DECLINED) | ARGUMENTS | st.booleans()),
        max_size=2,
    ).map(tuple),
    "created_at": TIMES,
    "expires_at": st.none() | TIMES,
}
REQUESTS = st.builds(ApprovalRequest, **DRAWN)


@pytest.fixture
def request_():
    """A request as any caller could get it."""
    return ApprovalRequest(tool="wipe", call_id="c1", reason="it is destructive", arguments={"path": "/tmp/x"})


def test_every_field_is_drawn():
    """A field that is added to requests has to be added here."""
    assert {field.name for field in fields(ApprovalRequest)} - {"seal"} == DRAWN.keys()


@given(REQUESTS)
def test_a_sealed_request_is_verified_after_a_round_trip_through_json(request):
    seal = Seal(KEY)
    travelled = json.loads(json.dumps(seal.sign(request, IDENTITY).to_json()))
    assert seal.verify(ApprovalRequest.from_json(travelled), IDENTITY)


@pytest.mark.one_case_in(3)
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", DRAWN)
@given(data=st.data())
def test_a_seal_does_not_fit_if_any_field_is_altered(name, data):
    seal, plain = Seal(KEY), ApprovalRequest(tool="wipe", call_id="c1", reason="it is destructive", arguments={})
    request = replace(plain, **{name: data.draw(DRAWN[name])})
    altered = replace(seal.sign(request, IDENTITY), **{name: data.draw(DRAWN[name])})
    assume(altered.to_json().get(name) != request.to_json().get(name))
    assert not seal.verify(altered, IDENTITY)


def test_the_shown_text_of_a_grant_is_sealed_too(request_):
    """A person agrees to what they read, though two grants that show different texts count as equal."""
    seal, grant = Seal(KEY), Grant(tool="t", scope="tool", shown="this tool")
    sealed = seal.sign(replace(request_, grants=(grant,)), IDENTITY)
    assert not seal.verify(replace(sealed, grants=(replace(grant, shown="another"),)), IDENTITY)


def test_another_tool_is_noticed(request_):
    """The identity is no part of the request, but of its seal."""
    seal = Seal(KEY)
    assert not seal.verify(seal.sign(request_, IDENTITY), "e" * 64)


@pytest.mark.parametrize(
    "forged",
    [None, "", "v1.", "v1." + "0" * 64, "v2.{}", "{}", "v1.{} ", " v1.{}", "V1.{}", "v1.é", "\ud800", "v1.{}\0"],
)
def test_a_forged_seal_is_refused(request_, forged):
    """This holds for a seal that is almost right, and for a value that is no text."""
    seal = Seal(KEY)
    right = seal.sign(request_, IDENTITY).seal.removeprefix("v1.")
    forged = forged and forged.replace("{}", right)
    assert not seal.verify(replace(request_, seal=forged), IDENTITY)


def test_a_request_that_is_not_json_is_not_sealed(request_):
    odd = replace(request_, arguments={"path": object()})
    with pytest.raises(ValueError, match="arguments.path: a Python object is not JSON"):
        Seal(KEY).sign(odd, IDENTITY)
    assert not Seal(KEY).verify(replace(odd, seal="v1." + "0" * 64), IDENTITY)


def test_sealing_a_request_twice_gives_the_same_seal(request_):
    seal = Seal(KEY)
    sealed = seal.sign(request_, IDENTITY)
    assert seal.sign(sealed, IDENTITY) == sealed


def test_a_new_key_signs_and_the_old_one_still_verifies(request_):
    """Requests that travel during the replacement are not lost."""
    old, new = secrets.token_bytes(32), secrets.token_hex(32)
    both = Seal([new, old])
    assert both.verify(Seal(old).sign(request_, IDENTITY), IDENTITY)
    assert Seal(new).verify(both.sign(request_, IDENTITY), IDENTITY)
    assert not Seal(old).verify(both.sign(request_, IDENTITY), IDENTITY)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (b"short", "at least 32 bytes, got 5"),
        ("é" * 15, "at least 32 bytes, got 30"),
        (b"", "at least 32 bytes, got 0"),
        ([], "needs a key"),
        ([KEY, b"short"], "at least 32 bytes, got 5"),
        (None, "bytes or text, got NoneType"),
        (bytearray(KEY), "bytes or text, got int"),
    ],
)
def test_a_bad_key_is_refused_with_the_remedy(key, problem):
    """The error comes when the key is given, not when a call waits."""
    with pytest.raises(ValueError, match=rf"{problem}.*secrets\.token_bytes\(32\)"):
        Seal(key)


def test_a_key_is_not_shown():
    """It is not in a log or a traceback."""
    assert "5e5e5e" not in repr(Seal("5e" * 32))
