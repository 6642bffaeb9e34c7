"""
For whom a call is made, and which conversation it belongs to.

A connection of an older revision is one conversation. Revision 2026-07-28 has no connections, and neither has a
stateless server. There, the conversation is that of the question that is answered, or that of the user, or else every
call is a conversation of its own.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.connection import Connection
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..._plumbing.newest_items import NewestItems
from ...calls.background.jobs import keep_no_jobs
from ...calls.kept_outputs import keep_no_outputs
from ...catalogs.foreign_text import clean_text
from ...session import Session
from .sealed_state import StateSeal

__all__ = [
    "Conversations",
    "RequestContext",
    "connection_of",
    "is_modern",
    "is_stateless",
    "name_client",
    "open_single_call",
]

RequestContext: TypeAlias = ServerRequestContext[Any, Any]

_STATE_KEY = "toolkit.session"
_MAX_PRINCIPALS = 10_000


def is_modern(context: RequestContext) -> bool:
    """Return whether the request of *context* follows a revision without sessions: 2026-07-28 or newer."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_stateless(context: RequestContext) -> bool:
    """Return whether the request is of an older revision, and came to a server that keeps no connections."""
    return not (is_modern(context) or context.session.can_send_request)


def connection_of(context: RequestContext) -> Connection:
    """Return the connection that the request came over. In a revision without sessions it lasts for one request."""
    return context.session._connection  # noqa: SLF001 -- the SDK documents `Connection.state`, and has no other way to it


def name_client(context: RequestContext) -> str:
    """Return the name of the client for the record of its answers."""
    client = context.session.client_params
    return "MCP client" if client is None else f"MCP client {clean_text(client.client_info.name, 64)}"


def open_single_call(session_id: str | None = None) -> Session:
    """Return a conversation of one call. No later call has it, so it keeps no results and no jobs."""
    session = Session() if session_id is None else Session(id=session_id)
    keep_no_outputs(session)
    keep_no_jobs(session)
    return session


class Conversations:
    """
    The principals and the sessions of the calls of one server.

    *seal* makes the ids of conversations, so that all processes with one key have the same. *principal* is for whom
    calls are made that come without authentication.
    """

    def __init__(self, seal: StateSeal, principal: str | None = None) -> None:
        self._seal = seal
        self._principal = principal
        self._sessions: NewestItems[str, Session] = NewestItems(_MAX_PRINCIPALS)

    def principal_of(self, context: RequestContext) -> str | None:
        """Return the authenticated user of the request; the fixed principal of the server if there is none."""
        request = context.request
        return self.find_principal(None if request is None else request.scope.get("user"))

    def find_principal(self, user: Any) -> str | None:
        """Return the name of *user*, which an authentication has put into an HTTP request; None means no user."""
        if user is None:
            return self._principal
        if isinstance(user, AuthenticatedUser):
            client_id, issuer, subject = principal_components(user.access_token)
            # A subject is unique only among those of its issuer.
            return client_id if subject is None else subject if issuer is None else f"{subject} of {issuer}"
        # The user of another authentication middleware of Starlette.
        if not user.is_authenticated:
            return self._principal
        return str(user.display_name)

    def session_of(self, context: RequestContext, principal: str | None) -> Session:
        """Return the conversation that a request of *principal* belongs to."""
        if is_modern(context) or is_stateless(context):
            return self.session_of_principal(principal)
        # A client that knows the id of a connection must not share the conversation of its user.
        state, key = connection_of(context).state, f"{_STATE_KEY}:{principal}"
        session: Session | None = state.get(key)
        if session is None:
            session = state[key] = Session(principal=principal)
        return session

    def session_of_principal(self, principal: str | None) -> Session:
        """Return the conversation of *principal* where there are no connections."""
        return (
            open_single_call() if principal is None else self._find(self._seal.derive_session_id(principal), principal)
        )

    def session_of_question(self, session_id: str | None, principal: str | None) -> Session | None:
        """Return the conversation of a question that was verified; None if it lasted for one call only."""
        if principal is None or session_id is None:
            return None
        return self._find(session_id, principal)

    def _find(self, session_id: str, principal: str) -> Session:
        session = self._sessions.get(session_id) or Session(id=session_id, principal=principal)
        self._sessions[session_id] = session
        return session
