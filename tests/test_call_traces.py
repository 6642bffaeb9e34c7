"""A call does not wander through more files than it has to."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.call_traces import MAX_FILES, trace_calls

WORST = {
    "a plain async call": 7,
    "a plain sync call": MAX_FILES + 1,  # one more if the thread is done before the loop looks
    "a call with wrong arguments": 23,
    "a call that waits for approval": 51,
    "the resume of that call": 52,
}
"""How many files each enters today; lower a figure when it has got better."""


@pytest.fixture(scope="module")
def traces():
    """Trace each kind of call once."""
    return asyncio.run(trace_calls())


@pytest.mark.parametrize("name", WORST)
def test_a_call_enters_no_more_files_than_before(traces, name):
    """And it does enter some, or the trace would say nothing."""
    assert 1 <= traces[name].entered <= WORST[name], " > ".join(traces[name].files)
