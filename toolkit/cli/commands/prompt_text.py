"""
The prompt of a command: an argument, or standard input.
"""

from __future__ import annotations

import sys

from ..failures import Failure

__all__ = ["read_prompt"]


def read_prompt(prompt: str | None) -> str:
    """
    Return the prompt, which is read from standard input if it is `-`.

    Raises:
        Failure: The prompt is empty or missing.
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    if text is None or not text.strip():
        raise Failure("the prompt is empty; say what to do")
    return text
