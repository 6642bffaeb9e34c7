"""What the tests of approvals through a server share."""

from __future__ import annotations

import pytest

from toolkit import Catalog, Dispatcher, Permissions
from toolkit.approvals import Approvals, MemoryApprovals


@pytest.fixture
def runs():
    """The arguments of the calls that ran."""
    return []


@pytest.fixture
def catalog(runs):
    """A tool that changes something, and one that needs more than a yes."""
    catalog = Catalog()

    @catalog.tool
    async def pay(amount: int, to: str = "bob") -> str:
        """Pay."""
        runs.append((amount, to))
        return f"paid {amount}"

    return catalog


@pytest.fixture
def store():
    """The store of requests."""
    return MemoryApprovals()


@pytest.fixture
def dispatcher(catalog, store):
    """A dispatcher in mode `default`, which asks before changes."""
    return Dispatcher(catalog, permissions=Permissions("default"), approvals=Approvals(store))
