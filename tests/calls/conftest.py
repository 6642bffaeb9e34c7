"""The shed that several files of tests use."""

from __future__ import annotations

import pytest

from tests.calls.shed import Shed


@pytest.fixture
def shed():
    """A shed in which nothing has been cut yet."""
    return Shed()
