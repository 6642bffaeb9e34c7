"""
Texts that a person would call the same have the same words.
"""

from __future__ import annotations

import time

import pytest

from toolkit.catalogs.search.words import (
    MAX_RUN_CHARS,
    STOP_WORDS,
    normalise_name,
    read_run,
    split_runs,
    stem,
)


def stems(text):
    return [stem_of_run for run in split_runs(text) for stem_of_run in (read_run(run) or ((), ()))[1]]


@pytest.mark.parametrize(
    ("written", "split"),
    [
        ("getHTTPPages", ["get", "http", "pag"]),
        ("get_http_pages", ["get", "http", "pag"]),
        ("get-http.pages", ["get", "http", "pag"]),
        ("parseXML2JSON", ["pars", "xml", "2", "json"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("__init__", ["init"]),
        ("Straße", ["strass"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("ﬁle", ["fil"]),
        ("Éléphant", ["elephant"]),
        ("e\u0301te\u0301", ["ete"]),
        ("東京塔", ["東京", "京塔", "塔"]),
        ("API東京", ["api", "東京", "京"]),
        ("हिन्दी भाषा", ["हिनदी", "भाषा"]),
        ("ÉCOLE", ["ecol"]),
        ("GRÖSSE_ÄNDERN2", ["gross", "andern", "2"]),
        ("HTTPÜbersicht", ["http", "ubersicht"]),
        ("مُحَمَّد", ["محمد"]),
        ("", []),
        ("_ - !", []),
    ],
)
def test_a_text_is_split_into_words(written, split):
    """Case, digits, underscores, punctuation and scripts separate; what only looks different is the same."""
    assert stems(written) == split


@pytest.mark.parametrize("text", ["the of and", "Please HELP me", "would you"])
def test_words_that_only_say_how_something_is_asked_are_left_out(text):
    """Stop words say nothing about a tool, however they are written."""
    assert stems(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file", "files"),
        ("filing", "filed"),
        ("run", "running"),
        ("query", "queries"),
        ("copied", "copy"),
        ("translate", "translation"),
        ("translator", "translating"),
        ("class", "classes"),
        ("id", "ids"),
        ("convert", "converter"),
        ("process", "processing"),
        ("price", "pricing"),
    ],
)
def test_forms_of_a_word_have_one_stem(one, other):
    """Plurals and the commonest endings do not matter."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("paper", "pap"), ("number", "numb"), ("status", "stat"), ("string", "str"), ("gps", "gp"), ("bed", "b")],
)
def test_letters_that_only_look_like_an_ending_stay_in_the_stem(one, other):
    """Otherwise `paper` and `pap` would be the same word."""
    assert stem(one) != stem(other)


def test_a_split_run_is_also_one_word():
    """`YouTube` is found as "youtube", and can be misspelt as that; an identifier is no word to be misspelt."""
    texts, _, whole = read_run("YouTube")
    assert (whole,) == read_run("youtube")[1]
    assert "youtube" in texts
    texts, _, whole = read_run("read_file")
    assert whole == stem("readfile")
    assert "readfile" not in texts


@pytest.mark.parametrize("name", ["readFile", "read_file", "Read File", "READ-FILE", " read.file "])
def test_a_name_is_the_same_in_every_spelling(name):
    """Case and separators do not matter."""
    assert normalise_name(name) == "readfile"


def test_a_sentence_without_spaces_is_read_to_its_end():
    """It is longer than a word, and all of it counts."""
    assert {"天气", "气"} <= set(stems("查询" * 100 + "天气"))


@pytest.mark.parametrize("word", ["e\u0301te\u0301", "か\u3099", "\u1112\u1161\u11ab\u1100\u1173\u11af", "ﬁle"])
def test_a_long_text_has_the_words_of_a_short_one(word):
    """The cut of a long text does not separate a letter from its marks."""
    assert set(stems(f"{word} " * 300)) == set(stems(word))


def test_a_flood_of_accents_takes_no_time():
    """Putting them in order must not take the square of their number."""
    start = time.thread_time()
    split_runs("a" + "\u0315" * 50_000 + "\u0323" * 50_000)
    assert time.thread_time() - start < 1


def test_an_endless_run_is_cut():
    """It is too long for a word."""
    assert [len(run) for letter in "xé" for run in split_runs(letter * 100_000)] == [MAX_RUN_CHARS] * 2
    assert normalise_name("é" * 150 + "x") != normalise_name("é" * 150 + "y")


def test_the_number_of_remembered_runs_is_bounded():
    most = read_run.cache_parameters()["maxsize"]
    for number in range(most + 10):
        read_run(f"w{number}")
    assert read_run.cache_info().currsize == most


def test_stop_words_are_in_their_normal_form():
    """A stop word in another form would never be recognised."""
    assert all(word == normalise_name(word) for word in STOP_WORDS)
