"""What the tests of types share."""

from __future__ import annotations

import pytest

from toolkit.values.codecs.base import REGISTERED_BASES, REGISTERED_FACTORIES


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call: what holds, holds for each."""
    return request.param


@pytest.fixture
def own_forms():
    """Codecs that a test registers are forgotten afterwards."""
    tables = (REGISTERED_FACTORIES, REGISTERED_BASES)
    kept = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, kept, strict=True):
        table.clear()
        table.update(entries)
