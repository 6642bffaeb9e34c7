"""Allow, ask or deny, and the strictest of several."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.permissions.judge import strictest
from toolkit.verdicts import Finding, Verdict

ORDER = ["allow", "ask", "deny"]


@pytest.mark.parametrize("words", list(permutations(ORDER)) + [("ask", "allow"), ("allow",), ("deny", "ask", "ask")])
def test_the_strictest_verdict_decides(words):
    """The order of the verdicts changes nothing."""
    assert strictest([Verdict(word, word, "") for word in words]).word == max(words, key=ORDER.index)


def test_the_first_of_equals_is_named():
    """The findings of all are kept, its own first, each once."""
    shared = Finding("ask", "both", "z")
    first = Verdict("ask", "first", "x", (Finding("ask", "first", "x"), shared))
    second = Verdict("ask", "second", "y", (shared, Finding("ask", "second", "y")))
    verdict = strictest([Verdict("allow", "zeroth", "", (Finding("allow", "zeroth", ""),)), first, second])
    assert (verdict.by, verdict.reason) == ("first", "x")
    assert [finding.by for finding in verdict.findings] == ["first", "both", "zeroth", "second"]


@given(st.lists(st.builds(Verdict, st.sampled_from(ORDER), st.text(max_size=2), st.text(max_size=2)), min_size=1))
def test_a_further_verdict_never_loosens(verdicts):
    """The order does not change the word."""
    word = strictest(verdicts).word
    assert ORDER.index(word) >= ORDER.index(strictest(verdicts[:1]).word)
    assert strictest(verdicts[::-1]).word == word


def test_a_verdict_can_be_read():
    """The first line names the judge that decided, and the lines below name the others."""
    decisive, other = Finding("deny", "rule `deny x`", "no"), Finding("ask", "mode `default`", "it changes something")
    verdict = Verdict("deny", "rule `deny x`", "no", (decisive, other))
    assert str(verdict) == "deny by rule `deny x`: no\n  ask by mode `default`: it changes something"
    assert str(Verdict("allow", "x", "y")) == "allow by x: y"
