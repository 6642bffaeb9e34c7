"""A desk for each test."""

from __future__ import annotations

import pytest

from tests.skills.kit import Desk


@pytest.fixture
def desk(tmp_path):
    """Skills in an empty folder, beside the tools of a shed."""
    return Desk(tmp_path / "skills")
