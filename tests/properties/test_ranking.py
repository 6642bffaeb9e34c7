"""
After any additions and removals, an index answers as one made of what is there; and spelling agrees with counting edits.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkit.catalogs.search import Document, Index
from toolkit.catalogs.search.spelling import MIN_LETTERS_FOR_TWO_EDITS, Spelling, distance
from toolkit.catalogs.search.words import fold_text, normalise_name, read_run, split_runs, stem

# Few words that are near to one another, so that they meet, are repaired and completed.
WORDS = st.sampled_from(
    [
        "file",
        "files",
        "fil",
        "tile",
        "weather",
        "whether",
        "getFile",
        "get_weather",
        "WebHook",
        "web",
        "hook",
        "webhook",
    ]
    + ["the", "recommendation", "recomendation", "recommend", "天气预报", "天气", "naïve", "sha256", "2", "x", "-"]
)
TEXTS = st.lists(WORDS, max_size=5).map(" ".join)
NAMES = st.sampled_from(["get_file", "getFile", "get_weather", "weather", "hook", "a", "b", "c"])
DOCUMENTS = st.builds(
    Document,
    name=NAMES,
    aliases=st.lists(WORDS, max_size=2).map(tuple),
    hint=TEXTS,
    description=TEXTS,
    parameters=st.lists(WORDS, max_size=3).map(tuple),
    texts=st.lists(TEXTS, max_size=2).map(tuple),
    is_imported=st.booleans(),
)
STEPS = st.lists(st.one_of(DOCUMENTS, NAMES, TEXTS.map(lambda text: (text,))), max_size=12)


@given(STEPS, st.lists(TEXTS, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_a_changed_index_answers_like_a_new_one(steps, queries, random):
    """This holds after any adds, replacements, removals and searches, in every order of the new one."""
    index, there = Index(), {}
    for step in steps:
        if isinstance(step, Document):
            index.add(step)
            there[step.name] = step
        elif isinstance(step, tuple):
            index.search(*step)
        elif step in there:
            index.remove(step)
            del there[step]
    documents = list(there.values())
    random.shuffle(documents)
    fresh = Index(documents)
    for query in queries:
        assert index.search(query) == fresh.search(query)


@given(st.lists(DOCUMENTS, max_size=8), TEXTS, st.sets(NAMES), st.integers(1, 5))
def test_a_filtered_search_keeps_the_order_of_the_whole_search(documents, query, names, limit):
    """Only the visible tools are in it."""
    index = Index(documents)
    everything = [hit.name for hit in index.search(query, 100) if hit.name in names]
    hits = [hit.name for hit in index.search(query, limit, predicate=names.__contains__)]
    assert hits[: len(everything)] == everything[:limit]
    assert set(hits) <= names


@given(st.lists(DOCUMENTS, max_size=8), TEXTS)
def test_scores_fall_and_stay_within_bounds(documents, query):
    """The best first, each once, between 0 and 1."""
    hits = Index(documents).search(query, 100)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({hit.name for hit in hits}) == len(hits)


@given(st.lists(DOCUMENTS, max_size=8), TEXTS)
def test_the_same_question_has_the_same_answer(documents, query):
    """An earlier search has no influence."""
    index = Index(documents)
    assert index.search(query) == index.search(query)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_can_be_added_and_searched_for(query, texts):
    """No string raises an error, and a tool is found by its name."""
    index = Index([Document(name=f"tool{n}", description=text) for n, text in enumerate(texts)])
    index.search(query)
    if texts:
        assert index.search("tool0")[0].name == "tool0"


LETTERS = st.text("abc", min_size=4, max_size=11)


@given(st.sets(LETTERS, max_size=12), LETTERS)
def test_spelling_finds_the_same_words_as_a_comparison_with_every_word(words, word):
    """The table leaves out no near word, and adds none."""

    def max_edits(other):
        return (
            2
            if len(word) >= MIN_LETTERS_FOR_TWO_EDITS
            and len(other) >= MIN_LETTERS_FOR_TWO_EDITS
            and word[0] == other[0]
            else 1
        )

    edits = {other: distance(word, other, 2) for other in words if distance(word, other, 2) <= max_edits(other)}
    fewest = min(edits.values(), default=0)
    assert sorted(Spelling(words).nearest(word)[1]) == sorted(other for other in edits if edits[other] == fewest)


def count_edits(word, other):
    """Return the optimal string alignment distance, by its definition."""
    table = {(0, column): column for column in range(len(other) + 1)}
    for row in range(1, len(word) + 1):
        table[row, 0] = row
        for column in range(1, len(other) + 1):
            differs = word[row - 1] != other[column - 1]
            ways = [table[row - 1, column] + 1, table[row, column - 1] + 1, table[row - 1, column - 1] + differs]
            if row > 1 and column > 1 and word[row - 2 : row] == other[column - 2 : column][::-1]:
                ways.append(table[row - 2, column - 2] + 1)
            table[row, column] = min(ways)
    return table[len(word), len(other)]


@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 3))
def test_distance_is_that_of_the_best_alignment(word, other, most):
    """Trying edits where two words differ finds as few as aligning them in every way."""
    assert distance(word, other, most) == min(count_edits(word, other), most + 1)


@given(LETTERS, LETTERS)
def test_distance_is_symmetric_and_zero_only_for_equals(word, other):
    """It does not matter which of two words is the misspelt one."""
    assert distance(word, other, 3) == distance(other, word, 3)
    assert (distance(word, other, 3) == 0) == (word == other)


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    """This holds for names and for words."""
    assert normalise_name(normalise_name(text)) == normalise_name(text)
    assert all(fold_text(word) == word for run in split_runs(text) for word in (read_run(run) or ((),))[0])


@given(st.text("abcdefghijklmnopqrstuvwxyz", max_size=12))
def test_a_stem_is_never_empty(word):
    """Something is left to compare after every cut."""
    assert bool(stem(word)) == bool(word)
