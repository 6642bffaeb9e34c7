"""
`toolkit trace` and the option `--trace`: what a model did is a tree of spans.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.kit import DONE, LOOK, model, words
from tests.providers.stub import KEY
from toolkit.cli.commands.trace import SpanNode, build_tree, read_spans, walk_tree


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The key that the stub knows, under a name of ours."""
    monkeypatch.setenv("MY_KEY", KEY)


def line(number, parent="", *, start=0, end=1_000_000_000, name="chat", **attributes):
    """Return a line of a file with one span."""
    span = {"traceId": "t", "spanId": str(number), "parentSpanId": str(parent), "name": name}
    span |= {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
    span["attributes"] = [
        {"key": key.replace("__", "."), "value": {"stringValue": str(value)}} for key, value in attributes.items()
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def test_the_trace_of_an_agent_is_a_tree(shop, tmp_path):
    settings = tmp_path / "config" / "toolkit" / "toolkit.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[prices."test-1"]\ninput = 1000\noutput = 2000\n')
    with model(LOOK, DONE) as stub:
        assert shop.run(*words(stub, "--trace", "run.jsonl")).code == 0
    assert (shop.folder / "run.jsonl").stat().st_mode & 0o777 == 0o600
    trace = shop.run("trace", "run.jsonl", "-o", "text")
    rows = [row.split() for row in trace.out.splitlines()[2:]]
    assert [row[1:3] for row in rows] == [
        ["invoke_agent", rows[0][2]],
        ["chat", "test-1"],
        ["execute_tool", "free_days"],
        ["chat", "test-1"],
    ]
    assert ("done" in rows[0], "ok" in rows[2]) == (True, True)
    spans = shop.run("trace", "run.jsonl").json
    assert [span["depth"] for span in spans] == [0, 1, 1, 1]
    assert (spans[0]["input_tokens"], spans[0]["output_tokens"]) == (22, 14)
    assert spans[0]["cost"] == pytest.approx(0.05)


def test_a_trace_goes_on_in_the_same_file(shop):
    """A conversation has a tree for each prompt."""
    with model(DONE, DONE) as stub:
        for _ in range(2):
            assert shop.run(*words(stub, "--trace", "run.jsonl")).code == 0
    assert [span["depth"] for span in shop.run("trace", "run.jsonl").json] == [0, 1, 0, 1]


def test_a_trace_that_cannot_be_written_is_refused_before_the_model_is_asked(shop):
    with model(DONE) as stub:
        ran = shop.run(*words(stub, "--trace", "no/such/run.jsonl"))
    assert (ran.code != 0, stub.heard) == (True, [])
    assert "--trace: no/such/run.jsonl cannot be written: No such file or directory" in ran.err


def test_a_file_without_spans_is_refused(shop):
    (shop.folder / "notes.txt").write_text("hello\n")
    ran = shop.run("trace", "notes.txt")
    assert "notes.txt has no spans; name a file that --trace or TraceFile has written" in ran.err
    assert ran.code != 0


def test_money_is_summed_and_lines_that_cannot_be_read_are_counted(shop):
    lines = [
        line(1, name="invoke_agent"),
        line(2, 1, toolkit__cost=0.25),
        "{",
        '{"resourceSpans": 5}',
        line(3, 1, toolkit__cost=1),
    ]
    (shop.folder / "run.jsonl").write_text("\n".join(lines))
    ran = shop.run("trace", "run.jsonl", "-o", "text")
    assert "left out, because they cannot be read: 2 lines of the file" in ran.err
    assert ["$1.25" in row for row in ran.out.splitlines()[2:]] == [True, False, False]


def test_empty_lists_that_a_collector_leaves_out_lose_no_span(shop):
    """The JSON of a protocol leaves out a field that is empty."""
    data = json.loads(line(1))
    data["resourceSpans"] += [{}, {"scopeSpans": [{}]}, *json.loads(line(2))["resourceSpans"]]
    (shop.folder / "run.jsonl").write_text(json.dumps(data) + "\n{}\n")
    assert [span["span"] for span in shop.run("trace", "run.jsonl").json] == ["1", "2"]


def test_control_sequences_in_names_of_spans_are_escaped(shop):
    (shop.folder / "run.jsonl").write_text(line(1, name="\x1b[2J\nchat\ud800"))
    ran = shop.run("trace", "run.jsonl", "-o", "text")
    assert ran.code == 0
    assert "\x1b[2J" not in ran.out


IDS = st.integers(0, 12).map(str)


@given(st.lists(st.tuples(IDS, IDS, st.integers(0, 5)), max_size=30))
def test_every_span_is_shown_once_under_any_parents(spans):
    """This holds also if they are missing, or in a circle."""
    nodes = [make_node(span, parent, start) for span, parent, start in spans]
    walked = [node for node, _, _ in walk_tree(build_tree(nodes))]
    assert sorted(node.span for node in walked) == sorted({node.span for node in nodes})


def make_node(span, parent, start=0.0):
    numbers = {"start": start, "seconds": 1.0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
    return SpanNode(trace="t", span=span, parent=parent, name="chat", kind="", links=[], **numbers)


def test_a_deep_tree_is_walked():
    nodes = [make_node(str(number), str(number - 1)) for number in range(20_000)]
    assert max(depth for _, depth, _ in walk_tree(build_tree(nodes))) == 19_999


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["traceId", "spanId", "name", "attributes", "links", "startTimeUnixNano"]), JSON)
)
def test_any_line_is_read_or_counted(tmp_path_factory, change):
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    data = json.loads(line(1))
    data["resourceSpans"][0]["scopeSpans"][0]["spans"][0] |= change
    path.write_text(json.dumps(data) + "\n")
    unreadable: list[int] = []
    assert len(list(read_spans(str(path), unreadable))) + len(unreadable) == 1


def test_traces_need_no_package():
    """They can be written and read without OpenTelemetry."""
    code = "import sys; sys.modules['opentelemetry'] = None; from toolkit.telemetry import TraceFile; import toolkit.cli.commands.trace"
    subprocess.run([sys.executable, "-c", code], check=True)
