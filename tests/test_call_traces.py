"""A call does not wander through more files than it has to."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.call_traces import MAX_FILES, trace_calls

WORST = {
    "a plain async call": (7, 0),
    "a plain sync call": (MAX_FILES + 1, 10),  # more if the thread is done before the loop looks
    "a call with wrong arguments": (22, 50),
    "a call that waits for approval": (28, 36),
    "the resume of that call": (28, 39),
}
"""How many files each enters today, and how often it comes back to one; lower a figure when it has got better."""


@pytest.fixture(scope="module")
def traces():
    """Trace each kind of call once."""
    return asyncio.run(trace_calls())


@pytest.mark.parametrize("name", WORST)
def test_a_call_enters_no_more_files_than_before(traces, name):
    """It enters at least one, or the trace would be empty."""
    trace, (files, times) = traces[name], WORST[name]
    assert 1 <= trace.entered <= files, " > ".join(trace.files)
    assert trace.came_back <= times, " > ".join(trace.files)
