"""
What a person was shown, held against what would run.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.comparisons import equals_except_masks
from toolkit.policies.redaction import MASK, Redaction
from toolkit.values.strictjson.canonical import encode_canonical

from ..properties.values import json_values


@given(json_values())
def test_a_value_equals_itself_without_masks(value):
    assert equals_except_masks(value, value)


@given(json_values(), json_values())
def test_a_value_without_a_mask_shows_no_other(first, second):
    """Equal as JSON, or not shown."""
    if MASK not in encode_canonical(first):
        assert equals_except_masks(first, second) == (encode_canonical(first) == encode_canonical(second))


@given(json_values(), st.text("abc01", min_size=1, max_size=2))
def test_a_masked_value_equals_its_original_except_for_the_masks(value, secret):
    """This holds for masks in texts, numbers and keys."""
    assert equals_except_masks(Redaction([re.compile(re.escape(secret))]).mask_value({"a": value}), {"a": value})


@pytest.mark.parametrize(
    ("masked", "actual", "is_shown"),
    [
        (f"rm {MASK}", "rm -rf /", True),
        (f"ls {MASK}", "rm -rf /", False),
        (f"a{MASK}b{MASK}c", "a1b2c", True),
        (f"a{MASK}b{MASK}c", "a1c", False),
        (f"ab{MASK}b", "ab", False),
        (MASK, {"any": ["thing"]}, True),
        ([MASK], ["a", "b"], False),
        ({"a": MASK}, {"b": "x"}, False),
        ({f"x{MASK}": 1}, {"xyz": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (1, 1.0, True),
        (1, True, False),
        ("1", 1, False),
    ],
)
def test_a_mask_hides_and_does_not_lie(masked, actual, is_shown):
    """Everything around a mask has to be there."""
    assert equals_except_masks(masked, actual) == is_shown
