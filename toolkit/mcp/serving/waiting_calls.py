"""
Calls that wait for a person whom their client cannot ask, because a stateless server keeps no connection to it.

The request is in the store that all processes share. A person answers it on a page of the server, and the process that
gets the answer runs the call. The client calls again, through any process, and gets the result that was recorded. For
that, the same call of the same user has the same request, until the request expires.
"""

from __future__ import annotations

import time
from typing import Any

from ...approvals.memory_store import MemoryApprovals
from ...decisions import ApprovalRequest
from ...dispatcher import Dispatcher
from ...session import Session
from ...values.visible import make_visible
from .answers import build_error_answer
from .conversations import RequestContext, open_single_call
from .sealed_state import StateSeal

__all__ = ["WaitingCalls"]

_PAGES = "/requests/"


class WaitingCalls:
    """
    The calls of *dispatcher* that wait for an answer on a page.

    Args:
        seal: Makes the ids of the requests, so that all processes with one key have the same.
        has_key: Whether the key of *seal* is one that other processes have, too.
        expires_seconds: How long a request can be answered.

    Attributes:
        path: The path of the MCP server, below which the pages are; None if there are no pages.
    """

    def __init__(self, dispatcher: Dispatcher, seal: StateSeal, *, has_key: bool, expires_seconds: float) -> None:
        self.path: str | None = None
        self.dispatcher = dispatcher
        self._seal = seal
        self._has_key = has_key
        self._expires_seconds = expires_seconds

    @property
    def _can_share(self) -> bool:
        """Whether another process, or this one after a restart, can take the answer."""
        return self._has_key and not isinstance(self.dispatcher.approvals.store, MemoryApprovals)

    async def prepare(self, digest: str, session: Session, principal: str | None) -> tuple[Session, str | None]:
        """Return the session for a call with this *digest*, and the id of the request that it would make."""
        if not self._can_share:
            return session, None
        if principal is None:
            # A conversation of its own, which has no grants; its id is the same if the call is made again.
            session = open_single_call(self._seal.derive_session_id(digest))
        now = self.dispatcher.approvals.clock()
        period = int(now // self._expires_seconds)
        former, current = (
            self._seal.derive_id("toolkit mcp request", digest, repr(principal), str(number))
            for number in (period - 1, period)
        )
        record = await self.dispatcher.settings.store_runner.find_record(former)
        return session, current if record is None or record.is_expired(now) else former

    def find_page_id(self, path: str) -> str | None:
        """Return the id of the request whose page has this *path*; None if it is no such page."""
        start = f"{(self.path or '').rstrip('/')}{_PAGES}"
        return path.removeprefix(start) if self.path is not None and path.startswith(start) else None

    def build_answer(self, context: RequestContext, request: ApprovalRequest) -> dict[str, Any] | None:
        """Return what the client is told about a call that waits; None if the call cannot wait."""
        if not self._can_share or self.path is None or context.request is None:
            return None
        tool = make_visible(request.tool, keep_lines=False)
        address = f"{str(context.request.base_url).rstrip('/')}{self.path.rstrip('/')}{_PAGES}{request.id}"
        until = ""
        if request.expires_at is not None:
            until = f" until {time.strftime('%H:%M', time.gmtime(request.expires_at))} UTC"
        need = (
            "has a question for the user" if request.questions else f"needs the approval of a person: {request.reason}"
        )
        if request.auth is not None:
            need = f"needs credentials of {request.auth.provider}"
        # An error, because clients refuse a result without the value that the schema of a tool promises.
        return build_error_answer(
            f"waiting: `{tool}` {need}. It has not run. The user can answer at {address}{until}. Give the user this "
            f"address. When the user has answered, call `{tool}` again with the same arguments to get its result."
        )
