"""
The lookup of tools by name, and the views of a catalog.

`filtered`, `merged`, `prefixed`, `sorted` and `provided` return views. A view holds no tools of its own and
follows its source when the source changes. The order is always insertion order, unless a view sorts.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from .._lazy_names import LazyModule
from .._plumbing.forks import unlock_in_children
from .._plumbing.markdown import show_catalog
from ..errors import CatalogError, DefinitionError, UnknownTool
from ..facts import check_name
from ..functions.callables import is_same_callable
from ..spec import Tool
from .snapshot import Change, Listener, Table, check_listener, diff_tables, has_foreign, merge_tables

# These modules are loaded for the first search, session or tool from outside; most programs start without any.
if TYPE_CHECKING:
    from ..formats import Definitions
    from ..functions.tool_definition import Definition
    from ..session import Session
    from . import foreign_names
    from .search import Ranker
    from .search.embeddings import EmbeddingRanker
    from .search.finder import Finder, SearchResults
else:
    foreign_names = LazyModule(f"{__package__}.foreign_names")

__all__ = ["CatalogView", "FilteredView"]


class CatalogView:
    """A collection of tools by name, which *derive* makes from *sources*. Catalogs and all views have these methods."""

    # The prefix that this view puts before its names; None for views whose tools cannot clash with others.
    _new_prefix: str | None = None

    def __init__(self, sources: tuple[CatalogView, ...], derive: Callable[..., Table]) -> None:
        self._sources = sources
        self._derive = derive
        self._derived: tuple[tuple[Table, ...], Table] | None = None
        self._cached_definitions: tuple[Table, bool, list[Definition]] | None = None
        self._cached_formats: dict[str, tuple[object, Definitions]] = {}
        self._finder: Finder | None = None

    @property
    def table(self) -> Table:
        """The tools and aliases as they are now."""
        tables = tuple(source.table for source in self._sources)
        derived = self._derived
        # Tables are never changed, so the same objects mean that nothing has changed. They are stored together with
        # what was derived from them, because another thread may derive a table from newer ones at the same time.
        if derived is None or derived[0] != tables:
            self._derived = derived = tables, self._derive_table(tables)
        return derived[1]

    def _derive_table(self, tables: tuple[Table, ...]) -> Table:
        """Return the table that follows from *tables*, without tools from outside that were added later and clash."""
        try:
            return self._derive(*tables)
        except (CatalogError, DefinitionError):
            if self._derived is None or self._new_prefix is None:
                raise
        # A server may change its tools at any time. Such a change must not make the other tools unavailable.
        return self._derive(*foreign_names.leave_out_misleading(tables, self._new_prefix))

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name or alias, or None."""
        return self.table.resolve(name)

    def __getitem__(self, name: str) -> Tool:
        tool = self.get(name)
        if tool is None:
            table = self.table
            raise UnknownTool(name, [*table.tools, *table.aliases])
        return tool

    def __contains__(self, name: object) -> bool:
        """Return whether this catalog has the given name, alias, tool or function."""
        table = self.table
        if isinstance(name, str):
            return table.find(name) is not None
        return any(name is tool or is_same_callable(name, tool.function) for tool in table.tools.values())

    def __len__(self) -> int:
        return len(self.table.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.table.tools.values())

    def names(self) -> list[str]:
        """Return the names of all tools, without aliases."""
        return list(self.table.tools)

    _repr_markdown_ = show_catalog

    def __repr__(self) -> str:
        names = self.names() or ["empty"]
        kind = type(self).__name__
        class_name = "CatalogView" if kind.endswith("View") else kind  # users know no other class of views
        return f"<{class_name}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}>"

    def offered(self, session: Session | None = None) -> list[Tool]:
        """
        Return the tools that the model is told about.

        These are the tools that are not deferred, then the deferred tools that *session* has loaded, in the order of
        loading.
        """
        table, loaded = self.table, () if session is None else session.loaded
        tools = table.tools
        return [*table.undeferred, *(tools[name] for name in loaded if name in tools and tools[name].facts.defer)]

    @overload
    def definitions(
        self, format: None = None, *, session: Session | None = None, deferred: bool = False
    ) -> list[Definition]: ...
    @overload
    def definitions(self, format: str, *, session: Session | None = None, **options: Any) -> list[dict[str, Any]]: ...
    def definitions(
        self,
        format: str | None = None,  # noqa: A002 -- the usual name for this option
        *,
        session: Session | None = None,
        deferred: bool = False,
        **options: Any,
    ) -> list[Any]:
        """
        Return the definitions that the model gets: name, description, schemas and facts, as plain JSON.

        Deferred tools are left out, but those that *session* has loaded come last. With *deferred*, the list has all
        tools in the catalog's order. With *format*, for example "anthropic", the definitions have the form that this
        provider wants. The package `formats` documents the options of each format.

        The caller may change the list, and with *format* also the keys of a definition. What is inside a definition is
        shared, and without *format* the definitions are too, so copy it before you change it. The checks of arguments
        never read these definitions.
        """
        if format is not None:
            return self.find_definitions(format, session, options)
        if options:
            raise TypeError(f"{next(iter(options))!r} is an option of a provider's format; name the format too")
        table, cached = self.table, self._cached_definitions
        if cached is None or cached[:2] != (table, deferred):
            tools = table.tools.values() if deferred else table.undeferred
            self._cached_definitions = cached = table, deferred, [tool.definition for tool in tools]
        if deferred or session is None or not session.loaded:
            return list(cached[2])
        return [*cached[2], *(tool.definition for tool in self.offered(session)[len(cached[2]) :])]

    def find_definitions(self, provider: str, session: Session | None, options: dict[str, Any]) -> Definitions:
        """Return the definitions in a provider's format. They are made again only if something differs."""
        from ..formats import Definitions, definitions_for

        key = self.table, getattr(session, "loaded", session), options
        cached = self._cached_formats.get(provider)
        if cached is None or cached[0] != key:
            self._cached_formats[provider] = cached = key, definitions_for(provider, self, session, **options)
        return Definitions(map(dict.copy, cached[1]), cached[1].notes)  # a caller may change its definitions

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        group: str | None = None,
        ranker: Ranker | EmbeddingRanker | None = None,
        request: str | None = None,
    ) -> SearchResults:
        """
        Return the tools that fit *query*, the best first, with their scores and the words that matched.

        With *group*, only tools of this group are returned. If no tool fits, the result is empty, and its `advice`
        names the groups that exist.

        *ranker* is the caller's own ranking function. It gets the query and the names, and returns scores that are
        combined with the scores of the index. An `EmbeddingRanker` adds what the words mean.

        *request* is what the user asked for, in the user's words, if a model wrote the *query*. It counts half.

        The first search builds an index, which takes about a second for ten thousand tools. In an event loop, write
        `await asyncio.to_thread(catalog.search, query)`. The dispatcher runs `tool_search` in a thread.
        """
        return self._search(query, limit, (), group=group, ranker=ranker, request=request)

    def _search(
        self, query: str, limit: int, predicates: tuple[Callable[[Tool], bool], ...], **options: Any
    ) -> SearchResults:
        if self._finder is None:
            from .search.finder import Finder

            self._finder = Finder()
        return self._finder.search(self.table, query, limit, predicates=predicates, **options)

    def summary(self, *, max_tokens: int = 1000) -> str:
        """
        Return the names of tools by group, in at most *max_tokens* (estimated): a few lines for a prompt.

        The largest groups come first. If not all names fit, each group begins with those that say most about it.
        """
        from .summaries import summarise_tools

        return summarise_tools(self, max_tokens)

    def finish(self) -> None:
        """
        Complete every tool whose annotations use a name that was not defined before.

        Raises:
            DefinitionError: Some tools cannot be completed. The message describes the problem of each.
        """
        problems = []
        for tool in self:
            try:
                _ = tool.about.schemas
            except DefinitionError as error:
                problems.append(str(error))
        if problems:
            raise DefinitionError("\n".join(problems))

    def watch(self, forget: Callable[[], object]) -> Callable[[], None]:
        """
        Call *forget* as soon as the table changes, and return a function that stops this.

        A change of aliases also counts.
        """
        return _join_ends([source.watch(forget) for source in self._sources])

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with every change from now on, and return a function that stops this."""
        check_listener(listener)
        last_table, lock = self.table, unlock_in_children(threading.RLock())

        def report_change(_: Change) -> None:
            nonlocal last_table
            with lock:  # two threads must not report one change twice
                previous, last_table = last_table, self.table
                change = diff_tables(previous, last_table)
            if change.added or change.removed:
                listener(change)

        return _join_ends([source.subscribe(report_change) for source in self._sources])

    def filtered(self, keep: Callable[[Tool], bool]) -> CatalogView:
        """
        Return a view of the tools for which *keep* returns true.

        Example: `catalog.filtered(lambda tool: tool.facts.read_only)`.

        `get` and `search` call *keep* only for the tools that they look at. A listing calls *keep* for all tools the
        first time after a change.
        """
        return FilteredView(self, keep)

    def merged(self, *others: CatalogView) -> CatalogView:
        """
        Return a view of these tools and then the tools of *others*.

        If a tool from outside clashes only later, because its server changed its tools, it is left out and logged.

        Raises:
            DuplicateTool: Two tools have the same name.
            CatalogError: One of *others* is not a catalog.
        """
        wrong = [other for other in others if not isinstance(other, CatalogView)]
        if wrong:
            raise CatalogError(f"merged wants catalogs, got {type(wrong[0]).__name__}; make one with `Catalog(...)`")
        view = CatalogView((self, *others), lambda *tables: _check_names(merge_tables(*tables)))
        _ = view.table  # a clash raises here, where the view is made
        view._new_prefix = ""
        return view

    def prefixed(self, prefix: str) -> CatalogView:
        """Return a view of all tools, with *prefix* before each name and alias."""
        check_name(f"{prefix}x", f"prefix {prefix!r}")

        def rename(tool: Tool, aliases: tuple[str, ...]) -> Tool:
            renamed = tool.renamed(f"{prefix}{tool.name}")
            # The aliases that a catalog added are former names of the tool, too.
            former = dict.fromkeys((*renamed.former, *(alias.removeprefix(prefix) for alias in aliases)))
            return replace(renamed, facts=replace(tool.facts, aliases=aliases), former=tuple(former))

        transform = _CachedTransform(rename)

        def derive(table: Table) -> Table:
            tools = {
                f"{prefix}{name}": (tool, tuple(f"{prefix}{alias}" for alias in table.aliases_of(name)))
                for name, tool in table.tools.items()
            }
            aliases = {f"{prefix}{alias}": f"{prefix}{name}" for alias, name in table.aliases.items()}
            return _check_names(Table(transform(tools), aliases))

        view = CatalogView((self,), derive)
        _ = view.table  # a name that becomes too long raises here
        view._new_prefix = prefix
        return view

    def sorted(self, key: Callable[[Tool], Any] | None = None) -> CatalogView:
        """Return a view of the tools in the order of their names, or in the order of *key*."""

        def derive(table: Table) -> Table:
            ordered = sorted(table.tools.values(), key=key or (lambda tool: tool.name))
            return Table({tool.name: tool for tool in ordered}, table.aliases)

        return CatalogView((self,), derive)

    def provided(self, resources: Mapping[type, Any]) -> CatalogView:
        """Return a view of the tools with *resources* for their `Inject` parameters, by type."""
        wrong = [key for key in resources if not isinstance(key, type)]
        if wrong:
            raise CatalogError(
                f"resources are given by type, and {wrong[0]!r:.60} is not a type; a tool asks for one with "
                f"`db: Inject[Database]`, so write provided({{Database: ...}})"
            )
        added = dict(resources)
        transform = _CachedTransform(lambda tool: replace(tool, resources={**tool.resources, **added}))
        return CatalogView(
            (self,),
            lambda table: Table(transform({name: (tool,) for name, tool in table.tools.items()}), table.aliases),
        )


def _join_ends(ends: list[Callable[[], None]]) -> Callable[[], None]:
    """Return a function that calls all of *ends*."""
    stack = contextlib.ExitStack()
    for end in ends:
        stack.callback(end)
    return stack.close


def _check_names(table: Table) -> Table:
    """Return *table*, whose names are new together, or raise `CatalogError` if one from outside is misleading."""
    if has_foreign(table.tools.values()):
        foreign_names.check_foreign_names(table)
    return table


class FilteredView(CatalogView):
    """A view of the tools of a source for which *predicate* returns true. A search uses the source's index."""

    def __init__(self, source: CatalogView, predicate: Callable[[Tool], bool]) -> None:
        super().__init__((source,), lambda table: table.selected(predicate))
        self._predicate = predicate

    def get(self, name: str) -> Tool | None:
        tool = self._sources[0].get(name)  # one call of the predicate is quicker than filtering all tools
        return tool if tool is not None and self._predicate(tool) else None

    def _search(
        self, query: str, limit: int, predicates: tuple[Callable[[Tool], bool], ...], **options: Any
    ) -> SearchResults:
        return self._sources[0]._search(query, limit, (self._predicate, *predicates), **options)  # noqa: SLF001 -- also a view


class _CachedTransform:
    """
    A function that makes tools from tools, and returns the same objects as last time if nothing has changed.

    Listeners compare tools by identity, so an unchanged tool must stay the same object.
    """

    def __init__(self, transform: Callable[..., Tool]) -> None:
        self._transform = transform
        self._cache: dict[tuple[Any, ...], Tool] = {}

    def __call__(self, sources: Mapping[str, tuple[Any, ...]]) -> dict[str, Tool]:
        tools = {source: self._cache.get(source) or self._transform(*source) for source in sources.values()}
        self._cache = tools
        return {name: tools[source] for name, source in sources.items()}
