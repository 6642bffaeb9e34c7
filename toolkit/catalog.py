"""
Where tools live.

A `Catalog` holds tools by name, in the order they came; names and aliases are
one namespace. Adding is all or nothing and safe from several threads: the
content is replaced as a whole, so readers never wait and never see half a change.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import ModuleType
from typing import Any, Self, TypeVar, overload

from typing_extensions import Unpack

from .describe import place_of
from .errors import CatalogError, DuplicateTool, ToolkitWarning
from .facts import Options, check_name
from .scope import underlying
from .spec import Tool, attached
from .views import CatalogView, Change, Listener, Table, described_place, difference

__all__ = ["Catalog", "decorate", "default_catalog"]

F = TypeVar("F", bound=Callable[..., Any])

_ENTRY_POINTS = "toolkit.tools"


class Catalog(CatalogView):
    """Tools by name. `Catalog(f, g)` adds what it is given."""

    def __init__(self, *things: Any) -> None:
        super().__init__((), Table)
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self._table = Table({}, {})
        self.add(*things)

    @property
    def table(self) -> Table:
        return self._table

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[Options]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Decorate a function as a tool of this catalog; see `toolkit.tool`."""
        if function is not None:
            return decorate(function, self, **options)
        return lambda function: decorate(function, self, **options)

    def add(self, *things: Any, replace: bool = False) -> Self:
        """
        Add functions, tools, catalogs, objects with decorated methods, or objects that are tools by
        their shape (`name`, `description`, `schema`, `call`). All of them, or none.

        A taken name is a `DuplicateTool`, unless *replace* is true or it is the same function defined
        again: a notebook cell run twice, a module reloaded.
        """
        tools = [tool for thing in things for tool in _tools_of(thing)]
        with self._change() as (content, aliases):
            for tool in tools:
                _place(tool, content, aliases, replace)
        return self

    def remove(self, name: str) -> Tool:
        """Take the tool of this name or alias out, with its aliases, and return it."""
        with self._change() as (content, aliases):
            tool = self[name]
            del content[tool.name]
            for alias in [alias for alias, target in aliases.items() if target == tool.name]:
                del aliases[alias]
        return tool

    def alias(self, alias: str, name: str) -> Self:
        """Let the tool *name* answer to *alias* too. An alias is callable and never listed."""
        check_name(alias, f"alias of `{name}`")
        with self._change() as (content, aliases):
            tool = self[name]
            taken = Table(content, aliases).find(alias)
            if taken is not None and taken is not tool:
                raise DuplicateTool(f"`{alias}` cannot be an alias of `{name}`: it is {described_place(taken)}")
            if alias != tool.name:
                aliases[alias] = tool.name
        return self

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell *listener* of every change from now on; call what this returns to stop it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end

    @contextmanager
    def isolated(self) -> Iterator[Self]:
        """Inside the block changes are welcome; after it the content is what it was before. For tests."""
        kept = self._table
        try:
            yield self
        finally:
            with self._change() as (content, aliases):
                content.clear()
                content.update(kept.tools)
                aliases.clear()
                aliases.update(kept.aliases)

    def load(self, module: str | ModuleType) -> Self:
        """Add the tools that a module defines, or exports by its `__all__`."""
        if isinstance(module, str):
            try:
                module = importlib.import_module(module)
            except ModuleNotFoundError as error:
                raise CatalogError(f"cannot load {module!r}: {error}; install it, or correct the name") from error
        return self.add(*_exported(module))

    def discover(self, group: str = _ENTRY_POINTS) -> Self:
        """
        Add what installed distributions offer as entry points of *group*; each tool's `origin` names its own.

        One that cannot be loaded is a warning that names it; the others are added.
        """
        import importlib.metadata  # as slow to import as this whole package, and seldom needed

        for point in importlib.metadata.entry_points(group=group):
            origin = f"dist:{point.dist.name}" if point.dist is not None else "dist:"
            try:
                thing = point.load()
                things = _exported(thing) if isinstance(thing, ModuleType) else [thing]
                found = [tool for each in things for tool in _tools_of(each)]
                self.add(*(replace(tool, origin=origin) for tool in found))
            except Exception as error:  # noqa: BLE001 -- someone else's package must not take this program down
                warnings.warn(
                    f"entry point {point.name!r} of {origin} was not added: {type(error).__name__}: {error}",
                    ToolkitWarning,
                    stacklevel=2,
                )
        return self

    @contextmanager
    def _change(self) -> Iterator[tuple[dict[str, Tool], dict[str, str]]]:
        """Copies to work on; they become the content if the block ends well."""
        with self._lock:
            before = self._table
            content, aliases = dict(before.tools), dict(before.aliases)
            yield content, aliases
            self._table = Table(content, aliases)
            change = difference(before, self._table) if self._listeners else None
            listeners = list(self._listeners)
        if change is not None and (change.added or change.removed):
            _tell(listeners, change)


def _tell(listeners: Iterable[Listener], change: Change) -> None:
    for listener in listeners:
        try:
            listener(change)
        except Exception:  # the change has happened; one listener's mistake is not the others'
            logging.getLogger(__name__).exception("a listener of a catalog failed")


def _place(tool: Tool, content: dict[str, Tool], aliases: dict[str, str], replace: bool) -> None:
    for name in (tool.name, *tool.facts.aliases):
        taken = Table(content, aliases).find(name)
        if taken is None or (taken.name == tool.name and (taken is tool or replace or _is_same_source(taken, tool))):
            continue
        if not replace:
            raise DuplicateTool(
                f"`{name}` is taken by {described_place(taken)}, so {described_place(tool)} cannot have it; "
                f"pass `replace=True`, or give one another name"
            )
        content.pop(name, None)
        for alias in [alias for alias, target in aliases.items() if name in (target, alias)]:
            del aliases[alias]
    for alias in [alias for alias, target in aliases.items() if target == tool.name]:
        if tool.name in content and alias in content[tool.name].facts.aliases:
            del aliases[alias]
    content[tool.name] = tool
    aliases.update(dict.fromkeys((alias for alias in tool.facts.aliases if alias != tool.name), tool.name))


def _is_same_source(old: Tool, new: Tool) -> bool:
    """Whether *new* is *old* defined again: same file and qualified name, and not one closure of many."""
    if old.function is new.function:
        return True
    a, b = underlying(old.function), underlying(new.function)
    names = [getattr(each, "__qualname__", None) for each in (a, b)]
    modules = [getattr(each, "__module__", None) for each in (a, b)]
    if names[0] is None or names[0] != names[1] or modules[0] != modules[1] or "<locals>" in names[0]:
        return False
    if inspect.ismethod(old.function) or inspect.ismethod(new.function):
        return False
    # A notebook gives every run of a cell a file name of its own.
    return modules[0] == "__main__" or place_of(a)[0] == place_of(b)[0]


def _tools_of(thing: Any) -> list[Tool]:
    """The tools that *thing* is, has or holds."""
    if isinstance(thing, Tool):
        return [_bound(thing)]
    if isinstance(thing, CatalogView):
        return list(thing)
    if isinstance(thing, (str, ModuleType, type)):
        remedy = {str: "`catalog.load` adds a module by name", type: "add an instance"}
        hint = next((text for kind, text in remedy.items() if isinstance(thing, kind)), "use `catalog.load`")
        raise CatalogError(f"{thing!r} is not a tool; {hint}")
    found = attached(thing)
    if found is not None:
        return [_bound(found)]
    methods = _methods(thing)
    if methods:
        return methods
    if all(hasattr(thing, name) for name in ("name", "description", "schema", "call")):
        return [_by_shape(thing)]
    if callable(thing):
        return [Tool.of(thing)]
    raise CatalogError(
        f"{thing!r} is not a tool: add a function, a Tool, a catalog, an object with decorated methods, "
        f"or one that has name, description, schema and call"
    )


def _bound(tool: Tool) -> Tool:
    if tool.is_method:
        raise CatalogError(f"{tool.about.subject} is a method of a class; add an instance of the class")
    return tool


def _methods(thing: Any) -> list[Tool]:
    """The decorated methods of an object's class, bound to it, in the order they were written."""
    if inspect.isroutine(thing):
        return []
    names: dict[str, None] = {}
    for owner in reversed(type(thing).__mro__):
        names.update(dict.fromkeys(vars(owner)))
    found = []
    for name in names:
        written = inspect.getattr_static(type(thing), name)
        tool = attached(written) or attached(getattr(written, "__func__", None))
        if tool is not None and tool.is_method:
            bound = Tool.described(getattr(thing, name), **tool.options)
            found.append(bound)
    return found


def _by_shape(thing: Any) -> Tool:
    values = {}
    for name in ("name", "description", "schema"):
        value = getattr(thing, name)
        values[name] = value() if callable(value) else value
    return Tool.from_schema(values["name"], values["description"], values["schema"], thing.call)


def _exported(module: ModuleType) -> list[Any]:
    """What a module offers: its `__all__`, or else what it defines; of that, tools and catalogs."""
    listed = getattr(module, "__all__", None)
    found: list[Any] = []
    for name in vars(module) if listed is None else listed:
        thing = getattr(module, name, None)
        if isinstance(thing, CatalogView):
            # A catalog has no module of its own; the one everyone shares is nobody's export.
            if thing is not default_catalog:
                found.append(thing)
            continue
        tool = thing if isinstance(thing, Tool) else attached(thing) or _registered(thing)
        if tool is None or tool.is_method:
            continue
        home = getattr(underlying(tool.function), "__module__", None)
        if listed is not None or home == module.__name__ or isinstance(thing, Tool):
            found.append(tool)
    return found


def _registered(thing: Any) -> Tool | None:
    """The tool of something that takes no attributes: only the shared catalog knows it."""
    if not callable(thing) or isinstance(thing, type):
        return None
    return next((tool for tool in default_catalog if tool.function is thing), None)


def decorate(function: Any, catalog: Catalog | None, **options: Unpack[Options]) -> Any:
    """
    Describe *function*, attach the tool, add it to *catalog*, and return the function itself.

    What someone else attached stays: without options it is that tool which is added. In a class
    body nothing is added; `catalog.add(instance)` does that.
    """
    tool = attached(function)
    if tool is None or options:
        described = Tool.described(function, **options)
        if tool is None:
            # A builtin or a bound method takes no attributes: the catalog alone holds its tool.
            with suppress(AttributeError, TypeError):
                function.__tool__ = described
        tool = described
    if catalog is not None and not tool.is_method:
        catalog.add(tool)
    return function


default_catalog = Catalog()
"""The catalog that `@tool` adds to unless it is told otherwise."""
