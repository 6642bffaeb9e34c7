"""
The logins at servers: tokens, and the registrations that they belong to, in a file of mode 0600.

`toolkit mcp login` writes the file. A connection reads it before each request, so a program that waits for a login goes
on as soon as the user has logged in. An access token that has expired is renewed without the user.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import ValidationError

from ...errors import ToolkitError
from ...settings.trust import configuration_folder
from .private_json import PrivateFileError, PrivateJson

__all__ = ["LoginError", "LoginStorage", "Logins", "StoredLogin", "build_client_metadata"]

_UNUSED_REDIRECT = "http://127.0.0.1/callback"
_EXPIRED = 1.0


class LoginError(ToolkitError):
    """Raised if a login does not come to its end; the message says why."""


class Logins:
    """
    The logins of the user, by the address of the server.

    Args:
        path: The file; by default `mcp-logins.json` in the user's configuration.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        where = configuration_folder() / "mcp-logins.json" if path is None else path
        self._file = PrivateJson(where, "a file of logins", "logins")
        self.path = self._file.path

    def get(self, url: str) -> dict[str, Any] | None:
        """Return the login at *url*; None if there is none."""
        login = self._file.read().get(url)
        return login if isinstance(login, dict) else None

    def save(self, url: str, **fields: Any) -> None:
        """Replace these *fields* of the login at *url*, and keep the others."""
        self._file.change(lambda logins: logins.update({url: {**logins.get(url, {}), **fields}}))

    def forget(self, url: str) -> bool:
        """Remove the login at *url*, and return whether there was one."""
        known = self.get(url) is not None
        if known:
            self._file.change(lambda logins: logins.pop(url, None) and None)
        return known

    def read_stamp(self) -> tuple[int, int] | None:
        """Return a value that changes when the file does; None if there is no file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


class LoginStorage:
    """What the SDK keeps of one login. *read* returns the fields of the login, and *save* replaces some of them."""

    def __init__(self, read: Callable[[], Mapping[str, Any]], save: Callable[..., None]) -> None:
        self._read = read
        self._save = save

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self._read().get("tokens")
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep *tokens*, with the time at which they expire."""
        if not _is_legal_token(tokens.access_token):
            raise LoginError("the server gave a token with characters that a header cannot have; tell its operator")
        expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self._save(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=expires_at)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self._read().get("client")
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._save(client=client_info.model_dump(mode="json", exclude_none=True))


class StoredLogin(httpx2.Auth):
    """
    Sends the stored token with each request, and renews it. It never asks the user.

    A request that the server refuses keeps its status 401 or 403, so that the call can wait for a login.
    """

    requires_response_body = True

    def __init__(self, url: str, logins: Logins) -> None:
        self._url = url
        self._logins = logins
        self._stamp: tuple[int, int] | None = None
        self._provider: OAuthClientProvider | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send *request*, after a new token was fetched if the present one has expired."""
        provider = self._find_provider()
        if provider is None:
            yield request
            return
        context = provider.context
        if context.is_token_valid() and context.current_tokens is not None:
            # The flow of the SDK would hold a lock until the answer comes, and a call may take minutes.
            request.headers["Authorization"] = f"Bearer {context.current_tokens.access_token}"
            response = yield request
            if response.status_code != 401 or not context.can_refresh_token():
                return
            context.token_expiry_time = _EXPIRED
        flow = provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is request and response.status_code in (401, 403):
                    return  # the SDK would now ask the user
                outgoing = await flow.asend(response if outgoing is request else await _check_renewal(response))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _find_provider(self) -> OAuthClientProvider | None:
        """Return what sends the login, read again if the file has changed; None if there is no login."""
        stamp = self._logins.read_stamp()
        if stamp is None or stamp != self._stamp:
            self._provider = None if stamp is None else self._load_provider()
            self._stamp = stamp
        return self._provider

    def _load_provider(self) -> OAuthClientProvider | None:
        login = self._logins.get(self._url)
        if login is None or login.get("tokens") is None:
            return None
        storage = LoginStorage(lambda: self._logins.get(self._url) or {}, partial(self._logins.save, self._url))
        provider = OAuthClientProvider(self._url, build_client_metadata(_UNUSED_REDIRECT), storage)
        context = provider.context
        try:
            context.current_tokens = OAuthToken.model_validate(login["tokens"])
            context.client_info = OAuthClientInformationFull.model_validate(login.get("client"))
            if login.get("metadata") is not None:
                context.oauth_metadata = OAuthMetadata.model_validate(login["metadata"])
            context.token_expiry_time = login.get("expires_at")
        except ValidationError as error:
            raise PrivateFileError(
                f"{self._logins.path}: the login at {self._url} has another form: {error.errors()[0]['msg']}; "
                f"run `toolkit mcp logout {self._url}`"
            ) from None
        return provider


def _is_legal_token(token: str) -> bool:
    """Return whether a header can hold *token*. The errors of HTTP for one that is not legal would show it."""
    return re.fullmatch(r"[!-~]+", token) is not None


async def _check_renewal(response: httpx2.Response) -> httpx2.Response:
    """Return *response*; a refusal if it holds no legal token, because the SDK would log what it holds."""
    if response.status_code != 200:
        return response
    try:
        tokens = OAuthToken.model_validate_json(await response.aread())
        if _is_legal_token(tokens.access_token):
            return response
    except ValidationError:
        pass
    return httpx2.Response(502, request=response.request)


def build_client_metadata(redirect_uri: str) -> OAuthClientMetadata:
    """Return what this program tells an authorization server about itself."""
    return OAuthClientMetadata.model_validate({"redirect_uris": [redirect_uri], "client_name": "toolkit"})
