"""
How long a text may be, and how many tokens it has.

A limit is in characters, in bytes of UTF-8, or in both; the smaller one counts. A limit in tokens is one in bytes: a
token is about four bytes, in English, JSON and source code, and roughly also in other scripts, whose letters take two
to four bytes each. Each model counts tokens in its own way, and no model's tokenizer is used here.
"""

from __future__ import annotations

from .._plumbing.records import record

__all__ = [
    "BYTES_PER_TOKEN",
    "CHARS_PER_TOKEN_OF_NAMES",
    "DEFAULT_MAX_TOKENS",
    "TextLimit",
    "count_bytes",
    "estimate_tokens",
]

BYTES_PER_TOKEN = 4
CHARS_PER_TOKEN_OF_NAMES = 2.5  # the words in snake_case names are shorter tokens

DEFAULT_MAX_TOKENS = 10_000
"""The limit of a text for which no other is stated."""

_MAX_CHAR_BYTES = 4
_UNLIMITED = 2**62


def count_bytes(text: str) -> int:
    """Return how many bytes *text* has as UTF-8. Half of a surrogate pair counts like any other character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def estimate_tokens(size: int) -> int:
    """Estimate how many tokens a text of *size* bytes is."""
    return -(-size // BYTES_PER_TOKEN)


@record(frozen=True, slots=True)
class TextLimit:
    """How many characters a text may have, and how many bytes as UTF-8."""

    max_chars: int
    max_bytes: int

    @classmethod
    def of(cls, max_chars: int | None, max_bytes: int | None) -> TextLimit:
        """Return the limit with these numbers. If neither is given, the limit is `DEFAULT_MAX_TOKENS`."""
        if max_chars is None and max_bytes is None:
            max_bytes = DEFAULT_MAX_TOKENS * BYTES_PER_TOKEN
        return cls(_UNLIMITED if max_chars is None else max_chars, _UNLIMITED if max_bytes is None else max_bytes)

    @property
    def sure_chars(self) -> int:
        """The length up to which every text is allowed, also one of the widest characters."""
        return min(self.max_chars, self.max_bytes // _MAX_CHAR_BYTES)

    def allows(self, text: str) -> bool:
        """Return whether *text* is short enough. A text that is much shorter or much longer is not read for this."""
        length = len(text)
        if length <= self.sure_chars:
            return True
        return length <= min(self.max_chars, self.max_bytes) and count_bytes(text) <= self.max_bytes

    def minus(self, text: str) -> TextLimit:
        """Return the limit for what is beside *text*. Its numbers may be negative."""
        return TextLimit(self.max_chars - len(text), self.max_bytes - count_bytes(text))

    def find_end(self, text: str) -> int:
        """Return how many characters of the beginning of *text* are allowed."""
        start = text[: max(0, min(self.max_chars, self.max_bytes))]
        if start.isascii():
            return len(start)
        data = start.encode("utf-8", "surrogatepass")
        end = min(len(data), self.max_bytes)
        while end < len(data) and data[end] & 0xC0 == 0x80:  # a byte that continues a character
            end -= 1
        return len(data[:end].decode("utf-8", "surrogatepass"))

    def page_chars(self, text: str) -> int:
        """Return how many characters any part of *text* may have to be allowed."""
        return min(self.max_chars, self.max_bytes) if text.isascii() else self.sure_chars
