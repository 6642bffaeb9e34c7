"""What the tests of types share."""

from __future__ import annotations

import pytest

from toolkit.values.codecs.base import FACTORIES_BY_ORIGIN


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call: what holds, holds for each."""
    return request.param


@pytest.fixture
def own_forms():
    """Codecs that a test registers are forgotten afterwards."""
    kept = dict(FACTORIES_BY_ORIGIN)
    yield
    FACTORIES_BY_ORIGIN.clear()
    FACTORIES_BY_ORIGIN.update(kept)
