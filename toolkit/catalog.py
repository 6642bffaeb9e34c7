"""
The `Catalog`, which holds tools by name.

The tools stay in the order in which they were added. Names and aliases share one namespace. An addition either succeeds
completely or changes nothing, and it is safe from several threads. Every change replaces the whole content, so readers
never wait and never see half a change.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Never, Self, TypeAlias, TypeVar, Unpack, overload

from ._plumbing.forks import unlock_in_children
from .catalogs.snapshot import Change, Listener, Table, check_listener, describe_place, diff_tables, has_foreign
from .catalogs.sources import CatalogEntry, bind_method, collect_entries, tools_in
from .catalogs.views import CatalogView
from .errors import CatalogError, DefinitionError, DuplicateTool, ToolkitWarning
from .facts import Facts, Options, check_name
from .functions.callables import is_redefinition, is_same_callable, subject_of
from .functions.namespaces import is_being_defined, is_decorated_in_class_body, is_in_class_body
from .spec import Tool, get_attached_tool

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Catalog", "Tools", "as_catalog", "decorate", "default_catalog"]

Tools: TypeAlias = CatalogView | Callable[..., Any] | Sequence[Tool | Callable[..., Any]]
"""A catalog, a function, or a list of functions and tools."""

F = TypeVar("F", bound=Callable[..., Any])

_ENTRY_POINTS = "toolkit.tools"


class Catalog(CatalogView):
    """
    Tools by name.

    Args:
        things: Functions, tools, other catalogs or objects with tools, which `add` adds.
    """

    def __init__(self, *things: Any) -> None:
        super().__init__((), Table)
        self._lock = unlock_in_children(threading.RLock())
        self._listeners: dict[object, Listener] = {}
        self._watchers: dict[object, Callable[[], object]] = {}
        self._table = Table({}, {})
        self._has_foreign = False
        self.add(*things)

    @property
    def table(self) -> Table:
        return self._table

    @classmethod
    def from_openapi(
        cls,
        document: Mapping[str, Any] | str | os.PathLike[str],
        *,
        client: httpx.AsyncClient | None = None,
        base_url: str | None = None,
        select: Callable[[Any], bool] | Collection[str] | None = None,
        facts: Callable[[Any], Mapping[str, Any]] | Mapping[str, Mapping[str, Any]] | None = None,
        auth: Mapping[str, Any] | None = None,
    ) -> Catalog:
        """
        Return the operations of an OpenAPI document as tools. `toolkit.openapi.load_openapi` describes the options.

        Example:
            Catalog.from_openapi("openapi.yaml", base_url="https://api.example.com")
        """
        # People look for it here. It is imported by its name, because it stands above the catalog.
        loader = importlib.import_module(f"{__package__}.openapi")
        options = {"client": client, "base_url": base_url, "select": select, "facts": facts, "auth": auth}
        catalog: Catalog = loader.load_openapi(document, **options)
        return catalog

    @overload
    def tool(self, function: F, /, **options: Unpack[Options]) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[Options]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Decorate a function as a tool of this catalog; see `toolkit.tool`."""
        if function is not None:
            return decorate(function, self, **options)
        return lambda function: decorate(function, self, **options)

    def add(self, *things: Any, replace: bool = False, **facts: Never) -> Self:
        """
        Add all of *things*, or none of them if one cannot be added.

        A thing is a function, a tool, a catalog, an object with decorated methods, an object that can be called, or an
        object that has the shape of a tool (`name`, `description`, `schema`, `call`). Attributes with the names of
        facts state the facts of the last two.

        A name that is taken raises `DuplicateTool`, unless *replace* is true or the new tool is the same function
        defined again. That happens when a notebook cell is run twice or a module is reloaded.
        """
        if facts:
            raise TypeError(f"Catalog.add takes no facts; write `catalog.tool(function, {next(iter(facts))}=...)`")
        return self._add_offers([offer for thing in things for offer in collect_entries(thing)], replace)

    def remove(self, name: str) -> Tool:
        """Remove the tool that has this name or alias, together with its aliases, and return it."""
        touched: list[str] = []
        with self._change(touched) as (content, aliases):
            tool = self[name]
            touched.append(tool.name)
            del content[tool.name]
            for alias in [alias for alias, target in aliases.items() if target == tool.name]:
                del aliases[alias]
        return tool

    def alias(self, alias: str, name: str) -> Self:
        """Add *alias* as another name of the tool *name*. A model can call an alias, but it is never listed."""
        check_name(alias, f"alias of `{name}`")
        with self._change(()) as (content, aliases):
            tool = self[name]
            holder = Table(content, aliases).find(alias)
            if holder is not None and holder is not tool:
                raise DuplicateTool(f"`{alias}` cannot be an alias of `{name}`: it is {describe_place(holder)}")
            if alias != tool.name:
                aliases[alias] = tool.name
            self._check_names(Table(content, aliases), [alias])
        return self

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """
        Call *listener* after every change from now on, and return a function that stops this.

        The listener runs after the change, in the thread that made the change. If a listener raises, the error is
        logged and the change stays.
        """
        check_listener(listener)
        return self._register(self._listeners, listener)

    def watch(self, forget: Callable[[], object]) -> Callable[[], None]:
        return self._register(self._watchers, forget)

    def _register(self, functions: dict[object, F], function: F) -> Callable[[], None]:
        key = object()
        with self._lock:
            functions[key] = function

        def end() -> None:
            with self._lock:
                functions.pop(key, None)

        return end

    @contextmanager
    def isolated(self) -> Iterator[Self]:
        """Restore the content of the catalog when the block ends, so that a test may change it freely."""
        original = self._table
        try:
            yield self
        finally:
            with self._change() as (content, aliases):
                content.clear()
                content.update(original.tools)
                aliases.clear()
                aliases.update(original.aliases)

    def load(self, module: str | ModuleType) -> Self:
        """Add the tools that a module defines, or exports by its `__all__`. Warn if it has none."""
        if isinstance(module, str):
            if not module or module.startswith("."):
                raise CatalogError(f"cannot load {module!r}: give the whole name, as in `package.module`")
            try:
                module = importlib.import_module(module)
            except ModuleNotFoundError as error:
                raise CatalogError(f"cannot load {module!r}: {error}; install it, or correct the name") from error
            except ImportError as error:
                raise CatalogError(f"cannot load {module!r}: {error}") from error
        if not isinstance(module, ModuleType):
            raise CatalogError(f"load wants a module or its name, got {type(module).__name__}; `add` takes tools")
        tools = list(tools_in(module, default_catalog))
        if not tools:
            warnings.warn(
                f"{module.__name__} has no tools, so nothing was added; decorate its functions with `@tool`, "
                f"or add each with `catalog.tool(function)`",
                ToolkitWarning,
                stacklevel=2,
            )
        return self.add(*tools)

    def discover(self, group: str = _ENTRY_POINTS) -> Self:
        """
        Add the tools that installed distributions offer as entry points of *group*.

        The `origin` of each tool names its distribution. An entry point that cannot be loaded causes a warning that
        names it, and the others are still added.
        """
        import importlib.metadata  # it takes as long to import as this whole package, and is seldom needed

        for point in importlib.metadata.entry_points(group=group):
            origin = f"dist:{point.dist.name}" if point.dist is not None else "dist:"
            try:
                exported = point.load()
                sources = tools_in(exported, default_catalog) if isinstance(exported, ModuleType) else [exported]
                offers = [offer for source in sources for offer in collect_entries(source)]
                self._add_offers([CatalogEntry(replace(offer.tool, origin=origin), offer.aliases) for offer in offers])
            except (Exception, SystemExit) as error:  # noqa: BLE001 -- a broken plugin must not end this program
                warnings.warn(
                    f"entry point {point.name!r} of {origin} was not added: {type(error).__name__}: {error}",
                    ToolkitWarning,
                    stacklevel=2,
                )
        return self

    def _add_offers(self, offers: Sequence[CatalogEntry], replace: bool = False) -> Self:
        names = [name for offer in offers for name in (offer.tool.name, *offer.aliases)]
        with self._lock:
            table = self._table
            if any(map(table.find, names)) or len(set(names)) < len(names):
                content, aliases = dict(table.tools), dict(table.aliases)
                for offer in offers:
                    _place_offer(offer, content, aliases, replace)
                table = Table(content, aliases)
            else:
                table = table.extended(
                    {offer.tool.name: offer.tool for offer in offers},
                    {alias: offer.tool.name for offer in offers for alias in offer.aliases},
                )
            self._check_names(table, names)
            news = self._set_table(table, names)
        _notify(*news)
        return self

    def _check_names(self, table: Table, newcomers: Sequence[str]) -> None:
        """Check the names of *newcomers* if the catalog has tools from outside, which most catalogs do not."""
        self._has_foreign = self._has_foreign or has_foreign(filter(None, map(table.find, newcomers)))
        if self._has_foreign:
            from .catalogs.foreign_names import check_foreign_names

            check_foreign_names(table, newcomers)

    @contextmanager
    def _change(self, touched: Collection[str] | None = None) -> Iterator[tuple[dict[str, Tool], dict[str, str]]]:
        """
        Yield copies of the tools and the aliases, which become the content if the block ends without an error.

        *touched* has the names of all tools that the block adds, replaces or removes, so that a catalog of thousands
        of tools need not be compared with itself. None stands for any names.
        """
        with self._lock:
            content, aliases = dict(self._table.tools), dict(self._table.aliases)
            yield content, aliases
            news = self._set_table(Table(content, aliases), touched)
        _notify(*news)

    def _set_table(self, table: Table, touched: Collection[str] | None) -> tuple[list[Listener], Change]:
        """Make *table* the content, and return the listeners and the change that they have to be told."""
        before, self._table = self._table, table
        for forget in list(self._watchers.values()):
            forget()
        listeners = list(self._listeners.values())
        return listeners, diff_tables(before, table, touched) if listeners else Change((), ())


def _notify(listeners: Iterable[Listener], change: Change) -> None:
    for listener in listeners if change.added or change.removed else ():
        try:
            listener(change)
        except Exception:  # the change has happened, and the other listeners must still be called
            import logging

            logging.getLogger(__name__).exception("a listener of a catalog failed")


def _place_offer(offer: CatalogEntry, content: dict[str, Tool], aliases: dict[str, str], replace: bool) -> None:
    tool = offer.tool
    old_tool = content.get(tool.name)
    if old_tool is not None and offer.is_plain and not replace and is_same_callable(old_tool.function, tool.function):
        return  # the options that were given for this catalog stay
    is_renewal = old_tool is not None and (replace or _is_renewed(old_tool, tool))
    for name in (tool.name, *offer.aliases):
        holder = Table(content, aliases).find(name)
        if holder is None or (holder is old_tool and is_renewal):
            continue
        if not replace:
            raise DuplicateTool(
                f"`{name}` is taken by {describe_place(holder)}, so {describe_place(tool)} cannot have it; "
                f"give one another name, remove the first, or add with `replace=True`"
            )
        content.pop(name, None)
        for alias in [alias for alias, target in aliases.items() if name in (target, alias)]:
            del aliases[alias]
    if old_tool is not None:
        for alias in [alias for alias in old_tool.facts.aliases if aliases.get(alias) == tool.name]:
            del aliases[alias]
    content[tool.name] = tool
    aliases.update(dict.fromkeys((alias for alias in offer.aliases if alias != tool.name), tool.name))


def _is_renewed(old: Tool, new: Tool) -> bool:
    """
    Return whether *new* is the same tool as *old*, defined again.

    The same function with other facts is not the same tool, because an author stated the first facts on purpose.
    """
    if old is new:
        return True
    if is_same_callable(old.function, new.function):
        return old.about.is_equivalent(new.about) and _has_same_facts(old.facts, new.facts)
    return is_redefinition(old.function, new.function)


def _has_same_facts(old: Facts, new: Facts) -> bool:
    # A function given as an option is a new object each time its line runs.
    pairs = [(getattr(old, fact.name), getattr(new, fact.name)) for fact in fields(Facts)]
    return all(is_redefinition(a, b) if callable(a) and callable(b) else a == b for a, b in pairs)


def decorate(function: Any, catalog: Catalog | None, **options: Unpack[Options]) -> Any:
    """
    Describe *function*, attach the tool to it, add the tool to *catalog*, and return the function itself.

    Options on the definition of a function are its own: they are attached, and hold in every catalog. So are options
    with `catalog=None`. Other options hold only in *catalog*, because the function may be in other catalogs too.

    A tool that is already attached stays attached. If no options are given, that tool is the one added. In a class
    body no tool is added; `catalog.add(instance)` adds the methods later.
    """
    if catalog is not None and not isinstance(catalog, Catalog):
        raise DefinitionError(
            f"{subject_of(function)}: `catalog` has to be a Catalog or None, got {type(catalog).__name__}; "
            f"a view takes no tools, its source does"
        )
    attached_tool = get_attached_tool(function)
    tool = Tool.described(function, **options) if attached_tool is None or options else attached_tool
    is_method = tool.is_method and (is_in_class_body(function) or is_decorated_in_class_body(function))
    if catalog is not None and not is_method:
        if isinstance(function, classmethod):
            raise DefinitionError(
                f"{tool.about.subject}: a classmethod needs its class; decorate it in the class body, "
                f"or give the method as the class provides it"
            )
        offer = CatalogEntry(bind_method(tool), tool.facts.aliases, is_plain=not tool.options)
        catalog._add_offers([offer])  # noqa: SLF001 -- `add` takes the tool for a statement of its own
    if attached_tool is None and (not options or catalog is None or is_method or is_being_defined(function)):
        _attach(function, tool)
    return function


def _attach(function: Any, tool: Tool) -> None:
    # Some callables take no attributes (a builtin, a bound method, a frozen object). Only the catalog knows their tool.
    with suppress(Exception):
        function.__tool__ = tool
    if isinstance(function, (staticmethod, classmethod)) and is_in_class_body(function):
        # The class hands out the function inside, not this object, so the function gets a tool too.
        _attach(function.__func__, replace(tool, function=function.__func__))


default_catalog = Catalog()
"""The catalog that `@tool` adds to by default."""


def as_catalog(tools: Tools) -> CatalogView:
    """Return *tools*, or a catalog of them if they are a function or a list."""
    if callable(tools) or isinstance(tools, (list, tuple)):
        return Catalog(tools)
    if not isinstance(tools, CatalogView):
        hint = "; write `Catalog(tool)`" if isinstance(tools, Tool) else ""
        raise TypeError(f"a dispatcher wants a catalog or functions, got {type(tools).__name__}{hint}")
    return tools
