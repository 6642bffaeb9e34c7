"""What a command prints, as a model and a person get to see it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.commands.outputs import OutputBuffer, ProgressTicker, make_readable

from ...clocks import Clock


@pytest.mark.parametrize(
    ("raw", "readable"),
    [
        ("plain \t text\n", "plain \t text\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("a\x08b\x07\x00", "a\\x08b\\x07\\x00"),
        ("Grüße, 世界", "Grüße, 世界"),
        ("\x1b", ""),
        ("\x1b[", ""),
    ],
)
def test_control_sequences_are_removed_or_shown_by_number(raw, readable):
    """Colours, titles and links vanish, and other control characters are shown by number."""
    assert make_readable(raw) == readable


@given(st.text())
def test_no_control_character_is_left_in_any_text(text):
    """A second pass changes nothing."""
    readable = make_readable(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", readable)
    assert make_readable(readable) == readable


@given(pieces=st.lists(st.binary(max_size=40), max_size=20), most=st.integers(2, 60))
def test_the_beginning_and_the_end_of_an_output_are_kept(pieces, most):
    """All of it is kept if it fits, in whatever pieces it comes. Otherwise a count stands for the middle."""
    half = max(1, most // 2)
    buffer = OutputBuffer(head_bytes=half, tail_bytes=half)
    for piece in pieces:
        buffer.add(piece)
    whole = b"".join(pieces)
    output = buffer.take().text
    left_out = len(whole) - 2 * half
    if left_out <= 0:
        assert output == make_readable(whole.decode(errors="replace"))
    else:
        assert f"[... {left_out:,} byte{'s' * (left_out != 1)} left out ...]" in output


def test_a_character_is_not_cut_in_two():
    """Half characters beside the middle are left out with it."""
    buffer = OutputBuffer(head_bytes=4, tail_bytes=4)
    buffer.add("äöüäöüäöü".encode())
    assert buffer.take().text == "äö\n[... 10 bytes left out ...]\nöü"


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_memory_is_bounded(pieces):
    """A flood takes no more room than a stream."""
    buffer = OutputBuffer(head_bytes=5, tail_bytes=5, max_kept_bytes=7)
    for piece in pieces:
        buffer.add(piece)
        assert len(buffer._head) + len(buffer._tail) + len(buffer._kept) <= 5 + 20 + 7


def test_new_output_is_returned_once():
    """A count says how much of it did not fit."""
    output = OutputBuffer(head_bytes=0, tail_bytes=10)
    output.add(b"first")
    assert output.take().text == "first"
    assert output.take().text == ""
    output.add(b"x" * 25)
    output.add(b"0123456789")
    assert output.take().text == "[... 25 bytes left out ...]\n0123456789"
    output.add(b"then")
    assert output.take().text == "then"


def test_output_is_not_reported_too_often():
    """The first piece is reported at once, and the others together after some time."""
    clock, messages = Clock(), []
    ticker = ProgressTicker(messages.append, interval_seconds=1, clock=clock)
    ticker.add(b"a")
    ticker.add(b"b")
    ticker.add(b"c")
    assert messages == ["a"]
    clock.now += 1
    ticker.add(b"")
    assert messages == ["a", "bc"]
    ticker.add(b"d")
    ticker.flush()
    ticker.flush()
    assert messages == ["a", "bc", "d"]


def test_news_are_short_and_whole():
    """The last of it, and no half characters."""
    clock, messages = Clock(), []
    ticker = ProgressTicker(messages.append, max_chars=5, clock=clock)
    ticker.add("ä".encode()[:1])
    assert messages == []
    ticker.add("ä".encode()[1:])
    clock.now += 1
    ticker.add(b"x" * 1000 + b"\x1b[1mend")
    assert messages == ["ä", "xxend"]


@pytest.mark.parametrize("text", ["ok 1\n\x1b]0;t\nnot ok 2\n", "\x1bP\nnot ok 2\n"])
def test_an_unfinished_code_ends_with_its_line(text):
    """It must not swallow the text after the line."""
    assert "not ok 2" in make_readable(text)


@given(pieces=st.lists(st.binary(max_size=40), max_size=20), max_kept_bytes=st.integers(1, 200))
def test_the_full_text_of_a_cut_output_is_kept_up_to_the_limit(pieces, max_kept_bytes):
    """The full text is there if something is left out, and has all of it if it fits with the end that is shown."""
    buffer = OutputBuffer(head_bytes=0, tail_bytes=10, max_kept_bytes=max_kept_bytes)
    for piece in pieces:
        buffer.add(piece)
    whole, full_text = b"".join(pieces), buffer.take().full_text
    assert (full_text is None) == (len(whole) <= 10)
    if full_text is not None and len(whole) <= max_kept_bytes + 10:
        assert full_text == make_readable(whole.decode(errors="replace"))
