"""
About how many tokens a text is.

Every model counts otherwise, and none of them here. Four characters are about
one token of English or of compact JSON; names in snake_case are cut finer.
"""

from __future__ import annotations

__all__ = ["CHARS_PER_TOKEN_OF_NAMES", "estimated_tokens"]

CHARS_PER_TOKEN = 4
CHARS_PER_TOKEN_OF_NAMES = 2.5


def estimated_tokens(chars: int) -> int:
    """About how many tokens so many characters are."""
    return -(-chars // CHARS_PER_TOKEN)
