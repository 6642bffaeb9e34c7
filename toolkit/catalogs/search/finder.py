"""
The search for the tools of a catalog by words.

A `Finder` keeps an index of one catalog's tools and updates it when tools are added or removed. An imported tool brings
no search hints, and its text is cut to the length that a search needs. If an imported tool and a local tool fit equally
well, the local tool is first.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from ..._plumbing.forks import renew_in_children
from ..._plumbing.pauses import iterate_with_pauses
from ...errors import DefinitionError
from ...spec import Tool
from ...values.visible import make_visible
from ..snapshot import Table, diff_tables
from . import Document, Hit, Index, Ranker
from .embeddings import EmbeddingRanker
from .fusion import blend_scores

__all__ = [
    "Finder",
    "SearchResult",
    "SearchResults",
    "clean_description",
    "document_of",
    "group_of",
    "is_imported",
    "shorten_description",
]

_log = logging.getLogger("toolkit")

_MANY_TOOLS = 500
"""The number of tools that are indexed in about 50 ms."""
_MAX_IMPORTED_CHARS = 1_000
_MAX_SHORT_CHARS = 100
_MAX_SHOWN_GROUPS = 30
_NO_GROUP = "(none)"
_REQUEST_WEIGHT = 1 / 3
"""The weight of the user's request beside the query: half of the query's."""
_MIN_BLENDED = 20
"""The number of tools for a query among which a request may change the order."""
_TOOLS_PER_PAUSE = 10
"""The number of tools that are indexed in about a millisecond."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """
    A tool that fits a query.

    Attributes:
        tool: The tool.
        score: How well the tool fits. Scores can be compared within one answer.
        words: The words of the query that the tool has. A word that was repaired reads "wether -> weather".
    """

    tool: Tool
    score: float
    words: tuple[str, ...]


class SearchResults(Sequence[SearchResult]):
    """The *matches* of a *query*, the best first. If no tool fits, `groups` says which groups exist."""

    def __init__(self, query: str, matches: Sequence[SearchResult], groups: Callable[[], Mapping[str, int]]) -> None:
        self.query = query
        self._matches = tuple(matches)
        self._groups = groups

    @property
    def tools(self) -> list[Tool]:
        return [match.tool for match in self._matches]

    @property
    def groups(self) -> Mapping[str, int]:
        """The groups in which tools can be found, with the number of tools in each."""
        return self._groups()

    @property
    def advice(self) -> str:
        """What to try if no tool was found. It is empty if a tool was found."""
        if self._matches:
            return ""
        groups = self.groups
        listed = ", ".join(f"{name} ({count})" for name, count in list(groups.items())[:_MAX_SHOWN_GROUPS])
        more = f" and {len(groups) - _MAX_SHOWN_GROUPS} more" if len(groups) > _MAX_SHOWN_GROUPS else ""
        return f"nothing fits; {f'the groups are {listed}{more}' if groups else 'there are no tools'}"

    @overload
    def __getitem__(self, index: int) -> SearchResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SearchResult, ...]: ...
    def __getitem__(self, index: int | slice) -> SearchResult | tuple[SearchResult, ...]:
        return self._matches[index]

    def __len__(self) -> int:
        return len(self._matches)

    def __repr__(self) -> str:
        listed = ", ".join(f"{match.tool.name} {match.score:.2f}" for match in self._matches)
        return f"<SearchResults for {self.query[:60]!r}: {listed or self.advice}>"


class Finder:
    """An index of the tools of one catalog or view, built at the first search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        renew_in_children(self)

    def _forget(self) -> None:
        self._index: Index | None = None
        self._table = Table({}, {})

    def renew_after_fork(self) -> None:
        """Forget an index that another thread was changing: no thread continues that change in a forked child."""
        if self._lock.locked():
            self._lock = threading.Lock()
            self._forget()

    def search(
        self,
        table: Table,
        query: str,
        limit: int,
        *,
        group: str | None = None,
        predicates: Collection[Callable[[Tool], bool]] = (),
        ranker: Ranker | EmbeddingRanker | None = None,
        request: str | None = None,
    ) -> SearchResults:
        """
        Return the best *limit* tools of *table* for *query*.

        With *group*, only tools of this group are returned. Every function in *predicates* has to return true for a
        tool. The words of *request* count half as much as those of *query*.

        Raises:
            TypeError: *query*, *limit* or *group* has the wrong type.
            ValueError: *limit* is less than 1.
        """
        if not isinstance(query, str):
            raise TypeError(f"search wants words, got {type(query).__name__}")
        if not isinstance(limit, int) or not isinstance(group, str | None):
            raise TypeError(f"limit has to be a whole number and group a name, got {limit!r:.40} and {group!r:.40}")
        if limit < 1:
            raise ValueError(f"limit has to be at least 1, got {limit}")
        tools = table.tools

        def is_kept(name: str) -> bool:
            tool = tools.get(name)  # another thread may have added tools to the index
            if tool is None or (group is not None and group_of(tool).casefold() != group.casefold()):
                return False
            return all(predicate(tool) for predicate in predicates)

        if isinstance(ranker, EmbeddingRanker):
            ranker = ranker.ranker_of(lambda name: f"{name}: {clean_description(tools[name])}")
        index = self._refresh_index(table)
        hits = index.search(query, max(limit, _MIN_BLENDED) if request else limit, predicate=is_kept, ranker=ranker)
        if request:
            hits = _blend_hits(hits, index.search(request, len(hits) or limit, predicate=is_kept))[:limit]
        matches = [SearchResult(tools[hit.name], hit.score, hit.words) for hit in hits]

        def count_groups() -> dict[str, int]:
            """Return the number of tools in each group, the largest group first."""
            shown = [tool for tool in tools.values() if all(predicate(tool) for predicate in predicates)]
            return dict(Counter(map(group_of, shown)).most_common())

        return SearchResults(query, matches, count_groups)

    def _refresh_index(self, table: Table) -> Index:
        """Return the index, updated to the tools and aliases of *table*."""
        with self._lock:
            if self._index is None or self._table is not table:
                self._index = self._update_index(table)
                self._table = table
            return self._index

    def _update_index(self, table: Table) -> Index:
        tools = table.tools
        if self._index is None:
            _warn_of_stall(len(tools))
            return Index(
                document_of(tools[name], table.aliases_of(name))
                for name in iterate_with_pauses(tools, _TOOLS_PER_PAUSE)
            )
        change = diff_tables(self._table, table)
        removed = [tool.name for tool in change.removed if tool.name not in tools]
        for name in iterate_with_pauses(removed, _TOOLS_PER_PAUSE):
            self._index.remove(name)
        added = [tool.name for tool in change.added]
        renamed = {name for _, name in self._table.aliases.items() ^ table.aliases.items() if name in tools}
        for name in iterate_with_pauses(dict.fromkeys((*added, *renamed)), _TOOLS_PER_PAUSE):
            self._index.add(document_of(tools[name], table.aliases_of(name)))
        return self._index


def _blend_hits(hits: list[Hit], request_hits: list[Hit]) -> list[Hit]:
    """Return both lists as one, the best first. The best of *hits* stays the best."""
    if not hits:
        return request_hits
    hit_by_name = {hit.name: hit for hit in (*request_hits, *hits)}
    scores = blend_scores(
        {hit.name: hit.score for hit in hits}, {hit.name: hit.score for hit in request_hits}, _REQUEST_WEIGHT
    )
    others = sorted(scores.keys() - {hits[0].name}, key=lambda name: (-scores[name], name))
    return [hits[0], *(hit_by_name[name]._replace(score=min(hits[0].score, scores[name])) for name in others)]


def _warn_of_stall(count: int) -> None:
    """Log a warning if this thread has an event loop, which stops while *count* tools are indexed."""
    if count < _MANY_TOOLS:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    _log.warning(
        "the index of %s tools is built in the event loop, which stands still meanwhile; "
        "write `await asyncio.to_thread(catalog.search, ...)`, or call `tool_search` through a dispatcher",
        f"{count:,}",
    )


def document_of(tool: Tool, aliases: Collection[str] = ()) -> Document:
    """Return the texts of *tool* that can be searched."""
    is_foreign = is_imported(tool)
    names, texts = _parameters(tool)
    if is_foreign:
        names, texts = ([make_visible(" ".join(words)[:_MAX_IMPORTED_CHARS])] for words in (names, texts))
    return Document(
        name=tool.name,
        aliases=tuple(dict.fromkeys((*(() if is_foreign else tool.facts.aliases), *aliases))),
        group=make_visible(tool.facts.group)[:60] if tool.facts.group else "",
        hint="" if is_foreign else tool.facts.search_hint or "",
        description=clean_description(tool),
        parameters=tuple(names),
        texts=tuple(texts),
        is_imported=is_foreign,
    )


def is_imported(tool: Tool) -> bool:
    """Return whether *tool* was imported from a server or another framework, so that others wrote its texts."""
    return tool.origin != "python" and not tool.origin.startswith("dist:")


def clean_description(tool: Tool) -> str:
    """
    Return the description of *tool* for a model.

    The text of an imported tool is cut to a maximum length. Characters in it that act, hide or look like other
    characters are shown as codes.
    """
    text = tool.description
    if not is_imported(tool):
        return text
    cut = f"{text[:_MAX_IMPORTED_CHARS]}..." if len(text) > _MAX_IMPORTED_CHARS else text
    return make_visible(cut)


def shorten_description(tool: Tool) -> str:
    """Return three to six words of the description of *tool*: its first sentence, or the words that it begins with."""
    words = clean_description(tool).split()[:6]
    sentence_ends = (count for count, word in enumerate(words, 1) if count >= 3 and word[-1] in ".:;!?")
    return " ".join(words[: next(sentence_ends, 6)])[:_MAX_SHORT_CHARS].rstrip(".,:;!?")


def group_of(tool: Tool) -> str:
    """Return the name of the tool's group in a form that may be shown, or "(none)" if the tool has no group."""
    return make_visible(tool.facts.group, keep_lines=False)[:60] if tool.facts.group else _NO_GROUP


def _parameters(tool: Tool) -> tuple[list[str], list[str]]:
    """Return the names of the parameters, and the texts about them."""
    try:
        properties = tool.signature.schema.get("properties")  # `tool.schema` would keep a copy for each tool
    except DefinitionError:
        return [], []  # an annotation is not resolved yet; the tool can still be found by its other texts
    names: list[str] = []
    texts: list[str] = []
    for name, schema in (properties if isinstance(properties, Mapping) else {}).items():
        names.append(name)
        if isinstance(schema, Mapping):
            texts += [text for text in (schema.get("description"),) if isinstance(text, str)]
            texts += [text for text in schema.get("enum") or () if isinstance(text, str)]
    return names, texts
