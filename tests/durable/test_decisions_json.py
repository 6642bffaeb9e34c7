"""Decisions are read as they were written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.decisions import Decision, Grant
from toolkit.durable.decisions import decision_from_json, decision_to_json
from toolkit.durable.journal.records import RunRow
from toolkit.durable.run_jobs import build_job, job_ids, run_id_of
from toolkit.questions import DECLINED

texts = st.text("ab é", max_size=3)
values = st.none() | st.integers() | texts | st.lists(texts, max_size=2)
times = st.none() | st.floats(0, 1e10)
approvals = st.builds(
    Decision.approve,
    arguments=st.none() | st.dictionaries(texts, values, max_size=2),
    grant=st.none() | st.builds(Grant, tool=texts, scope=st.sampled_from(["tool", "folder"]), target=texts, rule=texts),
    by=st.none() | texts,
    principal=st.none() | texts,
    answers=st.none() | st.dictionaries(texts, values | st.just(DECLINED), max_size=3),
)
denials = st.builds(Decision.deny, texts, by=st.none() | texts, principal=st.none() | texts)


@given(approvals | denials, times)
def test_a_decision_is_read_as_it_was_written(decision, decided_at):
    """JSON keeps every field, and also declined answers."""
    decision = replace(decision, decided_at=decided_at)
    assert decision_from_json(json.loads(json.dumps(decision_to_json(decision)))) == decision


@pytest.mark.parametrize("data", [None, {}, {"version": 2}, {"version": 1}, {"version": 1, "approved": "yes"}])
def test_malformed_decision_data_is_refused_with_a_value_error(data):
    with pytest.raises(ValueError, match="not a decision"):
        decision_from_json(data)


def test_a_bool_is_not_written_as_a_decision():
    with pytest.raises(TypeError, match="Decision"):
        decision_to_json(True)


@given(st.text("a/%2F5", min_size=1), st.integers(0, 20))
def test_the_run_of_a_job_is_in_its_id(run_id, epoch):
    """Slashes and percent signs in ids do not mix up runs."""
    row = RunRow(id=run_id, kind="k", status="queued", input={}, epoch=epoch)
    job = build_job(row)
    assert run_id_of(job.id) == run_id
    assert job.id.count("/") == 1
    assert job_ids(row)[-1] == job.id
