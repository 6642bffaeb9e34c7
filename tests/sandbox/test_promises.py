"""The table of docs/workspace-and-sandbox.md: what holds where, as it is measured here."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

from toolkit.sandbox import LEVELS

from .escapes import ATTEMPTS
from .promises import ABSENT, ROWS, USERS, column_of, read_table, render_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: the probe is for Linux")

PAGE = Path(__file__).parents[2] / "docs" / "workspace-and-sandbox.md"


@functools.cache
def page():
    return read_table(PAGE.read_text())


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("user", USERS)
def test_the_table_shows_the_measured_promises(user, level):
    """`python -m tests.sandbox.promises` prints the table again."""
    column, is_fact = column_of(user, level)
    if not is_fact:
        pytest.skip(f"NOT TESTED HERE: {user}, {level}: {column}")
    measured = dict.fromkeys(ROWS, ABSENT) if isinstance(column, str) else column
    assert page()[user, level] == measured


def test_every_attempt_of_the_probe_has_its_row():
    """There is a row for nothing else, but for the number of processes."""
    assert list(ROWS) != []
    assert {*ROWS} == {*ATTEMPTS, "count"}


def test_a_table_is_read_as_written():
    """The page has all of it."""
    columns = page()
    assert list(columns) == [(user, level) for user in USERS for level in LEVELS]
    assert render_table(columns) in PAGE.read_text()
