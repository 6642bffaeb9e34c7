"""
The provider of Gemini in Google's cloud, which was called Vertex AI.

It sends the same requests as `GeminiProvider`, to another address and with another key.
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from ..errors import Transient
from .gemini import GeminiProvider
from .http.api_keys import ApiKey
from .http.failures import ProviderFailure

__all__ = ["GoogleKey", "VertexProvider"]

_CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_MULTI_REGIONS = ("us", "eu")
_PART = re.compile(r"[a-z0-9][a-z0-9.:-]*")  # it is part of the address


class VertexProvider(GeminiProvider):
    """
    The provider of Gemini for a project of Google's cloud. It needs the package google-auth.

    Args:
        project: The id of the project, if it is not in `GOOGLE_CLOUD_PROJECT`.
        location: The place of the servers, such as "europe-west4"; if it is not given, `GOOGLE_CLOUD_LOCATION`, and
            otherwise "global".
        options: The arguments of `RemoteProvider`. An `api_key` is an access token.
    """

    name = "vertex"
    _title = "Vertex"
    _key_header = ("authorization", "Bearer {}")

    def __init__(self, model: str, *, project: str | None = None, location: str | None = None, **options: Any) -> None:
        self.project = _check_part("project", project, "GOOGLE_CLOUD_PROJECT", "")
        self.location = _check_part("location", location, "GOOGLE_CLOUD_LOCATION", "global")
        self._address = _build_address(self.location)
        if options.get("api_key") is None:
            self._require_package("google.auth", "google-auth[requests]")
        super().__init__(model, **options)

    def _path(self, *, stream: bool) -> str:
        version, models, rest = super()._path(stream=stream).partition("/models/")
        return f"{version}/projects/{self.project}/locations/{self.location}/publishers/google{models}{rest}"

    def _find_key(self) -> ApiKey | None:
        if self._key is None and self._is_own_address:
            self._key = GoogleKey()
        return self._key


def _check_part(name: str, value: str | None, variable: str, default: str) -> str:
    part = value or os.environ.get(variable) or default
    if not _PART.fullmatch(part):
        raise ValueError(f"VertexProvider: `{name}` cannot be {part[:100]!r}; set {variable}, or give {name}=")
    return part


def _build_address(location: str) -> str:
    host = {"global": "aiplatform", **{region: f"aiplatform.{region}.rep" for region in _MULTI_REGIONS}}
    # Google's own client uses this version, too; the schemas of tools are not in the first one.
    return f"https://{host.get(location, f'{location}-aiplatform')}.googleapis.com/v1beta1"


class GoogleKey(ApiKey):
    """
    A token of Google's cloud, made of the Application Default Credentials, and made anew when it expires.

    Args:
        credentials: Credentials of google-auth, if they are not the default ones.

    Raises:
        ProviderFailure: There are no credentials.
    """

    __slots__ = ("_credentials",)

    def __init__(self, *, credentials: Any = None) -> None:
        import google.auth
        from google.auth.exceptions import GoogleAuthError

        self._credentials: Any = credentials
        try:
            if credentials is None:
                self._credentials, _ = google.auth.default(scopes=[_CLOUD_SCOPE])
        except GoogleAuthError:
            raise ProviderFailure(
                "Vertex needs credentials, and there are none: run gcloud auth application-default login, or set "
                "GOOGLE_APPLICATION_CREDENTIALS to the path of a key file",
                why="key",
            ) from None
        self.source = "the credentials of Google"

    async def refresh(self) -> None:
        if not self._credentials.valid:
            await asyncio.to_thread(self._renew)
        super().__init__(self._credentials.token, source=self.source)

    def _renew(self) -> None:
        from google.auth.exceptions import GoogleAuthError, TransportError
        from google.auth.transport.requests import Request

        try:
            self._credentials.refresh(Request())
        except TransportError as error:
            raise Transient(f"Vertex: Google's server for tokens was not reached: {error}") from None
        except GoogleAuthError as error:
            raise ProviderFailure(f"Vertex: the credentials of Google were refused: {error}", why="key") from None
