"""What the journal keeps and finds again: pages, names, keys, times and JSON, and what it refuses."""

from __future__ import annotations

import pytest

from toolkit.durable.errors import DurableError, RunTakenOver


def test_runs_are_listed_by_pages(journal):
    """The newest run comes first, also if the clock jumped back, and a page begins after the last run before it."""
    for number in range(5):
        journal.create(f"r{number}", "agent" if number % 2 else "flow:x", {}, now=100.0 - number)
    assert [row.id for row in journal.list(limit=2)] == ["r4", "r3"]
    assert [row.id for row in journal.list(limit=2, after="r3")] == ["r2", "r1"]
    assert [row.id for row in journal.list(kind="agent")] == ["r3", "r1"]
    journal.activate("r2", worker="w", now=1.0, max_lives=3)
    assert [row.id for row in journal.list(status="running")] == ["r2"]
    assert [row.id for row in journal.list(status="queued", kind="flow:x", after="r4")] == ["r0"]
    with pytest.raises(DurableError) as raised:
        journal.list(after="x")
    assert raised.value.why == "unknown"


@pytest.mark.parametrize(
    "use",
    [
        lambda journal: journal.read_steps("x"),
        lambda journal: journal.read_events("x"),
        lambda journal: journal.activate("x", worker="w", now=1.0, max_lives=3),
        lambda journal: journal.begin("x", 1, "k", {}, now=1.0),
        lambda journal: journal.finish("x", 1, "k", {}, seconds=0, now=1.0),
        lambda journal: journal.decide("x", {}, now=1.0),
        lambda journal: journal.cancel("x", "", now=1.0),
        lambda journal: journal.retry("x", now=1.0),
    ],
)
def test_an_unknown_run_is_named(journal, use):
    """The error names the id that does not exist."""
    with pytest.raises(DurableError, match="there is no run 'x'") as raised:
        use(journal)
    assert raised.value.why == "unknown"
    assert journal.get("x") is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1, float("nan")]}, r"a\[1\]"),
        ({"a": {1, 2}}, "set is not JSON"),
        ({"a": {1: 2}}, "the key 1"),
        ({"a": b"x"}, "bytes is not JSON"),
        ({"a": 10**5000}, "digits"),
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda run, value: run.create("s", "agent", value, now=3.0),
        lambda run, value: run.begin("r", 1, "r/call/1", value, now=3.0),
        lambda run, value: run.finish("r", 1, "r/call/1", value, seconds=0, now=3.0),
        lambda run, value: run.end("r", 1, "done", value, used_decisions=(), now=3.0),
        lambda run, value: run.decide("r", value, now=3.0),
        lambda run, value: run.note("r", 1, "x", value, now=3.0),
        lambda run, value: run.beat("w", value),
    ],
    ids=["create", "begin", "finish", "end", "decide", "note", "beat"],
)
def test_a_value_that_is_not_json_is_refused(run, value, problem, write):
    """The error names the place of the value, and nothing is written."""
    with pytest.raises(DurableError, match=problem) as raised:
        write(run, value)
    assert raised.value.why == "value"
    assert run.read_steps("r") == {}
    assert run.get("s") is None
    assert run.get("r").status == "running"


def test_a_circle_is_not_json(run):
    """A value that contains itself is refused, and does not hang."""
    circle = {}
    circle["self"] = circle
    with pytest.raises(DurableError, match="not JSON") as raised:
        run.finish("r", 1, "r/call/1", circle, seconds=0, now=3.0)
    assert raised.value.why == "value"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), "1", None])
def test_a_time_is_a_finite_number(run, number):
    """A clock that returns something else is refused."""
    with pytest.raises(DurableError, match="finite number"):
        run.begin("r", 1, "r/call/1", {}, now=number)
    with pytest.raises(DurableError, match="finite number"):
        run.finish("r", 1, "r/call/1", {}, seconds=number, now=3.0)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 7])
@pytest.mark.parametrize(
    "use",
    [
        lambda run, text: run.create("s", text, {}, now=3.0),
        lambda run, text: run.create("s", "agent", {}, principal=text, now=3.0),
        lambda run, text: run.activate("r", worker=text, now=3.0, max_lives=3),
        lambda run, text: run.note("r", 1, text, {}, now=3.0),
        lambda run, text: run.list(kind=text),
        lambda run, text: run.beat(text, {}),
        lambda run, text: run.remove_worker(text),
    ],
    ids=["create", "principal", "activate", "note", "list", "beat", "remove_worker"],
)
def test_a_name_that_no_database_keeps_is_refused(run, text, use):
    """The kind, the principal and the worker are texts that can be written in UTF-8."""
    with pytest.raises(DurableError, match="has to be a text without a NUL") as raised:
        use(run, text)
    assert raised.value.why == "value"


def test_a_key_that_no_index_takes_is_shortened(run):
    """Two long keys with the same beginning are two steps, and a key may hold any text of a model."""
    keys = [f"r/call/{'x' * 100_000}{end}" for end in "ab"] + ["r/call/\0\ud800", "r/call/\0\ud801"]
    for key in keys:
        run.begin("r", 1, key, {}, now=3.0)
        with pytest.raises(RunTakenOver):
            run.begin("r", 1, key, {}, now=3.0)
        run.finish("r", 1, key, {"n": key[-1]}, seconds=0, now=4.0)
    steps = run.read_steps("r")
    assert len(steps) == 4
    assert max(map(len, steps)) < 400
