"""
Load a module when a program first uses one of its names.

`lazy_getattr` is for a package that offers many names, of which most programs use few. The package lists them in a
table. `LazyModule` is for an optional package, and for a module that most programs or calls do not need.
`lazy_pattern` is for a regular expression that takes long to compile.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import ToolkitError

__all__ = ["LazyModule", "lazy_getattr", "lazy_pattern"]


def lazy_getattr(
    package: str, modules: Mapping[str, str], *, elsewhere: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for *package* that loads the names in *modules*.

    *modules* maps each name to the module, relative to *package*, that defines it. *elsewhere* maps names that people
    look for here to the packages that have them.
    """

    def load(name: str) -> Any:
        if elsewhere and name in elsewhere:
            # `from package import name` replaces the message of an AttributeError, and not that of an ImportError.
            raise ImportError(f"{package} has no {name}; write `from {elsewhere[name]} import {name}`")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return _load(f"{package}.{modules[name]}", name, sys.modules[package])

    return load


class LazyModule:
    """
    A stand-in for a module, which is loaded with the first name that is used.

    Args:
        install_hint: How to install the package, if it is optional. The error says it if the package is missing.
    """

    def __init__(self, module: str, install_hint: str = "") -> None:
        self._module = module
        self._install_hint = install_hint

    def __getattr__(self, name: str) -> Any:
        package = self._module.partition(".")[0]
        try:
            return _load(self._module, name, self)
        except ModuleNotFoundError as error:
            if not self._install_hint or (error.name or "").partition(".")[0] != package:
                raise
            raise ToolkitError(f"{package} is not installed; {self._install_hint}") from None


if TYPE_CHECKING:
    lazy_pattern = re.compile
else:

    class lazy_pattern:  # noqa: N801 -- it is called like `re.compile`
        """A stand-in for the pattern that `re.compile` returns, which is compiled when it is first used."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._arguments = pattern, flags

        def __getattr__(self, name: str) -> Any:
            method = getattr(re.compile(*self._arguments), name)
            setattr(self, name, method)
            return method


def _load(module: str, name: str, owner: object) -> Any:
    """Return *name* of *module*. Store it in *owner* too, so that the next access finds it there."""
    value = getattr(importlib.import_module(module), name)
    setattr(owner, name, value)
    return value
