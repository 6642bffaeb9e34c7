"""The key of a provider."""

from __future__ import annotations

import pytest

from tests.providers.stub import KEY


@pytest.fixture
def key(monkeypatch):
    """The key that the stub knows, under a name of ours."""
    monkeypatch.setenv("MY_KEY", KEY)
