"""
Who sends a request to a server over HTTP: `Auth` finds the user of its bearer token.

    Auth.token(tokens)                     tokens that the program knows
    Auth.jwt(issuer=..., audience=...)     tokens that an authorization server signs
    Auth.introspect(url, ...)              tokens that the authorization server is asked about
    Auth(function)                         a function of yours

A server with an `issuer` is a resource server of OAuth: it says where clients log in (RFC 9728), and which scope a
token lacks.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote_plus, urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from ..._option_checks import describe_type, require_list
from ...spec import Tool
from .issuer_keys import IssuerKeys
from .issuer_pages import AuthError, IssuerPages, check_address
from .scope_judge import ScopeJudge, Scopes
from .token_checks import IntrospectedTokens, JwtTokens, KnownTokens, TokenUser

__all__ = ["METADATA_PATH", "Auth", "FindUser", "build_user"]

FindUser: TypeAlias = "Callable[[str], Awaitable[str | TokenUser | None] | str | TokenUser | None]"
"""Returns the user of a token; or the user and the scopes; or None if the token does not count."""

METADATA_PATH = "/.well-known/oauth-protected-resource"

_MAX_TOKEN_CHARS = 16_384
_SCOPE = re.compile(r"[!#-\[\]-~]+")


class Auth:
    """
    Finds the user of a request by its bearer token, and says what a client without a good token has to do.

    Args:
        find_user: A function, sync or async, that returns the user of a token; or the user and the scopes; or None.
        issuer: The authorization server at which clients get tokens; None if they do not get them by OAuth.
        resource: The address at which clients reach the server, such as "https://tools.example/mcp".
        scopes: For each scope the tools that it grants, as rules without their first word: "search", "list_*",
            "group:orders", "write(path=out/**)". A client may call what the scopes of its token grant, and nothing
            else. Without *scopes*, every user may call every tool.

    Attributes:
        scope_judge: Judges calls by the scopes of their client; None if there are no scopes.

    Raises:
        ValueError: A scope or an address cannot be used.
    """

    def __init__(
        self,
        find_user: FindUser,
        *,
        issuer: str | None = None,
        resource: str | None = None,
        scopes: Scopes | None = None,
    ) -> None:
        if not callable(find_user):
            raise TypeError(
                "auth is Auth.jwt(...), Auth.introspect(...), Auth.token(...) or a function from a token to its user, "
                f"got {describe_type(find_user)}"
            )
        if issuer is not None and resource is None:
            raise ValueError(
                "resource is the address at which clients reach the server; the audience is no address, so give "
                'resource="https://tools.example/mcp"'
            )
        self._find_user = find_user
        self._issuer = None if issuer is None else check_address(issuer, "issuer")
        self._resource = "" if resource is None else check_address(resource, "resource")
        self.scope_judge = None if scopes is None else ScopeJudge(scopes)
        self._scopes = list(scopes or ())
        for scope in self._scopes:
            if not isinstance(scope, str) or _SCOPE.fullmatch(scope) is None:
                raise ValueError(f"a scope is a word without blanks, quotes and backslashes, got {scope!r:.60}")

    @classmethod
    def token(cls, tokens: str | Mapping[str, str]) -> Auth:
        """
        Accept tokens that the program knows.

        Args:
            tokens: One token, whose user is called "user"; or a dictionary from tokens to the names of their users. A
                token has at least 16 characters.
        """
        return cls(KnownTokens(tokens).find_user)

    @classmethod
    def jwt(
        cls,
        *,
        issuer: str,
        audience: str | Sequence[str],
        jwks_url: str | None = None,
        principal_claim: str = "sub",
        leeway_seconds: float = 30.0,
        resource: str | None = None,
        scopes: Scopes | None = None,
    ) -> Auth:
        """
        Accept tokens that an authorization server has signed: `Auth.jwt(issuer="https://login.example", audience=...)`.

        Args:
            issuer: The authorization server, exactly as its tokens name it.
            audience: For whom a token has to be, usually the address of this server; one of several if it is a list.
            jwks_url: The page with the keys of the issuer. By default the issuer's description of itself names it.
            principal_claim: The claim that names the user.
            leeway_seconds: How far the clocks of the two servers may differ.
            resource: The address at which clients reach the server. By default it is the audience.
            scopes: The tools that each scope grants, as `Auth` explains.
        """
        audiences = _list_audiences(audience)
        _check_seconds("leeway_seconds", leeway_seconds)
        address = check_address(issuer, "issuer") if jwks_url is None else check_address(jwks_url, "jwks_url")
        keys = IssuerKeys(issuer, IssuerPages(address), jwks_url=jwks_url)
        tokens = JwtTokens(keys, issuer, audiences, principal_claim, leeway_seconds)
        resource = resource or _find_resource(audiences)
        return cls(tokens.find_user, issuer=issuer, resource=resource, scopes=scopes)

    @classmethod
    def introspect(
        cls,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        audience: str | Sequence[str] | None,
        issuer: str | None = None,
        principal_claim: str = "sub",
        cache_seconds: float = 30.0,
        resource: str | None = None,
        scopes: Scopes | None = None,
    ) -> Auth:
        """
        Accept tokens that the authorization server says are good. It is asked about each token (RFC 7662).

        Args:
            url: The introspection page of the authorization server.
            client_id: The name by which this server is known there.
            client_secret: Its password there.
            audience: For whom a token has to be; None if the authorization server itself refuses tokens for others.
            issuer: The authorization server, for clients that have no token yet.
            principal_claim: The claim that names the user.
            cache_seconds: How long an answer counts. A token that is taken back meanwhile still works.
            resource: The address at which clients reach the server. By default it is the audience.
            scopes: The tools that each scope grants, as `Auth` explains.
        """
        audiences = [] if audience is None else _list_audiences(audience)
        _check_seconds("cache_seconds", cache_seconds)
        if not (isinstance(client_id, str) and isinstance(client_secret, str)):
            raise TypeError("client_id and client_secret are texts: by them the authorization server knows this server")
        pages = IssuerPages(check_address(url, "url"))
        credentials = quote_plus(client_id), quote_plus(client_secret)  # as RFC 6749, 2.3.1, wants it
        tokens = IntrospectedTokens(pages, url, credentials, audiences, principal_claim, cache_seconds)
        resource = resource or _find_resource(audiences)
        return cls(tokens.find_user, issuer=issuer, resource=resource, scopes=scopes)

    async def find_user(self, header: str | None) -> AuthenticatedUser:
        """
        Return the user whom the `Authorization` header names.

        Raises:
            AuthError: The header has no good token.
        """
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise AuthError("a bearer token is needed: send `Authorization: Bearer TOKEN`", None)
        if len(token) > _MAX_TOKEN_CHARS:
            raise AuthError("the token is too long")
        answer: Any = self._find_user(token)
        if inspect.isawaitable(answer):
            answer = await answer
        name, scopes = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, ())
        if not name:
            raise AuthError("the token is not known")
        if not isinstance(name, str) or isinstance(scopes, str):
            raise TypeError("the function of Auth returns a name, a tuple of a name and a list of scopes, or None")
        return build_user(name, scopes)

    def check_scopes(self, tool: Tool, scopes: Collection[str]) -> None:
        """Raise `AuthError` if none of *scopes* grants any call of *tool*, and another scope would."""
        grants = [] if self.scope_judge is None else self.scope_judge.find_scopes(tool)
        if grants and not any(scope in scopes for scope in grants):
            text = f"the token lacks the scope {grants[0]}"
            raise AuthError(text, "insufficient_scope", 403, grants[:1])

    def build_headers(self, refusal: AuthError) -> dict[str, str]:
        """Return the headers of the answer that tells a client of *refusal*."""
        if refusal.status == 503:
            return {"retry-after": "5"}
        parts = {} if refusal.word is None else {"error": refusal.word, "error_description": str(refusal)}
        if refusal.scopes:
            parts["scope"] = " ".join(refusal.scopes)
        if self._issuer is not None:
            place = urlsplit(self._resource)
            parts["resource_metadata"] = f"{place.scheme}://{place.netloc}{METADATA_PATH}{place.path.rstrip('/')}"
        challenge = ", ".join(f'{name}="{text}"' for name, text in parts.items())
        return {"www-authenticate": f"Bearer {challenge}".strip()}

    def describe_resource(self) -> dict[str, Any] | None:
        """Return the page at `METADATA_PATH`, which says where clients log in (RFC 9728); None if there is none."""
        if self._issuer is None:
            return None
        page: dict[str, Any] = {"resource": self._resource, "authorization_servers": [self._issuer]}
        if self._scopes:
            page["scopes_supported"] = self._scopes
        return {**page, "bearer_methods_supported": ["header"]}


def build_user(name: str, scopes: Iterable[str] = ()) -> AuthenticatedUser:
    """Return the user *name*. The token is not kept, because this object is passed on."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, subject=name, scopes=list(scopes)))


def _list_audiences(audience: str | Sequence[str]) -> list[str]:
    audiences = (
        [audience] if audience is None or isinstance(audience, str) else require_list(audience, "audience", "texts")
    )
    if not audiences or not all(isinstance(name, str) and name for name in audiences):
        raise ValueError("audience is a text that is not empty, or a list of them: for whom a token has to be")
    return audiences


def _find_resource(audiences: Sequence[str]) -> str | None:
    return next((name for name in audiences if name.startswith(("https://", "http://"))), None)


def _check_seconds(option: str, seconds: float) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
        raise ValueError(f"{option} is a number of seconds from 0 up, got {seconds!r:.60}")
