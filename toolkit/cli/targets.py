"""
Load the target of a command: the tools that its first argument names.

    package.module               the tools that a module defines or exports
    package.module:catalog       the tools of a catalog in a module
    tools.py, tools.py:catalog   the same for a file
    builtin                      the built-in tools, bound to the current folder

Loading a target runs its code.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .. import builtin
from ..catalogs.views import CatalogView
from ..errors import CatalogError
from ..safety import SafetyChecks
from ..settings import MergedSettings
from ..testing.load_target import catalog_of
from .completion.known_names import BUILTIN, is_path

__all__ = ["LOADERS", "Target", "open_target"]

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """
    The tools that a command works on.

    Attributes:
        catalog: The tools.
        safety: The safety checks for these tools. None means the usual checks in the current folder.
    """

    catalog: CatalogView
    safety: SafetyChecks | None = None


@contextlib.contextmanager
def open_target(target: str, *, undecorated: bool = False, settings: MergedSettings | None = None) -> Iterator[Target]:
    """
    Yield the tools of *target*, which can be used until the end of the block.

    Args:
        target: The name of a module, a catalog in a module, a file, or `builtin`.
        undecorated: Whether a module's public functions count as tools although they have no decorator.
        settings: The settings, whose protected files the built-in tools do not touch.

    Raises:
        CatalogError: The tools cannot be loaded. Its cause is the exception that the target raised, if it raised one.
    """
    load = next(load for recognises, load in LOADERS if recognises(target))
    with load(target, undecorated, settings) as loaded_target:
        yield loaded_target


@contextlib.contextmanager
def _load_code(target: str, undecorated: bool, settings: MergedSettings | None) -> Iterator[Target]:
    yield Target(catalog_of(_check_target(target), undecorated=undecorated))


@contextlib.contextmanager
def _load_builtin(target: str, undecorated: bool, settings: MergedSettings | None) -> Iterator[Target]:
    lists = ("protected", "unprotected")
    protection = {} if settings is None else {name: settings[f"files.{name}"] for name in lists}
    with builtin.Workspace(".", **protection) as workspace:
        yield Target(builtin.builtin_catalog(workspace), workspace.safety())


def _refuse_address(
    target: str, undecorated: bool, settings: MergedSettings | None
) -> contextlib.AbstractContextManager[Target]:
    raise CatalogError(
        f"{target} is an address, and servers cannot be asked for tools yet; "
        "name a module, `package.module`, or a file, `tools.py`"
    )


_Loader: TypeAlias = Callable[[str, bool, "MergedSettings | None"], contextlib.AbstractContextManager[Target]]

LOADERS: list[tuple[Callable[[str], object], _Loader]] = [
    (lambda target: target == BUILTIN, _load_builtin),
    (_ADDRESS.match, _refuse_address),
    (lambda target: True, _load_code),
]
"""
The loaders, each with a function that recognises its targets. The first loader that recognises a target loads it.

A loader for the command or the address of an MCP server belongs in this list.
"""


def _check_target(target: str) -> str:
    """Return *target*; raise `CatalogError` with a clear message if it is a path that is no Python file."""
    where = target.partition(":")[0]
    if is_path(where) and not where.endswith(".py"):
        raise CatalogError(f"{where} is no Python file; name one that ends in `.py`, or a module, `package.module`")
    return target
