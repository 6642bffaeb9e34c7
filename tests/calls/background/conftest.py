"""Fixtures of the tests of calls in the background."""

from __future__ import annotations

import pytest

from tests.calls.background.kit import Work
from toolkit import (
    Session,
)
from toolkit.builtin import end_shells


@pytest.fixture
def work():
    """A tool, in no dispatcher yet."""
    return Work()


@pytest.fixture
def session():
    """A conversation, whose jobs end with the test."""
    own = Session()
    yield own
    end_shells(own)
