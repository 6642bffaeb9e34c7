"""
Names that are loaded when somebody asks for them.

A package that offers much, of which most programs use little, names it in a table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["later"]


def later(package: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of *package*, whose names are in *files*: each by name, with the module that defines it."""

    def load(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{files[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
