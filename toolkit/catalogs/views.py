"""
Looking tools up, and looking at them in another way.

`filtered`, `merged`, `prefixed`, `sorted` and `provided` return views: they
hold no tools of their own and follow their source as it changes. Order is
insertion order everywhere, unless a view sorts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from .._forks import unlock_in_children
from ..errors import CatalogError, DefinitionError, UnknownTool
from ..facts import check_name
from ..functions.callables import is_same
from ..spec import Definition, Tool
from .foreign_names import check_foreign_names, has_foreign, leave_out_misleading
from .snapshot import Change, Listener, Table, difference, merged

if TYPE_CHECKING:  # loaded when somebody searches or has a session; most programs do neither at first
    from ..session import Session
    from .search import Ranker
    from .search.finder import Finder, Findings

__all__ = ["CatalogView"]


class CatalogView:
    """Tools by name: what a catalog and every view of one can do."""

    # What stands before the names here, of a view whose tools can clash; None of any other.
    _new_prefix: str | None = None

    def __init__(self, sources: tuple[CatalogView, ...], derive: Callable[..., Table]) -> None:
        self._sources = sources
        self._derive = derive
        self._derived: tuple[tuple[Table, ...], Table] | None = None
        self._defined: tuple[Table, bool, list[Definition]] | None = None
        self._finder: Finder | None = None

    @property
    def table(self) -> Table:
        """The tools and aliases as they are now."""
        tables = tuple(source.table for source in self._sources)
        derived = self._derived
        # Tables are never changed, so the same objects mean that nothing happened. What was derived is kept
        # together with what from: another thread may be doing the same with a newer table.
        if derived is None or derived[0] != tables:
            self._derived = derived = tables, self._derive_again(tables)
        return derived[1]

    def _derive_again(self, tables: tuple[Table, ...]) -> Table:
        """Return what follows from *tables*. A tool from outside that came later and clashes is left out."""
        try:
            return self._derive(*tables)
        except (CatalogError, DefinitionError):
            if self._derived is None or self._new_prefix is None:
                raise
        # A server may change its tools at any time, and must not take the others away with them.
        return self._derive(*leave_out_misleading(tables, self._new_prefix))

    def get(self, name: str) -> Tool | None:
        """The tool of this name or alias, or None."""
        return self.table.called(name)

    def __getitem__(self, name: str) -> Tool:
        table = self.table
        found = table.called(name)
        if found is None:
            raise UnknownTool(name, [*table.tools, *table.aliases])
        return found

    def __contains__(self, name: object) -> bool:
        """Whether a name, an alias, a tool or a function is in here."""
        table = self.table
        if isinstance(name, str):
            return table.find(name) is not None
        return any(name is tool or is_same(name, tool.function) for tool in table.tools.values())

    def __len__(self) -> int:
        return len(self.table.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.table.tools.values())

    def names(self) -> list[str]:
        """The names of all tools; aliases are not listed."""
        return list(self.table.tools)

    def __repr__(self) -> str:
        names = self.names() or ["empty"]
        kind = type(self).__name__
        shown = "CatalogView" if kind.startswith("_") else kind  # how a view works is nobody's business
        return f"<{shown}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}>"

    def offered(self, session: Session | None = None) -> list[Tool]:
        """The tools a model is told of: those that are not deferred, then what *session* has loaded, in that order."""
        tools = self.table.tools
        loaded = () if session is None else session.loaded
        found = [tools[name] for name in loaded if name in tools and tools[name].facts.defer]
        return [tool for tool in tools.values() if not tool.facts.defer] + found

    @overload
    def definitions(
        self, format: None = None, *, session: Session | None = None, deferred: bool = False
    ) -> list[Definition]: ...
    @overload
    def definitions(self, format: str, *, session: Session | None = None, **options: Any) -> list[dict[str, Any]]: ...
    def definitions(
        self,
        format: str | None = None,  # noqa: A002 -- what everyone calls it
        *,
        session: Session | None = None,
        deferred: bool = False,
        **options: Any,
    ) -> list[Any]:
        """
        What a model is told of the tools: name, description, schemas, facts; plain JSON.

        Deferred tools are left out, but those that *session* has loaded come last; *deferred* has all of them in
        the catalog's order. With *format*, "anthropic" say, they are as that provider wants them; `formats` has its
        options.

        The list is yours; the definitions in it are shared, so copy one before you change it. Checks never look
        at them.
        """
        if format is not None:
            from ..formats import definitions_for

            return definitions_for(format, self, session, **options)
        if options:
            raise TypeError(f"{next(iter(options))!r} is an option of a provider's format; name the format too")
        table, defined = self.table, self._defined
        if defined is None or defined[:2] != (table, deferred):
            made = [tool.definition for tool in table.tools.values() if deferred or not tool.facts.defer]
            self._defined = defined = table, deferred, made
        if deferred or session is None or not session.loaded:
            return list(defined[2])
        return [*defined[2], *(tool.definition for tool in self.offered(session)[len(defined[2]) :])]

    def search(
        self, query: str, limit: int = 10, *, group: str | None = None, ranker: Ranker | None = None
    ) -> Findings:
        """
        The tools that fit *query*, the best first, with their scores and the words that matched; of *group* alone
        if it is given. Empty if nothing fits; `advice` says what groups there are.

        *ranker* is your own: called with the query and names, it returns scores that are fused with ours.

        The first search builds an index, about a second of work for ten thousand tools. In an event loop, write
        `await asyncio.to_thread(catalog.search, query)`; `tool_search` is run in a thread by its dispatcher.
        """
        return self._found(query, limit, group, ranker, ())

    def _found(
        self,
        query: str,
        limit: int,
        group: str | None,
        ranker: Ranker | None,
        keep: tuple[Callable[[Tool], bool], ...],
    ) -> Findings:
        if self._finder is None:
            from .search.finder import Finder

            self._finder = Finder()
        table = self.table
        return self._finder.search(table.tools, table.aliases, query, limit, group=group, keep=keep, ranker=ranker)

    def summary(self, *, max_tokens: int = 1000) -> str:
        """The names of all tools by group, in at most so many tokens (estimated): a few lines for a prompt."""
        from .summaries import summarised

        return summarised(self, max_tokens)

    def finish(self) -> None:
        """Complete every tool that still waits for a name; `DefinitionError` names those that cannot be."""
        problems = []
        for tool in self:
            try:
                _ = tool.about.schemas
            except DefinitionError as error:
                problems.append(str(error))
        if problems:
            raise DefinitionError("\n".join(problems))

    def watch(self, forget: Callable[[], object]) -> Callable[[], None]:
        """Call *forget* as soon as the table is another, aliases included; call what this returns to stop it."""
        ends = [source.watch(forget) for source in self._sources]

        def end_all() -> None:
            for end in ends:
                end()

        return end_all

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell *listener* of every change from now on; call what this returns to stop it."""
        known, lock = self.table, unlock_in_children(threading.RLock())

        def notice(_: Change) -> None:
            nonlocal known
            with lock:  # two threads must not tell of one change twice
                before, known = known, self.table
                change = difference(before, known)
            if change.added or change.removed:
                listener(change)

        ends = [source.subscribe(notice) for source in self._sources]

        def end_all() -> None:
            for end in ends:
                end()

        return end_all

    def filtered(self, keep: Callable[[Tool], bool]) -> CatalogView:
        """
        The tools that *keep* says yes to: `catalog.filtered(lambda tool: tool.facts.read_only)`.

        Each is asked about when it is looked up or found, and all when they are listed after a change.
        """

        return _Filtered(self, keep)

    def merged(self, *others: CatalogView) -> CatalogView:
        """
        Return a view of these tools, then those of *others*; two tools of one name are a `DuplicateTool`.

        A tool from outside that clashes only later, because its server changed its tools, is left out and logged.
        """
        wrong = [other for other in others if not isinstance(other, CatalogView)]
        if wrong:
            raise CatalogError(f"merged wants catalogs, got {type(wrong[0]).__name__}; make one with `Catalog(...)`")
        view = CatalogView((self, *others), lambda *tables: _checked(merged(*tables)))
        _ = view.table  # a clash shows here, where it is made
        view._new_prefix = ""
        return view

    def prefixed(self, prefix: str) -> CatalogView:
        """All tools under *prefix* and their name."""

        check_name(f"{prefix}x", f"prefix {prefix!r}")

        def rename(tool: Tool, aliases: tuple[str, ...]) -> Tool:
            renamed = tool.renamed(f"{prefix}{tool.name}")
            # Aliases that a catalog gave are names it had, too.
            former = dict.fromkeys((*renamed.former, *(alias.removeprefix(prefix) for alias in aliases)))
            return replace(renamed, facts=replace(tool.facts, aliases=aliases), former=tuple(former))

        remade = _Remade(rename)

        def derive(table: Table) -> Table:
            aliases = {f"{prefix}{alias}": f"{prefix}{name}" for alias, name in table.aliases.items()}
            answering: dict[str, list[str]] = {}
            for alias, name in aliases.items():
                answering.setdefault(name, []).append(alias)
            tools = {
                f"{prefix}{name}": (tool, tuple(answering.get(f"{prefix}{name}", ())))
                for name, tool in table.tools.items()
            }
            return _checked(Table(remade(tools), aliases))

        view = CatalogView((self,), derive)
        _ = view.table  # a name that becomes too long shows here
        view._new_prefix = prefix
        return view

    def sorted(self, key: Callable[[Tool], Any] | None = None) -> CatalogView:
        """The tools by name, or by *key*."""

        def derive(table: Table) -> Table:
            ordered = sorted(table.tools.values(), key=key or (lambda tool: tool.name))
            return Table({tool.name: tool for tool in ordered}, table.aliases)

        return CatalogView((self,), derive)

    def provided(self, resources: Mapping[type, Any]) -> CatalogView:
        """The tools with *resources* for their `Inject` parameters, by type."""
        wrong = [key for key in resources if not isinstance(key, type)]
        if wrong:
            raise CatalogError(f"resources are given by type; {wrong[0]!r} is not a type")
        given = dict(resources)
        remade = _Remade(lambda tool: replace(tool, resources={**tool.resources, **given}))
        return CatalogView(
            (self,), lambda table: Table(remade({name: (tool,) for name, tool in table.tools.items()}), table.aliases)
        )


def _checked(table: Table) -> Table:
    """Return *table*, whose tools have new names or new neighbours, unless a name from outside misleads."""
    if has_foreign(table.tools.values()):
        check_foreign_names(table)
    return table


class _Filtered(CatalogView):
    """The tools of a source that *keep* says yes to. It is searched in its source's index."""

    def __init__(self, source: CatalogView, keep: Callable[[Tool], bool]) -> None:
        def derive(table: Table) -> Table:
            tools = {name: tool for name, tool in table.tools.items() if keep(tool)}
            return Table(tools, {alias: name for alias, name in table.aliases.items() if name in tools})

        super().__init__((source,), derive)
        self._keep = keep

    def get(self, name: str) -> Tool | None:
        found = self._sources[0].get(name)  # one tool is asked about sooner than all
        return found if found is not None and self._keep(found) else None

    def _found(
        self,
        query: str,
        limit: int,
        group: str | None,
        ranker: Ranker | None,
        keep: tuple[Callable[[Tool], bool], ...],
    ) -> Findings:
        return self._sources[0]._found(query, limit, group, ranker, (self._keep, *keep))  # noqa: SLF001 -- a view too


class _Remade:
    """Makes tools from tools, the same ones as last time where nothing changed: listeners compare by identity."""

    def __init__(self, make: Callable[..., Tool]) -> None:
        self._make = make
        self._made: dict[tuple[Any, ...], Tool] = {}

    def __call__(self, sources: Mapping[str, tuple[Any, ...]]) -> dict[str, Tool]:
        made = {source: self._made.get(source) or self._make(*source) for source in sources.values()}
        self._made = made
        return {name: made[source] for name, source in sources.items()}
