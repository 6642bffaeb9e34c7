"""The pictures of the demo show what it does today."""

from __future__ import annotations

import sys

import pytest

from benchmarks.record_demo import COLUMNS, DEMO, IMAGES, LINES, MOMENTS, draw_svg, read_svg, record, screen_at


@pytest.fixture(scope="module")
def written():
    """Run the demo once, in a terminal."""
    return record([sys.executable, str(DEMO)])


@pytest.mark.long
@pytest.mark.parametrize("name", MOMENTS)
def test_a_picture_shows_the_output_of_the_demo(written, name):
    """If this fails, run `python -m benchmarks.record_demo` and look at the pictures."""
    today = read_svg(draw_svg(screen_at(written, MOMENTS[name]), "make demo"))
    assert read_svg((IMAGES / name).read_text(encoding="utf-8")) == today
    assert 20 <= len(today) <= LINES
    assert max(map(len, today)) <= COLUMNS


@pytest.mark.long
def test_the_first_picture_ends_with_the_change(written):
    """The words that choose the moment are on the last line, so the picture is not the end by mistake."""
    assert MOMENTS["demo.svg"] in read_svg(draw_svg(screen_at(written, MOMENTS["demo.svg"]), ""))[-1]


@pytest.mark.parametrize(
    ("written", "words", "lines"),
    [
        ("one\r\ntwo\r\n", None, ["one", "two"]),
        ("one\r\ntwo\r\n", "one", ["one"]),
        ("thinking\r\x1b[2Kdone\r\n", None, ["done"]),
        ("a\r\nb\r\n\x1b[2A\x1b[2Kc", None, ["c", "b"]),
        ("\x1b[31mx\x1b[0my", None, ["\x1b[31mx\x1b[0my"]),
        ("".join(f"{number}\r\n" for number in range(40)), None, [str(number) for number in range(12, 40)]),
    ],
)
def test_a_screen_has_the_lines_of_a_terminal(written, words, lines):
    """Lines that were drawn over or scrolled off are not there."""
    assert screen_at(written, words) == lines


def test_times_and_temporary_folders_are_masked_in_a_picture():
    """They do not make a picture out of date."""
    svg = draw_svg(["\x1b[32mread\x1b[0m /tmp/tmpab12/x  27 ms"], "")
    assert read_svg(svg) == ["read #/x  #"]


def test_a_demo_that_fails_makes_no_picture():
    """The error has its output."""
    with pytest.raises(RuntimeError, match="no such thing"):
        record([sys.executable, "-c", "raise SystemExit('no such thing')"])
