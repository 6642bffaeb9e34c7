"""Fixtures of the tests of agents."""

from __future__ import annotations

import pytest

from tests.agent.kit import Shed
from tests.steps.crashing_steps import CrashingSteps, Process


@pytest.fixture
def steps() -> CrashingSteps:
    return CrashingSteps(Process())


@pytest.fixture(params=["permissions", "none"])
def shed(request):
    """With permissions that know modes, and without: then the agent keeps to the mode by itself."""
    shed = Shed()
    if request.param == "none":
        shed.permissions = None
    return shed
