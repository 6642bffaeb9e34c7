"""
The tables of the journal and its SQL, for SQLite and PostgreSQL.
"""

from __future__ import annotations

from functools import cache

from ...storage.database import Layout, SQLDialect
from ..errors import DurableError

__all__ = ["BEAT", "BEGIN_STEP", "FINISH_STEP", "REMOVE_WORKER", "RUNS", "RUN_COLUMNS", "TAKE_BACK_STEP", "adapt"]

_COLUMNS = (
    "id, kind, status, epoch, lives, input, outcome, paused, decisions, secret, principal, deadline, problem, worker,"
    " version, due_at, is_open, created_at, updated_at, sequence, checksum"
)
RUN_COLUMNS = tuple(_COLUMNS.split(", "))
"""The columns of a run that its checksum covers, and the checksum."""

_TABLES = """
CREATE TABLE toolkit_runs (
    number {serial}, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, status TEXT NOT NULL, epoch {integer} NOT NULL,
    lives {integer} NOT NULL, secret TEXT NOT NULL, principal TEXT, deadline {real}, problem TEXT NOT NULL,
    worker TEXT NOT NULL, version TEXT NOT NULL, due_at {real}, is_open {integer} NOT NULL,
    created_at {real} NOT NULL, updated_at {real} NOT NULL, sequence {integer} NOT NULL,
    checksum {integer} NOT NULL, decisions TEXT NOT NULL, input TEXT NOT NULL, paused TEXT, outcome TEXT
);

CREATE INDEX toolkit_runs_by_status ON toolkit_runs (status);

CREATE INDEX toolkit_runs_open ON toolkit_runs (number) WHERE is_open = 1;

CREATE TABLE toolkit_steps (
    run {integer} NOT NULL, key TEXT NOT NULL,
    began_epoch {integer}, began_at {real}, began_mark TEXT, began_checksum {integer},
    done_epoch {integer}, seconds {real}, done_at {real}, done_mark TEXT, done_checksum {integer},
    data TEXT, record TEXT, PRIMARY KEY (run, key)
);

CREATE TABLE toolkit_events (
    run {integer} NOT NULL, mark TEXT NOT NULL, sequence {integer} NOT NULL, at {real} NOT NULL,
    epoch {integer} NOT NULL, kind TEXT NOT NULL, key TEXT, data TEXT NOT NULL, checksum {integer} NOT NULL,
    PRIMARY KEY (run, mark)
);

CREATE TABLE toolkit_workers (worker TEXT PRIMARY KEY, beats {integer} NOT NULL, data TEXT NOT NULL)
"""
# The columns of a step for "began" and for "done" are written at different times, and have a checksum of their own.

RUNS = Layout(
    subject="runs",
    tables=_TABLES,
    meta="toolkit_meta",
    application="toolkit journal",
    version=2,
    error=DurableError,
    stays_open=True,
    neighbour="dbos_migrations",
)
"""The tables of the journal, which may be beside those of DBOS."""

_PARTS = {
    "columns": _COLUMNS,
    "column_values": ", ".join("?" * len(RUN_COLUMNS)),
    "column_changes": ", ".join(f"{column} = ?" for column in RUN_COLUMNS),
    "seconds": "(SELECT coalesce(sum(seconds), 0) FROM toolkit_steps WHERE run = number)",
    "step": "key, began_epoch, began_at, began_mark, began_checksum, data,"
    " done_epoch, seconds, done_at, done_mark, done_checksum, record",
    "event": "mark, sequence, at, epoch, kind, key, data, checksum",
    # The one row that this selects is the run, if the activation is its newest and has not ended.
    "newest": "FROM toolkit_runs WHERE id = ? AND epoch = ? AND status = 'running'",
    "over": "status IN ('planned', 'done', 'stopped', 'failed', 'cancelled')",
}


# Each of these is a transaction of its own. The other statements are in `row_access.py`.

BEGIN_STEP = (
    "INSERT INTO toolkit_steps (run, key, began_epoch, began_at, began_mark, began_checksum, data)"
    " SELECT number, ?, ?, ?, ?, ?, ? {newest}{share_row} ON CONFLICT (run, key) DO NOTHING"
)
TAKE_BACK_STEP = (
    "DELETE FROM toolkit_steps WHERE key = ? AND began_epoch = ? AND record IS NULL AND run = (SELECT number {newest})"
)
FINISH_STEP = (
    "INSERT INTO toolkit_steps (run, key, done_epoch, seconds, done_at, done_mark, done_checksum, record)"
    " SELECT number, ?, ?, ?, ?, ?, ?, ? {newest}{share_row}"
    " ON CONFLICT (run, key) DO UPDATE SET done_epoch = excluded.done_epoch, seconds = excluded.seconds,"
    " done_at = excluded.done_at, done_mark = excluded.done_mark,"
    " done_checksum = excluded.done_checksum, record = excluded.record WHERE toolkit_steps.record IS NULL"
)
BEAT = (
    "INSERT INTO toolkit_workers (worker, beats, data) VALUES (?, 1, ?)"
    " ON CONFLICT (worker) DO UPDATE SET beats = toolkit_workers.beats + 1, data = excluded.data"
)
REMOVE_WORKER = "DELETE FROM toolkit_workers WHERE worker = ?"


@cache
def adapt(statement: str, dialect: SQLDialect) -> str:
    """Return *statement* in the words of *dialect*, with the parts that several statements have."""
    return dialect.adapt(statement, **_PARTS)
