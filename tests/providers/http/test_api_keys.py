"""A key is sent to the provider and appears nowhere else."""

from __future__ import annotations

import copy
import pickle

import pytest

from toolkit import ProviderError
from toolkit.providers.http.api_keys import ApiKey, find_key

SECRET = "sk-0123456789/abc+def"


@pytest.mark.parametrize("render", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_never_shown(render):
    """It is not in the repr or in formatted text, and it cannot be copied or pickled."""
    key = ApiKey(SECRET)
    assert key.reveal() == SECRET
    assert SECRET not in f"{key} {key!r} {[key]}"
    with pytest.raises(TypeError, match="not copied or pickled"):
        render(key)


@pytest.mark.parametrize(
    "text",
    [SECRET, f"before {SECRET} after", SECRET.replace("/", "%2F").replace("+", "%2B"), {"a": [SECRET]}],
    ids=["bare", "within", "quoted", "json"],
)
def test_key_is_masked_in_any_text(text):
    """Servers like to repeat what they were told."""
    assert SECRET not in str(ApiKey(SECRET).mask(text))
    assert "[redacted]" in str(ApiKey(SECRET).mask(text))


def test_a_key_of_no_length_does_not_mask_everything():
    """Local servers are given `x` for a key."""
    assert ApiKey("x").mask("exit") == "exit"


@pytest.mark.parametrize("bad", ["", "  ", "two words", "line\nend", "schlüssel", "tab\tbed"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(bad):
    """The libraries below would show it in their errors."""
    with pytest.raises(ProviderError, match="copy the key again") as refused:
        ApiKey(bad, source="TEST_KEY")
    assert "TEST_KEY" in str(refused.value)
    assert not bad.strip() or bad not in str(refused.value)


def test_a_key_is_a_text():
    """Bytes or None would be sent as their repr."""
    with pytest.raises(TypeError, match="api_key: a key is a text, got bytes"):
        ApiKey(b"x")


def test_blanks_around_a_key_are_removed():
    assert ApiKey(" abc \n").reveal() == "abc"


def test_a_key_is_read_from_the_first_variable_that_is_set():
    """The first variable that is set goes before the second."""
    environ = {"A_KEY": "", "B_KEY": "from-b", "C_KEY": "from-c"}
    key = find_key(["A_KEY", "B_KEY", "C_KEY"], provider="Test", environ=environ)
    assert (key.reveal(), key.source) == ("from-b", "B_KEY")


def test_a_missing_key_names_the_variables():
    """The message names the variables to set."""
    with pytest.raises(ProviderError, match="Test needs a key.* set A_KEY or B_KEY, or give `api_key=` ") as missing:
        find_key(["A_KEY", "B_KEY"], provider="Test", environ={})
    assert missing.value.why == "key"
