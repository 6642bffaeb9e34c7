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


def lazy_getattr(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for *package* that loads the names in *modules*.

    *modules* maps each name to the module, relative to *package*, that defines it.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
