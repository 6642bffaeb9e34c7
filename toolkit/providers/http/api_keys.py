"""
A provider's key: where it comes from, and that it is shown nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ...policies.redaction import MASK, Redaction
from .failures import ProviderFailure

__all__ = ["Key", "find_key"]

_SHORTEST_TO_MASK = 4
_SENDABLE = re.compile(r"[!-~]+")


class Key:
    """
    A secret that is told only to whoever calls `reveal`.

    It is in no repr, text or pickle. What cannot be sent in a header is refused at once, because the
    libraries below would show it in their errors.
    """

    __slots__ = ("_redaction", "_secret", "source")

    def __init__(self, secret: str, *, source: str = "api_key") -> None:
        if not isinstance(secret, str):
            raise TypeError(f"{source}: a key is a text, got {type(secret).__name__}")
        secret = secret.strip()
        if not _SENDABLE.fullmatch(secret):
            what = "is empty" if not secret else "has blanks, line ends or other characters that no key has"
            raise ProviderFailure(f"{source} {what}; copy the key again", why="key")
        self._secret = secret
        self.source = source
        # One of two letters, as people give to servers that want none, would make every message unreadable.
        self._redaction = Redaction([secret] if len(secret) >= _SHORTEST_TO_MASK else [])

    def reveal(self) -> str:
        return self._secret

    def masked(self, said: Any) -> Any:
        """*said*, text or JSON, without the key, in whatever form it stands there."""
        return self._redaction.value(said)

    def __repr__(self) -> str:
        return f"<Key from {self.source}: {MASK}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a key is not copied or pickled; make it anew where it is needed")


def find_key(
    given: str | None, variables: Sequence[str], *, provider: str, environ: Mapping[str, str] | None = None
) -> Key:
    """The key that was *given*, or the first of *variables* that is set; `ProviderFailure` if there is none."""
    if given is not None:
        return Key(given)
    environ = os.environ if environ is None else environ
    for name in variables:
        if environ.get(name):
            return Key(environ[name], source=name)
    names = " or ".join(variables)
    raise ProviderFailure(f"{provider} needs a key, and there is none: set {names}, or give `api_key=`", why="key")
