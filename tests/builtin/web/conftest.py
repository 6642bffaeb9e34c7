"""A hostile server for each test."""

from __future__ import annotations

import pytest

from .hostile_server import serving


@pytest.fixture
async def server():
    """Return a server that serves until the test ends."""
    async with serving() as hostile:
        yield hostile
