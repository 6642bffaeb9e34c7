"""
Patterns of ECMAScript become patterns of Python.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import DefinitionError
from toolkit.openapi.patterns import translate_pattern

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is the other side of the comparison")

PROGRAM = """
for await (const line of require("readline").createInterface({ input: process.stdin })) {
  const [source, texts] = JSON.parse(line);
  let answer = null;
  try {
    const pattern = new RegExp(source);
    answer = texts.map((text) => pattern.test(text));
  } catch {}
  console.log(JSON.stringify(answer));
}
"""


@pytest.fixture(scope="module")
def node():
    """Return a function that says which texts a pattern finds in Node; None if Node cannot read the pattern."""
    command = [NODE, "-e", f"(async () => {{ {PROGRAM} }})()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def search(pattern, texts):
            process.stdin.write(json.dumps([pattern, texts]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield search
        process.stdin.close()


def assert_same(node, pattern, texts):
    expected = node(pattern, texts)
    if expected is not None:
        translated = re.compile(translate_pattern(pattern))
        assert [bool(translated.search(text)) for text in texts] == expected, translated.pattern


LITERALS = [
    *"abz09-_.&|~+/:= ",
    r"\/",
    r"\-",
    r"\\",
    r"\]",
    r"\x61",
    r"\u0061",
    r"\e",
    r"\cA",
    r"\0",
    r"\8",
    r"\x",
    r"\u",
    r"\k",
]
SETS = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]
MEMBERS = st.lists(st.sampled_from([*LITERALS, *SETS, *"-[^{", "a-z", r"\1", r"\12", r"\b", r"\B", r"\A"]), max_size=6)
CLASSES = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), MEMBERS.map("".join))
OTHERS = st.sampled_from(
    [*LITERALS, *SETS, *"^$|*+?(){}]", r"\b", r"\B", "(?:", "(?=", "(?!", "a{2}", r"(?<n>a|b)\k<n>"]
)
PATTERNS = st.lists(CLASSES | OTHERS, max_size=6).map("".join)
TEXTS = st.lists(st.text("abzAeukx0189-_.&|~+/:=[]^{}(?<n>) \\\x00\x01\x08", max_size=5), min_size=1, max_size=8)


@needs_node
@given(pattern=PATTERNS, texts=TEXTS)
def test_a_pattern_that_node_reads_finds_the_same_texts(node, pattern, texts):
    assert_same(node, pattern, texts)


@needs_node
@given(members=MEMBERS, texts=TEXTS)
def test_a_class_that_node_reads_has_the_same_characters(node, members, texts):
    assert_same(node, f"^[{''.join(members)}]+$", texts)


@needs_node
@pytest.mark.parametrize(
    "pattern",
    [
        *(r"^[\d-_]+$", r"^[\w-\/]+$", r"^[_-\d]$", r"^[\d-a-z]+$", r"^[a-c-e]+$", r"^[--a]$", r"^[]a]$", r"^[^]a]$"),
        *(r"^(a)\1$", r"^\1(a)$", r"^(a\1)$", r"^(a)\2$", r"^\12$", r"^(?:(a)(b))\2\1$", r"^[a&&b~~c||d]+$", r"^\c$"),
    ],
)
def test_rare_forms_mean_the_same_as_in_node(node, pattern):
    texts = [
        "a",
        "aa",
        "a_",
        "1-_",
        "a/-",
        "-",
        "_",
        "z",
        "ace",
        "b",
        "d-z",
        "]",
        "x]",
        "xa]",
        "a\x02",
        "\n",
        "abba",
        "&~|",
        r"\c",
    ]
    assert node(pattern, texts) is not None
    assert_same(node, pattern, texts)


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", "[z-a]", "\\"])
def test_a_pattern_without_a_meaning_is_refused(pattern):
    with pytest.raises(DefinitionError, match="has no meaning"):
        translate_pattern(pattern)


@pytest.mark.parametrize(("name", "categories"), [("L", "L"), ("Lu", "Lu"), ("N", "N"), ("Alnum", "L N"), ("P", "P")])
@pytest.mark.parametrize("form", [r"^\p{%s}$", r"^[\p{%s}]$"])
def test_a_property_of_unicode_has_at_least_its_characters(form, name, categories):
    pattern = re.compile(translate_pattern(form % name))
    letters = filter(
        lambda letter: unicodedata.category(letter).startswith(tuple(categories.split())), map(chr, range(0x20000))
    )
    assert [letter for letter in letters if not pattern.search(letter)] == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"^\p{L}+$", ["Ärger", "abc", "東京"], ["1", "a b"]),
        (r"^[\p{L}\d_-]{1,5}$", ["ä-1_"], ["!", "a b"]),
        (r"^[\p{Alnum}]+$", ["aZ9"], []),
        (r"^\p{Lu}", ["A"], ["1", " "]),
        (r"^\p{N}+$", ["12"], ["!"]),
        (r"^\P{L}$", ["1"], []),
        (r"^[^\p{P}]$", ["a"], []),
        (r"^[^\p{L}]$", ["1", " "], ["a"]),
        (r"^(?!\p{P})(?!\P{L})\w", ["a"], []),
        (r"^(?!\p{Lu}).$", ["a", "1"], ["A"]),
        (r"^[\p{L}-9]$", ["a", "-", "9"], ["!"]),
        (r"^[\u0020-\uD7FF\uD800\uDC00-\uDBFF\uDFFF]$", ["a", "🦊"], ["\n"]),
        (r"^\h[\h-]$", [" -", "\t "], ["hh"]),
        (r"^(?<year>\d{4})-\k<year>$", ["2024-2024"], ["2024-2025"]),
        (r"^a\/b$", ["a/b"], ["ab"]),
        (r"^[^]$", ["x", "\n"], [""]),
        (r"^\u{1F98A}$", ["🦊"], ["x"]),
        (r"^[a[b]+$", ["a[b"], ["c"]),
        (r"^\p{Script=Devanagari}+$", ["हिन्दी"], []),
        (r"^x\z", ["x"], ["xy"]),
    ],
)
def test_patterns_of_ecmascript_are_translated(pattern, accepted, refused):
    translated = re.compile(translate_pattern(pattern))
    assert all(translated.search(text) for text in accepted)
    assert not any(translated.search(text) for text in refused)


@pytest.mark.parametrize("pattern", [r"^[a-z0-9_-]+$", r"^\d{3}-\w+$", r"^(?:a|b)?[^\s@]+@\S+$", "^[-+]?[0-9]+$"])
def test_a_pattern_that_python_reads_in_the_same_way_is_not_changed(pattern):
    assert translate_pattern(pattern) == pattern
