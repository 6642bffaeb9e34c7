"""The bench that several files of tests use."""

from __future__ import annotations

import pytest

from tests.hooks.shell.bench import Bench


@pytest.fixture
def bench(tmp_path):
    """Tools that have not run yet."""
    return Bench(tmp_path)
