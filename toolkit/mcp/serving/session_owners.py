"""
Who may use a session of an older revision over HTTP: the user who opened it, and no other.

The guard of the HTTP server asks here before it reads a request of any method. A session of another user answers as
one that does not exist.
"""

from __future__ import annotations

from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

from .conversations import Conversations, connection_of

__all__ = ["SessionOwners"]


class SessionOwners:
    """
    The principals who have opened the sessions of one server. The object is middleware of the server.

    Args:
        conversations: Knows the principal of a request.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._owners: dict[bytes, str | None] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Remember who opens a session, until it ends, and pass the message on."""
        connection = connection_of(ctx)
        if ctx.method == "initialize" and connection.session_id is not None:
            session_id = connection.session_id.encode()
            if session_id not in self._owners:
                self._owners[session_id] = self._conversations.principal_of(ctx)
                connection.exit_stack.callback(self._owners.pop, session_id, None)
        return await call_next(ctx)

    def may_touch(self, session_id: bytes, user: Any) -> bool:
        """Return whether *user*, as it stands in an HTTP request, may use the session *session_id*."""
        if session_id not in self._owners:
            return True  # there is no such session, and the SDK says so
        return self._owners[session_id] == self._conversations.find_principal(user)
