"""
Load a module when a program first uses one of its names.

`lazy_getattr` is for a package that offers many names, of which most programs use few. The package lists them in a
table. `LazyModule` is for an optional package, and for a module that most programs or calls do not need.
`lazy_pattern` is for a regular expression that takes long to compile.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import ToolkitError

__all__ = ["LazyModule", "lazy_getattr", "lazy_pattern"]


def lazy_getattr(
    package: str, modules: Mapping[str, str], *, remedies: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for *package* that loads the names in *modules*.

    *modules* maps each name to the module, relative to *package*, that defines it. *remedies* says what to write for
    names of other libraries that people look for here. The error for a name that the package
    `toolkit` has not, and a package in it has, says where the name is.
    """

    def load(name: str) -> Any:
        if name in modules:
            return _load(f"{package}.{modules[name]}", name, sys.modules[package])
        remedy = (remedies or {}).get(name) or _find_elsewhere(package, name)
        if remedy is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # `from package import name` replaces the message of an AttributeError, and not that of an ImportError.
        raise ImportError(f"{package} has no {name}; {remedy}")

    return load


def _find_elsewhere(package: str, name: str) -> str | None:
    """Return where the packages in *package* have *name*; None if they have it not. None of them is imported."""
    if "." in package or name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is not None:
        return None
    export = re.compile(rf'^__all__ = \[[^]]*"{re.escape(name)}"', re.MULTILINE)
    folder, statements = os.path.dirname(sys.modules[package].__file__ or ""), []
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry, "__init__.py")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if export.search(file.read()):
                    statements.append(f"`from {package}.{entry} import {name}`")
    return f"write {' or '.join(statements)}" if statements else None


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
