"""
An index answers as plain sums over all tools would, and as one that was built at once.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.catalogs.search import Document, Index
from toolkit.catalogs.search.documents import FIELDS, list_texts, sum_to_worth, weigh_word
from toolkit.catalogs.search.index import MAX_LOOKUPS, MIN_SHARE_OF_BEST
from toolkit.catalogs.search.query import parse_query
from toolkit.catalogs.search.words import find_root, normalise_name, read_run, split_runs, stem

WORDS = ["mail", "mails", "mailing", "relate", "relation", "web", "hook", "webhook", "readFile", "read_file", "weather"]
WORDS += ["forecast", "天气", "café", "a_b"]
ASKED = [*WORDS, "Relations", "maling", "wether", "weat", "web_hook", "天", "/mail", "the", "unheard", "\ud800", "7"]
NAMES = ["mail", "send_mail", "sendMail", "web_hook", "a", "b", "c", "_"]

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
documents = st.builds(
    Document,
    name=st.sampled_from(NAMES),
    aliases=st.lists(st.sampled_from(["Mail", "x_y", "--"]), max_size=1).map(tuple),
    hint=texts,
    description=texts,
    parameters=st.lists(st.sampled_from(WORDS), max_size=2).map(tuple),
    texts=st.lists(texts, max_size=1).map(tuple),
    is_imported=st.booleans(),
)
catalogs = st.lists(documents, max_size=8, unique_by=lambda document: document.name)
queries = st.lists(st.sampled_from(ASKED), max_size=4, unique_by=lambda word: word.lower()[:4]).map(" ".join)


def read_all(text):
    return [reading for reading in map(read_run, split_runs(text)) if reading]


def weigh(document):
    """Return the weight of each stem in *document*, by going through its texts."""
    totals = Counter()
    for field, text in zip(FIELDS, list_texts(document), strict=True):
        readings = read_all(text)
        stems = [word_stem for _, stems, _ in readings for word_stem in stems]
        for word_stem in [*stems, *(whole for _, _, whole in readings if whole)]:
            totals[word_stem] += weigh_word(field, len(stems))
    return {word_stem: sum_to_worth(total) for word_stem, total in totals.items()}


def words_of(document):
    return {text for part in list_texts(document) for texts, _, _ in read_all(part) for text in texts}


def join_phrases(document):
    parts = ["\n".join((document.name, *document.aliases)), document.hint, document.description]
    stems = [[stem for _, stems, _ in read_all(part) for stem in stems] for part in parts if part]
    return f" {' | '.join(map(' '.join, stems))} "


def summed(documents, query, limit, keep):
    """Return the names and scores that *query* finds, by going through all tools and all words."""
    postings = Index(documents)._postings
    weights = {document.name: weigh(document) for document in documents}
    for word_stem in {word_stem for worth in weights.values() for word_stem in worth}:
        expected = {name: worth[word_stem] for name, worth in weights.items() if word_stem in worth}
        assert postings.find(word_stem) == (expected, expected.keys())
    asked = parse_query(query, postings, len(documents))
    assert sum(len(use.tools) for use, _ in asked.terms) <= MAX_LOOKUPS
    places = []
    for document in documents:
        name, phrases = document.name, join_phrases(document)
        spellings = set(map(normalise_name, (name, *document.aliases)))
        score = sum(use.worth.get(name, 0.0) * weight for use, weight in asked.terms)
        missing = [synonyms for tools, synonyms in asked.synonyms if name not in tools]
        for synonyms in missing:
            score += next((use.worth[name] * weight for use, weight, _ in synonyms if name in use.tools), 0.0)
        score += sum(weight for pair, weight in asked.pairs if pair in phrases)
        score += sum(worth[name] * weight for tools, worth, weight in asked.exact if name in tools)
        score = round(1.0 if normalise_name(query.strip()) in spellings else score / asked.full_score, 9)
        is_aside = score == 1.0 and query.strip() not in (name, *document.aliases)
        if score >= asked.least_share and name in keep:
            places.append((-score, is_aside, document.is_imported, name))
    best = -min(places)[0] if places else 0.0
    return [(name, -score) for score, _, _, name in sorted(places) if -score >= best * MIN_SHARE_OF_BEST][:limit]


@given(catalogs)
def test_the_tools_with_a_word_are_those_that_have_it_in_this_form(documents):
    postings = Index(documents)._postings
    for word in set().union(*map(words_of, documents)):
        assert postings.tools_with_word(word) == {document.name for document in documents if word in words_of(document)}


@given(catalogs, queries, st.integers(1, 8), st.sets(st.sampled_from(NAMES)))
def test_the_scores_of_a_search_are_plain_sums(documents, query, limit, keep):
    """The words of the query are few enough to look up all of them, so no limit changes the sums."""
    index = Index(documents)
    assert [hit[:2] for hit in index.search(query, limit)] == summed(documents, query, limit, NAMES)
    filtered_hits = index.search(query, limit, predicate=keep.__contains__)
    assert [hit[:2] for hit in filtered_hits] == summed(documents, query, limit, keep)


@given(catalogs, queries, st.integers(1, 8))
def test_a_hit_keeps_its_promises(documents, query, limit):
    """Scores fall from 1 to 0, of equal ones the local comes first, and the words shown were asked for."""
    hits = Index(documents).search(query, limit)
    foreign = {document.name: document.is_imported for document in documents}
    assert all(0 < hit.score <= 1 for hit in hits)
    below_a_name = [(-hit.score, foreign[hit.name], hit.name) for hit in hits if hit.score < 1]
    assert below_a_name == sorted(below_a_name)
    for hit in hits:
        assert hit.words or hit.score == 1
        assert all(part in query for word in hit.words for part in word.split(" -> ")[0].split())


@given(st.lists(st.one_of(documents, st.sampled_from(NAMES), queries.filter(bool)), max_size=30), queries)
def test_a_changed_index_equals_one_that_is_built_at_once(steps, query):
    """Tools were added, replaced and removed, with searches in between that built its tables."""
    followed, there = Index(), {}
    for step in steps:
        if isinstance(step, Document):
            followed.add(step)
            there[step.name] = step
        elif step in there:
            followed.remove(step)
            del there[step]
        else:
            followed.search(step)
    built = Index(there.values())
    assert followed.search(query) == built.search(query)
    assert tables(followed) == tables(built)


def tables(index):
    """Return what *index* knows, with the tables that are made when they are needed."""
    postings = index._postings
    vocabulary = postings.vocabulary
    index.search("unheard")
    vocabulary.find_completions("unheard")
    vocabulary.find_repairs("unheard")
    spelling = vocabulary._spelling
    under = {rest: {there} if isinstance(there, str) else there for rest, there in spelling._words_by_rest.items()}
    return (
        index._aliases,
        {name: set(tools) for name, tools in index._tools_by_name.items()},
        +index._group_words,
        postings.texts,
        postings.foreign,
        {word: postings.tools_with_word(word) for word in postings._places},
        {word_stem: list(postings.find(word_stem).worth.items()) for word_stem in map(stem, vocabulary.forms)},
        len(postings._weights),
        postings._numbers.keys(),
        set(postings._names.values()),
        {word: set(vocabulary.forms.words_with_stem(stem(word))) for word in vocabulary.forms},
        {word: set(vocabulary.forms.stems_with_root(find_root(stem(word)))) for word in vocabulary.forms},
        set(postings._places.joined),
        vocabulary._sorted_words,
        under,
        spelling._long_words,
    )


@pytest.mark.parametrize("counts", list(permutations([1, 2, 3])), ids=str)
def test_scores_with_the_same_terms_are_equal(counts):
    """The order in which the terms were added does not count, and the local one of two equal tools comes first."""
    words, others = ["alpha", "beta", "gamma"], [Document(name="o"), Document(name="p")]
    local = Document(name="z", texts=("alpha beta beta gamma gamma gamma",))
    foreign = Document(
        name="a", texts=tuple(f"{word} " * count for word, count in zip(words, counts, strict=True)), is_imported=True
    )
    hits = Index([foreign, local, *others]).search("alpha beta gamma")
    assert [hit.name for hit in hits] == ["z", "a"]
    assert hits[0].score == hits[1].score


@given(st.text(max_size=40))
def test_a_tool_is_found_by_its_text_and_leaves_no_entries_when_it_is_removed(text):
    """This holds for any characters, composed or not."""
    index = Index([Document(name="x", description=text), Document(name="y", description="else")])
    has_words = any(stems or whole for _, stems, whole in filter(None, map(read_run, split_runs(text))))
    for form in ("NFC", "NFD"):
        assert ("x" in [hit.name for hit in index.search(normalize(form, text))]) == has_words
    for name in ("x", "y"):
        index.remove(name)
    assert not any(tables(index))
