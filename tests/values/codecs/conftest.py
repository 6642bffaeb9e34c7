"""What the tests of types share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call: what holds, holds for each."""
    return request.param
