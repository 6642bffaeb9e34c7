"""
What a store of approvals has to do.

Every change is a function from a record to the next one, or to None where it
is not allowed. A store applies it while nobody else can change the record, so
that of all who want to change it the same way exactly one does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import EllipsisType
from typing import Any, Literal, Protocol, TypeAlias

from ..decisions import ApprovalRequest
from .records import ApprovalError, Claim, Record

__all__ = ["ApprovalStore", "Change", "Changing", "SignsRecords", "is_pending"]

Change: TypeAlias = Callable[[Record], Record | None]


class SignsRecords(Protocol):
    """What a store with a key does with each record: `RecordSeal` does it."""

    def has_same_keys(self, other: Any) -> bool:
        """Return whether both sign and verify with the same keys."""

    def sign(self, record: Record) -> Record:
        """Return *record* with its signature, just before it is written."""

    def check(self, record: Record) -> None:
        """Raise `ApprovalError` unless *record*, which was just read, is as it was signed."""

    def remember(self, record: Record) -> None:
        """Remember that *record* is in the store now."""


class ApprovalStore(Protocol):
    """
    Keeps requests until they are answered, and what became of them.

    Nothing here judges whether an answer is right: the dispatcher does, before it settles.
    A store that cannot do its work raises `ApprovalError`.

    Attributes:
        blocking: Whether a method may take its time; the dispatcher then calls it in a thread.
    """

    @property
    def blocking(self) -> bool: ...

    def add(self, record: Record) -> None:
        """Keep a record that is pending; `ValueError` if its id is taken."""

    def get(self, request_id: str) -> Record | None:
        """The record of exactly this id, as it is now."""

    def settle(
        self,
        request_id: str,
        state: Literal["denied", "claimed"],
        *,
        by: str | None,
        owner: str | None,
        now: float,
        arguments: Any = None,
    ) -> bool:
        """
        Answer a request; whether this was the answer that counts.

        Only one that is pending and not expired can be answered, and only once. What is claimed has
        an *owner*, who runs it; *arguments* replace those of the record.
        """

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take a claim over from an owner who is dead; whether it was still theirs."""

    def finish(self, request_id: str, outcome: Mapping[str, Any], *, owner: str) -> bool:
        """Keep what came of a call; whether *owner* still had the claim."""

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """
        What can still be answered *now*, the oldest first.

        Of any session and principal unless one is given; None is given for those that have none.
        """

    def purge(self, *, before: float) -> int:
        """Forget what was denied, done or expired *before*, and say how many; a claim without an outcome stays."""


class Changing(ABC):
    """
    The changes of a store that can apply any one of them: `_change` says whether it did.

    Such a store can be given a key. It then passes every record that it writes through `_signed`, and every record
    that it reads through `_checked`.
    """

    _seal: SignsRecords | None = None

    @property
    def is_signed(self) -> bool:
        """Whether the records carry signatures, and are refused without."""
        return self._seal is not None

    def sign_with(self, seal: SignsRecords) -> None:
        """Sign every record from now on, and refuse those without a valid signature; `ValueError` for a second key."""
        if self._seal is not None and not self._seal.has_same_keys(seal):
            raise ValueError("this store has another key already; give every Approvals of one store the same key")
        self._seal = self._seal or seal

    def _signed(self, record: Record) -> Record:
        if self._seal is not None:
            return self._seal.sign(record)
        if record.seal is not None:
            raise ApprovalError(
                f"request {record.request.id[:64]} is signed, and this store has no key to sign its next state; "
                "give Approvals(store, key=...) the key",
                why="store",
            )
        return record

    def _checked(self, record: Record) -> Record:
        if self._seal is not None:
            self._seal.check(record)
        return record

    def _remember(self, record: Record) -> None:
        """Take note that *record* is in the store."""
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
    ) -> bool:
        """Answer a request; whether this was the answer that counts."""
        return self._change(request_id, _settled(state, by=by, owner=owner, now=now, arguments=arguments))

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take a claim over from an owner who is dead; whether it was still theirs."""
        return self._change(request_id, _reclaimed(from_owner=from_owner, owner=owner, now=now))

    def finish(self, request_id: str, outcome: Mapping[str, Any], *, owner: str) -> bool:
        """Keep what came of a call; whether *owner* still had the claim."""
        return self._change(request_id, _finished(outcome, owner=owner))

    @abstractmethod
    def _change(self, request_id: str, change: Change) -> bool: ...


def _settled(
    state: Literal["denied", "claimed"], *, by: str | None, owner: str | None, now: float, arguments: Any = None
) -> Change:
    """From pending to *state*."""
    if state not in ("denied", "claimed"):
        raise ValueError(f"a request cannot be settled as {state!r}; use 'denied' or 'claimed'")
    if state == "claimed" and not owner:
        raise ValueError("a claim has to have an owner; give owner=owner()")

    def change(record: Record) -> Record | None:
        if record.state != "pending" or record.is_expired(now):
            return None
        return replace(
            record,
            state=state,
            claim=Claim(owner=owner, at=now) if owner and state == "claimed" else None,
            arguments=record.arguments if arguments is None else arguments,
            decided_by=by,
            decided_at=now,
        )

    return change


def _reclaimed(*, from_owner: str, owner: str, now: float) -> Change:
    """From one owner's claim to another's."""

    def change(record: Record) -> Record | None:
        return replace(record, claim=Claim(owner=owner, at=now)) if _is_claimed_by(from_owner, record) else None

    return change


def _finished(outcome: Mapping[str, Any], *, owner: str) -> Change:
    """From claimed to done."""

    def change(record: Record) -> Record | None:
        return replace(record, state="done", outcome=dict(outcome)) if _is_claimed_by(owner, record) else None

    return change


def is_pending(
    record: Record, session: str | EllipsisType | None, principal: str | EllipsisType | None, now: float
) -> bool:
    """Whether *record* can still be answered, and is one of those asked for."""
    return (
        record.state == "pending"
        and not record.is_expired(now)
        and session in (..., record.request.session)
        and principal in (..., record.request.principal)
    )


def _is_claimed_by(owner: str, record: Record) -> bool:
    return record.state == "claimed" and record.claim is not None and record.claim.owner == owner
