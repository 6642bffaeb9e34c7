"""What is judged harmless starts nothing that it should not: bash itself is asked."""

from __future__ import annotations

import re
import shutil
from itertools import islice

import pytest

from .bash_runs import Bash, LostControl
from .command_lines import STAND_IN, command_lines
from .fuzz_commands import fuzz, fuzz_all, is_harmless, real_lines

pytestmark = [
    pytest.mark.unmeasured,
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with"),
]
pytest.importorskip("tree_sitter_bash", reason="commands are not read without the extra `shell`")

_SHORT = 3_000
_LONG = 5_000


def test_the_same_seed_gives_the_same_lines_each_with_the_stand_in():
    """A finding can be found again, and no line is harmless for want of the stand-in."""
    lines, again, others = (list(islice(command_lines(seed, real_lines()), 500)) for seed in (7, 7, 8))
    assert lines == again != others
    assert all(STAND_IN in line for line in lines)


@pytest.mark.long
def test_the_fuzzer_recognizes_lines_that_start_the_stand_in():
    """They may start it in the background, in a subshell, or with other environment variables."""
    starts = [
        "zap",
        "zap &",
        "(zap & )",
        "coproc zap",
        "a=$(zap)",
        "exec zap",
        'env -i PATH="$PATH" zap',
        "time a=1 zap",
        "a=()#; zap",
        "a='x[$(zap)]'; ((a))",
    ]
    starts_not = ["echo zap", "true # zap", "cat <<EOF\nzap\nEOF", "if", "exit 1", "'zap x'"]
    bash = Bash()
    try:
        assert (
            bash.start_stand_in([line for pair in zip(starts_not, starts, strict=False) for line in pair]) == starts[:6]
        )
        assert bash.start_stand_in([*starts_not, *starts]) == starts
    finally:
        bash.close()


@pytest.mark.long
def test_the_fuzzer_refuses_to_run_if_its_stand_in_does_not_start():
    """Otherwise every line would look harmless."""
    bash = Bash(stand_in="#!/bin/sh\n")
    try:
        with pytest.raises(LostControl, match="did not start the stand-in"):
            bash.require_control()
    finally:
        bash.close()


@pytest.mark.long
def test_a_line_that_breaks_the_stand_in_hides_no_other():
    """The control that ends each batch tells, and the other lines are run again."""
    spoils = "echo > ../programs/zap"
    bash = Bash()
    try:
        bash.require_control()
        assert bash.start_stand_in([":", spoils, STAND_IN]) == [STAND_IN]
        assert bash.spoiled == [spoils]
    finally:
        bash.close()


@pytest.mark.long
def test_a_line_that_loops_without_an_end_is_ended_and_its_neighbours_are_run():
    """Whether it works itself, starts programs, or goes on in the background."""
    loops = ["while :; do :; done", "until nosuch; do false; done", "while true; do ls; done", "while :; do :; done &"]
    bash = Bash()
    try:
        assert bash.start_stand_in([line for loop in loops for line in (loop, f"zap # {loop}")]) == [
            f"zap # {loop}" for loop in loops
        ]
        assert bash.hung == []
    finally:
        bash.close()


@pytest.mark.long
def test_a_line_does_not_find_the_files_of_many_others():
    """After some hundred lines there is a new folder, and a home that goes with it."""
    leaves, at_home = "echo x > left; zap", '[ "$HOME" = "$PWD" ] && zap'
    bash = Bash()
    try:
        lines = [leaves, *["true # zap"] * 399, "[ -e left ] && zap", at_home]
        assert bash.start_stand_in(lines) == [leaves, at_home]
        assert bash.start_stand_in(lines[-2:]) == [at_home]
    finally:
        bash.close()


def test_a_line_that_was_there_before_is_counted_but_not_judged_again():
    """The share of harmless lines stays what it is."""
    judged: list[str] = []

    def judge(line: str) -> bool:
        judged.append(line)
        return "echo" in line and is_harmless(line)

    verdicts: dict[int, bool] = {}
    tally, again = (fuzz(3, 500, harmless=judge, verdicts=verdicts) for _ in range(2))
    assert len(judged) == len(set(judged)) == len(verdicts) < tally.lines == again.lines
    assert tally.harmless == again.harmless > 0


@pytest.mark.long
def test_no_line_that_is_judged_harmless_starts_the_stand_in():
    """Enough of them are judged harmless for that to say something."""
    tally = fuzz(20_261, _SHORT)
    assert tally.findings == []
    assert tally.share > 0.1


@pytest.mark.long
@pytest.mark.parametrize(
    ("oversight", "pattern", "replacement"),
    [
        ("words behind a redirection", r"(?<!<)[<>]+ *[\w./]+ .*", ""),
        ("a comment in the middle of a word", r"#.*", ""),
        ("what `env` runs", r"\benv\b", "echo"),
        ("what stands between backticks", r"`[^`]*`", "x"),
        ("the second line", r"\n.*", ""),
        ("what stands behind `time`", r"\btime\b", "echo"),
        ("a backslash in a here-document", r"\\\\\n", "x\n"),
        ("what a script of sed runs", r"\bsed\b", "echo"),
        ("a copied program", r"\./out", "echo"),
        ("a number in a condition", r"(while|until|if) a=\S+", r"\1 :"),
    ],
)
def test_a_reader_that_overlooks_something_is_found_out(oversight, pattern, replacement):
    """The fuzzer finds planted disagreements within a short run."""

    def judge_badly(line: str) -> bool:
        return is_harmless(re.sub(pattern, replacement, line, flags=re.DOTALL))

    assert fuzz(1, _SHORT, harmless=judge_badly, max_findings=1, batch=60).findings, oversight


@pytest.mark.long
def test_many_lines_hold_no_finding():
    """The same, at length. A million take a quarter of an hour: `python -m tests.properties.fuzz_commands`."""
    tally = fuzz_all(1, _LONG, workers=2)
    assert tally.findings == []
    assert tally.lines == _LONG
    assert tally.share > 0.1
