"""The clock of DBOS in an old SQLite."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from unittest.mock import Mock

import pytest
from sqlalchemy import create_engine, text

from toolkit.durable import dbos_tables


@pytest.fixture
def connection():
    """A connection with the clock."""
    connection = sqlite3.connect(":memory:")
    dbos_tables.add_clock(connection, None)
    yield connection
    connection.close()


def test_the_sql_clock_has_fractions_of_a_second(connection):
    """DBOS writes it with every row, also as the default of a column."""
    before = time.time()
    connection.execute("CREATE TABLE rows (name TEXT, at INTEGER NOT NULL DEFAULT (unixepoch('subsec') * 1000))")
    connection.execute("INSERT INTO rows (name) VALUES ('a')")
    assert before * 1000 - 1 <= connection.execute("SELECT at FROM rows").fetchone()[0] <= time.time() * 1000 + 1


@pytest.mark.parametrize("words", ["", "'now'", "'1970-01-02'", "0, 'unixepoch', '+1 day'", "'nothing'"])
def test_other_arguments_of_unixepoch_mean_the_same_as_in_sqlite(connection, words):
    """The connections of other programs in the process get the function as well."""
    with closing(sqlite3.connect(":memory:")) as plain:
        expected = plain.execute(f"SELECT unixepoch({words})").fetchone()[0]
    value = connection.execute(f"SELECT unixepoch({words})").fetchone()[0]
    assert value == expected or (value is not None and expected is not None and abs(value - expected) <= 1)


def test_a_connection_that_is_not_sqlite_gets_no_clock_function():
    other = Mock(spec=["create_function"])
    dbos_tables.add_clock(other, None)
    assert other.mock_calls == []


def test_an_engine_of_dbos_has_the_clock(tmp_path):
    """This holds for every Python and every SQLite that the tests run with."""
    dbos_tables.mend_clock()
    dbos_tables.mend_clock()
    engine = create_engine(f"sqlite:///{tmp_path}/rows.sqlite")
    expression = "unixepoch('subsec')" if dbos_tables.sys.version_info >= (3, 12) else "unixepoch()"
    with engine.connect() as connection:
        assert abs(connection.execute(text(f"SELECT {expression}")).scalar_one() - time.time()) < 60
    engine.dispose()
