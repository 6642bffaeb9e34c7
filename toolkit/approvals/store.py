"""
The interface of a store of approvals, and a base class for stores.

Every change is a function from a record to the next record, or to None if the change is not allowed. A store applies
it while no other caller can change the record. So if several callers want to make the same change, exactly one does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ..decisions import ApprovalRequest
from ..questions import AnsweredQuestion
from .records import ApprovalError, Claim, Record

if TYPE_CHECKING:
    from .seal import RecordSeal

__all__ = ["ApprovalStore", "ApprovalStoreBase", "Change", "Settlement", "is_pending"]

Change: TypeAlias = Callable[[Record], Record | None]


@dataclass(frozen=True, slots=True)
class Settlement:
    """
    The answer to a request.

    Attributes:
        state: "denied", or "claimed" if the call was approved and a process is about to run it.
        now: The time of the answer, in seconds since 1970.
        by: The person who answered.
        owner: The process that runs a claimed call, as `owner()` returns it.
        arguments: The arguments that replace those of the record; None if they stay.
        answers: The answers to the questions of a tool that replace those of the record; None if they stay.
        denial: The reason of a denial, as the model is told.
    """

    state: Literal["denied", "claimed"]
    _: KW_ONLY
    now: float
    by: str | None = None
    owner: str | None = None
    arguments: Any = field(default=None, repr=False)
    answers: Sequence[AnsweredQuestion] | None = field(default=None, repr=False)
    denial: str = ""

    def __post_init__(self) -> None:
        if self.state not in ("denied", "claimed"):
            raise ValueError(f"a request cannot be settled as {self.state!r}; use 'denied' or 'claimed'")
        if self.state == "claimed" and not self.owner:
            raise ValueError("a claim needs an owner; give owner=owner()")

    def apply(self, record: Record) -> Record | None:
        """Return *record* with this answer; return None if it was answered before, or is expired."""
        if record.state != "pending" or record.is_expired(self.now):
            return None
        is_claimed = self.state == "claimed"
        return replace(
            record,
            state=self.state,
            claim=Claim(owner=self.owner, at=self.now) if self.owner and is_claimed else None,
            arguments=record.arguments if self.arguments is None else self.arguments,
            answers=record.answers if self.answers is None else tuple(self.answers),
            decided_by=self.by,
            decided_at=self.now,
            denial="" if is_claimed else self.denial,
        )


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

    def settle(self, request_id: str, settlement: Settlement) -> bool:
        """
        Answer a request; return whether this was the answer that counts.

        A request can be answered only while it is pending and not expired, and only once: `settlement.apply` returns
        the changed record, or None.
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

        A claim without an outcome stays. With *sessions*, only records of these sessions are deleted.
        """


class ApprovalStoreBase(ABC):
    """
    A base class for stores that can apply any change to a record: `_change` returns whether it did.

    A change may replace the arguments and the outcome of a record, and reads neither.

    Such a store can be given a key. It then passes every record that it writes through `_sign`, and every record
    that it reads through `_verify`.
    """

    _seal: RecordSeal | None = None

    @property
    def is_signed(self) -> bool:
        """Whether the records carry signatures, and are refused without them."""
        return self._seal is not None

    def sign_with(self, seal: RecordSeal) -> None:
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

    def settle(self, request_id: str, settlement: Settlement) -> bool:
        """Answer a request; return whether this was the answer that counts."""
        return self._change(request_id, settlement.apply)

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take over the claim of an owner that is dead; return whether that owner still had the claim."""

        def change(record: Record) -> Record | None:
            return replace(record, claim=Claim(owner=owner, at=now)) if _is_claimed_by(from_owner, record) else None

        return self._change(request_id, change)

    def finish(self, request_id: str, outcome: Mapping[str, Any], *, owner: str) -> bool:
        """Keep the outcome of a call; return whether *owner* still had the claim."""

        def change(record: Record) -> Record | None:
            return replace(record, state="done", outcome=dict(outcome)) if _is_claimed_by(owner, record) else None

        return self._change(request_id, change)

    @abstractmethod
    def _change(self, request_id: str, change: Change) -> bool: ...


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
