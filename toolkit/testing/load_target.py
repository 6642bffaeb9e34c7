"""Load the tools that a target on a command line names: `package.module`, `package.module:catalog`, or a file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..catalog import Catalog, default_catalog
from ..catalogs.sources import tools_in
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..errors import CatalogError, DefinitionError

__all__ = ["catalog_of", "list_packages", "load_module", "load_object"]


def catalog_of(
    target: str,
    *,
    undecorated: bool = False,
    on_refused: Callable[[Callable[..., Any], DefinitionError], object] | None = None,
) -> CatalogView:
    """
    Return the tools of *target*.

    Args:
        target: A module, a module with the name of a catalog or a dispatcher in it (`package.tools:catalog`), or a file
            that ends in `.py`, with or without such a name. Without a name, the tools are those that the module defines
            or exports.
        undecorated: Whether functions without a decorator count as tools. The functions are those that `__all__`
            names. If the module has no `__all__`, they are the public functions that the module itself defines.
        on_refused: Called with each of these functions that cannot be a tool, and the reason. If it is given, a module
            without any tool is no error.

    Raises:
        CatalogError: The module cannot be loaded, the name is not in it, or it has no tools.
    """
    where, _, name = target.partition(":")
    if name:
        value = load_object(target)
        value = value.catalog if isinstance(value, Dispatcher) else value
        return value if isinstance(value, CatalogView) else Catalog(value)
    module = load_module(where)
    catalog = Catalog(*tools_in(module, default_catalog))
    if undecorated:
        _add_functions(catalog, module, on_refused or (lambda function, error: None))
    if on_refused is not None:
        return catalog
    if not len(catalog):
        hint = "decorate a function with `@tool`"
        if not undecorated:
            hint += "; `toolkit list`, `show`, `call` and `check` take functions without a decorator with `--all`"
        raise CatalogError(f"{where} has no tools; {hint}")
    return catalog


def load_object(target: str) -> Any:
    """
    Return the object that *target* names: `package.module:name`, or `tools.py:name`.

    Raises:
        CatalogError: The module cannot be loaded, or the name is not in it.
    """
    where, _, name = target.partition(":")
    module = value = load_module(where)
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise CatalogError(f"{target}: {module.__name__} has no {name!r}; {_describe_names(module)}") from None
    return value


def load_module(source: str) -> ModuleType:
    """
    Return the module with the name *source*, or the one of the file *source*, which ends in `.py`.

    Raises:
        CatalogError: The module cannot be loaded.
    """
    if not source:
        raise CatalogError("no module is named; write `package.module` or `package.module:catalog`")
    if source in (".", "..") or source.endswith("/") or ("/" in source and Path(source).is_dir()):
        files = sorted(path.name for path in Path(source).glob("[!_]*.py"))
        hint = f", such as {Path(source, files[0])}" if files else ""
        raise CatalogError(f"{source!r} is a folder; name a module, or a file in it{hint}")
    try:
        return _load_file(Path(source).resolve()) if source.endswith(".py") else _load_by_name(source)
    except ImportError as error:
        raise CatalogError(f"cannot load {source!r}: {error}; install it, or correct the name") from error
    except (Exception, SystemExit) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps one that comes while a class is made
            raise error.__cause__ from None
        raise CatalogError(f"cannot load {source!r}: it raised {type(error).__name__}: {error}") from error


def _load_by_name(module_name: str) -> ModuleType:
    here, name = Path.cwd(), module_name.partition(".")[0]
    if "" not in sys.path and str(here) not in sys.path:
        _make_findable(here)
        is_taken = name in sys.modules or name in sys.stdlib_module_names
        spec = None if is_taken else PathFinder.find_spec(name, [str(here)])
        if spec is not None and spec.loader is not None:
            # The user means the package in the current folder, even if one of the same name is installed.
            _execute(spec)
    return importlib.import_module(module_name)


def _load_file(path: Path) -> ModuleType:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = importlib.util.spec_from_file_location(_choose_module_name(path), path)
    if spec is None or not path.is_file():
        raise ImportError(f"there is no such file as {path}")
    _make_findable(path.parent)  # the file can import the modules beside it, as if it were run as a script
    if (name := _find_name_in_package(path)) is not None:
        return importlib.import_module(name)
    return _execute(spec)


def list_packages(path: Path) -> list[Path]:
    """Return the folders of the packages that the file *path* is in, the outermost first."""
    folders = itertools.takewhile(lambda folder: folder.name and (folder / "__init__.py").is_file(), path.parents)
    return list(folders)[::-1]


def _find_name_in_package(path: Path) -> str | None:
    """
    Return the name under which a file of a package is imported, or None if it is in none that can be imported.

    The user means the package around the file, even if one of the same name is installed.
    """
    packages = list_packages(path)
    names = [*(folder.name for folder in packages), *([] if path.stem == "__init__" else [path.stem])]
    if not packages or not all(name.isidentifier() for name in names):
        return None
    top, source = names[0], packages[0] / "__init__.py"
    if top in sys.modules or top in sys.stdlib_module_names:
        is_this_one = Path(getattr(sys.modules.get(top), "__file__", None) or "").resolve() == source
        return ".".join(names) if is_this_one else None
    _make_findable(packages[0].parent)
    spec = importlib.util.spec_from_file_location(top, source, submodule_search_locations=[str(packages[0])])
    if spec is not None:
        _execute(spec)
    return ".".join(names)


def _make_findable(folder: Path) -> None:
    """Add *folder* at the end of `sys.path`, so that a `json.py` in it does not hide the one that others import."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _choose_module_name(path: Path) -> str:
    """Return the name for the module of a file: the stem, or the full file name if another module has the stem."""
    name = path.stem
    if name in sys.modules or name in sys.stdlib_module_names:
        return path.name
    spec = PathFinder.find_spec(name)
    return name if spec is None or spec.origin in (None, str(path)) else path.name


def _execute(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # annotations are resolved by way of `sys.modules`
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]  # otherwise the next import would find a half-executed module
        raise
    return module


def _describe_names(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, (CatalogView, Dispatcher))]
    if names:
        return f"its catalogs and dispatchers are {', '.join(names)}"
    return "it has no catalog and no dispatcher; leave the name out"


def _add_functions(
    catalog: Catalog, module: ModuleType, on_refused: Callable[[Callable[..., Any], DefinitionError], object]
) -> None:
    exported = getattr(module, "__all__", None)
    for name, value in list(vars(module).items()):
        is_public = not name.startswith("_") if exported is None else name in exported
        is_own = exported is not None or getattr(value, "__module__", None) == module.__name__
        if not (is_public and is_own and inspect.isfunction(value)) or value in catalog or name in catalog:
            continue
        try:
            catalog.add(value)
        except DefinitionError as error:
            on_refused(value, error)
