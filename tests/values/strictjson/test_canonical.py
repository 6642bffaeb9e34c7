"""
The same value has the same text, and no other value does.
"""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.values.strictjson.canonical import digest_parts, encode_canonical

# Halves of surrogate pairs, but never two that would be read as one letter.
HALVES = st.text("a\ud800\udc80\\", max_size=4).filter(lambda text: "\ud800\udc80" not in text)
TEXTS = st.text(max_size=6) | HALVES
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)


def nested(scalars, keys):
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    )


VALUES = nested(SCALARS, TEXTS)
# Few enough that two of them are often equal, or look it.
LOOK_ALIKES = nested(
    st.sampled_from(
        [0, 0.0, -0.0, False, None, "", "0", 1, 1.0, True, "1", 2**53, 2.0**53, 2**53 + 1, 1e300, int(1e300), 10**300]
        + [0.1, 0.10000000000000002, "null", "é", "e\u0301", "ab", '"', "\\", "\ud800", "\\ud800"]
    ),
    st.sampled_from(["", "a", "b", "ab", "é", "e\u0301"]),
)


def same(value, other):
    """Return whether both are equal as JSON: unlike Python, true is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    return value == other


def shuffle_keys(value, chance):
    if isinstance(value, list):
        return [shuffle_keys(item, chance) for item in value]
    if isinstance(value, dict):
        items = [(key, shuffle_keys(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return value


@given(VALUES)
def test_a_text_is_read_back_as_the_same_value(value):
    assert same(json.loads(encode_canonical(value)), value)


@given(VALUES)
def test_reading_and_encoding_again_gives_the_same_text(value):
    """A store or a sender in between changes nothing."""
    text = encode_canonical(value)
    assert encode_canonical(json.loads(text)) == text
    assert text.encode().decode() == text


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_count(value, chance):
    """A model may write them in any order."""
    assert encode_canonical(shuffle_keys(value, chance)) == encode_canonical(value)


@given(LOOK_ALIKES, LOOK_ALIKES)
def test_two_values_have_the_same_text_only_if_they_are_equal(value, other):
    """Similar values have different texts, and equal ones in other spellings have the same."""
    assert (encode_canonical(value) == encode_canonical(other)) == same(value, other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e22, "10000000000000000000000"),
        (2.0**53 + 2, "9007199254740994"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (5e-324, "5e-324"),
        (True, "true"),
        ({}, "{}"),
        ([], "[]"),
        ([[], {}, None], "[[],{},null]"),
        ({"b": [1, 2.5], "a": {"d": "", "c": False}}, '{"a":{"c":false,"d":""},"b":[1,2.5]}'),
        ("é\u2028😀", '"é\u2028😀"'),
        ('"\\/\n\x00\x7f', '"\\"\\\\/\\n\\u0000\x7f"'),
        ("\udc80", '"\\udc80"'),
        ("\udc80\ud83d", '"\\udc80\\ud83d"'),
    ],
)
def test_a_value_is_written_like_this(value, text):
    """The form is fixed: digests that were stored depend on it."""
    assert encode_canonical(value) == text


def test_keys_are_sorted_by_code_point():
    """The order of UTF-16 would swap the last two."""
    assert encode_canonical({"😀": 1, "\ufb33": 2, "a": 3, "B": 4}) == '{"B":4,"a":3,"\ufb33":2,"😀":1}'


def test_the_largest_float_is_written_exactly():
    """It has all the digits of the equal integer."""
    assert encode_canonical(1.7976931348623157e308) == str(int(1.7976931348623157e308))


def holding_itself():
    value = []
    value.append({"below": value})
    return value


def unfolding():
    value = ["x" * 100_000]
    for _ in range(40):
        value = [value, value]
    return value


class Twice(str):
    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1, float("nan")]}, r"a\[1\]: nan is not JSON"),
        ([float("-inf")], r"\[0\]: -inf is not JSON"),
        ({"a": {1: 2}}, "a: the key 1 is not a string"),
        ({None: 2}, "the key null is not a string"),
        ({"a": (1, 2)}, "a: a Python tuple is not JSON"),
        ([b"x"], r"\[0\]: a Python bytes is not JSON"),
        ({"a": object()}, "a: a Python object is not JSON"),
        (10**1000, "digits is too long"),
        ([-(10**5000)], r"\[0\]: .*digits is too long"),
        (["\ud83d\ude00"], r"\[0\]: .*surrogate pair"),
        ({"\ud83d\ude00": 1}, "surrogate pair"),
        ({Twice("a"): 1, Twice("a"): 2}, 'the key "a" stands twice'),
        (holding_itself(), "holds itself"),
        (unfolding(), "too long"),
    ],
)
def test_a_value_that_is_not_json_is_refused_with_its_place(value, problem):
    """Otherwise a person could be asked about another value."""
    with pytest.raises(ValueError, match=problem):
        encode_canonical(value)


def test_an_exhausted_stack_is_a_refusal():
    """A caller with a deep stack gets an error that it can handle."""
    deep = []
    for _ in range(60):
        deep = [deep]

    def below():
        try:
            return below()
        except RecursionError:
            try:
                return encode_canonical(deep)
            except ValueError as error:
                return error

    assert "too deeply" in str(below())


def test_methods_of_a_subclass_do_not_change_the_canonical_text():
    class Sly(dict):
        def items(self):
            return [("path", "harmless")]

        __iter__ = keys = values = items

    class Word(str):
        def __str__(self):
            return "harmless"

    assert encode_canonical(Sly(path=Word("/etc/passwd"))) == '{"path":"/etc/passwd"}'


@given(st.lists(st.none() | TEXTS, max_size=4), st.lists(st.none() | TEXTS, max_size=4))
def test_the_digest_depends_on_where_the_parts_end(parts, other):
    """Moving a letter to the next part, or leaving a part out, changes the digest."""
    assert (digest_parts(*parts) == digest_parts(*other)) == (parts == other)


@pytest.mark.parametrize(
    "others", [("ab",), ("", "ab"), ("ab", ""), ("a", "b", ""), ("b", "a"), ("a", "b", None), ("1:a", "b"), ()]
)
def test_parts_that_are_joined_differently_have_another_digest(others):
    """The parts count, not their letters in a row."""
    assert digest_parts("a", "b") != digest_parts(*others)
    assert len(digest_parts(*others)) == 64


def test_a_digest_does_not_change_between_versions():
    """It is stored, and later versions compare it."""
    assert digest_parts("a", None, "é") == hashlib.sha256("1:a-2:é".encode()).hexdigest()
