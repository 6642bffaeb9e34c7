"""
How people are asked, and where their answers are kept.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from toolkit._plumbing.newest_items import NewestItems
from toolkit.approvals import ApprovalError, Approvals, Callback, DenyAll, MemoryApprovals, TerminalPrompt
from toolkit.approvals.records import Record
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest, Decision

pytestmark = pytest.mark.anyio

REQUEST = ApprovalRequest(tool="cut", call_id="c1", reason="why", arguments={"a": 1}, expires_at=2e9)
RECORD = Record(request=REQUEST, arguments={"a": 1}, identity="i")
KEY = b"k" * 32


class Elsewhere:
    """Runs work as if in a thread, and counts."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, work: Any) -> Any:
        self.times += 1
        return work()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"store": MemoryApprovals(), "key": b"short"}, "at least 32 bytes"),
        ({"store": MemoryApprovals(), "key": []}, "a seal needs a key"),
        ({"expires_seconds": 0}, "expires_seconds has to be above 0"),
        ({"preview_seconds": -1}, "preview_seconds has to be above 0"),
        ({"preview_chars": 0}, "preview_chars has to be above 0"),
        ({"expires_seconds": -1.0}, "expires_seconds has to be above 0"),
        ({"expires_seconds": float("nan")}, "expires_seconds has to be above 0"),
        ({"key": b"short"}, "at least 32 bytes"),
        ({"key": KEY, "expires_seconds": None}, "have to expire"),
    ],
)
def test_an_invalid_option_is_refused_with_the_remedy(options, words):
    with pytest.raises(ValueError, match=words):
        Approvals(**options)


@pytest.mark.parametrize("ask", ["yes", 5])
def test_an_asker_that_is_not_a_function_is_refused(ask):
    """The refusal comes before a call waits for an answer."""
    with pytest.raises(TypeError, match="function of the request"):
        Approvals(ask=ask)


def test_sealed_request_is_not_stored():
    """The store remembers only that it was used."""
    approvals = Approvals(key=KEY)
    sealed = approvals.sealed(RECORD)
    assert approvals.seal.verify(sealed, "i")
    assert approvals.store.get(REQUEST.id) is None


def test_sealing_a_request_without_a_key_is_refused():
    with pytest.raises(ValueError, match="no key to seal requests with"):
        Approvals().sealed(RECORD)


def test_a_request_with_masked_arguments_cannot_be_sealed():
    """A masked argument would run as its mask."""
    record = Record(request=REQUEST, arguments={"a": "the secret"}, identity="i")
    with pytest.raises(ApprovalError, match="give Approvals a store") as caught:
        Approvals(key=KEY).sealed(record)
    assert caught.value.why == "store"
    assert "the secret" not in str(caught.value)


def test_only_the_newest_lost_requests_are_remembered():
    """A store that fails for months does not fill the memory."""
    names = NewestItems(3)
    for name in "abcd":
        names[name] = True
    names.pop("c", None)
    names.pop("x", None)
    assert (list(names), len(names), "a" in names) == (["b", "d"], 2, False)


def test_a_used_sealed_request_is_remembered_until_it_expires():
    """This holds even if many other requests follow."""
    approvals = Approvals(key=KEY)
    approvals.store._size = 2  # noqa: SLF001 -- ten thousand requests would take long
    approvals.store.add(RECORD)
    approvals.store.settle(REQUEST.id, Settlement("denied", by=None, now=1.0))
    others = [ApprovalRequest(tool="cut", call_id="c", reason="r", expires_at=2e9) for _ in range(2)]
    approvals.store.add(Record(request=others[0], arguments={}, identity="i"))
    with pytest.raises(ApprovalError, match="no more are kept"):
        approvals.store.add(Record(request=others[1], arguments={}, identity="i"))
    assert approvals.store.get(REQUEST.id).state == "denied"


class Slow:
    """An asker that says that it blocks."""

    blocking = True

    def __init__(self) -> None:
        self.thread: Any = None

    def ask(self, request):
        self.thread = threading.current_thread()
        return Decision.approve()


async def asynchronous(request):
    return Decision.approve(by="async")


@pytest.mark.parametrize(
    ("ask", "expected", "times"),
    [
        (None, None, 0),
        (lambda request: None, None, 0),
        (lambda request: True, Decision.approve(), 0),
        (lambda request: False, Decision.deny(), 0),
        (asynchronous, Decision.approve(by="async"), 0),
        (Slow(), Decision.approve(), 1),
        (DenyAll("no person"), Decision.deny("no person", by="nobody"), 0),
    ],
    ids=["no asker", "no answer", "yes", "no", "async", "blocking", "deny all"],
)
async def test_asker_answers_at_once_or_not_at_all(ask, expected, times):
    """A function, a coroutine function, or an object with `ask`; in a thread if it blocks."""
    elsewhere = Elsewhere()
    assert await Approvals(ask=ask).answer(REQUEST, elsewhere) == expected
    assert elsewhere.times == times


class Odd:
    """An asker that gives no decision."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, request):
        return self.answer


@pytest.mark.parametrize("answer", ["yes", 1, True, object()])
async def test_an_answer_that_is_not_a_decision_is_refused(answer):
    with pytest.raises(TypeError, match="has to return a Decision or None"):
        await Approvals(ask=Odd(answer)).answer(REQUEST, Elsewhere())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"expires_seconds": "60"}, "expires_seconds cannot be str; give a number of seconds, or None"),
        ({"expires_seconds": True}, "expires_seconds cannot be bool"),
        ({"preview_seconds": "5"}, "preview_seconds cannot be str"),
        ({"preview_chars": 1.5}, "preview_chars cannot be float"),
        ({"store_seconds": None}, "store_seconds cannot be None"),
        ({"clock": 5}, "clock cannot be int; give a function"),
        ({"ask": 5}, "a function of the request"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused(options, words):
    with pytest.raises(TypeError, match=words):
        Approvals(**options)


@pytest.mark.parametrize("make", [lambda by: Callback(lambda request: True, by=by), lambda by: TerminalPrompt(by=by)])
def test_the_name_of_the_person_who_answers_is_a_text(make):
    """It is kept with the record."""
    with pytest.raises(TypeError, match="by is the name of the person as a text, or None; got int"):
        make(5)
