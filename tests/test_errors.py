from __future__ import annotations

import copy
import pickle
import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import BadArgs, Problem, Transient, UnknownTool, find_nearest


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ((), ""),
        (("a",), "a"),
        (("items", 2, "sku"), "items[2].sku"),
        ((0, "größe"), "[0].größe"),
        (("not plain", "1a"), "['not plain']['1a']"),
        (("k" * 5000,), f"[{'k' * 60!r}]"),
        (("\ud800",), "['\\ud800']"),
        ((None,), "['None']"),
        (("a",) * 20, ".".join(["a"] * 16) + "..."),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_path_is_written_as_a_person_would(path, where):
    """Plain keys with dots, others in brackets, nothing endless."""
    assert Problem("wrong", path).where == where


def test_a_problem_is_worded_when_read():
    """Words are made once, and only if someone reads them."""
    calls = []
    problem = Problem(lambda: calls.append(1) or "wrong", ("a",))
    assert calls == []
    assert [problem.message, str(problem), str(problem.below("b", 0))] == ["wrong", "a: wrong", "b[0].a: wrong"]
    assert calls == [1]


def test_a_long_message_is_cut():
    """No message can fill a model's context."""
    assert len(Problem("x" * 100_000).message) == 500


def test_problems_are_values():
    """Equal problems are equal, whether worded yet or not."""
    assert Problem("wrong", ["a"]) == Problem(lambda: "wrong", ("a",))
    assert len({Problem("wrong", ("a",)), Problem("wrong", ("a",)), Problem("other")}) == 2
    assert repr(Problem("wrong", ("a",))) == "Problem('wrong', ('a',))"
    assert Problem("wrong") != "wrong"


@pytest.mark.parametrize(
    "problems",
    ["wrong", Problem("wrong"), [Problem("wrong")], lambda: [Problem("wrong")]],
    ids=["text", "problem", "list", "function"],
)
def test_bad_args_takes_problems_in_any_form(problems):
    """A message, a problem, several, or a function that words them."""
    error = BadArgs(problems)
    assert error.problems == (Problem("wrong"),)
    assert str(error) == "wrong"


def test_bad_args_words_its_problems_once():
    """The function is not asked before someone reads, and not twice."""
    calls = []
    error = BadArgs(lambda: calls.append(1) or [Problem("a"), Problem("b")])
    assert calls == []
    assert str(error) == "a; b"
    assert error.problems == error.problems
    assert calls == [1]


@pytest.mark.parametrize(
    ("problems", "ending"),
    [([Problem("x")] * 30, "; and 10 more"), ([Problem("x" * 400)] * 30, "; and 21 more")],
    ids=["many", "long"],
)
def test_the_text_of_many_problems_is_bounded(problems, ending):
    """It stays readable for any number of problems."""
    error = BadArgs(problems)
    assert len(error.problems) == 30
    assert len(str(error)) < 5000
    assert str(error).endswith(ending)


class TooLate(BadArgs):
    """A tool's own kind of bad argument."""


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", [BadArgs, TooLate])
def test_bad_args_can_be_copied_and_pickled(again, kind):
    """Unworded problems are worded on the way."""
    error = again(kind(lambda: [Problem(lambda: "wrong", ("a", 1))]))
    assert type(error) is kind
    assert error.problems == (Problem("wrong", ("a", 1)),)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_other_errors_can_be_copied_and_pickled(again):
    """Their fields are copied, too."""
    unknown, transient = again(UnknownTool("raed", ["read"])), again(Transient("busy", retry_after_seconds=2))
    assert str(unknown) == "unknown tool `raed`; did you mean `read`?"
    assert (str(transient), transient.retry_after_seconds, transient.happened) == ("busy", 2, "no")


@pytest.mark.parametrize(
    ("name", "candidates", "matches"),
    [
        ("raed", ["write", "read"], ["read"]),
        ("readFile", ["read_file", "write_file"], ["read_file", "write_file"]),
        ("READ-FILE", ["read_file"], ["read_file"]),
        ("zzz", ["read"], []),
        ("a" * 10_000, ["a" * 100], ["a" * 100]),
        ("read", [], []),
        ("x5", [f"x{n}" for n in range(10_000)], ["x5"]),
    ],
    ids=lambda value: str(value)[:12],
)
def test_near_names_are_found(name, candidates, matches):
    """Case and separators do not count, letters may be swapped, junk is near to nothing."""
    assert find_nearest(name, candidates)[: len(matches)] == matches
    assert bool(find_nearest(name, candidates)) is bool(matches)


VERBS = ["get", "list", "create", "update", "remove", "send", "find", "count", "merge", "split"]
NOUNS = ["weather", "invoice", "customer", "branch", "commit", "folder", "archive", "image", "text", "calendar"]


@given(number=st.integers(0, 1_999), at=st.integers(0, 20), letter=st.sampled_from("abcxyz_"))
def test_a_similar_name_is_found_among_many(number, at, letter):
    """Only the likeliest of a long list are compared letter by letter, and the right one is always among them."""
    candidates = [f"{VERBS[index % 10]}_{NOUNS[index // 10 % 10]}_{index}" for index in range(2_000)]
    name = candidates[number]
    slipped = name[: at % len(name)] + letter + name[at % len(name) + 1 :]
    best = SequenceMatcher(None, fold(slipped), fold(find_nearest(slipped, candidates)[0])).ratio()
    assert best >= SequenceMatcher(None, fold(slipped), fold(name)).ratio() - 0.05


def fold(name):
    """Return a name as it is compared."""
    return name.replace("_", "").lower()


names = st.text(st.one_of(st.sampled_from("aZ_.-\n ßΣİ\u0301"), st.characters()), max_size=8)


def test_an_unknown_tool_without_neighbours_says_no_more():
    """No suggestion is better than a wild one."""
    assert str(UnknownTool("zzz", ["read"])) == "unknown tool `zzz`"


@given(st.text(max_size=70) | st.from_regex(r"\A\w{1,70}\Z"))
def test_a_key_that_is_a_name_stands_in_the_path_without_brackets(key):
    """A name is a letter or underscore and up to 63 word characters. Any other key stands in brackets, and is cut."""
    is_name = re.match(r"[^\W\d]\w{0,63}\Z", key) is not None
    place = key if is_name else f"[{key[:60]!r}]"
    assert Problem("wrong", (key,)).where == (place if len(place) <= 100 else f"{place[:97]}...")
