"""Databases for the tests of the journal: a SQLite file, and a schema in PostgreSQL."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from toolkit.durable.journal.run_journal import open_journal


@pytest.fixture
def folder():
    """Return a folder in memory, if the system has one: each change waits for a disk, and a busy disk is slow."""
    memory = Path("/dev/shm")
    path = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
    yield Path(path)
    shutil.rmtree(path)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def journal_url(request, folder):
    """Return the address of a SQLite file that does not exist, or of an empty schema in PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{folder}/runs.sqlite"
    return request.getfixturevalue("postgres_schema_url")


@pytest.fixture
def journal(journal_url):
    """Return an empty journal in a SQLite file or in PostgreSQL."""
    journal = open_journal(journal_url)
    yield journal
    journal.close()


@pytest.fixture
def run(journal):
    """Return a journal with the run "r", whose first activation is under way."""
    journal.create("r", "agent", {"prompt": "go"}, now=1.0)
    journal.activate("r", worker="w", now=2.0, max_lives=3)
    return journal
