"""
The interface of a store of approvals, and a base class for stores.

Every change is a function from a record to the next record, or to None if the change is not allowed. A store applies
it while no other caller can change the record. So if several callers want to make the same change, exactly one does.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import EllipsisType
from typing import Any, Literal, Protocol, TypeAlias

from ..decisions import ApprovalRequest
from ..questions import AnsweredQuestion
from .records import ApprovalError, Claim, Record

__all__ = [
    "ApprovalStore",
    "ApprovalStoreBase",
    "Change",
    "SignsRecords",
    "check_takes_answers",
    "is_pending",
    "may_purge_sessions",
    "may_settle_with",
]

Change: TypeAlias = Callable[[Record], Record | None]


class SignsRecords(Protocol):
    """The signing of records for a store with a key; `RecordSeal` implements it."""

    def has_same_keys(self, other: Any) -> bool:
        """Return whether this object and *other* sign and verify with the same keys."""

    def sign(self, record: Record) -> Record:
        """Return *record* with its signature. A store calls this just before it writes the record."""

    def check(self, record: Record) -> None:
        """Raise `ApprovalError` unless *record*, which was just read, is unchanged since it was signed."""

    def remember(self, record: Record) -> None:
        """Remember that *record* is in the store now."""


class ApprovalStore(Protocol):
    """
    A store that keeps requests until they are answered, and the outcomes of their calls.

    A store does not judge whether an answer is right: the dispatcher does that before it calls `settle`. A store that
    cannot do its work raises `ApprovalError`.

    Attributes:
        blocking: Whether a method may block; the dispatcher then calls it in a thread.
    """

    @property
    def blocking(self) -> bool: ...

    def add(self, record: Record) -> None:
        """Keep a pending record; raise `ValueError` if its id is already in the store."""

    def get(self, request_id: str) -> Record | None:
        """Return the present record with exactly this id; return None if there is none."""

    def settle(
        self,
        request_id: str,
        state: Literal["denied", "claimed"],
        *,
        by: str | None,
        owner: str | None,
        now: float,
        arguments: Any = None,
        answers: Sequence[AnsweredQuestion] | None = None,
        denial: str = "",
    ) -> bool:
        """
        Answer a request; return whether this was the answer that counts.

        A request can be answered only while it is pending and not expired, and only once. A claimed request has an
        *owner*, which is the process that runs the call. *arguments* and *answers* replace those of the record.
        *answers* are given only for a call that asks its user questions. *denial* is the reason of a denial. It is
        given only to a store that has the parameter.
        """

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take over the claim of an owner that is dead; return whether that owner still had the claim."""

    def finish(self, request_id: str, outcome: Mapping[str, Any], *, owner: str) -> bool:
        """Keep the outcome of a call; return whether *owner* still had the claim."""

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """
        Return the requests that can still be answered *now*, the oldest first.

        By default, these are the requests of every session and principal. None selects the requests without a session
        or without a principal.
        """

    def purge(self, *, before: float, sessions: Collection[str] | None = None) -> int:
        """
        Delete the records that were denied, done or expired *before* that time, and return how many they were.

        A claim without an outcome stays. With *sessions*, only records of these sessions are deleted. It is given only
        to a store that has the parameter.
        """


class ApprovalStoreBase(ABC):
    """
    A base class for stores that can apply any change to a record: `_change` returns whether it did.

    Such a store can be given a key. It then passes every record that it writes through `_sign`, and every record
    that it reads through `_verify`.
    """

    _seal: SignsRecords | None = None

    @property
    def is_signed(self) -> bool:
        """Whether the records carry signatures, and are refused without them."""
        return self._seal is not None

    def sign_with(self, seal: SignsRecords) -> None:
        """
        Sign every record from now on, and refuse records without a valid signature.

        Raises:
            ValueError: The store has another key already.
        """
        if self._seal is not None and not self._seal.has_same_keys(seal):
            raise ValueError("this store has another key already; give every Approvals of one store the same key")
        self._seal = self._seal or seal

    def _sign(self, record: Record) -> Record:
        if self._seal is not None:
            return self._seal.sign(record)
        if record.seal is not None:
            raise ApprovalError(
                f"request {record.request.id[:64]} is signed, and this store has no key to sign its next state; "
                "give Approvals(store, key=...) the key",
                why="store",
            )
        return record

    def _verify(self, record: Record) -> Record:
        if self._seal is not None:
            self._seal.check(record)
        return record

    def _remember(self, record: Record) -> None:
        """Tell the seal that *record* is in the store."""
        if self._seal is not None:
            self._seal.remember(record)

    def settle(
        self,
        request_id: str,
        state: Literal["denied", "claimed"],
        *,
        by: str | None,
        owner: str | None,
        now: float,
        arguments: Any = None,
        answers: Sequence[AnsweredQuestion] | None = None,
        denial: str = "",
    ) -> bool:
        """Answer a request; return whether this was the answer that counts."""
        return self._change(
            request_id,
            _build_settlement(state, by=by, owner=owner, now=now, arguments=arguments, answers=answers, denial=denial),
        )

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take over the claim of an owner that is dead; return whether that owner still had the claim."""
        return self._change(request_id, _build_reclaim(from_owner=from_owner, owner=owner, now=now))

    def finish(self, request_id: str, outcome: Mapping[str, Any], *, owner: str) -> bool:
        """Keep the outcome of a call; return whether *owner* still had the claim."""
        return self._change(request_id, _build_finish(outcome, owner=owner))

    @abstractmethod
    def _change(self, request_id: str, change: Change) -> bool: ...


def _build_settlement(
    state: Literal["denied", "claimed"],
    *,
    by: str | None,
    owner: str | None,
    now: float,
    arguments: Any = None,
    answers: Sequence[AnsweredQuestion] | None = None,
    denial: str = "",
) -> Change:
    """Return the change from pending to *state*."""
    if state not in ("denied", "claimed"):
        raise ValueError(f"a request cannot be settled as {state!r}; use 'denied' or 'claimed'")
    if state == "claimed" and not owner:
        raise ValueError("a claim needs an owner; give owner=owner()")

    def change(record: Record) -> Record | None:
        if record.state != "pending" or record.is_expired(now):
            return None
        return replace(
            record,
            state=state,
            claim=Claim(owner=owner, at=now) if owner and state == "claimed" else None,
            arguments=record.arguments if arguments is None else arguments,
            answers=record.answers if answers is None else tuple(answers),
            decided_by=by,
            decided_at=now,
            denial=denial if state == "denied" else "",
        )

    return change


def _build_reclaim(*, from_owner: str, owner: str, now: float) -> Change:
    """Return the change from the claim of *from_owner* to the claim of *owner*."""

    def change(record: Record) -> Record | None:
        return replace(record, claim=Claim(owner=owner, at=now)) if _is_claimed_by(from_owner, record) else None

    return change


def _build_finish(outcome: Mapping[str, Any], *, owner: str) -> Change:
    """Return the change from claimed to done."""

    def change(record: Record) -> Record | None:
        return replace(record, state="done", outcome=dict(outcome)) if _is_claimed_by(owner, record) else None

    return change


def check_takes_answers(store: ApprovalStore) -> None:
    """Raise `ApprovalError` if `settle` of *store*, which a user has written, cannot keep the answers of a tool."""
    if not may_settle_with(store, "answers"):
        raise ApprovalError(
            f"{type(store).__name__}.settle cannot keep the answers to the questions of a tool; give it the parameter "
            "`answers=None`, and put them into the record with replace(record, answers=tuple(answers))",
            why="store",
        )


def may_settle_with(store: ApprovalStore, name: str) -> bool:
    """Return whether `settle` of *store*, which a user may have written, has a parameter *name*."""
    return _has_parameter(store.settle, name)


def may_purge_sessions(store: ApprovalStore) -> bool:
    """Return whether *store*, which a user may have written, can delete the records of single sessions."""
    return _has_parameter(store.purge, "sessions")


def _has_parameter(method: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(method).parameters
    return name in parameters or any(value.kind is value.VAR_KEYWORD for value in parameters.values())


def is_pending(
    record: Record, session: str | EllipsisType | None, principal: str | EllipsisType | None, now: float
) -> bool:
    """Return whether *record* can still be answered, and has the requested session and principal."""
    return (
        record.state == "pending"
        and not record.is_expired(now)
        and session in (..., record.request.session)
        and principal in (..., record.request.principal)
    )


def _is_claimed_by(owner: str, record: Record) -> bool:
    return record.state == "claimed" and record.claim is not None and record.claim.owner == owner
