"""A hostile server that most tests of this folder share, because starting one takes longer than a test."""

from __future__ import annotations

import pytest

from toolkit import Dispatcher
from toolkit.mcp import Servers

from .kit import hostile


@pytest.fixture(scope="module")
def servers():
    """Open a hostile server for all tests of a module."""
    with Servers(evil=hostile()) as tools:
        yield tools


@pytest.fixture
def dispatcher(servers):
    """Return a dispatcher for the tools of the hostile server."""
    dispatcher = Dispatcher(servers)
    yield dispatcher
    dispatcher.close()
