"""Texts of tools and models in Markdown, for notebooks."""

from __future__ import annotations

import re

__all__ = ["build_table", "fence_text"]

_MAX_CHARS = 4000


def fence_text(text: str, language: str = "") -> str:
    """Return *text*, cut if it is long, in a fence that it cannot close."""
    shown = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]} ..."
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def build_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table. What would end a cell, or begin markup in it, is escaped."""
    lines = [header, tuple("---" for _ in header), *[tuple(map(_escape_cell, row)) for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape_cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|&#!~$])", r"\\\1", " ".join(text.split()))
