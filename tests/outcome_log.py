"""
Write what became of every test to a file, one JSON object a line, as it happens.

`python -m tests` loads this plugin into each worker that it starts, reads the file for its progress line, and adds the
workers up at the end. The file is named by the variable `TESTS_OUTCOME_LOG`.
"""

from __future__ import annotations

import json
import os
import time

import pytest

_RANK = ["passed", "skipped", "failed"]


def pytest_configure(config):
    """Open the file for as long as the tests run."""
    log = open(os.environ["TESTS_OUTCOME_LOG"], "a", buffering=1, encoding="utf-8")  # noqa: SIM115 -- closed below
    config.add_cleanup(log.close)
    config.pluginmanager.register(_OutcomeLog(log))


class _OutcomeLog:
    """Put the reports of one test (set-up, call, tear-down) together to one outcome."""

    def __init__(self, log):
        self._log = log
        self._reports = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Write the outcome of *item*, with the seconds that passed and the seconds that processors worked."""
        self._reports.clear()
        started, worked = time.perf_counter(), sum(os.times()[:4])
        answer = yield
        outcome = max((report.outcome for report in self._reports), key=_RANK.index, default="failed")
        self._write(
            test=item.nodeid,
            outcome=outcome,
            reason=next((_reason(report) for report in self._reports if report.skipped), ""),
            seconds=round(time.perf_counter() - started, 3),
            worked=round(sum(os.times()[:4]) - worked, 3),
        )
        return answer

    def pytest_runtest_logreport(self, report):
        """Keep the report until the test is over."""
        self._reports.append(report)

    def pytest_collectreport(self, report):
        """Write about a file that cannot be collected, or that is skipped as a whole."""
        if report.outcome != "passed":
            reason = _reason(report) if report.skipped else ""
            self._write(test=report.nodeid, outcome=report.outcome, reason=reason, seconds=0, worked=0)

    def _write(self, **record):
        self._log.write(json.dumps(record) + "\n")


def _reason(report):
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
