"""
Bearer tokens, and the users that they belong to.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

__all__ = ["TokenCheck", "Tokens"]

Tokens: TypeAlias = "str | Mapping[str, str] | Callable[[str], Awaitable[str | None] | str | None]"

_MIN_TOKEN_CHARS = 16
_DEFAULT_USER = "user"


class TokenCheck:
    """
    Finds the user of a token.

    Args:
        tokens: One token, whose user is called "user"; or the users by their tokens; or a function, sync or async, that
            returns the user of a token, or None.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._find = tokens if callable(tokens) else None
        self._users: list[tuple[bytes, AuthenticatedUser]] = []
        if callable(tokens):
            return
        named = {tokens: _DEFAULT_USER} if isinstance(tokens, str) else dict(tokens)
        if not named:
            raise ValueError("tokens cannot be empty; give at least one, or none for a server on the loopback address")
        for token, user in named.items():
            if not isinstance(token, str) or not isinstance(user, str) or not user:
                raise TypeError("tokens are a text, or a dictionary from tokens to the names of their users")
            if len(token) < _MIN_TOKEN_CHARS:
                raise ValueError(
                    f"the token of {user!r} has {len(token)} characters, and needs at least {_MIN_TOKEN_CHARS}; make "
                    "one with secrets.token_urlsafe(32)"
                )
            self._users.append((_digest(token), _build_user(token, user)))

    async def find_user(self, header: str | None) -> AuthenticatedUser | None:
        """Return the user that the `Authorization` header names; None if it is missing or wrong."""
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        if self._find is not None:
            answer = self._find(token)
            user = await answer if inspect.isawaitable(answer) else answer
            return _build_user(token, user) if user else None
        digest, match = _digest(token), None
        # All tokens are compared, so that the time it takes does not show which one is nearly right.
        for known, known_user in self._users:
            if hmac.compare_digest(known, digest):
                match = known_user
        return match


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _build_user(token: str, user: str) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token=token, client_id=user, subject=user, scopes=[]))
