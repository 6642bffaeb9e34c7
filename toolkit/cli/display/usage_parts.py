"""
What the model has read in a run, by parts: which tool takes how much of the context.
"""

from __future__ import annotations

from ..._plumbing.wording import format_count
from ...providers.base import Usage

__all__ = ["describe_usage", "list_parts"]

_MAX_TOOLS = 3


def list_parts(usage: Usage) -> list[tuple[str, int]]:
    """Return the parts of the input with their tokens: definitions, the results of each tool, and the rest."""
    results = sorted(usage.result_tokens.items(), key=lambda item: item[1], reverse=True)
    return [
        ("definitions", usage.definition_tokens),
        *((f"results of {name}", tokens) for name, tokens in results),
        ("rest", usage.rest_tokens),
    ]


def describe_usage(usage: Usage) -> str:
    """Return how much was read and written, and what was read, on one line. Of the tools it names the largest."""
    definitions, *results, rest = list_parts(usage)
    others = sum(tokens for _, tokens in results[_MAX_TOOLS:])
    parts = [definitions, *results[:_MAX_TOOLS], ("results of other tools", others), rest]
    shown = ", ".join(f"{name} {tokens:,}" for name, tokens in parts if tokens)
    read = format_count(usage.input_tokens + usage.unreported_tokens, "token")
    estimate = f" (of these, {usage.unreported_tokens:,} by our own estimate)" if usage.unreported_tokens else ""
    return f"{read} read{estimate} and {usage.output_tokens:,} written" + (f"; read: {shown}" if shown else "")
