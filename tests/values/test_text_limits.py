"""How long a text may be: in characters, in bytes, in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.values.text_limits import DEFAULT_MAX_TOKENS, TextLimit, count_bytes, estimate_tokens

TEXTS = st.text(alphabet=st.sampled_from("ab\n é€字𝄞\ud83d\ude00"), max_size=60)
NUMBERS = st.integers(-5, 80)


@given(TEXTS, NUMBERS, NUMBERS)
def test_both_limits_count(text, max_chars, max_bytes):
    """Half of a surrogate pair is a character like any other."""
    limit = TextLimit(max_chars, max_bytes)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert count_bytes(text) == size
    assert limit.allows(text) == (len(text) <= max_chars and size <= max_bytes)


@given(TEXTS, NUMBERS, NUMBERS)
def test_the_end_is_the_last_that_is_allowed(text, max_chars, max_bytes):
    limit = TextLimit(max_chars, max_bytes)
    end = limit.find_end(text)
    assert end == 0 or limit.allows(text[:end])
    assert end == len(text) or not limit.allows(text[: end + 1])


@given(TEXTS, TEXTS, NUMBERS, NUMBERS)
def test_the_difference_of_a_limit_and_a_text_allows_the_rest(text, other, max_chars, max_bytes):
    limit = TextLimit(max_chars, max_bytes)
    assert limit.minus(text).allows(other) == limit.allows(text + other)


@given(TEXTS, st.integers(4, 80), st.integers(4, 80))
def test_any_part_of_the_length_of_a_page_is_allowed(text, max_chars, max_bytes):
    limit = TextLimit(max_chars, max_bytes)
    page_chars = limit.page_chars(text)
    assert all(limit.allows(text[start : start + page_chars]) for start in range(len(text)))


@pytest.mark.parametrize(
    ("max_chars", "max_bytes", "limit"),
    [
        (None, None, TextLimit(2**62, 40_000)),
        (100, None, TextLimit(100, 2**62)),
        (None, 100, TextLimit(2**62, 100)),
        (100, 50, TextLimit(100, 50)),
    ],
)
def test_a_limit_that_is_stated_takes_the_place_of_the_tokens(max_chars, max_bytes, limit):
    assert TextLimit.of(max_chars, max_bytes) == limit


def test_the_default_is_in_tokens():
    limit = TextLimit.of(None, None)
    assert estimate_tokens(limit.max_bytes) == DEFAULT_MAX_TOKENS
    assert limit.allows("x" * 40_000)
    assert not limit.allows("字" * 13_334)  # a sign of Chinese is most of a token


def test_a_short_text_is_not_read():
    """The length alone decides, for any characters."""

    class Unread(str):
        def isascii(self):
            raise AssertionError("it was read")

        encode = isascii

    assert TextLimit.of(None, None).allows(Unread("字" * 10_000))
    assert not TextLimit.of(None, None).allows(Unread("字" * 40_001))
