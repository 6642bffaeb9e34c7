"""Tokens, and what they cost."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import ProviderError
from toolkit.providers import Price, Usage
from toolkit.providers.wire import read_openai_usage

counts = st.integers(0, 10**9)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cached_tokens=counts, cache_write_tokens=counts)

PRICE = Price(input=3, output="15", cached=0.3, cache_write=Decimal("3.75"))


@given(usages, usages)
def test_usages_add_up(first, second):
    """An empty usage changes nothing, and the order makes no difference."""
    assert first + Usage() == first
    assert first + second == second + first
    assert (first + second).total_tokens == first.total_tokens + second.total_tokens
    assert Usage.from_json((first + second).to_json()) == first + second


def test_each_token_has_its_price():
    """Cached and written tokens are part of the input, and are not paid twice."""
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000, cache_write_tokens=200_000)
    assert usage.cost(PRICE) == Decimal("1.2") + Decimal("1.5") + Decimal("0.12") + Decimal("0.75")


def test_cached_tokens_without_a_price_cost_as_much_as_input():
    """So a table may be as short as the page of the provider."""
    usage = Usage(input_tokens=1_000_000, cached_tokens=300_000, cache_write_tokens=300_000)
    assert usage.cost(Price(input=2, output=4)) == 2


@pytest.mark.parametrize(
    ("model", "priced_model"),
    [
        ("gpt-x", "gpt-x"),
        ("gpt-x-2026-01-31", "gpt-x"),
        ("claude-y-20260131", "claude-y"),
        ("claude-y@20260131", "claude-y"),
        ("claude-y-latest", "claude-y"),
        ("models/gemini-z-001", "gemini-z"),
        ("gpt-x-mini", "gpt-x-mini"),
        ("gpt-x-mini-2026-01-31", "gpt-x-mini"),
    ],
)
def test_a_model_is_found_with_its_date(model, priced_model):
    """Providers answer with a longer name than they were asked for."""
    names = ["gpt-x", "claude-y", "gemini-z", "gpt-x-mini"]
    prices = {name: Price(input=number, output=0) for number, name in enumerate(names)}
    assert Usage(input_tokens=1_000_000).cost(prices, model) == names.index(priced_model)


@pytest.mark.parametrize("model", ["gpt-x-pro", "gpt", "gpt-x1", "", "gpt-x-2026"])
def test_a_model_without_a_price_is_an_error(model):
    """A budget in money never runs blind: a smaller or a larger sibling has another price."""
    with pytest.raises(ProviderError, match="no price is known"):
        Usage(input_tokens=1).cost({"gpt-x": PRICE}, model)


@pytest.mark.parametrize("bad", ["free", -1, float("nan"), float("inf"), True, b"1"])
def test_a_price_is_a_number(bad):
    """A mistake shows where the table is written."""
    with pytest.raises(ValueError, match="`output` has to be a number, 0 or more"):
        Price(input=1, output=bad)


@pytest.mark.parametrize("data", [None, [], {"input_tokens": -1}, {"input_tokens": True}, {"tokens": 1}])
def test_malformed_usage_data_is_refused(data):
    with pytest.raises(ValueError, match="not a usage"):
        Usage.from_json(data)


def test_tokens_that_a_server_counts_beside_the_input_have_a_cost():
    """A price is never negative, so a budget never grows."""
    price = Price(input=3, output=15, cached="0.3")
    assert Usage(cached_tokens=1_000_000).cost(price) == Decimal("0.3")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cached_tokens": 3}},
        {"cached_tokens": 3},
        {"prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 8},
    ],
    ids=["openai", "moonshot", "deepseek"],
)
def test_tokens_from_the_cache_are_counted_under_every_name(usage):
    """Servers with OpenAI's format do not agree on it."""
    counts = {"prompt_tokens": 11, "completion_tokens": 7, **usage}
    expected = Usage(input_tokens=11, output_tokens=7, cached_tokens=3)
    assert read_openai_usage(counts, "prompt_tokens", "completion_tokens") == expected
