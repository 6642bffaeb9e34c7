"""A PostgreSQL server that is away for a moment is waited for; one that stays away is an error that loses nothing."""

from __future__ import annotations

import threading

import pytest

from toolkit.durable.errors import DurableError
from toolkit.durable.journal.run_journal import Journal
from toolkit.durable.journal.statements import RUNS
from toolkit.storage.postgres_database import PostgresDatabase

pytestmark = pytest.mark.long


def open_database(url, **options):
    """Open the journal in a PostgreSQL database."""
    return Journal(PostgresDatabase(url, RUNS, **options))


def test_a_server_that_is_away_for_a_moment_is_waited_for(postgres_server, postgres_url):
    """The steps go on when the server is back, and each is there once."""
    journal = open_database(postgres_url)
    journal.create("r", "agent", {}, now=1.0)
    journal.activate("r", worker="w", now=2.0, max_lives=3)
    journal.begin("r", 1, "r/call/1", {}, now=3.0)
    postgres_server.stop()
    started = threading.Timer(1.0, postgres_server.start)
    started.start()
    journal.finish("r", 1, "r/call/1", {"n": 1}, seconds=1, now=4.0)
    started.join()
    journal.begin("r", 1, "r/call/2", {}, now=5.0)
    assert [step.state for step in journal.read_steps("r").values()] == ["done", "began"]
    assert journal.get("r").lives == 0
    journal.close()


def test_a_server_that_stays_away_is_named(postgres_server, postgres_url):
    """The error names the server without its password, and all that was written before is there afterwards."""
    journal = open_database(postgres_url, timeout_seconds=0.3)
    journal.create("r", "agent", {}, now=1.0)
    journal.activate("r", worker="w", now=2.0, max_lives=3)
    journal.begin("r", 1, "r/call/1", {}, now=3.0)
    with postgres_server.away():
        with pytest.raises(DurableError, match=r"the runs in postgresql://toolkit@127.0.0.1:.* away") as raised:
            journal.finish("r", 1, "r/call/1", {}, seconds=1, now=4.0)
        assert raised.value.why == "store"
        assert postgres_server.password not in str(raised.value)
        assert str(raised.value).endswith("can be reached from here, and try again")  # there is no option for the time
        with pytest.raises(DurableError, match="away"):
            journal.get("r")
    assert [step.state for step in journal.read_steps("r").values()] == ["began"]
    journal.finish("r", 1, "r/call/1", {}, seconds=1, now=5.0)
    journal.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE toolkit_meta SET value = '9' WHERE name = 'format'",
            "has format 9, and this version of toolkit reads",
        ),
        ("UPDATE toolkit_meta SET value = 'x' WHERE name = 'application'", "tables of another application"),
        ("ALTER TABLE toolkit_meta RENAME COLUMN value TO other", "another table of the same name"),
    ],
)
def test_tables_of_another_format_are_refused(postgres_server, postgres_url, statement, problem):
    """A database of a later version, or with other tables of the same name, is left alone."""
    open_database(postgres_url).close()
    postgres_server.execute(statement, database=postgres_url.rpartition("/")[2])
    with pytest.raises(DurableError, match=problem) as raised:
        open_database(postgres_url)
    assert raised.value.why == "store"


def test_a_changed_row_is_named(postgres_server, postgres_url):
    """A record that was changed in the database is not taken for what was written."""
    journal = open_database(postgres_url)
    journal.create("r", "agent", {}, now=1.0)
    journal.activate("r", worker="w", now=2.0, max_lives=3)
    journal.finish("r", 1, "r/reply/1", {"text": "yes"}, seconds=1, now=3.0)
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute('UPDATE toolkit_steps SET record = \'{"text":"no"}\'', database=name)
    with pytest.raises(DurableError, match="damaged: the step 'r/reply/1' differs from what was written there"):
        journal.read_steps("r")
    journal.close()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://toolkit:wrong@127.0.0.1:{port}/postgres", "check the user and the password"),
        ("postgresql://toolkit:{password}@127.0.0.1:{port}/missing", "create it, or give another address"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(postgres_server, url, problem):
    """The error says what is wrong with the address, without the password."""
    address = url.format(port=postgres_server.port, password=postgres_server.password)
    with pytest.raises(DurableError, match=problem) as raised:
        open_database(address)
    assert raised.value.why == "store"
    assert postgres_server.password not in str(raised.value)
