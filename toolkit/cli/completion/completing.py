"""
What the tab key offers: targets, names and parameters that the last `list` has seen. No target is imported.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from .known_names import BUILTIN, known_parameters, known_targets, known_tools

__all__ = ["complete_arguments", "complete_target", "complete_tool"]


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Targets that were listed; else what the shell knows of files."""
    found = [each for each in (*known_targets(), BUILTIN) if each.startswith(incomplete)]
    return [*map(_item, dict.fromkeys(found)), *([] if found else [CompletionItem(incomplete, type="file")])]


def complete_tool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The tools of the target before."""
    return [_item(name) for name in known_tools(ctx.params.get("target") or "") if name.startswith(incomplete)]


def complete_arguments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The parameters of the tool before, with the sign that their value follows."""
    names = known_parameters(ctx.params.get("target") or "", ctx.params.get("name") or "")
    return [_item(f"{name}=") for name in names if name.startswith(incomplete)]


def _item(value: str) -> CompletionItem[str]:
    return CompletionItem(value)
