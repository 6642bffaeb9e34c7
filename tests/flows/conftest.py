"""Fixtures of the tests of flows."""

from __future__ import annotations

import pytest

from tests.flows.inner_kit import BillShop


@pytest.fixture
def shop():
    return BillShop()


@pytest.fixture
def database(tmp_path):
    """The address of a database of its own."""
    return f"sqlite:///{tmp_path}/runs.sqlite"
