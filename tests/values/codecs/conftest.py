"""What the tests of types share."""

from __future__ import annotations

import pytest

from toolkit.values.codecs.base import FORMS


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call: what holds, holds for each."""
    return request.param


@pytest.fixture
def own_forms():
    """Codecs that a test registers are forgotten afterwards."""
    kept = dict(FORMS)
    yield
    FORMS.clear()
    FORMS.update(kept)
