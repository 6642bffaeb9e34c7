"""
The tools that a name on a command line means: `package.module`, `package.module:catalog`, or a file.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ..catalog import Catalog
from ..errors import CatalogError, DefinitionError
from ..views import CatalogView

__all__ = ["catalog_of"]


def catalog_of(target: str, *, undecorated: bool = False) -> CatalogView:
    """
    The tools of *target*.

    Args:
        target: A module, which offers what it defines or exports; a module and the catalog in it, as in
            `package.tools:catalog`; a file that ends in `.py`, with or without such a name.
        undecorated: Whether a module's public functions count that nobody has decorated.

    Raises:
        CatalogError: There is no such module, or no tool in it.
    """
    where, _, name = target.partition(":")
    module = _loaded(where)
    if name:
        return _named(module, name, target)
    catalog = Catalog().load(module)
    if undecorated:
        _add_functions(catalog, module)
    if not len(catalog):
        hint = "decorate a function with `@tool`" if undecorated else "decorate one, or have all functions looked at"
        raise CatalogError(f"{where} has no tools; {hint}")
    return catalog


def _loaded(where: str) -> ModuleType:
    if not where:
        raise CatalogError("no module is named; write `package.module` or `package.module:catalog`")
    try:
        return _of_file(Path(where).resolve()) if where.endswith(".py") else _of_name(where)
    except ImportError as error:
        raise CatalogError(f"cannot load {where!r}: {error}; install it, or correct the name") from error
    except (Exception, SystemExit) as error:
        raise CatalogError(f"cannot load {where!r}: it raised {type(error).__name__}: {error}") from error


def _of_name(where: str) -> ModuleType:
    # Asked for on a command line: what lies in the current folder is meant, as with `python -m`.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(where)


def _of_file(path: Path) -> ModuleType:
    for known in list(sys.modules.values()):
        if getattr(known, "__file__", None) == str(path):
            return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no such file as {path}")
    module = importlib.util.module_from_spec(spec)
    # Annotations are looked up there; a module that has the name already keeps it.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, name: str, target: str) -> CatalogView:
    thing: Any = module
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            raise CatalogError(f"{target}: {module.__name__} has no {name!r}") from None
    return thing if isinstance(thing, CatalogView) else Catalog(thing)


def _add_functions(catalog: Catalog, module: ModuleType) -> None:
    for name, thing in vars(module).items():
        is_own = inspect.isfunction(thing) and thing.__module__ == module.__name__
        if not is_own or name.startswith("_") or thing in catalog or name in catalog:
            continue
        try:
            catalog.add(thing)
        except DefinitionError:
            continue  # what cannot be a tool is none
