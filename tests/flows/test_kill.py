"""
Real processes: a durable flow, `kill -9` at random lines, the next process. All end, nothing twice, all undone in order.

`make endurance` kills 300 processes in each of these ways.
"""

from __future__ import annotations

import os

import pytest

from tests.durable.killing import check_killed_runs

pytestmark = [pytest.mark.long, pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")]
MODULE = "tests.flows.killing"


def test_flows_whose_processes_are_killed_end_with_each_effect_once(tmp_path):
    """Checks that fail, undos, a list, an approval and a way back: the effects that stand are those of a calm run."""
    check_killed_runs(MODULE, 3, tmp_path)


def test_a_killed_flow_goes_on_with_postgresql(tmp_path, postgres_url):
    """The journal and the approvals are in one database."""
    check_killed_runs(MODULE, 2, tmp_path, postgres_url)


def test_agents_inside_a_killed_flow_repeat_no_effect(tmp_path):
    """
    The agents are in steps, run at the same time, for items of a list, in a tool of an agent and in a flow in a
    step.
    """
    check_killed_runs("tests.flows.killing_agents", 3, tmp_path)


def test_agents_inside_a_flow_on_postgresql(tmp_path, postgres_url):
    check_killed_runs("tests.flows.killing_agents", 2, tmp_path, postgres_url)


def test_a_frozen_process_with_agents_changes_nothing_after_it_wakes_up(tmp_path):
    """Another process has taken the run over, and may have ended it."""
    check_killed_runs("tests.flows.freezing_agents", 1, tmp_path)
