"""
Somebody else's ranking is heard, and can do no harm.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.catalogs.search import Document, Index
from toolkit.catalogs.search.fusion import blend_scores, score_with_ranker

DOCUMENTS = [
    Document(name="read_file", description="Read a text file."),
    Document(name="write_file", description="Write a text file."),
    Document(name="get_forecast", description="The weather of the next days."),
    Document(name="send_mail", description="Send a message.", is_imported=True),
]


@pytest.fixture
def index():
    return Index(DOCUMENTS)


def names(hits):
    return [hit.name for hit in hits]


def test_a_ranker_finds_tools_that_words_do_not_find(index):
    """Such a tool shares no word with the query."""
    hits = index.search("galoshes", ranker=lambda query, names: {"get_forecast": 0.9})
    assert [(hit.name, hit.words) for hit in hits] == [("get_forecast", ())]


def test_both_rankings_count(index):
    """A tool that is first in both comes first with the full score, and a tool that is only in one is not lost."""
    hits = index.search("text file", ranker=lambda query, names: {"write_file": 2.0, "get_forecast": 1.0})
    assert names(hits) == ["write_file", "read_file", "get_forecast"]
    hits = index.search("read text", ranker=lambda query, names: {"read_file": -3, "get_forecast": -4})
    assert (hits[0].name, hits[0].score) == ("read_file", 1.0)


def test_the_scale_of_scores_does_not_matter(index):
    """The best score of a ranker counts as 1."""

    def ranked(factor):
        return index.search("file", ranker=lambda query, names: {"send_mail": 3 * factor, "write_file": 2 * factor})

    assert ranked(1) == ranked(1e300) == ranked(1e-300)


def test_equal_scores_share_a_place(index):
    """A ranker without an opinion does not prefer the first of the alphabet."""
    hits = index.search("write", ranker=lambda query, names: dict.fromkeys(names, 0.0))
    assert hits[0].name == "write_file"
    assert len({hit.score for hit in hits[1:]}) == 1
    assert names(hits)[-1] == "send_mail"


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_cannot_be_compared_is_passed_over(index, score):
    """The tool is not in the answer at all."""
    assert index.search("galoshes", ranker=lambda query, names: {"send_mail": score}) == []


def test_unknown_names_are_passed_over(index):
    """A ranker may remember tools that are gone."""
    assert index.search("galoshes", ranker=lambda query, names: {"gone": 1.0, 7: 2.0}) == []


def test_a_ranker_is_asked_only_about_visible_tools(index):
    """It does not get a hidden name, and cannot return one."""
    asked = []

    def ranker(query, names):
        asked.append((query, list(names)))
        return {"write_file": 1.0, "read_file": 0.5}

    hits = index.search("text file", predicate=lambda name: name != "write_file", ranker=ranker)
    assert names(hits) == ["read_file"]
    assert asked == [("text file", ["read_file", "get_forecast", "send_mail"])]


def test_an_exact_name_comes_first_with_any_ranker(index):
    hits = index.search("read_file", ranker=lambda query, names: {"send_mail": 1.0, "write_file": 0.9})
    assert (hits[0].name, hits[0].score) == ("read_file", 1.0)


def test_the_literally_equal_name_comes_before_a_similar_one_with_a_ranker_too():
    """A ranker's opinion does not change which name was written."""
    index = Index([Document(name="read_file"), Document(name="readFile", is_imported=True)])
    assert names(index.search("readFile", ranker=lambda query, names: {"read_file": 1.0})) == ["readFile", "read_file"]


def test_limit_holds_for_words_and_ranker_together(index):
    assert len(index.search("file", 2, ranker=lambda query, names: dict.fromkeys(names, 1.0))) == 2


def test_an_error_of_a_ranker_propagates_with_a_note(index):
    def broken(query, names):
        raise ConnectionError("no embeddings today")

    with pytest.raises(ConnectionError, match="no embeddings") as caught:
        index.search("file", ranker=broken)
    assert "broken" in caught.value.__notes__[0]
    assert "4 tools" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "answer", [None, ["read_file"], {"read_file": "best"}, {"read_file": None}, {"read_file": 10**400}]
)
def test_an_answer_of_the_wrong_shape_is_refused(index, answer):
    """The message says what a ranker has to return."""
    with pytest.raises(TypeError, match="the ranker .* (mapping|no number)"):
        index.search("file", ranker=lambda query, names: answer)


def test_an_async_ranker_is_refused(index):
    async def later(query, names):
        return {}

    pending = []

    def ranker(query, names):
        pending.append(later(query, names))
        return pending[0]

    with pytest.raises(TypeError, match="returned coroutine"):
        index.search("file", ranker=ranker)
    pending[0].close()


def test_any_kind_of_number_is_a_score():
    """A decimal, or what numpy returns, has a float in it."""

    class Callable:
        def __call__(self, query, names):
            return {"a": Decimal(2), "b": True}

    assert score_with_ranker(Callable(), "q", ["a", "b"]) == {"a": 2.0, "b": 1.0}


def test_a_ranker_may_use_the_index(index):
    """The index holds no lock while the ranker runs."""
    assert names(index.search("file", ranker=lambda query, names: {h.name: h.score for h in index.search("weather")}))


def test_a_tool_that_is_best_in_both_rankings_has_the_full_score():
    scores = blend_scores({"a": 0.4, "b": 0.2}, {"a": 5.0, "c": 1.0}, 0.4)
    assert scores == pytest.approx({"a": 1.0, "b": 0.3, "c": 0.08})


@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 1)),
    st.dictionaries(st.sampled_from("abcd"), st.floats(allow_nan=False, allow_infinity=False)),
    st.floats(0, 1),
)
def test_blended_scores_stay_between_0_and_1_and_lose_no_name(ours, theirs, blend):
    scores = blend_scores(ours, theirs, blend)
    assert scores.keys() == ours.keys() | theirs.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in scores.values())


@pytest.mark.parametrize("blend", [-0.1, 1.1, "half", float("nan")])
def test_a_ranker_with_a_wrong_weight_is_refused(index, blend):
    def ranker(query, names):
        return {}

    ranker.blend = blend
    with pytest.raises(ValueError, match="ranker: blend has to be a number from 0 to 1"):
        index.search("file", ranker=ranker)


def test_a_ranker_without_weight_changes_nothing(index):
    def ranker(query, names):
        return {"send_mail": 1.0}

    ranker.blend = 0
    assert names(index.search("text file", ranker=ranker)) == names(index.search("text file"))
