"""The key of a provider, and a journal of durable runs."""

from __future__ import annotations

import contextlib

import pytest

from tests.cli.commands.kept_runs import DATABASE
from tests.providers.stub import KEY
from toolkit.durable.journal.run_journal import open_journal


@pytest.fixture
def key(monkeypatch):
    """The key that the stub knows, under a name of ours."""
    monkeypatch.setenv("MY_KEY", KEY)


@pytest.fixture
def journal(shop):
    """Return the journal in `runs.sqlite` of the current folder."""
    with contextlib.closing(open_journal(DATABASE)) as opened:
        yield opened
