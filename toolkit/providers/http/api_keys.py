"""The API key of a provider: where it is read from, and how it is kept out of every output."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...policies.redaction import MASK, Redaction
from .failures import ProviderFailure

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["ApiKey", "find_key"]

_MIN_MASKED_LENGTH = 4
_SENDABLE_KEY = re.compile(r"[!-~]+")


class ApiKey:
    """
    A secret that only `reveal` returns.

    The secret is in no repr, text or pickle. A key that cannot be sent in a header is refused at once, because the
    HTTP libraries would show it in their errors.
    """

    __slots__ = ("_redaction", "_secret", "source")

    def __init__(self, secret: str, *, source: str = "api_key") -> None:
        if not isinstance(secret, str):
            raise TypeError(f"{source}: a key is a text, got {type(secret).__name__}")
        secret = secret.strip()
        if not _SENDABLE_KEY.fullmatch(secret):
            problem = "is empty" if not secret else "has blanks, line ends or other characters that no key has"
            raise ProviderFailure(f"{source} {problem}; copy the key again", why="key")
        self._secret = secret
        self.source = source
        # A very short key is not masked. People give such a key, of two letters perhaps, to servers that need none, and
        # masking it would make every message unreadable.
        self._redaction = Redaction([secret] if len(secret) >= _MIN_MASKED_LENGTH else [])

    def reveal(self) -> str:
        return self._secret

    async def refresh(self) -> None:
        """Get what this key needs for the next request. A key that does not expire needs nothing."""

    def authorize(self, request: httpx.Request, header: str, form: str) -> None:
        """Add this key to *request*: as the value of *header*, in which it stands for the `{}` of *form*."""
        request.headers[header] = form.format(self.reveal())

    def mask(self, content: Any) -> Any:
        """Return *content*, a text or JSON, with the key masked in each of the forms that `Redaction` knows."""
        return self._redaction.mask_value(content)

    def __repr__(self) -> str:
        return f"<Key from {self.source}: {MASK}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a key is not copied or pickled; make it anew where it is needed")


def find_key(variables: Sequence[str], *, provider: str, environ: Mapping[str, str] | None = None) -> ApiKey:
    """Return the key in the first environment variable of *variables* that is set, or raise `ProviderFailure`."""
    environ = os.environ if environ is None else environ
    for name in variables:
        if environ.get(name):
            return ApiKey(environ[name], source=name)
    names = " or ".join(variables)
    raise ProviderFailure(
        f"{provider} needs a key, and there is none: set {names}, or give `api_key=` (--key-from)", why="key"
    )
