"""A conversation for each test."""

from __future__ import annotations

import pytest

from toolkit import Session
from toolkit.builtin.commands.shell_state import end_shells


@pytest.fixture
def session():
    """A conversation that ends with the test."""
    session = Session()
    yield session
    end_shells(session)
