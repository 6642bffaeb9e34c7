"""
Refusing a call that repeats itself.
"""

from __future__ import annotations

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import LoopGuard
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def dispatcher():
    """A guarded dispatcher with one tool."""
    catalog = Catalog()

    @catalog.tool(aliases=["look"])
    async def read(path: str, limit: int = 10) -> str:
        """Read."""
        return path

    return Dispatcher(catalog, hooks=[LoopGuard(max_repeats=2)])


async def test_the_same_call_too_often_in_a_row_is_refused_with_advice(dispatcher):
    """Defaults, aliases and the order of keys make no difference."""
    forms = [("read", {"path": "a"}), ("look", {"limit": 10, "path": "a"}), ("read", '{"path": "a"}')]
    kinds = [(await dispatcher.call(*form)).kind for form in forms]
    assert kinds == ["ok", "ok", "denied"]
    assert "try something else" in (await dispatcher.call("read", {"path": "a"})).text


async def test_another_call_in_between_restarts_the_count(dispatcher):
    """Each session has its own count."""
    for path in ("a", "a", "b", "a", "a"):
        assert (await dispatcher.call("read", {"path": path})).kind == "ok"
    for session in (Session(), Session()):
        assert (await dispatcher.call("read", {"path": "a"}, session=session)).kind == "ok"


async def test_the_number_of_remembered_sessions_is_bounded(dispatcher):
    guard = LoopGuard()
    other = Dispatcher(dispatcher.catalog, hooks=[guard])
    for number in range(10_010):
        await other.call("read", {"path": "a"}, session=Session(id=str(number)))
    assert len(guard._last_calls) == 10_000


def test_a_guard_that_allows_no_call_is_refused():
    with pytest.raises(ValueError, match="max_repeats"):
        LoopGuard(max_repeats=0)
