"""Remember how the trials of sandboxes ended: a trial starts two processes, and hundreds of tests need a sandbox."""

from __future__ import annotations

import os
from functools import wraps

from toolkit.sandbox import Sandbox, probe, selection

_outcomes = {}


def remember_trials():
    """Try a sandbox once a test run for each level, its options and the programs that are found."""
    selection.probe_sandbox = _probe_once
    selection.run_trial = _run_trial_once


def forget_trials(monkeypatch):
    """Try every sandbox of a test for real."""
    monkeypatch.setattr(selection, "probe_sandbox", probe.probe_sandbox)
    monkeypatch.setattr(selection, "run_trial", probe.run_trial)


@wraps(probe.probe_sandbox)
def _probe_once(build_sandbox, visible_files):
    key = _describe(build_sandbox(visible_files))
    if key not in _outcomes:
        _outcomes[key] = probe.probe_sandbox(build_sandbox, visible_files)
    return _outcomes[key]


@wraps(probe.run_trial)
def _run_trial_once(sandbox, root):
    key = _describe(sandbox)
    if key not in _outcomes:
        _outcomes[key] = probe.run_trial(sandbox, root)


def _describe(sandbox):
    return sandbox.describe() if isinstance(sandbox, Sandbox) else sandbox, os.environ.get("PATH")
