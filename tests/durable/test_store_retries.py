"""What could not be written is written when the database is back, unless the process has to end."""

from __future__ import annotations

import pytest

from toolkit.durable import store_retries
from toolkit.durable.errors import DurableError, RunTakenOver
from toolkit.durable.store_retries import persist

pytestmark = pytest.mark.anyio


class Database:
    """A database that is away for a number of attempts."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.attempts = 0

    async def write(self):
        """Raise the next error, or write."""
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        return "written"


def build_store_error():
    """Return the error of a database that is gone."""
    return DurableError("the database is gone", why="store")


async def test_a_database_that_comes_back_is_waited_for(caplog):
    """The log says what could not be written."""
    database = Database(build_store_error(), build_store_error())
    assert await persist(database.write, "the end") == "written"
    assert (database.attempts, caplog.text.count("the end could not be written, and is tried again")) == (3, 2)


async def test_any_other_error_is_raised_at_once():
    """A process that was replaced has nothing to wait for."""
    database = Database(RunTakenOver("taken over"))
    with pytest.raises(RunTakenOver):
        await persist(database.write, "the end")
    assert database.attempts == 1


async def test_the_last_attempt_raises_its_error(monkeypatch):
    monkeypatch.setattr(store_retries, "_WAITS_SECONDS", (0.0, 0.0))
    database = Database(*(build_store_error() for _ in range(9)))
    with pytest.raises(DurableError, match="is gone"):
        await persist(database.write, "the end")
    assert database.attempts == 3


async def test_a_process_that_has_to_end_does_not_wait_for_long(monkeypatch):
    """There are a few more attempts, and then the error. A supervisor would kill the process otherwise."""
    monkeypatch.setattr(store_retries, "_WAITS_SECONDS", (1000.0, 1000.0))
    monkeypatch.setattr(store_retries, "_LOOK_SECONDS", 0.01)
    database = Database(*(build_store_error() for _ in range(9)))
    with pytest.raises(DurableError, match="is gone"):
        await persist(database.write, "the end", is_ending=lambda: True, ending_seconds=0.02)
    assert database.attempts == 2
