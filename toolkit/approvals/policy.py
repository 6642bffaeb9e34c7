"""
The settings of a dispatcher for asking people and for keeping their answers.
"""

from __future__ import annotations

import copy
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from .._option_checks import OptionTypes, check_option_types
from .._plumbing.forks import unlock_in_children
from .._plumbing.newest_items import NewestItems
from ..decisions import ApprovalRequest, Decision
from .askers import Asker, Callback
from .memory_store import MemoryApprovals
from .records import ApprovalError, Record
from .seal import RecordSeal, Seal
from .store import ApprovalStore

__all__ = ["Approvals", "RequestHolders"]

_DAY_SECONDS = 24 * 60 * 60.0
_MAX_REMEMBERED = 10_000
_SECONDS = ((int, float), "a number of seconds")
_OPTION_TYPES: OptionTypes = {
    "expires_seconds": ((int, float, type(None)), "a number of seconds, or None for no limit"),
    "preview_seconds": _SECONDS,
    "preview_chars": ((int,), "a number of characters"),
    "store_seconds": _SECONDS,
    "clock": ((Callable,), "a function that returns the seconds since 1970"),
}


class Approvals:
    """
    The way in which a dispatcher asks for approval.

    Args:
        store: The store that keeps requests until they are answered; by default a store in memory.
        key: At least 32 random bytes. Of several keys the first signs, and all verify. With a store, every record in it
            is signed in each of its states, and a record without a valid signature is refused. Without a store,
            requests are signed and are kept by the caller, who brings them back. Then it is only ensured within one
            process that a request is used once.
        ask: An asker, or a function from a request to a decision. It is asked at once, while the call waits. Without
            it, or if it answers None, the call's result is "waiting".
        expires_seconds: How long a request can be answered; None means without a limit.
        preview_seconds: How long it may take to make a preview.
        preview_chars: How many characters a preview may have.
        store_seconds: How long a call waits for one operation of a store that blocks. A call with less time left waits
            only for that time.
        clock: A function that returns the time in seconds since 1970.

    Attributes:
        lost: The requests whose calls ended in this process and whose outcome could not be kept: the newest 10,000.
        holders: The calls of this process that hold the same request.
    """

    def __init__(
        self,
        store: ApprovalStore | None = None,
        *,
        key: bytes | str | Sequence[bytes | str] | None = None,
        ask: Asker | Callable[[ApprovalRequest], Any] | None = None,
        expires_seconds: float | None = _DAY_SECONDS,
        preview_seconds: float = 5.0,
        preview_chars: int = 20_000,
        store_seconds: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if store is not None and not hasattr(store, "settle"):
            raise TypeError(f"a store cannot be {type(store).__name__}; give SQLiteApprovals(path), or none")
        _refuse_async_methods(store)
        if isinstance(ask, type):
            raise TypeError(f"ask is an object; write {ask.__name__}()")
        numbers: dict[str, Any] = {"expires_seconds": expires_seconds, "preview_seconds": preview_seconds}
        numbers |= {"preview_chars": preview_chars, "store_seconds": store_seconds}
        check_option_types({**numbers, "clock": clock}, _OPTION_TYPES)
        for name in ("preview_seconds", "preview_chars", "store_seconds"):
            if not numbers[name] > 0:
                raise ValueError(f"{name} has to be above 0, got {numbers[name]!r}")
        if not (expires_seconds is None or expires_seconds > 0):
            raise ValueError(f"expires_seconds has to be above 0, or None; got {expires_seconds!r}")
        if key is not None and store is None and expires_seconds is None:
            raise ValueError(
                "sealed requests have to expire: until then their ids are remembered, so that none is used twice"
            )
        self._key = key
        self.seal = None if key is None or store is not None else Seal(key)
        # Sealed requests are stored here once they come back, so that none is used twice.
        self.store: ApprovalStore = MemoryApprovals(until_expired=key is not None) if store is None else store
        if key is not None and store is not None:
            _sign(store, key)
        self.lost: NewestItems[str, bool] = NewestItems(_MAX_REMEMBERED)
        self.holders = RequestHolders()
        self.asker: Asker | None = ask if ask is None or hasattr(ask, "ask") else Callback(ask)
        self.expires_seconds = expires_seconds
        self.preview_seconds = preview_seconds
        self.preview_chars = preview_chars
        self.store_seconds = store_seconds
        self.clock = clock

    def with_store(self, store: ApprovalStore) -> Approvals:
        """
        Return the same settings with another *store*. If these ones have a key, the new store signs with it.

        Raises:
            TypeError: *store* is no store, or cannot sign its records.
        """
        other = Approvals(store, key=self._key)
        approvals = copy.copy(self)
        approvals.store, approvals.seal = other.store, other.seal
        approvals.lost, approvals.holders = other.lost, other.holders
        return approvals

    def sealed(self, record: Record) -> ApprovalRequest:
        """Return the request of *record* with its seal; raise `ApprovalError` if it may not leave the process."""
        if self.seal is None:
            raise ValueError("there is no key to seal requests with; give Approvals(key=...) one, and no store")
        request = record.request
        has_hidden_arguments = dict(request.arguments) != record.arguments
        if has_hidden_arguments or record.questions or request.answers != record.answers:
            hidden = "arguments" if has_hidden_arguments else "questions or answers"
            raise ApprovalError(
                f"`{request.tool}` has {hidden} that may not be shown, so they cannot travel in a sealed request; give "
                "Approvals a store",
                why="store",
            )
        return self.seal.sign(request, record.identity)

    async def answer(self, request: ApprovalRequest, in_thread: Callable[[Callable[[], Any]], Any]) -> Decision | None:
        """Return the decision of the asker; return None if there is no asker, or if it leaves the request waiting."""
        asker: Any = self.asker
        if asker is None:
            return None
        if getattr(asker, "blocking", False):
            reply = await in_thread(lambda: asker.ask(request))
        else:
            reply = asker.ask(request)
        decision: Any = await reply if inspect.isawaitable(reply) else reply
        if decision is not None and not isinstance(decision, Decision):
            raise TypeError(f"an asker has to return a Decision or None, got {type(decision).__name__}")
        return decision


class RequestHolders:
    """
    Counts the calls of this process that hold each of the newest requests, and knows which a person is asked about.

    A call that ends without an answer withdraws its request. Another call that has got the same request may still wait
    for the answer, so the request is withdrawn with the last call that holds it.
    """

    def __init__(self) -> None:
        self._counts: NewestItems[str, int] = NewestItems(_MAX_REMEMBERED)
        self._asked: set[str] = set()
        self._digests: NewestItems[str, str] = NewestItems(_MAX_REMEMBERED)
        self._lock = unlock_in_children(threading.Lock())

    def add_maker(self, request_id: str) -> None:
        """Count a call that has made a request. Several calls may make the same sealed request."""
        with self._lock:
            self._counts[request_id] = self._counts.get(request_id, 0) + 1

    def add(self, request_id: str) -> None:
        """Count another call. The calls that hold a request of another process are not counted."""
        with self._lock:
            if request_id in self._counts:
                self._counts[request_id] += 1

    def remove(self, request_id: str, *, is_maker: bool) -> bool:
        """Forget one call, and return whether the request has to be withdrawn, because it was the last one."""
        with self._lock:
            count = self._counts.pop(request_id, None)
            if count is None:
                return is_maker
            if count > 1:
                self._counts[request_id] = count - 1
            return count <= 1

    def reserve(self, request_id: str, digest: str) -> bool:
        """Return whether the id of a sealed request, which its caller has chosen, is free or has the same *digest*."""
        with self._lock:
            return self._digests.setdefault(request_id, digest) == digest

    def begin_question(self, request_id: str) -> bool:
        """Return whether the caller may ask a person about a request: no other call is asking about it."""
        with self._lock:
            is_free = request_id not in self._asked
            self._asked.add(request_id)
            return is_free

    def end_question(self, request_id: str) -> None:
        """Let other calls ask about the request again. Only a call that was asking does this."""
        with self._lock:
            self._asked.discard(request_id)


def _refuse_async_methods(store: ApprovalStore | None) -> None:
    """Raise `TypeError` for a store with async methods, because their coroutines would be taken for their answers."""
    required, optional = ("add", "get", "settle", "reclaim", "finish", "pending", "purge"), ("add_call", "find_call")
    for name in (*required, *optional, "is_owner_alive"):
        if inspect.iscoroutinefunction(getattr(store, name, None)):
            raise TypeError(
                f"{type(store).__name__}.{name} is async, and the methods of a store are plain functions; let it wait "
                "for its answer, and set blocking = True, so that it is called in a thread"
            )


def _sign(store: ApprovalStore, key: bytes | str | Sequence[bytes | str]) -> None:
    """Make *store* sign its records with *key* and refuse others; raise `TypeError` if it cannot sign."""
    seal = RecordSeal(key)  # raises an error for a bad key
    if not hasattr(store, "sign_with"):
        raise TypeError(
            f"{type(store).__name__} cannot sign its records; give it the methods `sign_with` and `is_signed`, as "
            "toolkit.approvals.store.ApprovalStoreBase has them, or leave out the key"
        )
    store.sign_with(seal)
