"""The report of a durable run: text of a model, a tool or a person never breaks a line."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from toolkit.cli.run_report import describe_report, describe_row
from toolkit.durable.journal.records import EventRow, RunRow, StepRow
from toolkit.durable.run_reports import RunReport, describe_key

TEXTS = st.text(max_size=30) | st.sampled_from(["\x1b[2J", "a\nnote: all is well", "\u202eevil", "pаypal"])  # noqa: RUF001 -- it looks like ASCII
DATA = st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=2) | st.integers(), max_size=3)
RECORDS = (
    DATA
    | st.builds(lambda text, name: {"message": {"text": text, "calls": [{"name": name}]}}, TEXTS, TEXTS)
    | st.builds(lambda tool, kind, text: {"result": {"tool": tool, "kind": kind, "text": text}}, TEXTS, TEXTS, TEXTS)
)
KINDS = st.sampled_from(
    ["created", "activated", "began", "finished", "decided", "waiting", "ended", "cancelled", "retried", "given_back"]
)


@given(
    run_id=TEXTS, prompt=TEXTS, principal=TEXTS, problem=TEXTS, key=TEXTS, kind=KINDS | TEXTS, data=DATA, record=RECORDS
)
def test_foreign_text_in_a_report_is_escaped_and_makes_no_lines(
    run_id, prompt, principal, problem, key, kind, data, record
):
    """This holds for every field of a run, a step or an event."""
    row = RunRow(
        id=run_id, kind="agent", status="failed", input={"prompt": prompt}, principal=principal, problem=problem
    )
    steps = {
        key: StepRow(key=key, epoch=1, state="done", record=record, seconds=1.0),
        f"{key}/2": StepRow(key=f"{key}/2", epoch=1, state="began"),
    }
    events = [EventRow(number=1, at=1.0, epoch=1, kind=kind, key=key, data=data)]
    report = RunReport(
        row=row, steps=steps, events=[*events, *(EventRow(number=2, at=2.0, epoch=1, kind="finished", key=key),)]
    )
    lines = [line.plain for line in describe_report(report)]
    lines += [str(cell) for cell in describe_row(row)[2:3]]
    for line in lines:
        assert not {unicodedata.category(character) for character in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"}, line
    json.dumps(report.to_json())


def test_the_key_of_a_step_is_described_in_words():
    """The words leave out the id of its run, which may have a slash."""
    assert describe_key("a%2Fb/reply/2", "a/b") == "reply 2"
    assert describe_key("r/call/1.c1/resume/0123456789ab", "r") == "call 1.c1, answered call 01234567"
    assert describe_key("elsewhere", "r") == "elsewhere"
