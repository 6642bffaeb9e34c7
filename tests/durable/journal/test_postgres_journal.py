"""The life of a run in PostgreSQL. All tests of the journal run there as well, among those that take long."""

from __future__ import annotations

import pytest

from toolkit.durable.errors import DurableError, RunTakenOver
from toolkit.durable.journal.run_journal import open_journal


def test_a_run_lives_in_postgres(postgres_schema_url):
    """A run is created, taken over, waits, is decided on and ends; then it is deleted."""
    journal = open_journal(postgres_schema_url)
    other = open_journal(postgres_schema_url)
    assert journal.create("r", "agent", {"prompt": "\0\ud800"}, now=1.0)[1]
    assert not other.create("r", "agent", {"prompt": "\0\ud800"}, now=1.0)[1]
    journal.activate("r", worker="w", now=2.0, max_lives=3)
    journal.begin("r", 1, "r/call/1", {"tool": "edit"}, now=3.0)
    assert other.activate("r", worker="v", now=4.0, max_lives=3).lives == 1
    with pytest.raises(RunTakenOver, match="this process has activation 1, and the newest is 2"):
        journal.finish("r", 1, "r/call/1", {}, seconds=1, now=5.0)
    other.begin_again("r", 2, "r/call/1", now=5.0)
    other.finish("r", 2, "r/call/1", {"n": 1}, seconds=1.5, now=6.0)
    other.end("r", 2, "waiting", {"saved": 1}, used_decisions=(), now=7.0)
    assert journal.decide("r", {"q": {}}, now=8.0).decisions == {"q": {}}
    row = journal.activate("r", worker="w", now=9.0, max_lives=3)
    assert (row.outcome, row.seconds, row.lives) == ({"saved": 1}, 1.5, 0)
    journal.end("r", 3, "done", {}, used_decisions=["q"], now=10.0)
    assert [row.status for row in journal.list()] == ["done"]
    assert len(journal.read_events("r")) == 10
    journal.beat("w", {})
    assert journal.read_workers() == {"w": 1}
    assert journal.purge(before=11.0) == 1
    journal.close()
    other.close()
    with pytest.raises(DurableError, match="was closed"):
        journal.get("r")


def test_an_address_that_cannot_be_read_is_refused():
    """The error shows how an address is written, and no part of the address itself."""
    with pytest.raises(DurableError, match="cannot be read") as raised:
        open_journal("postgresql://user:secret@[/x")
    assert raised.value.why == "store"
    assert "secret" not in str(raised.value)
