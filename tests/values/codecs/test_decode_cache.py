from __future__ import annotations

import pytest

from toolkit.values.codecs.decode_cache import memoize_decode, use_decode_cache


def test_a_container_is_decoded_once_in_a_block():
    """Inside the block the same object gets the same answer; outside nothing is kept."""
    calls = []
    decode = memoize_decode(lambda value: calls.append(value) or len(calls))
    value = [1]
    with use_decode_cache():
        assert [decode(value), decode(value), decode([2])] == [1, 1, 2]
    assert [decode(value), decode(value)] == [3, 4]


def test_a_failure_is_cached():
    """A value that could not be decoded is refused again without another try."""
    calls = []

    def decode(value):
        calls.append(value)
        raise ValueError("no")

    value: dict = {}
    again = memoize_decode(decode)
    with use_decode_cache():
        with pytest.raises(ValueError, match="no"):
            again(value)
        with pytest.raises(ValueError, match="no"):
            again(value)
    assert len(calls) == 1


def test_scalars_are_not_cached():
    """Only containers are worth it, and equal scalars may share their identity."""
    calls = []
    decode = memoize_decode(calls.append)
    with use_decode_cache():
        decode(5)
        decode(5)
    assert calls == [5, 5]


def test_blocks_nest():
    """A constructor that checks arguments of its own does not disturb the decoding under way."""
    calls = []
    decode = memoize_decode(lambda value: calls.append(value) or len(calls))
    value = [1]
    with use_decode_cache():
        decode(value)
        with use_decode_cache():
            assert decode(value) == 2
        assert decode(value) == 1
