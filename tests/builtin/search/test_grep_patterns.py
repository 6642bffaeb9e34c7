"""The patterns that `grep` takes, and the remedies for those that it refuses."""

from __future__ import annotations

import pytest

from tests.builtin.trees import plant, run_by_hand
from toolkit import Catalog, Dispatcher
from toolkit.builtin.search.grep_tool import grep_for
from toolkit.errors import BadArgs

pytestmark = pytest.mark.anyio


REFUSED = {
    "": "it is empty",
    "a\nb": "one by one",
    "a\\nb": "one by one",
    "x" * 1001: "longer than 1,000",
    "\ud800": "half a character",
    "(?=a)b": "wider text",
    "(?<!a)b": "wider text",
    "(a)\\1": "refers back",
    "(?P<x>a)(?P=x)": "wider text",
    "(?>a)": "wider text",
    "(?x)a b": "(?i:...)",
    "(?#no)a": "(?i:...)",
    "(a)?(?(1)b|c)": "wider text",
    "a*+b": "atomic group or possessive repeat",
    "\\p{L}": "write the characters as a set",
    "[\\p{L}]": "write the characters as a set",
    "\\<word\\>": "edge of a word",
    "\\Aa": "write `^`",
    "a\\z": "write `$`",
    "\\N{DIGIT ONE}": "the character itself",
    "\\0": "\\x00",
    "[[:alpha:]]": "write `\\[`",
    "[a&&b]": "write `\\&`",
    "[a--b]": "write `\\-`",
    "[\\b]": "\\x08",
    "(a": "unterminated",
    "[a": "unterminated",
    "*a": "nothing to repeat",
    "a(?i)b": "not at the start",
    "\\h": "bad escape",
    "(((a{90}){90}){90})": "written out, are too long",
}


@pytest.mark.parametrize("pattern", REFUSED, ids=[repr(pattern_text)[:20] for pattern_text in REFUSED])
def test_a_pattern_outside_the_dialect_is_refused_with_the_remedy(tmp_path, pattern):
    """Such a pattern needs backtracking, or engines read it in different ways."""
    with pytest.raises(BadArgs) as caught:
        run_by_hand(grep_for(plant(tmp_path, {"a": "a"}), ripgrep=False), pattern)
    assert str(caught.value).startswith("pattern: ")
    assert REFUSED[pattern] in str(caught.value)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("interface{}", "x interface{} y"),
        ("(?i)KEY", "the key"),
        ("(?i:K)ey", "key"),
        ("a{2,3}b", "aab"),
        ("a{,2}b", "b"),
        ("[]x]", "]"),
        ("[^]x]", "a"),
        ("\\bÄpfel\\b", "zwei Äpfel."),
        ("\\d\\s\\w\\W\\D\\S", "1 a.ab"),
        ("(?P<name>a|b)c", "bc"),
        ("[\\[\\]]", "]"),
        ("\\x41\\u00e9", "Aé"),
        ("a.*?b", "a--b"),
        ("k", "\u212a"),
    ],
)
def test_both_engines_find_a_pattern_of_the_dialect(tmp_path, grep, pattern, line):
    """The patterns have braces that repeat nothing, and letters beyond ASCII."""
    workspace = plant(tmp_path, {"a": line, "b": ""})
    assert grep(workspace, pattern, ignore_case=pattern == "k") == f"a:1: {line}"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"limit": 0}, "limit: has to be from 1 to 1000, got 0"),
        ({"context_lines": 21}, "context_lines: has to be from 0 to 20, got 21"),
        ({"glob": "[a"}, "glob: a `[` has no `]`"),
    ],
)
def test_bad_arguments_are_refused_with_the_remedy(tmp_path, arguments, remedy):
    """Called by hand as well as by a model."""
    with pytest.raises(BadArgs) as caught:
        run_by_hand(grep_for(plant(tmp_path, {}), ripgrep=False), "x", **arguments)
    assert remedy in str(caught.value)


async def test_a_wrong_file_type_or_pattern_is_bad_args(tmp_path):
    """The schema refuses the file type, and the tool refuses the pattern."""
    workspace = plant(tmp_path, {})
    catalog = Catalog()
    catalog.add(grep_for(workspace, ripgrep=False))
    dispatcher = Dispatcher(catalog, safety=workspace.safety())
    assert (await dispatcher.call("grep", {"pattern": "a", "file_type": "cobol"})).kind == "bad_args"
    assert (await dispatcher.call("grep", {"pattern": "(?=a)"})).kind == "bad_args"
