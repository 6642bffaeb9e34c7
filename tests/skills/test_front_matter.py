"""
Front matter: what it means, where it stands, and what of YAML is not read.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.skills.front_matter import Node, split_front_matter
from toolkit.skills.records import FrontMatterError


def read(text: str):
    """Return the values of a file's front matter, or what is wrong with it."""
    try:
        fields, _ = split_front_matter(text)
    except FrontMatterError as mistake:
        return mistake
    return Node(fields, 1).plain()


def matter(text: str):
    """Return the values of front matter."""
    return read(f"---\n{text}\n---\n")


def mistake(text: str) -> tuple[int | None, str]:
    """Return the line and the words of what is wrong with a file."""
    with pytest.raises(FrontMatterError) as caught:
        split_front_matter(text)
    return caught.value.line, str(caught.value)


def test_the_body_begins_after_the_second_line_of_dashes():
    """A third such line belongs to it."""
    assert split_front_matter("---\na: b\n--- \nfirst\n---\nlast\n") == ({"a": Node("b", 2)}, "first\n---\nlast\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("True", True), ("FALSE", False), ("null", None), ("~", None), ("", None),
        ("3", 3), ("-3", -3), ("0", 0), ("1.5", 1.5), ("2.0e3", 2000.0),
        ("yes", "yes"), ("off", "off"), ("012", "012"), ("0x1f", "0x1f"), ("1_000", "1_000"), ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"), (".inf", ".inf"), (".5", ".5"), ("9" * 19, "9" * 19), ("1.5e999", "1.5e999"),
        ('"3"', "3"), ("'true'", "true"), ("a b", "a b"), ('"a: b # c"', "a: b # c"), ("[1, a, []]", [1, "a", []]),
        ("{b: {c: d}}", {"b": {"c": "d"}}), (">\n  a\n  b", "a b\n"), ("|-\n  a\n  b", "a\nb"), ("\n  - 1\n  - b: 2", [1, {"b": 2}]),
        ("<<", "<<"), ("=", "="), (r'"\ud83c\udf75"', "🍵"), (r'"\U0001F375 \t"', "🍵 \t"),
    ],
)  # fmt: skip
def test_a_value_has_the_type_of_its_form(text, value):
    """Numbers and three words are those of JSON. Other special words of YAML are texts."""
    decoded = matter(f"a: {text}")["a"]
    assert (decoded, type(decoded)) == (value, type(value))


def test_every_value_has_the_line_of_its_key():
    """That is where a person looks; an item of a list has its own."""
    fields, _ = split_front_matter("---\na: 1\nb:\n\n  - x\n  - y\nc:\n  d: 2\n---\n")
    assert {key: node.line for key, node in fields.items()} == {"a": 2, "b": 3, "c": 7}
    assert [node.line for node in fields["b"].content] == [5, 6]
    assert fields["c"].content["d"].line == 8


@pytest.mark.parametrize("text", ["", "# only a comment", "\n\n", "null"])
def test_front_matter_may_be_empty(text):
    assert matter(text) == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no front matter"),
        ("Just text.\n---\n", 1, "no front matter"),
        ("\n---\na: b\n---\n", 1, "no front matter"),
        ("---\na: b\n", 1, "has no end"),
        ("---\n" + "#" * 16_001 + "\n---\n", 1, "more than 16,000 characters"),
        ("---\n- a\n---\n", 2, "`key: value`"),
        ("---\nhello\n---\n", 2, "`key: value`"),
        ("---\na: b: c\n---\n", 2, "not YAML"),
        ("---\na: [1\nb: 2\n---\n", 3, "not YAML"),
        ("---\na: b\n  c: d\n---\n", 3, "not YAML"),
        ('---\na: "x\n---\n', 2, "not YAML"),
        ('---\na: "\\ud800"\n---\n', 2, "halves of characters"),
        ('---\n"\\udc00": 1\n---\n', 2, "halves of characters"),
        ("---\na: 1\nb: 2\na: 3\n---\n", 4, "`a` stands here twice"),
        ("---\na: {b: 1, b: 2}\n---\n", 2, "`b` stands here twice"),
        ("---\na: 1\n? [b]\n: c\n---\n", 3, "a key has to be a text"),
        ("---\na: 1\n? {b: 1}\n: c\n---\n", 3, "a key has to be a text"),
        ("---\na: &x 1\n---\n", 2, "anchors"),
        ("---\na: 1\nb: *x\n---\n", 3, "anchors"),
        ("---\na: 1\nb: &x [1]\n---\n", 3, "anchors"),
        ("---\na: !!python/object/apply:os.system ['true']\n---\n", 2, "tags"),
        ("---\na: 1\nb: !x {}\n---\n", 3, "tags"),
        ("---\na: 1\n...\nb: 2\n---\n", 4, "not YAML"),
        ("---\na: 1\n...\n%YAML 1.1\n--- {b: 2}\n---\n", 4, "more than one document"),
        ("---\na: 1\nb: \x07\n---\n", 3, "U+0007 cannot stand here"),
        ("---\na: " + "[" * 9 + "]" * 9 + "\n---\n", 2, "nested deeper than 8"),
        ("---\na: " + "[" * 15_000 + "\n---\n", 2, "nested deeper than 8"),
        ("---\na: " + "{b: " * 3_000 + "\n---\n", 2, "nested deeper than 8"),
    ],
)  # fmt: skip
def test_unreadable_front_matter_is_reported_with_its_line(text, line, words):
    """No value is guessed, built or expanded."""
    place, message = mistake(text)
    assert words in message
    assert place == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10**9, 10**9) | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdef", min_size=1), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text("abcdef", min_size=1), JSON, max_size=4))
def test_front_matter_in_json_is_read_as_json(value):
    """JSON is the part of YAML that has one reading."""
    parsed = read(f"---\n{json.dumps(value, ensure_ascii=False)}\n---\n")
    assert "deeper" in str(parsed) if isinstance(parsed, FrontMatterError) else parsed == value


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    """For any content of a file, the only error has its place."""
    parsed = read(f"---\n{text}\n---\nbody")
    assert isinstance(parsed, dict) or parsed.line is not None
