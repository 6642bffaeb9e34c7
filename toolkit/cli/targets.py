"""
What a command works on: the tools that its first argument names.

    package.module            what a module defines or exports
    package.module:catalog    a catalog in it
    tools.py, tools.py:catalog   the same of a file
    builtin                   the built-in tools, bound to the current folder

Loading one runs its code.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .. import builtin
from ..catalogs.views import CatalogView
from ..errors import CatalogError
from ..safety import SafetyChecks
from ..testing.load_target import catalog_of
from .completion.known_names import BUILTIN, is_path

__all__ = ["LOADERS", "Target", "loaded"]

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """
    The tools to work on.

    Attributes:
        safety: The checks that go with them; the usual ones in the current folder if None.
    """

    catalog: CatalogView
    safety: SafetyChecks | None = None


@contextlib.contextmanager
def loaded(target: str, *, undecorated: bool = False) -> Iterator[Target]:
    """
    The tools of *target*, until the end of the block.

    Args:
        undecorated: Whether a module's public functions count that nobody has decorated.

    Raises:
        CatalogError: They cannot be loaded; its cause is what was raised.
    """
    load = next(load for recognises, load in LOADERS if recognises(target))
    with load(target, undecorated) as found:
        yield found


@contextlib.contextmanager
def _of_code(target: str, undecorated: bool) -> Iterator[Target]:
    yield Target(catalog_of(_checked(target), undecorated=undecorated))


@contextlib.contextmanager
def _of_builtin(target: str, undecorated: bool) -> Iterator[Target]:
    with builtin.Workspace(".") as workspace:
        yield Target(builtin.builtin_catalog(workspace), workspace.safety())


def _of_address(target: str, undecorated: bool) -> contextlib.AbstractContextManager[Target]:
    raise CatalogError(
        f"{target} is an address, and servers cannot be asked for tools yet; "
        "name a module, `package.module`, or a file, `tools.py`"
    )


LOADERS: list[tuple[Callable[[str], object], Callable[[str, bool], contextlib.AbstractContextManager[Target]]]] = [
    (lambda target: target == BUILTIN, _of_builtin),
    (_ADDRESS.match, _of_address),
    (lambda target: True, _of_code),
]
"""Who loads what, the first that recognises a target: an MCP server's command or address belongs in here."""


def _checked(target: str) -> str:
    """*target*, or a clear word about a path that is no Python file."""
    where = target.partition(":")[0]
    if is_path(where) and not where.endswith(".py"):
        raise CatalogError(f"{where} is no Python file; name one that ends in `.py`, or a module, `package.module`")
    return target
