"""
The tools that may be shown: those that every judge could ever allow.

The answers of the judges are kept by what they depend on, so that the turns of an agent do not ask again for each tool.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import lru_cache

from ..catalogs.snapshot import Table
from ..catalogs.views import CatalogView, FilteredView
from ..session import Session, check_session
from ..spec import Tool
from .judge import Judge, Visibility

__all__ = ["ToolVisibility"]

_log = logging.getLogger("toolkit")

_MAX_KEPT_TABLES = 8


class ToolVisibility:
    """
    What the *judges* show.

    Attributes:
        judges: Those judges that define `could_allow`. The others hide nothing.
    """

    def __init__(self, judges: Iterable[Judge]) -> None:
        self.judges = [judge for judge in judges if type(judge).could_allow is not Judge.could_allow]
        self._may_keep = all(map(_may_keep_answers, self.judges))
        self._select_kept = lru_cache(_MAX_KEPT_TABLES)(_select_tools)

    def could_allow(self, tool: Tool, names: frozenset[str], session: Session | None) -> bool:
        """
        Return whether every judge could ever allow a call of *tool* in *session*.

        If a judge's `could_allow` raises, the answer is False.
        """
        return _ask(tool, (judge.could_allow(tool, names, session) for judge in self.judges))

    def build_check(self, catalog: CatalogView, session: Session | None) -> Callable[[Tool], bool] | None:
        """Return a function that tells whether a tool of *catalog* could ever be allowed; None if every tool could."""
        if not self.judges:
            return None
        return lambda tool: self.could_allow(tool, catalog.table.names_of(tool), session)

    def permitted(self, catalog: CatalogView, session: Session | None) -> CatalogView:
        """
        Return a view of *catalog* with the tools that could ever be allowed in *session*.

        The view follows the catalog, the rules, and the mode and the grants of the session.
        """
        check_session(session)
        check = self.build_check(catalog, session)
        return catalog if check is None else _PermittedView(catalog, check, lambda table: self.select(table, session))

    def select(self, table: Table, session: Session | None) -> Table:
        """Return the part of *table* that could ever be allowed in *session* as everything is now."""
        if self._may_keep:
            try:
                answers = tuple(answer for judge in self.judges if (answer := judge.visibility(session)) is not None)
                if len(answers) == len(self.judges):
                    return self._select_kept(table, answers)
            except Exception:  # noqa: BLE001 -- the judge is asked below, and may answer
                _log.warning("what the judges show could not be kept, so they are asked about each tool", exc_info=True)
        return table.selected(lambda tool: self.could_allow(tool, table.names_of(tool), session))


class _PermittedView(FilteredView):
    """A view whose listing is made by the rules of the moment, even if no tool has changed since the last one."""

    def __init__(
        self, source: CatalogView, predicate: Callable[[Tool], bool], select: Callable[[Table], Table]
    ) -> None:
        super().__init__(source, predicate)
        self._select = select

    @property
    def table(self) -> Table:
        return self._select(self._sources[0].table)


def _may_keep_answers(judge: Judge) -> bool:
    """Return whether `visibility` of *judge* belongs to its `could_allow`, which a subclass may have replaced alone."""
    definer = next(cls for cls in type(judge).__mro__ if not vars(cls).keys().isdisjoint(("could_allow", "visibility")))
    return "visibility" in vars(definer)


def _select_tools(table: Table, answers: tuple[Visibility, ...]) -> Table:
    def is_visible(tool: Tool) -> bool:
        names = table.names_of(tool)
        return _ask(tool, (answer.could_allow(tool, names) for answer in answers))

    return table.selected(is_visible)


def _ask(tool: Tool, answers: Iterable[bool]) -> bool:
    """Return whether all *answers* about *tool*, which are asked for one by one, are true. An error counts as false."""
    try:
        return all(answers)
    except Exception:  # noqa: BLE001 -- a judge that fails permits nothing
        _log.warning("a judge failed to tell whether `%s` could be allowed", tool.name, exc_info=True)
        return False
