"""
Keep the names of tools that were listed last, for tab completion.

Completion must not import a target, because that would run its code. So the names are
kept in the user's cache folder. A file that cannot be read or written there is
ignored without an error, because completion is only a convenience.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...catalogs.views import CatalogView
from ...errors import DefinitionError
from ...spec import Tool
from ..atomic_files import write_whole

__all__ = ["BUILTIN", "cache_file", "is_path", "key_of", "known_parameters", "known_targets", "known_tools", "remember"]

BUILTIN = "builtin"
"""The target that stands for the built-in tools."""

_VERSION = 1
_MOST_TARGETS = 50
_MOST_BYTES = 4_000_000
# Completion must not offer a name with characters that a shell would interpret.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_PLAIN_TARGET = re.compile(r"[A-Za-z0-9_.:/-]{1,400}\Z")


def cache_file() -> Path:
    """Return the path of the names: `$XDG_CACHE_HOME/toolkit/names.json`, or `toolkit/names.json` under `~/.cache`."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"
    return base / "toolkit" / "names.json"


def is_path(where: str) -> bool:
    """Return whether *where* means a file and not a module."""
    return where.endswith(".py") or "/" in where or "\\" in where


def key_of(target: str) -> str:
    """Return the key of *target* in the cache. It is the same in all folders where *target* means the same."""
    where, colon, name = target.partition(":")
    if is_path(where):
        return f"{Path(where).resolve()}{colon}{name}"
    return target if target == BUILTIN else f"{target} in {Path.cwd()}"


def remember(target: str, catalog: CatalogView) -> None:
    """Keep the names of the tools of *target*, and of their parameters."""
    targets = _read()
    targets.pop(key_of(target), None)  # the target that was listed last comes last
    targets[key_of(target)] = {"target": target, "tools": {tool.name: _parameters(tool) for tool in catalog}}
    latest = dict(list(targets.items())[-_MOST_TARGETS:])
    with contextlib.suppress(OSError, RuntimeError):
        cache_file().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(cache_file(), json.dumps({"version": _VERSION, "targets": latest}))


def known_targets() -> list[str]:
    """Return the targets that were listed, as the user wrote them, the latest first."""
    targets = [entry.get("target") for entry in reversed(_read().values())]
    return list(dict.fromkeys(target for target in targets if isinstance(target, str) and _PLAIN_TARGET.match(target)))


def known_tools(target: str) -> list[str]:
    """Return the names of the tools of *target*."""
    return [name for name in _tools(target) if _PLAIN.match(name)]


def known_parameters(target: str, tool: str) -> list[str]:
    """Return the names of the parameters of *tool*."""
    entry = _tools(target).get(tool)
    names = entry if isinstance(entry, list) else []
    return [name for name in names if isinstance(name, str) and _PLAIN.match(name)]


def _parameters(tool: Tool) -> list[str]:
    try:
        return list(tool.schema.get("properties") or ())
    except DefinitionError:
        return []  # an annotation names a type that is not defined yet


def _tools(target: str) -> Mapping[str, Any]:
    tools = _read().get(key_of(target), {}).get("tools")
    return tools if isinstance(tools, dict) else {}


def _read() -> dict[str, dict[str, Any]]:
    try:
        with cache_file().open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
        if data["version"] != _VERSION:
            return {}
        return {key: entry for key, entry in data["targets"].items() if isinstance(entry, dict)}
    except (OSError, RuntimeError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}
