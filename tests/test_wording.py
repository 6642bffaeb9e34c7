"""
Numbers, durations and quoted texts in messages.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Agent, Catalog, Dispatcher
from toolkit._plumbing.wording import format_count, format_dollars, format_seconds, in_backticks
from toolkit.agent import Budget
from toolkit.providers import ScriptedProvider
from toolkit.testing import make_call

PACKAGE = Path(__file__).parents[1] / "toolkit"


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "turn", "1 turn"),
        (0, "turn", "0 turns"),
        (1200, "turn", "1,200 turns"),
        (2, "entry", "2 entries"),
        (2, "key", "2 keys"),
        (3, "process", "3 processes"),
        (2, "more line", "2 more lines"),
    ],
)
def test_a_noun_agrees_with_its_number(count, noun, words):
    """Texts such as "budget of 1 turns" are mended."""
    assert format_count(count, noun) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0499833, "0.05 s"),
        (0.0, "0 s"),
        (3, "3 s"),
        (2.5, "2.5 s"),
        (99.96, "100 s"),
        (1200.4, "1,200 s"),
        (1e9, "1,000,000,000 s"),
        (0.00012, "0.00012 s"),
    ],
)
def test_a_duration_has_few_digits(seconds, words):
    """Texts such as "0.0499833 s" are mended."""
    assert format_seconds(seconds) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0.05, "$0.05"),
        (3, "$3.00"),
        (0.5, "$0.50"),
        (0.0025, "$0.0025"),
        (1200, "$1,200.00"),
        (0.1 + 0.2, "$0.30"),
        (0, "$0.00"),
    ],
)
def test_amounts_have_cents_and_smaller_parts(amount, words):
    """Prices of calls may be much less than a cent."""
    assert format_dollars(amount) == words


@given(st.floats(1e-6, 1e12))
def test_a_rounded_duration_keeps_its_value(seconds):
    """At most three digits count."""
    text = format_seconds(seconds).removesuffix(" s").replace(",", "")
    assert "e" not in text
    assert abs(float(text) - seconds) <= max(0.006 * seconds, 1e-6)


@given(st.text(st.sampled_from("a` "), max_size=12))
def test_a_quoted_text_can_be_read_back(text):
    """Nested backticks are mended: the text between the fences is the text itself."""
    quoted = in_backticks(text)
    fence = re.match("`+", quoted)[0] if "`" in text else "`"
    inner = quoted[len(fence) : -len(fence)]
    assert (inner[1:-1] if "`" in text else inner) == text
    if "`" in text:
        assert fence not in text


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_turns": 1}, "the budget of 1 turn is used up"),
        ({"budget": Budget(calls=1)}, "the budget of 1 tool call is used up"),
    ],
)
async def test_a_budget_of_one_is_worded_so(options, reason):
    """Texts such as "budget of 1 turns" are mended everywhere."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def look() -> str:
        """Look."""
        return "nothing"

    script = [[make_call("look", {}, id=f"call_{turn}"), make_call("look", {}, id=f"more_{turn}")] for turn in range(3)]
    run = await Agent(ScriptedProvider(script), catalog, **options).run("Look.")
    assert run.reason == reason


@pytest.mark.anyio
async def test_a_timeout_is_worded_so():
    """Texts such as "0.0499833 s" are mended: a limit that is what is left of another one."""
    catalog = Catalog()

    @catalog.tool(timeout_seconds=0.0123456)
    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("wait", {})
    assert "took longer than 0.0123 s" in result.text


def _sources():
    return [(path, path.read_text("utf-8")) for path in PACKAGE.rglob("*.py") if path.name != "wording.py"]


def test_no_message_formats_numbers_and_durations_itself():
    """All messages use the helper functions."""
    own_plural = re.compile(r"""\{'s' \* \(|\{'s' if |\{'' if .* else 's'\}|ies' if |'y' if """)
    own_seconds = re.compile(r"""\{[\w.]+:(\.\d)?g\} s(econds)?\b""")
    offences = [
        f"{path.name}: {line.strip()}"
        for path, text in _sources()
        for line in text.splitlines()
        if own_plural.search(line) or own_seconds.search(line)
    ]
    assert offences == []
