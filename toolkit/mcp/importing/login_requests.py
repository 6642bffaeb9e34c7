"""
A server's demand for a login, as a request for credentials that a call waits for.

A program that gives the credentials itself is told where it gives them: a login would not replace them.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from .foreign_text import clean_text
from .local_errors import build_local_error
from .remote_server import RemoteServer

__all__ = ["read_login_request"]

_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_CREDENTIAL_NAME = re.compile(r"auth|token|key|secret|cookie|session|password|credential", re.IGNORECASE)
_MAX_HEADER_CHARS = 8192
_MAX_SCOPES = 50


def read_login_request(response: Any, server: RemoteServer) -> dict[str, Any] | None:
    """
    Return the error for *response*, which has status 401 or 403, with a request for credentials.

    Return None if a login does not help: the server refuses what the user may not do.
    """
    header = ", ".join(response.headers.get_list("www-authenticate"))[:_MAX_HEADER_CHARS]
    parameters = {
        match[1].lower(): match[2] if match[2] is not None else match[3] for match in _PARAMETER.finditer(header)
    }
    lacks_scope = parameters.get("error") == "insufficient_scope"
    if response.status_code != 401 and not lacks_scope:
        return None
    if source := _find_credentials(server):
        what = "wants further permissions than those of" if lacks_scope else "refuses"
        text = (
            f"the server {server.name} {what} the credentials in {source}; they may have expired: give new ones there"
        )
        return build_local_error(text, happened="no", is_refusal=True)
    scopes = [clean_text(scope, 200) for scope in parameters.get("scope", "").split()[:_MAX_SCOPES]]
    what = "wants further permissions" if lacks_scope else "wants you to log in"
    # An address with a password or a query is not repeated, because messages are logged and shown to models.
    address = shlex.quote(server.where) if server.where == server.target else "ADDRESS"
    reason = f"the server {server.name} {what}: run `toolkit mcp login {address}`"
    if address == "ADDRESS":
        reason += " with its whole address"
    return build_local_error(reason, happened="no", auth={"provider": server.name, "scopes": scopes, "reason": reason})


def _find_credentials(server: RemoteServer) -> str | None:
    """Return where the program gives the credentials for *server*; None if the user logs in."""
    names = [f"`{name}`" for name in server.headers if _CREDENTIAL_NAME.search(name)]
    if names:
        return f"the {'header' if len(names) == 1 else 'headers'} {', '.join(names)} (`headers=`)"
    return None if server.auth is None else "`auth=`"
