"""
What all tests share: the event loop, and the hypothesis profiles.

`HYPOTHESIS_PROFILE=thorough` draws twenty times as many examples.
"""

from __future__ import annotations

import importlib
import os
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a bug: no deadline, and no complaint that drawing types takes time.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
# What decides whether a change lands should not depend on chance; at home every run tries something new.
settings.register_profile("default", max_examples=60, derandomize="CI" in os.environ, **_PATIENT)
settings.register_profile("thorough", max_examples=1200, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def anyio_backend():
    """The core is asyncio's."""
    return "asyncio"


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Write a module that can be imported by its name, and forget it when the test is over."""
    monkeypatch.syspath_prepend(tmp_path)
    # What a test imports would otherwise answer for a module of the same name in the next.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name, source):
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        names.append(name)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)
