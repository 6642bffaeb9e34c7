"""What the tests of types share."""

from __future__ import annotations

import pytest

from toolkit.values.codecs.base import REGISTERED_FACTORIES


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call: what holds, holds for each."""
    return request.param


@pytest.fixture
def own_forms():
    """Codecs that a test registers are forgotten afterwards."""
    kept = dict(REGISTERED_FACTORIES)
    yield
    REGISTERED_FACTORIES.clear()
    REGISTERED_FACTORIES.update(kept)
