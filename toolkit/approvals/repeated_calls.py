"""
Requests of a call that asks again: which of them still counts, and how a store finds it.

The same call has the same id, arguments, tool, session and principal. An id that the library made up does not count,
because each call without an id of its own is a new call. A caller may choose the id of the request instead. Then the
same call is the one that names this id.

    pending             the call waits: asking again gives the same request
    claimed             the call runs, or it is unknown whether it has run: asking again runs nothing
    done                the call has run: asking again gives the recorded outcome, until the request expires
    denied or expired   nothing has run: asking again makes a new request

If the caller has chosen the id of the request, a denial by a person counts as well: asking again gives the denial.
"""

from __future__ import annotations

from typing import Any

from ..decisions import ApprovalRequest
from ..values.strictjson.canonical import digest_parts, encode_canonical
from .records import Record
from .store import ApprovalStore

__all__ = [
    "WITHDRAWN",
    "add_call",
    "add_or_get",
    "build_call_key",
    "build_request_key",
    "find_call",
    "find_chosen",
    "has_approved_askers",
    "is_current",
    "is_same_call",
    "is_settled",
    "is_withdrawn",
]

WITHDRAWN = "(withdrawn)"
"""Stands in place of a person in `Record.decided_by` if the call has ended before a person answered."""


def build_call_key(call_id: str, digest: str) -> str:
    """Return the key of a call. *digest* stands for its tool, arguments, session and principal."""
    return digest_parts("toolkit call", call_id, digest)


def build_request_key(request_id: str) -> str:
    """Return the key of a call whose caller has chosen the id of its request."""
    return digest_parts("toolkit chosen request", request_id)


def is_settled(record: Record, now: float) -> bool:
    """Return whether *record*, whose id the caller has chosen, still counts. A denial by a person does."""
    return is_current(record, now) or (record.state == "denied" and not is_withdrawn(record))


def is_withdrawn(record: Record) -> bool:
    """Return whether *record* was closed without an answer. No person has said no, so the call may ask again."""
    return record.state == "denied" and record.decided_by == WITHDRAWN


def is_current(record: Record, now: float) -> bool:
    """Return whether *record* still counts for its call, so that asking again must not make another request."""
    if record.state == "claimed":
        return True
    if record.state == "denied" or record.is_expired(now):
        return False
    return record.state == "pending" or not _has_not_happened(record.outcome or {})


def is_same_call(record: Record, request: ApprovalRequest) -> bool:
    """
    Return whether *record*, which a store has found by the key of a call, belongs to the call of *request*.

    The arguments may differ, because a person may have changed them.
    """
    stored = record.request
    return (stored.call_id, stored.tool, stored.session, stored.principal) == (
        request.call_id,
        request.tool,
        request.session,
        request.principal,
    )


def find_call(store: Any, request: ApprovalRequest, now: float) -> Record | None:
    """
    Return the record that counts for the call of *request*; None if the call needs a new request.

    A store without the method `find_call` is searched for a request that waits. It cannot tell about other requests.
    """
    if hasattr(store, "find_call"):
        record: Record | None = store.find_call(build_call_key(request.call_id, request.digest))
        return record if record is not None and is_current(record, now) else None
    waiting = store.pending(session=request.session, principal=request.principal, now=now)
    same = (other for other in waiting if (other.call_id, other.digest) == (request.call_id, request.digest))
    pending = next(same, None)
    return None if pending is None else store.get(pending.id)


def find_chosen(store: Any, request_id: str) -> tuple[Record, Record] | None:
    """
    Return the first and the newest record of the call whose caller has chosen *request_id*; None if there is none.

    In a store without the method `find_call`, and if requests are sealed, the outcome of a record leads to the next.
    """
    first: Record | None = store.get(request_id)
    if first is None:
        return None
    newest: Record | None = None
    if hasattr(store, "find_call"):
        newest = store.find_call(build_request_key(request_id))
    if newest is None:
        newest = first
        while (name := _find_next_request(newest)) is not None and (following := store.get(name)) is not None:
            newest = following
    return first, newest


def _find_next_request(record: Record) -> str | None:
    """Return the id of the request that took the place of *record*, because the call asked a person once more."""
    outcome = record.outcome or {}
    request = outcome.get("request") if outcome.get("kind") == "waiting" else None
    return request["id"] if isinstance(request, dict) and isinstance(request.get("id"), str) else None


def has_approved_askers(store: ApprovalStore, record: Record) -> bool:
    """
    Return whether a person has approved the call of *record*, a request for credentials or answers, before.

    Every asker that *record* names has to be named by that approval. Each request in between led to the next one, as
    its outcome says, and ran the same call.
    """
    askers = set(record.request.asked_by)
    arguments, seen = encode_canonical(record.arguments), {record.request.id}
    while askers and not record.request.is_approval:
        name = record.replaces
        former = None if name is None or name in seen else store.get(name)
        if former is None or _find_next_request(former) != record.request.id:
            return False
        is_same = former.identity == record.identity and is_same_call(former, record.request)
        if not (is_same and encode_canonical(former.arguments) == arguments):
            return False
        if not askers <= set(former.request.asked_by):
            return False
        seen.add(former.request.id)
        record = former
    return True


def add_call(store: Any, record: Record, now: float, *, key: str | None = None, replaces: str | None = None) -> Record:
    """
    Keep *record* as the newest request of its call and return it, or return the record that counts for the call.

    *replaces* is the id of a request of the same call that *record* takes the place of. Then *record* is always kept.
    *key* is the key of the call, if its caller has chosen the id of the request.
    """
    if hasattr(store, "add_call"):
        if replaces is None and key is None:
            key = build_call_key(record.request.call_id, record.request.digest)
        kept: Record = store.add_call(record, key, now=now, replaces=replaces)
        return kept
    known = None if replaces is not None or key is not None else find_call(store, record.request, now)
    if known is None:
        store.add(record)
    return record if known is None else known


def add_or_get(store: ApprovalStore, record: Record) -> Record:
    """Keep *record* and return it, or return the stored record with the same id."""
    try:
        store.add(record)
    except ValueError:
        stored = store.get(record.request.id)
        return record if stored is None else stored
    return record


def _has_not_happened(outcome: dict[str, Any]) -> bool:
    """Return whether the outcome of a call says that it has had no effect, so that it may be asked about again."""
    error = outcome.get("error")
    details = error.get("details") if isinstance(error, dict) else None
    return isinstance(details, dict) and details.get("happened") == "no"
