"""
Names that a package loads when a program first uses them.

This is for a package that offers many names, of which most programs use few. The package lists them in a table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["later"]


def later(package: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for *package* that loads the names in *files*.

    *files* maps each name to the module, relative to *package*, that defines it.
    """

    def load(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{files[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
