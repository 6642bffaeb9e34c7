"""
Complete targets, tools and parameters in a shell. The names are those that the last `toolkit list TARGET` has seen.

No target is imported.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from .known_names import BUILTIN, read_cached_parameters, read_cached_targets, read_cached_tools

__all__ = ["complete_arguments", "complete_target", "complete_tool"]


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the targets that were listed and fit; if none does, let the shell complete names of files."""
    matches = [target for target in (*read_cached_targets(), BUILTIN) if target.startswith(incomplete)]
    return [*map(_item, dict.fromkeys(matches)), *([] if matches else [CompletionItem(incomplete, type="file")])]


def complete_tool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the tools of the target that stands before on the command line."""
    return [_item(name) for name in read_cached_tools(ctx.params.get("target") or "") if name.startswith(incomplete)]


def complete_arguments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the parameters of the tool that stands before on the command line, each with `=` at its end."""
    names = read_cached_parameters(ctx.params.get("target") or "", ctx.params.get("name") or "")
    return [_item(f"{name}=") for name in names if name.startswith(incomplete)]


def _item(value: str) -> CompletionItem[str]:
    return CompletionItem(value)
