"""
Estimate how many tokens a text has.

Each model counts tokens in its own way. This module uses no model's tokenizer. In English and in compact JSON, one
token is about four characters. In snake_case names, tokens are shorter.
"""

from __future__ import annotations

__all__ = ["CHARS_PER_TOKEN_OF_NAMES", "estimate_tokens"]

CHARS_PER_TOKEN = 4
CHARS_PER_TOKEN_OF_NAMES = 2.5


def estimate_tokens(chars: int) -> int:
    """Estimate how many tokens *chars* characters are."""
    return -(-chars // CHARS_PER_TOKEN)
