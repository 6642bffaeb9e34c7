"""The error of a request that is not served because of its token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...errors import ToolkitError

__all__ = ["AuthError"]

_Word = Literal["invalid_token", "insufficient_scope"] | None


class AuthError(ToolkitError):
    """
    Raised if a request is not served because of its token. The text never repeats the token.

    Attributes:
        word: What the client is told in a word of RFC 6750; None if it sent no token, or can do nothing about it.
        status: 401 without a good token, 403 without a scope, 503 if the token cannot be checked now.
        scopes: The scopes that a new token needs.
    """

    def __init__(self, text: str, word: _Word = "invalid_token", status: int = 401, scopes: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.word, self.status, self.scopes = word, status, scopes

    @classmethod
    def until_later(cls) -> AuthError:
        """Return the error of a token that cannot be checked now. The log of the server says why."""
        return cls("tokens cannot be checked at the moment; try again later", None, 503)
