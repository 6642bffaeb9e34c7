"""
Real processes: a durable run, `kill -9` at random lines, the next process. All finish, nothing twice, nothing lost.
"""

from __future__ import annotations

import os

import pytest

from tests.durable.killing import check_killed_runs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
MODULE = "tests.durable.killing"


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.long)])
def test_runs_whose_processes_are_killed_end_with_each_effect_once(tmp_path, kills):
    """Calls, approvals, parallel reads and a sub-run: what began is not run twice, and what did not begin is run."""
    check_killed_runs(MODULE, kills, tmp_path)


@pytest.mark.long
def test_the_same_holds_on_postgresql(tmp_path, postgres_url):
    """With the journal and the approvals in one database."""
    check_killed_runs(MODULE, 2, tmp_path, postgres_url)
