"""
Words that mean nearly the same find each other's tools.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolkit.catalogs.search import Document, Index, synonyms
from toolkit.catalogs.search.query import MAX_PLACES_OF_SYNONYM, MAX_RUNS_WITH_SYNONYMS
from toolkit.catalogs.search.synonyms import find_synonyms
from toolkit.catalogs.search.words import STOP_WORDS, stem

GROUPS = [
    line.split()
    for line in Path(synonyms.__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def build_index(**descriptions: str) -> Index:
    return Index(Document(name=name, description=description) for name, description in descriptions.items())


def find(index: Index, query: str) -> list[str]:
    return [hit.name for hit in index.search(query)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("bill the customer", "create_invoice"),
        ("erase a document", "delete_file"),
        ("do I need an umbrella", "get_forecast"),
        ("phone someone", "start_call"),
    ],
)
def test_a_tool_is_found_by_a_synonym(query: str, name: str) -> None:
    index = build_index(
        create_invoice="Make an invoice.",
        delete_file="Remove it from the disk.",
        get_forecast="The weather of the next days.",
        start_call="Ring a number.",
        open_door="Open the door of the hall.",
    )
    assert find(index, query)[0] == name


@pytest.mark.parametrize("word", ["delete", "remove", "erase"])
def test_the_word_itself_counts_more_than_its_synonyms(word: str) -> None:
    index = build_index(delete_row="Delete it.", remove_row="Remove it.", erase_row="Erase it.")
    names = find(index, word)
    assert names[0] == f"{word}_row"
    assert len(names) == 3


def test_only_the_best_of_several_synonyms_counts() -> None:
    """Otherwise a tool would come first because its text has many words for one thing."""
    index = build_index(slack_post_message="Post it.", twilio_send="Send a text, chat, sms, dm or note by mail.")
    assert find(index, "a slack message")[0] == "slack_post_message"
    alone = build_index(client="It.", open_door="Open it.").search("customer")[0].score
    several = build_index(client="A buyer, a shopper.", open_door="Open it.").search("customer")[0].score
    assert several <= alone


def test_a_synonym_does_not_count_for_a_tool_that_has_the_word() -> None:
    index = build_index(send_mail="It.", open_door="Open it.")
    assert index.search("mail")[0].words == ("mail",)


def test_the_hit_says_which_word_stood_for_which() -> None:
    index = build_index(create_invoice="Make it.", open_door="Open it.")
    assert index.search("bill")[0].words == ("bill -> invoice",)


def test_a_long_query_has_no_synonyms() -> None:
    index = build_index(create_invoice="Make it.", open_door="Open it.")
    filler = " ".join(f"filler{number}" for number in range(MAX_RUNS_WITH_SYNONYMS - 1))
    assert find(index, f"bill {filler}") == ["create_invoice"]
    assert find(index, f"bill further {filler}") == []


def test_a_synonym_that_very_many_tools_have_does_not_count() -> None:
    others = [Document(name=f"door_{number}") for number in range(3 * MAX_PLACES_OF_SYNONYM)]
    index = Index([*others, *(Document(name=f"invoice_{number}") for number in range(MAX_PLACES_OF_SYNONYM))])
    assert index.search("bill")
    index.add(Document(name="one_invoice_more"))
    assert index.search("bill") == []


def test_no_group_of_synonyms_stands_twice_in_the_table() -> None:
    assert len({frozenset(group) for group in GROUPS}) == len(GROUPS)


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_a_group_of_synonyms_has_several_plain_words(group: list[str]) -> None:
    assert len(group) == len({stem(word) for word in group}) > 1
    assert all(re.fullmatch("[a-z0-9]+", word) for word in group)
    assert not STOP_WORDS.intersection(group)


def test_synonyms_are_mutual() -> None:
    words = {word for group in GROUPS for word in group}
    for word in words:
        own_stem = stem(word)
        assert own_stem not in find_synonyms(own_stem)
        assert all(own_stem in find_synonyms(other) for other in find_synonyms(own_stem))
