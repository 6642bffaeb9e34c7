"""
Real processes: a durable run, `kill -9` at random lines, the next process. All finish, nothing twice, nothing lost.

`make test` cuts runs off within one process: `tests/agent/test_crashes.py`, `test_cut_calls.py`. `make endurance` kills
300 processes in each of these ways.
"""

from __future__ import annotations

import os

import pytest

from tests.durable.killing import check_killed_runs

pytestmark = [pytest.mark.long, pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")]
MODULE = "tests.durable.killing"


def test_runs_whose_processes_are_killed_end_with_each_effect_once(tmp_path):
    """Calls, approvals, parallel reads and a sub-run: what began is not run twice, and what did not begin is run."""
    check_killed_runs(MODULE, 3, tmp_path)


def test_a_killed_run_goes_on_with_postgresql(tmp_path, postgres_url):
    """The journal and the approvals are in one database."""
    check_killed_runs(MODULE, 2, tmp_path, postgres_url)


def test_a_process_that_is_killed_during_start_answer_retry_or_cancel_leaves_no_run_stuck(tmp_path):
    """Either nothing was written, or a worker does it once. The requests expire in a day."""
    check_killed_runs("tests.durable.killed_answers", 8, tmp_path)


def test_killed_answers_are_not_stuck_on_postgresql(tmp_path, postgres_url):
    """The journal, the jobs and the approvals are in one database."""
    check_killed_runs("tests.durable.killed_answers", 4, tmp_path, postgres_url)


def test_a_frozen_and_replaced_process_changes_nothing_after_it_wakes_up(tmp_path):
    """It wakes up at another line each time, before or after the run has ended in another process."""
    check_killed_runs("tests.durable.freezing", 3, tmp_path)
