"""
The keys with which an authorization server signs its tokens.

The keys are fetched when a token first needs them, and kept. A token with an unknown key fetches them again, because
the server may have new ones, but no more often than every `refresh_seconds`. One request fetches, and the others wait.
If the server cannot be reached, the keys that are known count for a day.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from .issuer_pages import AuthError, IssuerPages

__all__ = ["ALGORITHMS", "IssuerKeys"]

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms of signatures that are accepted. Their keys are public, and do not sign."""

_log = logging.getLogger("toolkit")

_FRESH_SECONDS = 600.0
_USABLE_SECONDS = 86_400.0
_RETRY_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class IssuerKeys:
    """
    The keys of *issuer*.

    Attributes:
        jwks_url: The page with the keys; None if the issuer's own description names it.
        refresh_seconds: How long to wait before the keys are fetched again for a token with an unknown key.
    """

    issuer: str
    pages: IssuerPages
    jwks_url: str | None = None
    refresh_seconds: float = 30.0
    clock: Callable[[], float] = time.monotonic
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _descriptions: dict[str | None, dict[str, Any]] = field(default_factory=dict, init=False)
    _fetched_at: float = field(default=-math.inf, init=False)
    _next_fetch: float = field(default=-math.inf, init=False)

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK:
        """
        Return the key *key_id* for *algorithm*; raise `AuthError` if there is none, or if none can be fetched.

        A token without a key id is signed with the only key of its issuer.
        """
        # While one request fetches keys that have become old, the others go on with those that are known.
        if self._is_due(key_id) and not (self._lock.locked() and key_id in self._descriptions):
            async with self._lock:
                if self._is_due(key_id):
                    await self._fetch()
        if self._age() >= _USABLE_SECONDS:
            raise AuthError.until_later()
        description = self._descriptions.get(key_id, {})
        try:
            if description.get("alg", algorithm) == algorithm and description.get("use", "sig") == "sig":
                return PyJWK(description, algorithm)
        except (PyJWTError, KeyError, TypeError, ValueError, OverflowError):
            pass  # there is no such key, or it is for another algorithm
        raise AuthError("the token is signed with a key that its issuer does not have")

    def _age(self) -> float:
        return self.clock() - self._fetched_at

    def _is_due(self, key_id: str | None) -> bool:
        is_old = self._age() >= _FRESH_SECONDS or key_id not in self._descriptions
        return is_old and self.clock() >= self._next_fetch

    async def _fetch(self) -> None:
        """Fetch the keys. If that fails, those that are known stay."""
        try:
            url = self.jwks_url or await self._find_jwks_url()
            keys = (await self.pages.fetch(url)).get("keys")
        except AuthError:
            is_usable = self._age() < _USABLE_SECONDS
            self._next_fetch = self.clock() + (self.refresh_seconds if is_usable else _RETRY_SECONDS)
            return
        descriptions = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
        self._descriptions = {key["kid"]: key for key in descriptions if isinstance(key.get("kid"), str)}
        if len(descriptions) == 1:
            self._descriptions[None] = descriptions[0]
        self._fetched_at = self.clock()
        self._next_fetch = self._fetched_at + self.refresh_seconds

    async def _find_jwks_url(self) -> str:
        """Return the address that the issuer's description of itself names, by RFC 8414 or by OpenID Connect."""
        parts = urlsplit(self.issuer)
        base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        description = await self.pages.fetch(
            f"{base}/.well-known/oauth-authorization-server{path}", f"{base}{path}/.well-known/openid-configuration"
        )
        url = description.get("jwks_uri")
        is_usable = isinstance(url, str) and url.startswith("https:" if parts.scheme == "https" else "http")
        if description.get("issuer") != self.issuer or not is_usable:
            _log.warning("%s: its description names another `issuer`, or no usable `jwks_uri`", self.issuer)
            raise AuthError.until_later()
        return str(url)
