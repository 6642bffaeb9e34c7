"""
Estimate how many tokens a text has.

Each model counts tokens in its own way. This module uses no model's tokenizer. In English and in compact JSON, one
token is about four characters. In snake_case names, tokens are shorter.
"""

from __future__ import annotations

from .text_limits import BYTES_PER_TOKEN

__all__ = ["CHARS_PER_TOKEN_OF_NAMES", "estimate_tokens"]

CHARS_PER_TOKEN_OF_NAMES = 2.5


def estimate_tokens(size: int) -> int:
    """Estimate how many tokens a text of *size* bytes is. Plain ASCII text has as many bytes as characters."""
    return -(-size // BYTES_PER_TOKEN)
