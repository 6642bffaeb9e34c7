"""Fixtures of the tests of agents."""

from __future__ import annotations

import pytest

from tests.agent.crashing_steps import CrashingSteps, Process


@pytest.fixture
def steps() -> CrashingSteps:
    return CrashingSteps(Process())
