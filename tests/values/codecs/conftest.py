"""What the tests of types share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["fast", pytest.param("jsonschema", marks=pytest.mark.long)])
def validation(request):
    """
    Both ways of checking a call: what holds, holds for each.

    In `make test`, `tests/properties/test_fast_path.py` shows that they agree.
    """
    return request.param
