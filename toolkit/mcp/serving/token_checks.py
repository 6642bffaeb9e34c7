"""
The checks of tokens: tokens that the program knows, signed tokens, and tokens that their issuer is asked about.

Each check has a method `find_user` for `Auth`.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import jwt
from jwt import exceptions as jwt_errors

from .issuer_keys import ALGORITHMS, IssuerKeys
from .issuer_pages import AuthError, IssuerPages

__all__ = ["IntrospectedTokens", "JwtTokens", "KnownTokens", "TokenUser"]

TokenUser: TypeAlias = tuple[str, Iterable[str]]
"""The name of a user, and the scopes of the token."""

_MIN_TOKEN_CHARS = 16
_DEFAULT_USER = "user"
_MAX_CACHED = 10_000
_MAX_NAME_CHARS = 255
_ANOTHER_AUDIENCE = "the token is for another audience"
_REASONS: dict[type[Exception], str] = {
    jwt_errors.ExpiredSignatureError: "the token has expired",
    jwt_errors.ImmatureSignatureError: "the token does not count yet",
    jwt_errors.InvalidAudienceError: _ANOTHER_AUDIENCE,
    jwt_errors.InvalidIssuerError: "the token is of another issuer",
    jwt_errors.InvalidSignatureError: "the signature of the token is wrong",
    jwt_errors.MissingRequiredClaimError: "the token lacks one of the claims exp, iss and aud",
}


class KnownTokens:
    """Tokens that the program knows: one token, whose user is called "user"; or the users by their tokens."""

    def __init__(self, tokens: str | Mapping[str, str]) -> None:
        named = {tokens: _DEFAULT_USER} if isinstance(tokens, str) else tokens
        if not isinstance(named, Mapping) or not all(isinstance(word, str) for pair in named.items() for word in pair):
            raise TypeError("tokens are a text, or a dictionary from tokens to the names of their users")
        if not named or not all(named.values()):
            raise ValueError("tokens cannot be empty, and nor can the names of their users; give at least one token")
        for token, user in named.items():
            if len(token) < _MIN_TOKEN_CHARS:
                raise ValueError(
                    f"the token of {user!r} has {len(token)} characters, and needs at least {_MIN_TOKEN_CHARS}; make "
                    "one with secrets.token_urlsafe(32)"
                )
        self._users = [(_digest(token), user) for token, user in named.items()]

    def find_user(self, token: str) -> str | None:
        digest = _digest(token)
        # All tokens are compared, so that the time it takes does not show which one is nearly right.
        matches = [user for known, user in self._users if hmac.compare_digest(known, digest)]
        return matches[0] if matches else None


@dataclass(frozen=True, slots=True, repr=False)
class JwtTokens:
    """Tokens that *issuer* has signed for one of *audiences*, as `Auth.jwt` explains."""

    keys: IssuerKeys
    issuer: str
    audiences: Sequence[str]
    principal_claim: str
    leeway_seconds: float

    async def find_user(self, token: str) -> TokenUser:
        """Return the user and the scopes of *token*, after its signature and its claims were checked."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in ALGORITHMS:
                raise AuthError("the token is signed with an algorithm that is not accepted")
            claims = jwt.decode(
                token,
                await self.keys.find(header.get("kid"), algorithm),
                algorithms=[algorithm],
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
                audience=self.audiences,
                issuer=self.issuer,
                leeway=self.leeway_seconds,
            )
        except jwt_errors.PyJWTError as error:
            # The text of the error may repeat parts of the token.
            raise AuthError(_REASONS.get(type(error), "the token is not a valid JWT")) from None
        return _read_user(claims, self.principal_claim)


@dataclass(frozen=True, slots=True, repr=False)
class IntrospectedTokens:
    """
    Tokens that the authorization server is asked about at *url* (RFC 7662), as `Auth.introspect` explains.

    Attributes:
        audiences: For whom a token has to be; empty if the authorization server knows.
        clock: Returns the time in seconds since 1970.
    """

    pages: IssuerPages
    url: str
    credentials: tuple[str, str]
    audiences: Sequence[str]
    principal_claim: str
    cache_seconds: float
    clock: Callable[[], float] = time.time
    _users: dict[bytes, tuple[float, TokenUser]] = field(default_factory=dict)

    async def find_user(self, token: str) -> TokenUser:
        """Return the user and the scopes of *token*, as the authorization server knows them."""
        digest = _digest(token)
        known_until, user = self._users.get(digest, (0.0, None))
        if user is not None and self.clock() < known_until:
            return user
        form = {"token": token, "token_type_hint": "access_token"}
        claims = await self.pages.fetch(self.url, form=form, credentials=self.credentials)
        if claims.get("active") is not True:
            raise AuthError("the authorization server says that the token does not count")
        audience, expires_at = claims.get("aud"), claims.get("exp")
        names = audience if isinstance(audience, list) else [audience]
        if self.audiences and not any(name in names for name in self.audiences):
            raise AuthError(_ANOTHER_AUDIENCE)
        user = _read_user(claims, self.principal_claim)
        cached_until = self.clock() + self.cache_seconds
        if len(self._users) >= _MAX_CACHED:
            self._users.clear()
        self._users[digest] = min(cached_until, expires_at) if isinstance(expires_at, int) else cached_until, user
        return user


def _read_user(claims: Mapping[str, Any], principal_claim: str) -> TokenUser:
    """Return the user and the scopes that the *claims* of a token state; raise `AuthError` if they name no user."""
    name = claims.get(principal_claim)
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_CHARS or not name.isprintable():
        raise AuthError("the token names no user")
    scopes = claims.get("scope", claims.get("scp", ""))  # some authorization servers write `scp`, and a list
    names = scopes.split() if isinstance(scopes, str) else scopes if isinstance(scopes, list) else []
    return name, frozenset(scope for scope in names if isinstance(scope, str))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
