"""A tool that was removed is forgotten: nothing that a long-lived program has keeps it in memory."""

from __future__ import annotations

import gc
import weakref

import pytest

from toolkit import Catalog, Dispatcher, Permissions, Session
from toolkit.builtin import tool_search_for
from toolkit.hooks import Stats

pytestmark = pytest.mark.anyio


def add_tool(catalog: Catalog, number: int) -> weakref.ref:
    """Add a deferred tool of its own, and return a weak reference to it."""

    @catalog.tool(name=f"forecast_{number}", defer=True, read_only=True)
    async def forecast(day: str) -> str:
        """Tell the weather of a day."""
        return day

    return weakref.ref(catalog[f"forecast_{number}"])


@pytest.mark.parametrize("rules", [(), ("allow forecast_1", "deny nothing_*")], ids=["no rules", "rules"])
async def test_a_tool_that_was_found_called_and_removed_is_forgotten(rules):
    """Permissions kept the last thousand tools alive, with everything compiled for them."""
    catalog = Catalog()
    catalog.add(tool_search_for(catalog))
    references = [add_tool(catalog, number) for number in range(20)]
    async with Dispatcher(catalog, permissions=Permissions(rules=rules), hooks=[Stats()]) as dispatcher:
        session = Session()
        hits = await dispatcher.call("tool_search", {"query": "weather forecast", "limit": 20}, session=session)
        assert len(hits.value["tools"]) == 20
        for number in range(20):
            result = await dispatcher.call(f"forecast_{number}", {"day": "today"}, session=session)
            assert result.text == "today"
        catalog.definitions("anthropic", session=session)
        for number in range(20):
            catalog.remove(f"forecast_{number}")
        add_tool(catalog, 99)
        # Everything that follows the catalog looks at it again.
        await dispatcher.call("tool_search", {"query": "weather"}, session=session)
        await dispatcher.call("forecast_99", {"day": "today"}, session=session)
        catalog.definitions("anthropic", session=session)
        gc.collect()
        assert [reference() for reference in references] == [None] * 20
