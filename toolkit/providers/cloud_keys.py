"""
The keys of Amazon's and Google's clouds: a signature for each request, and a token that expires.

The packages that make them, botocore and google-auth, are optional. They find the credentials in the usual places: in
variables, in files of the user, or on the machine.
"""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING, Any

from ..errors import Transient
from .http.api_keys import ApiKey
from .http.failures import ProviderFailure

if TYPE_CHECKING:
    import httpx

__all__ = ["AwsKey", "GoogleKey", "check_package"]

_CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def check_package(module: str, package: str, title: str) -> None:
    """Raise `ProviderFailure` with the name of the *package* to install if *module* is not there."""
    try:
        is_missing = importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # a package around it is missing
        is_missing = True
    if is_missing:
        raise ProviderFailure(f"{title} needs the package {package}, which is not installed", why="key")


class AwsKey(ApiKey):
    """
    The credentials of an AWS account, which sign each request (Signature Version 4). Expired ones are renewed.

    Raises:
        ProviderFailure: There are no credentials.
    """

    __slots__ = ("_credentials", "_frozen", "_region")

    def __init__(self, region: str) -> None:
        import botocore.session

        self._credentials = botocore.session.get_session().get_credentials()
        if self._credentials is None:
            raise ProviderFailure(
                "Bedrock needs credentials, and there are none: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
                why="key",
            )
        self._region = region
        self._freeze()

    async def refresh(self) -> None:
        await asyncio.to_thread(self._freeze)  # it may ask a server for new credentials

    def authorize(self, request: httpx.Request, header: str, form: str) -> None:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        unsigned = {"content-type": request.headers["content-type"]}
        signed = AWSRequest("POST", str(request.url), headers=unsigned, data=request.content)
        SigV4Auth(self._frozen, "bedrock", self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))

    def _freeze(self) -> None:
        from botocore.exceptions import BotoCoreError

        try:
            self._frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise ProviderFailure(f"Bedrock: the credentials cannot be renewed: {error}", why="key") from None
        super().__init__(self._frozen.secret_key, source="the credentials of AWS")


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
