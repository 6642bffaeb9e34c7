"""
`toolkit eval`: a model on loopback is asked once, and the recording is played without it.
"""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, PATHS, model
from tests.providers.stub import KEY

CASES = [
    {"id": "days", "question": "Which days are free?", "ground_truth": [{"free_days": {"year": [2026]}}]},
    {"id": "order", "question": "Order an apple.", "ground_truth": [{"order": {"items": [[]]}}]},
    {"id": "thanks", "question": "Thank you.", "ground_truth": []},
]


@pytest.fixture
def cases(shop):
    shop.write("cases.jsonl", "\n".join(map(json.dumps, CASES)))


def ask(shop, *words, script=(LOOK, CANCEL, DONE)):
    """Evaluate with a model on loopback that plays *script*."""
    with model(*script) as stub:
        provider = ("--provider", "anthropic", "--model", "test-1", "--base-url", f"{stub.url}{PATHS['anthropic']}")
        return shop.run("eval", "tools.py", "cases.jsonl", *provider, "--key-from", "MY_KEY", *words, MY_KEY=KEY)


def test_the_report_has_scores_and_confusions_and_tokens(shop, cases):
    ran = ask(shop)
    assert ran.code == 0
    score = ran.json["score"]
    assert (score["right"], score["total"]) == (2, 3)
    assert score["interval"] == pytest.approx([0.2077, 0.9385], abs=1e-3)
    assert ran.json["confusions"] == [{"expected": "order", "called": "cancel", "times": 1}]
    assert [wrong["id"] for wrong in ran.json["wrong"]] == ["order"]
    assert ran.json["usage"]["input_tokens"] > 0


def test_a_recording_is_played_without_a_provider(shop, cases):
    recorded = ask(shop, "--recording", "replies.json")
    played = shop.run("eval", "tools.py", "cases.jsonl", "--recording", "replies.json")
    assert (played.code, played.json) == (recorded.code, recorded.json)
    assert KEY not in (shop.folder / "replies.json").read_text()


def test_a_case_that_is_not_in_the_recording_ends_the_command(shop, cases):
    ask(shop, "--recording", "replies.json")
    shop.write("cases.jsonl", json.dumps({**CASES[0], "question": "Which days are not free?"}))
    ran = shop.run("eval", "tools.py", "cases.jsonl", "--recording", "replies.json")
    assert ran.code == 13
    assert "Which days are not free?" in ran.err


def test_a_run_is_compared_with_the_last(shop, cases):
    assert ask(shop, "--results", "last.json").json["change"] is None
    changed = ask(shop, "--results", "last.json", "-o", "text", script=(DONE, CANCEL, DONE))
    assert "wrong: days: called (no call), expected free_days\n" in changed.out
    assert "test-1: 1 of 3 right: 33% (6% to 79%); the tools alone: 1 of 3 right: 33% (6% to 79%)\n" in changed.out
    assert "the last run, test-1: 2 of 3 right: 67% (21% to 94%); 1 case changed" in changed.out
    assert changed.out.rstrip().endswith("- days")
    assert ask(shop, "--results", "last.json").json["change"]["newly_right"] == ["days"]


def test_money_is_counted_by_the_prices_of_the_settings(shop, cases, tmp_path):
    assert ask(shop).json["cost"] is None
    settings = tmp_path / "config" / "toolkit" / "toolkit.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[prices."test-1"]\ninput = 1000000\noutput = 0\n')
    ran = ask(shop)
    assert float(ran.json["cost"]) == ran.json["usage"]["input_tokens"]


def test_too_low_a_score_ends_with_1(shop, cases):
    assert ask(shop, "--min-score", "0.5").code == 0
    assert ask(shop, "--min-score", "0.9").code == 1


def test_a_mistake_in_a_case_is_named(shop, cases):
    shop.write("cases.jsonl", '{"question": "?", "ground_truth": [{"fre_days": {}}]}')
    ran = ask(shop)
    assert ran.code == 2
    assert "cases.jsonl, line 1: there is no tool 'fre_days'; did you mean 'free_days'?" in ran.err


def test_results_that_cannot_be_read_are_named(shop, cases):
    shop.write("last.json", "{}")
    ran = ask(shop, "--results", "last.json")
    assert ran.code == 2
    assert "cannot read the results in last.json" in ran.err
