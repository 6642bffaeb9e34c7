"""
Names that a package loads when a program first uses them.

This is for a package that offers many names, of which most programs use few. The package lists them in a table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_getattr"]


def lazy_getattr(
    package: str, modules: Mapping[str, str], *, renamed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for *package* that loads the names in *modules*.

    *modules* maps each name to the module, relative to *package*, that defines it. *renamed* maps former names to the
    names to write instead.
    """

    def load(name: str) -> Any:
        if renamed and name in renamed:
            # `from package import name` replaces the message of an AttributeError, and not that of an ImportError.
            raise ImportError(f"{package}.{name} is now called {renamed[name]}")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
