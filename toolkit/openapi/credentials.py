"""
The credentials of an API: its `securitySchemes`, and what the program gives for them.

A call whose credentials are missing raises `AuthNeeded`, so that it waits for them and goes on. Credentials are in no
schema, log or approval, and are masked in a result: some APIs repeat a key in the message that refuses it.
"""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote

from ..catalogs.foreign_text import clean_text, is_plain_link
from ..decisions import AuthNeeded, AuthRequest
from ..errors import DefinitionError, ToolError
from ..policies.credentials import list_header_secrets, read_cookies
from ..policies.log_masks import mask_log
from .documents import ApiDocument, Operation
from .requests import RequestParts

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Credential", "Credentials", "Requirement", "list_secrets"]

Credential: TypeAlias = "str | tuple[str, str] | httpx.Auth | Callable[[], str | Awaitable[str | None] | None]"
"""A key or token, a user name with a password, an `httpx.Auth`, or a function that returns a key, or None for none."""

Requirement: TypeAlias = Mapping[str, tuple[str, ...]]
"""The schemes that are needed together, each with its scopes."""


class Credentials:
    """What the program gives for the security schemes of *document*: *auth* by the name of the scheme."""

    def __init__(self, document: ApiDocument, auth: Mapping[str, Credential] | None) -> None:
        self._title = document.title
        self._schemes = _read_schemes(document)
        self._default = document.data.get("security")
        self._log_mask = mask_log("httpx")
        names = ", ".join(sorted(self._schemes)) or "none"
        if auth is not None and not isinstance(auth, Mapping):
            raise TypeError(
                f"auth: expected a mapping by the name of the security scheme, got {type(auth).__name__}; "
                f"write `auth={{NAME: credential}}`; the document has the schemes: {names}"
            )
        self._auth = dict(auth or {})
        if unknown := self._auth.keys() - self._schemes.keys():
            raise DefinitionError(
                f"auth: the document has no security scheme {min(map(str, unknown))!r}; it has {names}"
            )
        for name, credential in self._auth.items():
            _check_credential(name, credential, self._schemes[name])

    @property
    def hidden_parameters(self) -> frozenset[tuple[str, str]]:
        """The parameters that are credentials, by place and name."""
        return frozenset(
            (scheme["in"], scheme["name"])
            for scheme in self._schemes.values()
            if scheme.get("type") == "apiKey" and isinstance(scheme.get("name"), str) and "in" in scheme
        )

    def requirements_of(self, operation: Operation) -> list[Requirement]:
        """Return the alternatives of *operation*, of which one has to be met; an empty list if none is needed."""
        alternatives = operation.data.get("security", self._default)
        if not isinstance(alternatives, list):
            return []
        return [
            {name: tuple(scopes) if isinstance(scopes, list) else () for name, scopes in alternative.items()}
            for alternative in alternatives
            if isinstance(alternative, Mapping)
        ]

    async def apply(self, requirements: list[Requirement], parts: RequestParts) -> httpx.Auth | None:
        """
        Add the credentials for the first of *requirements* that can be met to *parts*, or return them as `httpx.Auth`.

        Raises:
            AuthNeeded: None of them can be met.
        """
        for requirement in filter(None, requirements):
            credentials = {
                name: await _obtain(name, self._auth.get(name), self._schemes.get(name, {})) for name in requirement
            }
            if None not in credentials.values():
                own_auths = [self._add(self._schemes.get(name, {}), item, parts) for name, item in credentials.items()]
                return next(filter(None, own_auths), None)
        if not requirements or not all(requirements):  # an empty one needs no credentials
            return None
        raise AuthNeeded(self._describe_missing(requirements))

    def _add(self, scheme: Mapping[str, Any], credential: Any, parts: RequestParts) -> httpx.Auth | None:
        if not isinstance(credential, str | tuple):
            return credential  # type: ignore[no-any-return]  # an httpx.Auth
        kind, where = scheme.get("type"), scheme.get("in")
        if kind == "apiKey" and isinstance(credential, str):
            parts.secrets.append(credential)
            if where == "query":
                self._log_mask.hide([credential])
                parts.query.append((quote(scheme["name"], safe=""), quote(credential, safe="")))
            elif where == "cookie":
                parts.cookies.append((scheme["name"], credential))
            else:
                parts.headers[scheme["name"]] = credential
        elif _is_basic(scheme):
            text = ":".join(credential) if isinstance(credential, tuple) else credential
            parts.headers["Authorization"] = f"Basic {base64.b64encode(text.encode()).decode()}"
        else:
            parts.headers["Authorization"] = f"{_find_word(scheme)} {credential}"
        return None

    def _describe_missing(self, requirements: list[Requirement]) -> AuthRequest:
        requirement = requirements[0]
        name = next(iter(requirement))
        scheme = self._schemes.get(name, {})
        flows = scheme.get("flows")
        flows = [scheme, *(flows.values() if isinstance(flows, Mapping) else ())]
        addresses = [flow.get("authorizationUrl") for flow in flows if isinstance(flow, Mapping)]
        return AuthRequest(
            provider=self._title,
            scopes=tuple(clean_text(str(scope), 200) for scopes in requirement.values() for scope in scopes),
            url=next((url for url in addresses if isinstance(url, str) and is_plain_link(url)), None),
            reason=f"{self._title} needs credentials; give them as `auth={{{name!r}: ...}}`",
        )


def _read_schemes(document: ApiDocument) -> dict[str, Mapping[str, Any]]:
    owner = document.data if document.is_swagger else document.data.get("components")
    key = "securityDefinitions" if document.is_swagger else "securitySchemes"
    schemes = owner.get(key) if isinstance(owner, Mapping) else None
    items = schemes.items() if isinstance(schemes, Mapping) else ()
    followed = {name: document.follow(scheme) for name, scheme in items}
    return {name: scheme for name, scheme in followed.items() if isinstance(scheme, Mapping)}


def _is_basic(scheme: Mapping[str, Any]) -> bool:
    return scheme.get("type") == "basic" or (
        scheme.get("type") == "http" and str(scheme.get("scheme")).lower() == "basic"
    )


def _find_word(scheme: Mapping[str, Any]) -> str:
    """Return what stands before a token in the header `Authorization`: the scheme of HTTP, or `Bearer`."""
    word = scheme.get("scheme") if scheme.get("type") == "http" else None
    is_other = isinstance(word, str) and word.lower() != "bearer" and re.fullmatch(r"[A-Za-z0-9_-]+", word)
    return str(word) if is_other else "Bearer"


def _check_credential(name: str, credential: Any, scheme: Mapping[str, Any]) -> None:
    """Raise an error that does not show *credential* if it cannot be one for the security scheme *name*."""
    if credential in (None, ("", "")) or (isinstance(credential, str) and not credential.strip()):
        raise DefinitionError(
            f"auth: the credential for {name!r} is empty; look at where it is kept, such as a variable that is not "
            f"set. A function that returns None makes the call wait for it"
        )
    if callable(credential) or _is_own_auth(credential):
        return
    if problem := _explain_credential(credential, scheme):
        raise TypeError(f"auth: the credential for {name!r} {problem}")


def _is_own_auth(credential: Any) -> bool:
    return hasattr(credential, "auth_flow") and not isinstance(credential, type)


def _explain_credential(credential: Any, scheme: Mapping[str, Any]) -> str | None:
    """Return why *credential*, which is no function and no `httpx.Auth`, is none for *scheme*, without showing it."""
    if _find_word(scheme).lower() == "digest":
        return "is for the scheme `digest`; give `httpx.DigestAuth(user, password)`"
    if isinstance(credential, str):
        return None
    kind = type(credential).__name__
    if not isinstance(credential, tuple):
        remedy = "decode it" if isinstance(credential, bytes) else "or `httpx.Auth`, or a function that returns a text"
        return f"has to be a text, got {kind}; {remedy}"
    if not _is_basic(scheme):
        return "has to be one text; a user name with a password is for the scheme `basic`"
    if len(credential) != 2 or not all(isinstance(part, str) for part in credential):
        return "has to be a user name and a password, two texts"
    return None


async def _obtain(name: str, credential: Any, scheme: Mapping[str, Any]) -> Any:
    """
    Return *credential*, or what it returns if it is a function, without space around it, as a file has it.

    An empty text counts as none.
    """
    if callable(credential) and not _is_own_auth(credential):
        credential = credential()
        if inspect.isawaitable(credential):
            credential = await credential
        if (
            credential is not None
            and not _is_own_auth(credential)
            and (problem := _explain_credential(credential, scheme))
        ):
            raise ToolError(f"the credential that the function for {name!r:.60} returned {problem}")
    if not isinstance(credential, str):
        return credential
    if not credential.strip().isprintable():  # an error of the client would show the whole
        raise ToolError(f"the credential for {name!r:.60} has characters that cannot be sent; look at where it is kept")
    return credential.strip() or None


def list_secrets(parts: RequestParts, request: httpx.Request, client: httpx.AsyncClient) -> list[str]:
    """
    Return the credentials in *request*, which *client* has sent for *parts*.

    These are also the ones that the client or an `httpx.Auth` has added: all that has the name of a credential and is
    no argument of the call.
    """
    arguments = {(name.lower(), value) for name, value in parts.headers.items()}
    arguments |= {(unquote(name), unquote(value)) for name, value in parts.query} | set(parts.cookies)
    sent = [*request.headers.multi_items(), *request.url.params.multi_items()]
    sent += read_cookies(request.headers.get("cookie", ""))
    return list_header_secrets(
        [
            *(("key", secret) for secret in parts.secrets),
            *(pair for pair in sent if pair not in arguments and pair[0] != "cookie"),
            ("authorization", request.headers.get("authorization", "")),
            *client.headers.multi_items(),
            # A cookie of the program has no domain. One that the API has set may be anything, such as a language.
            *(("cookie", f"{item.name}={item.value}") for item in client.cookies.jar if not item.domain),
        ]
    )
