"""
Signing a request, for when it travels and no store keeps it.

A seal says that this dispatcher made the request, for this tool, and that nobody
has altered it. It does not say that the request was never used before: only a
store can, and whoever takes a sealed request has to remember its id.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..requests import ApprovalRequest
from .canonical import canonical, digest

__all__ = ["Seal"]

_VERSION = "v1"
_LEAST_BYTES = 32


class Seal:
    """
    Sign requests, and tell one's own from forged or altered ones.

    Args:
        key: At least 32 random bytes that only the dispatchers have. Of several the first signs and
            all verify, so that a key can be replaced while requests are on their way.
    """

    __slots__ = ("_keys",)

    def __init__(self, key: bytes | str | Sequence[bytes | str]) -> None:
        is_one = isinstance(key, (bytes, str)) or not isinstance(key, Sequence)
        keys: list[Any] = [key] if is_one else list(key)
        if not keys:
            raise ValueError(f"a seal needs a key; {_REMEDY}")
        self._keys = [_checked(each) for each in keys]

    def sealed(self, request: ApprovalRequest, identity: str) -> ApprovalRequest:
        """*request* with its seal, for the tool of this *identity*; `ValueError` if it is not JSON."""
        return replace(request, seal=_signature(self._keys[0], _content(request, identity)))

    def verify(self, request: ApprovalRequest, identity: str) -> bool:
        """Whether *request* is just as it was sealed, for the tool of this *identity*."""
        try:
            content = _content(request, identity)
        except ValueError:
            return False  # what cannot be written was never sealed
        given = (request.seal or "").encode(errors="surrogatepass")
        # Every key is tried: the time it takes tells nothing.
        return sum(hmac.compare_digest(_signature(key, content).encode(), given) for key in self._keys) > 0


_REMEDY = "make one with secrets.token_bytes(32), and keep it where only the dispatchers can read it"


def _checked(key: Any) -> bytes:
    if not isinstance(key, (bytes, str)):
        raise ValueError(f"a key has to be bytes or text, got {type(key).__name__}; {_REMEDY}")  # noqa: TRY004 -- options
    data = key.encode() if isinstance(key, str) else key
    if len(data) < _LEAST_BYTES:
        raise ValueError(f"a key needs at least {_LEAST_BYTES} bytes, got {len(data)}; {_REMEDY}")
    return data


def _content(request: ApprovalRequest, identity: str) -> bytes:
    fields = {name: value for name, value in request.to_json().items() if name != "seal"}
    return digest("toolkit approval request", _VERSION, canonical(fields), identity).encode()


def _signature(key: bytes, content: bytes) -> str:
    return f"{_VERSION}.{hmac.new(key, content, 'sha256').hexdigest()}"
