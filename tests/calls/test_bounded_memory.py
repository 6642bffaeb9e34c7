"""
What grows with calls, sessions and names is bounded.
"""

from __future__ import annotations

import itertools
import sys

import pytest

from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.catalogs.foreign_names import _MAX_CACHED_CHARS, _fold, _fold_cached, fold_name
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

pytestmark = pytest.mark.anyio


async def test_a_tool_that_is_called_by_many_spellings_has_few_plans():
    """Some providers forbid dots and call `a.b` by `a--b`, and a model may mix both in one name."""
    catalog = Catalog()

    @catalog.tool(name="a.b.c.d.e.f.g.h.i", read_only=True)
    async def deep() -> str:
        """Do it."""
        return "done"

    dispatcher = Dispatcher(catalog)
    for marks in itertools.product([".", "--"], repeat=8):
        name = "".join(itertools.chain.from_iterable(zip("abcdefghi", [*marks, ""], strict=True)))
        assert (await dispatcher.call(name)).text == "done"
        assert len(dispatcher._plans_by_name) <= 4
    dispatcher.close()


def test_the_folded_forms_of_names_take_a_few_megabytes_at_most():
    """Servers come and go, and bring new names for ever."""
    _fold_cached.cache_clear()
    name = "x" * _MAX_CACHED_CHARS
    most = _fold_cached.cache_parameters()["maxsize"] * (2 * sys.getsizeof(name) + 200)
    assert most < 10_000_000
    for number in range(100):
        assert fold_name(f"{name}-{number}") == f"{name}{number}"
    assert _fold_cached.cache_info().currsize == 0
    assert fold_name("Get_Fore-cast.Now") == _fold("Get_Fore-cast.Now") == "getforecastnow"
    assert _fold_cached.cache_info().currsize == 1


class NeverFinishing(MemoryApprovals):
    """A store that cannot keep outcomes."""

    def finish(self, *args, **options):
        raise ApprovalError("the disk is full", why="store")


async def test_lost_outcomes_are_remembered_up_to_a_bound():
    """The oldest are forgotten, and count as running for as long as the process lives: they never run again."""
    catalog, ran = Catalog(), []

    @catalog.tool(destructive=True)
    async def cut(n: int) -> None:
        """Cut."""
        ran.append(n)

    approvals = Approvals(NeverFinishing(), ask=lambda request: True)
    approvals.lost._max_items = 3
    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=approvals)
    for n in range(5):
        await dispatcher.call("cut", {"n": n})
    assert len(approvals.lost) == 3
    oldest = next(iter(approvals.store._records))
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(oldest, Decision.approve())
    assert (caught.value.why, ran) == ("running", [0, 1, 2, 3, 4])
    dispatcher.close()


async def test_a_lost_outcome_is_forgotten_after_its_report():
    """The next answer hears once that the outcome is unknown. After that the request is over."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def cut() -> None:
        """Cut."""

    approvals = Approvals(store := NeverFinishing(), ask=lambda request: True)
    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=approvals)
    await dispatcher.call("cut")
    (name,) = approvals.lost
    store.finish = lambda *args, **options: MemoryApprovals.finish(store, *args, **options)
    assert "may or may not have happened" in (await dispatcher.resume(name, Decision.approve())).text
    assert list(approvals.lost) == []
    dispatcher.close()
