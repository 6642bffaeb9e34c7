"""
Askers that answer at once: a function, or an automatic no. The package `terminal` has the asker for a person.

An asker gets an `ApprovalRequest` and returns a `Decision`, directly or as an awaitable. If it returns None, the
request waits for an answer from elsewhere. An asker that blocks has the attribute `blocking = True`, and is called in
a thread.
"""

from __future__ import annotations

import getpass
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from ..decisions import ApprovalRequest, Decision

__all__ = ["Answer", "Asker", "Callback", "DenyAll", "find_user"]

Answer: TypeAlias = "Decision | None"


class Asker(Protocol):
    """An object that answers approval requests. Without the attribute `blocking`, it counts as not blocking."""

    def ask(self, request: ApprovalRequest) -> Answer | Awaitable[Answer]: ...


class Callback:
    """
    An asker that calls a function with the request; the function may be sync or async.

    The function returns a `Decision`, True to approve once, False to deny, or None to leave the request waiting.

    Args:
        function: The function that gets the request.
        by: The name that is recorded as the one who answered, if the function returns only True or False.
        blocking: Whether the function may block and has to be called in a thread.
    """

    def __init__(
        self,
        function: Callable[[ApprovalRequest], Decision | bool | Awaitable[Decision | bool | None] | None],
        *,
        by: str | None = None,
        blocking: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a callback has to be a function of the request, got {type(function).__name__}")
        if not isinstance(by, str | None):
            raise TypeError(f"by is the name of the person as a text, or None; got {type(by).__name__}")
        self._function = function
        self._by = by
        self.blocking = blocking

    def ask(self, request: ApprovalRequest) -> Answer | Awaitable[Answer]:
        answer = self._function(request)
        if inspect.isawaitable(answer):
            return self._await_decision(request, answer)
        return self._as_decision(request, answer)

    async def _await_decision(self, request: ApprovalRequest, answer: Awaitable[Any]) -> Answer:
        return self._as_decision(request, await answer)

    def _as_decision(self, request: ApprovalRequest, answer: Any) -> Answer:
        if answer is None or isinstance(answer, Decision):
            return answer
        # Only True and False count, because a truthy text such as "no" must not approve.
        if answer is True:
            return Decision.approve(by=self._by, principal=request.principal)
        if answer is False:
            return Decision.deny(by=self._by, principal=request.principal)
        raise TypeError(
            f"the callback for `{request.tool}` answered with {type(answer).__name__}; "
            "it has to be a Decision, True, False or None"
        )


class DenyAll:
    """An asker that denies every request, for programs where no person is there to ask."""

    def __init__(self, reason: str = "there is no person to ask") -> None:
        self._reason = reason

    def ask(self, request: ApprovalRequest) -> Decision:
        return Decision.deny(self._reason, by="nobody", principal=request.principal)


def find_user(otherwise: str) -> str:
    """Return the name of the user of this machine, or *otherwise* if it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return otherwise
