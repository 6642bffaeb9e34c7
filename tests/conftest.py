"""
What all tests share: the event loop, and the hypothesis profiles.

`HYPOTHESIS_PROFILE=thorough` draws twenty times as many examples.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a bug: no deadline, and no complaint that drawing types takes time.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=60, **_PATIENT)
settings.register_profile("thorough", max_examples=1200, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def anyio_backend():
    """The core is asyncio's."""
    return "asyncio"
