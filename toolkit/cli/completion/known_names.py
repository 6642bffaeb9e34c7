"""
Complete targets, tools and parameters in a shell, from the names that the last `toolkit list TARGET` has seen.

Completion must not import a target, because that would run its code. So the names are kept in the user's cache folder.
A file that cannot be read or written there is ignored without an error, because completion is only a convenience.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...catalogs.tool_reports import is_resolved
from ...catalogs.views import CatalogView
from ...spec import Tool
from ...storage.shared_files import write_atomically

__all__ = [
    "BUILTIN",
    "cache_file",
    "complete_arguments",
    "complete_target",
    "complete_tool",
    "is_path",
    "read_cached_parameters",
    "read_cached_targets",
    "read_cached_tools",
    "save_names",
]

BUILTIN = "builtin"
"""The target that stands for the built-in tools."""

_VERSION = 1
_MAX_TARGETS = 50
_MAX_BYTES = 4_000_000
# Completion must not offer a name with characters that a shell would interpret.
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_SAFE_TARGET = re.compile(r"[A-Za-z0-9_.:,/-]{1,400}\Z")


def cache_file() -> Path:
    """Return the path of the names: `$XDG_CACHE_HOME/toolkit/names.json`, or `toolkit/names.json` under `~/.cache`."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"
    return base / "toolkit" / "names.json"


def is_path(where: str) -> bool:
    """Return whether *where* means a file and not a module."""
    return where.endswith(".py") or "/" in where or "\\" in where


def cache_key(target: str) -> str:
    """Return the key of *target* in the cache. It is the same in all folders where *target* means the same."""
    if "," in target:
        return ",".join(map(cache_key, target.split(",")))
    where, colon, name = target.partition(":")
    if is_path(where):
        return f"{Path(where).resolve()}{colon}{name}"
    return target if target == BUILTIN else f"{target} in {Path.cwd()}"


def save_names(target: str, catalog: CatalogView) -> None:
    """Keep the names of the tools of *target*, and of their parameters."""
    targets = _read_cache()
    targets.pop(cache_key(target), None)  # the target that was listed last comes last
    targets[cache_key(target)] = {"target": target, "tools": {tool.name: _parameters(tool) for tool in catalog}}
    latest = dict(list(targets.items())[-_MAX_TARGETS:])
    with contextlib.suppress(OSError, RuntimeError):
        cache_file().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(cache_file(), json.dumps({"version": _VERSION, "targets": latest}))


def read_cached_targets() -> list[str]:
    """Return the targets that were listed, as the user wrote them, the latest first."""
    targets = [entry.get("target") for entry in reversed(_read_cache().values())]
    return list(dict.fromkeys(target for target in targets if isinstance(target, str) and _SAFE_TARGET.match(target)))


def read_cached_tools(target: str) -> list[str]:
    return [name for name in _read_tools(target) if _SAFE_NAME.match(name)]


def read_cached_parameters(target: str, tool: str) -> list[str]:
    entry = _read_tools(target).get(tool)
    names = entry if isinstance(entry, list) else []
    return [name for name in names if isinstance(name, str) and _SAFE_NAME.match(name)]


def _parameters(tool: Tool) -> list[str]:
    return list(tool.schema.get("properties") or ()) if is_resolved(tool) else []


def _read_tools(target: str) -> Mapping[str, Any]:
    tools = _read_cache().get(cache_key(target), {}).get("tools")
    return tools if isinstance(tools, dict) else {}


def _read_cache() -> dict[str, dict[str, Any]]:
    try:
        with cache_file().open("rb") as file:
            data = json.loads(file.read(_MAX_BYTES))
        if data["version"] != _VERSION:
            return {}
        return {key: entry for key, entry in data["targets"].items() if isinstance(entry, dict)}
    except (OSError, RuntimeError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the targets that were listed and fit; if none does, let the shell complete names of files."""
    earlier, comma, start = incomplete.rpartition(",")
    names = [target for target in (*read_cached_targets(), BUILTIN) if target.startswith(start)]
    matches = [f"{earlier}{comma}{name}" for name in names]
    items = [CompletionItem(match) for match in dict.fromkeys(matches)]
    return items or [CompletionItem(incomplete, type="file")]


def complete_tool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the tools of the target that stands before on the command line."""
    names = read_cached_tools(ctx.params.get("target") or "")
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_arguments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the parameters of the tool that stands before on the command line, each with `=` at its end."""
    names = read_cached_parameters(ctx.params.get("target") or "", ctx.params.get("name") or "")
    return [CompletionItem(f"{name}=") for name in names if name.startswith(incomplete)]
