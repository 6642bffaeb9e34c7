"""
`toolkit stats`: an audit log in numbers.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.agent import Run
from toolkit.cli.commands.audit_summary import summarize_log
from toolkit.cli.display.lines import describe_usage
from toolkit.providers.base import Usage


@pytest.fixture
def log(shop):
    """A log of a few calls."""
    for words in (
        ["free_days", "year=2026"],
        ["free_days", "year=0"],
        ["flaky"],
        ["cancel", "day=2026-05-01", "--no-ask"],
        ["cancel", "day=2026-05-01", "--mode", "plan"],
    ):
        shop.run("call", "tools.py", *words, "--audit", "calls.jsonl")
    return shop


def test_a_log_is_summarized_by_tool(log):
    """Calls, how they ended, what was decided, retries, times, sizes."""
    data = log.run("stats", "calls.jsonl").json
    tools = {row["tool"]: row for row in data["tools"]}
    assert list(tools) == ["free_days", "flaky", "cancel"]
    assert (tools["free_days"]["calls"], tools["free_days"]["kinds"]) == (2, {"ok": 1, "failed": 1})
    assert tools["flaky"]["retries"] == 1
    assert tools["cancel"]["verdicts"] == {"ask": 1, "deny": 1}
    assert tools["cancel"]["kinds"] == {"waiting": 1, "denied": 1}
    assert tools["free_days"]["tokens"] == -(-tools["free_days"]["chars"] // 4) > 0
    assert tools["flaky"]["p95_seconds"] >= tools["free_days"]["p50_seconds"] > 0
    assert data["last"] >= data["first"]
    assert data["unreadable"] == 0


def test_text_output_is_a_table_with_the_covered_time(log):
    lines = log.run("stats", "calls.jsonl", "-o", "text").out.splitlines()
    assert lines[0].split() == [
        "tool",
        "calls",
        "not",
        "ok",
        "verdicts",
        "people",
        "retries",
        "p50",
        "p95",
        "characters",
        "tokens",
    ]
    assert lines[4].split()[:6] == ["cancel", "2", "waiting", "1,", "denied", "1"]
    assert lines[-1].startswith("from 20")
    assert lines[-1].endswith(" UTC")


def test_unreadable_lines_are_counted(log):
    """A note says that they are left out."""
    with open("calls.jsonl", "a") as file:
        file.write("nonsense\n[]\n")
    ran = log.run("stats", "calls.jsonl")
    assert ran.json["unreadable"] == 2
    assert "2 lines of the log cannot be read, and are left out" in ran.err


def test_the_stats_of_an_empty_log_have_no_tools_and_no_times(shop):
    shop.write("empty.jsonl", "")
    assert shop.run("stats", "empty.jsonl").json == {"tools": [], "first": None, "last": None, "unreadable": 0}
    assert len(shop.run("stats", "empty.jsonl", "-o", "text").out.splitlines()) == 2


@pytest.mark.parametrize("log", ["nowhere.jsonl", "."])
def test_a_file_that_is_not_a_log_is_refused_with_its_name(shop, log):
    ran = shop.run("stats", log)
    assert (ran.code, ran.out) == (2, "")
    assert log in ran.err


def test_a_file_that_is_not_a_log_is_refused(shop):
    """Not one of its lines belongs to a log."""
    shop.write("notes.txt", "buy milk\n")
    ran = shop.run("stats", "notes.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "notes.txt is no audit log and no run" in ran.err


def test_names_that_models_invented_are_counted_together():
    """There is no end to them."""
    lines = [{"event": "outcome", "tool": f"x{n}", "kind": "not_found", "attempts": 0} for n in range(100)]
    (tally,) = summarize_log(lines).tools
    assert (tally.tool, tally.calls) == ("(unknown)", 100)


def test_a_log_with_too_many_tools_does_not_fill_the_memory():
    """Those that come late are counted together."""
    lines = ({"event": "verdict", "tool": f"x{n}", "word": "allow"} for n in range(10_100))
    tools = summarize_log(lines).tools
    assert len(tools) == 10_001
    assert (tools[-1].tool, tools[-1].verdicts) == ("(unknown)", {"allow": 100})


def test_answers_of_people_are_counted():
    """Approvals and refusals are counted separately."""
    lines = [{"event": "answered", "tool": "f", "approved": approved} for approved in (True, False, "yes")]
    assert summarize_log(lines).tools[0].answers == {"approved": 1, "refused": 2}


def test_an_invalid_time_in_a_log_is_shown_as_such(shop):
    """A log is a file, and any program may have written it."""
    shop.write("odd.jsonl", '{"version": 1, "at": 1e300, "event": "verdict", "tool": "f", "word": "allow"}\n')
    assert (
        shop.run("stats", "odd.jsonl", "-o", "text").out.splitlines()[-1]
        == "from a time that is none to a time that is none"
    )


ODD = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)
LINES = st.fixed_dictionaries(
    {"event": st.sampled_from(["outcome", "verdict", "answered", "asked", "unreadable", "new"]) | ODD},
    optional=dict.fromkeys(("tool", "kind", "at", "attempts", "chars", "duration_seconds", "word", "approved"), ODD),
)


@given(st.lists(LINES, max_size=8))
def test_any_log_can_be_summarized(lines):
    """Every line counts once, with any content."""
    summary = summarize_log(lines)
    ended = sum(1 for line in lines if line["event"] == "outcome" and "tool" in line)
    assert sum(tally.calls for tally in summary.tools) == ended
    assert all(tally.p95_seconds >= tally.p50_seconds >= 0 for tally in summary.tools)


USAGE = Usage(
    input_tokens=900,
    output_tokens=50,
    definition_tokens=200,
    result_tokens={"read": 100, "grep": 500},
    unreported_tokens=100,
)


def test_a_saved_run_shows_the_tokens_of_each_part(shop):
    """The parts add up to the tokens that were read, and the tool with the most comes first."""
    shop.write("run.json", Run(status="done", usage=USAGE).dumps())
    data = shop.run("stats", "run.json").json
    assert (data["definition_tokens"], data["result_tokens"]) == (200, {"read": 100, "grep": 500})
    assert (data["input_tokens"], data["unreported_tokens"], data["rest_tokens"]) == (900, 100, 200)
    lines = shop.run("stats", "run.json", "-o", "text").out.splitlines()
    cells = [line.split("  ") for line in lines]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in cells]
    assert rows[2:] == [
        ["definitions", "200", "20%"],
        ["results of grep", "500", "50%"],
        ["results of read", "100", "10%"],
        ["rest", "200", "20%"],
        ["1,000 tokens read (of these, 100 by our own estimate) and 50 written"],
    ]


def test_a_run_without_parts_has_a_rest(shop):
    """A run that was saved before runs had parts is such a run."""
    shop.write("run.json", Run(status="done", usage=Usage(input_tokens=7)).dumps())
    data = shop.run("stats", "run.json").json
    assert (data["definition_tokens"], data["result_tokens"], data["rest_tokens"]) == (0, {}, 7)


@pytest.mark.parametrize("count", [0, 1, 3, 9])
def test_a_line_names_the_tools_that_take_most(count):
    results = {f"t{number}": 10 - number for number in range(count)}
    line = describe_usage(Usage(input_tokens=100, result_tokens=results))
    named = [f"results of t{number} {10 - number}" for number in range(min(3, count))]
    others = [f"results of other tools {sum(results.values()) - 27}"] if count > 3 else []
    rest = f"rest {100 - sum(results.values())}"
    assert line == f"100 tokens read and 0 written; read: {', '.join([*named, *others, rest])}"
