"""
Markdown of tools, catalogs, results and runs, for notebooks.

Each function is the method `_repr_markdown_` of a class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .wording import build_fence

__all__ = ["build_table", "fence_text", "show_catalog", "show_result", "show_run", "show_tool"]

_MAX_CHARS = 4000
_MAX_TOOLS = 50


def show_tool(tool: Any) -> str:
    """Return the name, the description and the schema of a tool."""
    schema = json.dumps(tool.schema, indent=2, ensure_ascii=False)
    return f"**{tool.name}**\n\n{fence_text(tool.description)}\n\n{fence_text(schema, 'json')}"


def show_catalog(catalog: Any) -> str:
    """Return a table of the tools."""
    tools = list(catalog)
    rows = [(tool.name, tool.description.partition("\n")[0]) for tool in tools[:_MAX_TOOLS]]
    more = f"\n\nand {len(tools) - len(rows)} more" if len(tools) > len(rows) else ""
    return build_table(("tool", "description"), rows) + more


def show_result(result: Any) -> str:
    """Return how a call ended, and its text."""
    return f"**{result.kind}** of `{result.tool or '?'}`\n\n{fence_text(result.text)}"


def show_run(run: Any) -> str:
    """Return how a run ended, and its answer or the reason."""
    answer = run.messages[-1].text if run.status == "done" else run.reason
    return f"**{run.status}**, run `{run.id}`\n\n{fence_text(answer)}"


def fence_text(text: str, language: str = "") -> str:
    """Return *text*, cut if it is long, in a fence that it cannot close."""
    shown = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]} ..."
    fence = build_fence(shown)
    return f"{fence}{language}\n{shown}\n{fence}"


def build_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table. What would end a cell, or begin markup in it, is escaped."""
    lines = [header, tuple("---" for _ in header), *[tuple(map(_escape_cell, row)) for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape_cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|&#!~$])", r"\\\1", " ".join(text.split()))
