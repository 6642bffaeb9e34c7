"""`grep` ends in time, also with files that go away."""

from __future__ import annotations

import os
import random
import time

import pytest

from tests.builtin.trees import plant, run_by_hand
from toolkit.builtin.search.grep_tool import grep_for
from toolkit.builtin.time_limit import TimeLimit, TimeUp
from toolkit.context import Context
from toolkit.errors import ToolError


def test_no_pattern_stalls_a_search(tmp_path, grep):
    """The patterns would keep `re` busy for years. The line is as long as a file."""
    workspace = plant(tmp_path, {"a": "a" * 50_000 + "!\n" + "a" * 30 + "!\n", "b": "aab\n"})
    started = time.process_time()
    assert grep(workspace, "^(a|a)*b$") == "b:1: aab"
    assert grep(workspace, "(a*)*b$") == "b:1: aab"
    assert time.process_time() - started < 30


@pytest.mark.long
@pytest.mark.unmeasured
def test_a_note_names_a_line_that_cannot_be_searched_in_time(tmp_path):
    """The pattern has too many possibilities to follow on this line; the other lines count."""
    noise = "".join(random.Random(7).choices("ab", k=60_000))
    workspace = plant(tmp_path, {"a": f"{noise}\nd\n"})
    rows = run_by_hand(grep_for(workspace, ripgrep=False), "(?:a|b)*a(?:a|b){900}c|d").split("\n")
    assert rows[0] == "a:2: d"
    assert rows[1].startswith("(1 file has a line too long for this pattern")
    assert rows[1].endswith(": a:1)")


def test_grep_stops_when_the_caller_is_gone(tmp_path, grep):
    workspace = plant(tmp_path, {"x": ""})
    context = Context(facts=grep_for(workspace, ripgrep=False).facts)
    context.stop.set()
    with pytest.raises(ToolError, match="cancelled"):
        grep(workspace, "x", context=context)


def test_the_answer_says_that_the_time_was_up_before_the_first_file(tmp_path):
    tool = grep_for(plant(tmp_path, {"x": ""}), ripgrep=False)
    context = Context(facts=tool.facts, deadline=time.monotonic() - 1)
    assert "the time was up before all files were listed" in run_by_hand(tool, "x", context=context)


def test_a_time_limit_uses_the_given_clock():
    clock = iter([0.0, 5.0, 11.0])
    watch = TimeLimit(10, lambda: False, now=lambda: next(clock))
    watch.check()
    with pytest.raises(TimeUp):
        watch.check()


def test_the_answer_shows_the_matches_up_to_the_end_of_the_time(tmp_path):
    """It says how many files were searched."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n"})
    tool = grep_for(workspace, ripgrep=False)
    context = Context(facts=tool.facts)
    original = workspace.read

    def slow(path, **options):
        if path.endswith("/b"):
            raise TimeUp
        return original(path, **options)

    workspace.read = slow
    assert run_by_hand(tool, "x", context=context).split("\n") == [
        "a:1: x",
        "(the time was up after 1 of 2 files; narrow the path or the files)",
    ]


# Files that go away, or cannot be read.


def test_a_file_that_vanishes_during_the_search_is_named(tmp_path):
    workspace = plant(tmp_path, {"a": "x\n", "b": "x\n"})
    original = workspace.read

    def vanishing(path, **options):
        if path.endswith("/b"):
            os.remove(path)
        return original(path, **options)

    workspace.read = vanishing
    assert run_by_hand(grep_for(workspace, ripgrep=False), "x").split("\n") == [
        "a:1: x",
        "(1 file may not or cannot be read: b)",
    ]


def test_a_missing_path_is_an_error(tmp_path, grep):
    with pytest.raises(ToolError, match="does not exist"):
        grep(plant(tmp_path, {}), "x", path="nowhere")
