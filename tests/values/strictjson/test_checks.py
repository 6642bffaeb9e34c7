from __future__ import annotations

import collections
import enum
import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.values.strictjson import checks as strictjson
from toolkit.values.strictjson.checks import (
    MAX_DEPTH,
    MAX_STRING,
    MAX_TEXT,
    copy_and_check,
    find_flaws,
    is_plain_json,
    is_valid_text,
    loads,
    read_object,
    show_value,
)


class Words(str):
    def __len__(self):
        return 3

    def __str__(self):
        raise RuntimeError("never called")

    __repr__ = __iter__ = __str__


class Lying(dict):
    def __len__(self):
        return 0

    def items(self):
        raise RuntimeError("never called")

    __iter__ = keys = values = items


class Meta(type):
    @property
    def __name__(cls):
        raise RuntimeError("never called")


class Nameless(metaclass=Meta):
    pass


class Level(enum.IntEnum):
    LOW = 1


def nested(depth, kind=list):
    value = kind()
    for _ in range(depth - 1):
        value = [value] if kind is list else {"below": value}
    return value


def unfolding(levels):
    value = [1]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        (b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (bytearray(b'"x"'), "x"),
        ("-" + "9" * 1000, -int("9" * 1000)),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
    ],
)
def test_json_is_parsed(text, value):
    """Text and bytes are read as JSON."""
    assert loads(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON: Expecting property name"),
        ("\ufeff{}", "not JSON"),
        (b"\xff", "not UTF-8 (byte 0)"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', 'the key "b" stands twice'),
        ("1" * 1001, "more than 1,000 digits"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('"' + "a" * MAX_TEXT + '"', "characters of JSON are too long"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_text_that_is_not_strict_json_is_refused_with_the_reason(text, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        loads(text)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, "", "ä\N{GRINNING FACE}", [], {}, {"ö": [{"b": None}]}, 10**1000 - 1, nested(MAX_DEPTH + 1)],
    ids=lambda value: str(value)[:12],
)
def test_plain_json_has_no_flaws(value):
    """A parser returns only plain values."""
    assert is_plain_json(value)
    assert find_flaws(value) == []
    assert copy_and_check(value) == (value, [])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "nan is not JSON"),
        ({"a": [1, float("inf")]}, "a[1]: inf is not JSON"),
        (10**1000, "more than 1,000 digits"),
        (-(10**5000), "more than 1,000 digits"),
        ("\ud800", "half of a surrogate pair"),
        ({"\udfff": 1}, 'the key "\\udfff": the text holds half'),
        ("a" * (MAX_STRING + 1), "4,194,305 characters is too long"),
        ({"a" * (MAX_STRING + 1): 1}, "is too long"),
        ((1, 2), "a Python tuple is not JSON"),
        ({1}, "a Python set is not JSON"),
        (Nameless(), "a Python Nameless is not JSON"),
        ({"a": {5: 1}}, "a: the key 5 is not a string"),
        ({5: {"a": object()}}, "the key 5 is not a string"),
        (nested(MAX_DEPTH + 2), "[0][0][0][0]: nested too deeply"),
        (nested(MAX_DEPTH + 2, dict), "below.below.below.below: nested too deeply"),
        (unfolding(60), "too many values"),
    ],
    ids=lambda value: str(type(value)) if not isinstance(value, str) else value[:20],
)
def test_a_flaw_is_named_with_its_place(value, problem):
    """It may stand anywhere, and no method of the object is called."""
    assert not is_plain_json(value)
    assert problem in str(find_flaws(value)[0])


def test_cycles_are_too_deep():
    """A container that holds itself, once or twice, ends in a refusal."""
    once: list = []
    once.append(once)
    twice: dict = {}
    twice.update(a=twice, b=twice)
    assert ["nested too deeply" in find_flaws(container)[0].message for container in (once, twice)] == [True, True]


def test_shared_parts_are_allowed_unless_they_explode():
    """The same object in two places is plain."""
    assert is_plain_json([unfolding(3), unfolding(3)] * 2)


def test_only_the_first_twenty_flaws_are_reported():
    assert len(find_flaws([float("nan")] * 1000)) == 20


def test_subclasses_are_copied_as_their_base_class():
    """A subclass may state other content than its base class holds."""
    value = Lying(a=Words("abc"), b=Level.LOW, c=collections.OrderedDict(d=[True, 1.5]))
    copy, flaws = copy_and_check(value)
    assert flaws == []
    assert is_plain_json(copy)
    assert json.dumps(copy) == '{"a": "abc", "b": 1, "c": {"d": [true, 1.5]}}'


def test_keys_that_become_one_are_refused():
    """Two keys of a strange class may be different objects for one text."""

    class Key(str):
        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return id(self)

    assert "stands twice" in str(find_flaws({Key("a"): 1, Key("a"): 2})[0])


@pytest.mark.parametrize(("text", "clean"), [("a", True), ("\ud800", False), ("a" * (MAX_STRING + 1), False)])
def test_clean_text_can_be_sent_on(text, clean):
    """Clean is what fits and can be encoded."""
    assert is_valid_text(text) is clean


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        ("a\n", '"a\\n"'),
        ("ä", '"ä"'),
        ("\ud800", '"\\ud800"'),
        ("x" * 1000, '"' + "x" * 59 + "..."),
        (Words("abc"), '"abc"'),
        ({}, "{}"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, 'an object with keys "a", "b", "c", ...'),
        (Lying(a=1), 'an object with keys "a"'),
        ([], "[]"),
        ([1], "an array of 1 item"),
        ([1, 2], "an array of 2 items"),
        (1.5, "1.5"),
        (Level.LOW, "1"),
        (10**100, "1" + "0" * 59 + "..."),
        (10**5000, "a very long number"),
        (object(), "a Python object"),
        (Nameless(), "a Python Nameless"),
    ],
    ids=lambda value: str(type(value)) if not isinstance(value, str) else value[:12],
)
def test_values_are_shown_in_a_few_words(value, words):
    """Never a dump, never a failure."""
    assert show_value(value) == words


def test_levels_are_counted_from_where_the_value_stands():
    """A value deep in the arguments has fewer levels left."""
    assert is_plain_json([[1]], MAX_DEPTH - 2)
    assert not is_plain_json([[1]], MAX_DEPTH - 1)


def test_the_limits_leave_room_for_ordinary_calls():
    assert strictjson.MAX_VALUES >= 100_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(params=["jiter", "json"])
def parser(request, monkeypatch):
    """The package that parses texts quickly: jiter if it is installed, otherwise Python's own."""
    if request.param == "json":
        monkeypatch.setitem(sys.modules, "jiter", None)
    else:
        pytest.importorskip("jiter")
    strictjson._choose_parser.cache_clear()
    yield
    strictjson._choose_parser.cache_clear()


def same(left, right):
    """Return whether two values are equal and of the same types: 1 is not 1.0, and 0.0 is not -0.0."""
    return repr(left) == repr(right)


@pytest.mark.usefixtures("parser")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_the_quick_parser_reads_the_same_value_as_the_full_one(value):
    """It reads objects without space around them, which models send."""
    text = json.dumps(value)
    assert read_object(text) == value
    assert same(read_object(text), loads(text))


@st.composite
def damaged_texts(draw):
    """Draw the text of an object with a few characters removed, inserted or repeated."""
    text = json.dumps(draw(st.dictionaries(st.sampled_from("ab"), json_values, max_size=3)), ensure_ascii=False)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 8))
        inserted = draw(st.sampled_from([*'{}[]":,-+.eE0159 \\/ux\t\x00\ud800', "NaN", "Infinity", "1e999", text[:20]]))
        text = text[:start] + inserted + text[end:]
    return text


@pytest.mark.usefixtures("parser")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged_texts())
def test_the_quick_parser_accepts_only_text_that_the_full_one_accepts(text):
    """Other text is left to the full parser."""
    value = read_object(text)
    assert value is None or same(value, loads(text))


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "5",
        "[]",
        '{"a": 1}{}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": ' + "9" * 1001 + "}",
        '{"a": "' + "x" * 73 + '", "b": ' + "9" * 1001 + "}",
        '{"a": "' + "x" * 50_000 + '"}',
    ],
    ids=lambda text: text[:20],
)
def test_the_quick_reader_gives_up_on_unusual_text(text):
    """The thorough reader says what is wrong."""
    assert read_object(text) is None


@pytest.mark.usefixtures("parser")
def test_both_ways_read_a_text_that_is_too_deep():
    """How deep a value may be is checked afterwards, for arguments that no parser made as well."""
    text = '{"a": ' * 3 * MAX_DEPTH + "1" + "}" * 3 * MAX_DEPTH
    assert read_object(text) == loads(text)
    assert not is_plain_json(read_object(text))
