"""
Arguments as a person types them.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cli.argument_values import arguments_of, parse_json_arguments
from toolkit.errors import BadArgs

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}

SCHEMA = {
    "properties": {
        "whole": WHOLE,
        "number": {"type": "number"},
        "truth": {"type": "boolean"},
        "text": TEXT,
        "maybe": {"type": ["string", "null"]},
        "either": {"anyOf": [WHOLE, TEXT]},
        "texts": TEXTS,
        "wholes": {"type": "array", "items": WHOLE},
        "pair": {"type": "array", "prefixItems": [TEXT, WHOLE], "items": {"type": "boolean"}},
        "list": {"type": "array"},
        "texts_or_text": {"oneOf": [TEXT, TEXTS]},
        "object": {"type": "object"},
        "choice": {"enum": ["1", 2, None]},
        "exact": {"const": "5"},
        "referred": {"$ref": "#/$defs/Whole"},
        "circle": {"$ref": "#/$defs/Circle"},
        "lost": {"$ref": "#/$defs/Nowhere"},
        "elsewhere": {"$ref": "https://example.com/schema"},
        "anything": {},
        "true": True,
        "odd:": TEXT,
    },
    "$defs": {"Whole": WHOLE, "Circle": {"anyOf": [{"$ref": "#/$defs/Circle"}, WHOLE]}},
}


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("whole=5", {"whole": 5}),
        ("whole=-5", {"whole": -5}),
        ("whole=five", {"whole": "five"}),
        ("whole=5.5", {"whole": 5.5}),
        ("whole=NaN", {"whole": "NaN"}),
        ("number=1e3", {"number": 1000.0}),
        ("truth=true", {"truth": True}),
        ("truth=yes", {"truth": "yes"}),
        ("text=5", {"text": "5"}),
        ("text=", {"text": ""}),
        ("text=a=b", {"text": "a=b"}),
        ('text="a"', {"text": '"a"'}),
        ("text=[1]", {"text": "[1]"}),
        ("maybe=null", {"maybe": None}),
        ("maybe=5", {"maybe": "5"}),
        ("either=5", {"either": 5}),
        ("either=five", {"either": "five"}),
        ("texts=a", {"texts": ["a"]}),
        ("texts=5 texts=6", {"texts": ["5", "6"]}),
        ('texts=["a","b"]', {"texts": ["a", "b"]}),
        ("wholes=1 wholes=2", {"wholes": [1, 2]}),
        ("wholes=1", {"wholes": [1]}),
        ("wholes=[1,2]", {"wholes": [1, 2]}),
        ("pair=1 pair=2 pair=true", {"pair": ["1", 2, True]}),
        ("list=1 list=a", {"list": [1, "a"]}),
        ("texts_or_text=a", {"texts_or_text": "a"}),
        ("texts_or_text=1 texts_or_text=2", {"texts_or_text": ["1", "2"]}),
        ('object={"a":1}', {"object": {"a": 1}}),
        ("object=a", {"object": "a"}),
        ("choice=1", {"choice": "1"}),
        ("choice=2", {"choice": 2}),
        ("choice=null", {"choice": None}),
        ("choice=3", {"choice": "3"}),
        ("exact=5", {"exact": "5"}),
        ("referred=5", {"referred": 5}),
        ("circle=5", {"circle": 5}),
        ("lost=5", {"lost": 5}),
        ("elsewhere=a", {"elsewhere": "a"}),
        ("anything=5", {"anything": 5}),
        ("anything=a", {"anything": "a"}),
        ("true=null", {"true": None}),
        ("unknown=5", {"unknown": 5}),
        ("text:=5", {"text": 5}),
        ('object:={"a":[1]}', {"object": {"a": [1]}}),
        ("odd:=5", {"odd:": "5"}),
        ("", {}),
    ],
)
def test_the_type_of_an_argument_comes_from_the_schema(words, arguments):
    """A number becomes a number, and a text a text. An unclear word stays text."""
    decoded = arguments_of(words.split(" ") if words else [], SCHEMA)
    assert decoded == arguments
    assert json.dumps(decoded) == json.dumps(arguments)  # True is not 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["five"], "'five' is no argument; write name=value"),
        ([":=5"], "':=5' is no argument; write name=value"),
        (["text:=1", "text:=2"], "text: is given with := twice; once is enough"),
        (["=5"], "'=5' is no argument; write name=value"),
        (["whole=1", "whole=2"], "whole: is given 2 times, and is no list"),
        (["text:=a"], "text: not JSON: Expecting value at line 1, column 1; leave the colon out if it is text"),
        (["text:=1", "text=1"], "text: is given with = and with :=; once is enough"),
        (
            ['object:={"a":1,"a":2}'],
            'object: the key "a" stands twice in one object; leave the colon out if it is text',
        ),
    ],
)
def test_a_word_that_is_not_an_argument_is_refused(words, problem):
    """The message has the word and the right form."""
    with pytest.raises(BadArgs) as caught:
        arguments_of(words, SCHEMA)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("word", "value"), [("size=5", "5"), ("n_size=5", 5), ("tags=5", ["5"]), ("n_size=five", "five")]
)
def test_an_unnamed_argument_has_the_type_of_its_pattern_or_of_the_rest(word, value):
    schema = {
        "properties": {"tags": {"type": "array", "items": TEXT}},
        "patternProperties": {"^n_": WHOLE},
        "additionalProperties": TEXT,
    }
    assert arguments_of([word], schema) == {word.partition("=")[0]: value}


def test_all_problems_of_arguments_are_reported_together():
    with pytest.raises(BadArgs) as caught:
        arguments_of(["a", "b", "text:=c"], SCHEMA)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": []}, {"properties": {"a": 5}}, {"$defs": 5, "properties": {"a": {"$ref": "#/$defs/a"}}}],
)
def test_odd_schemas_do_not_cause_an_error(schema):
    """The author of the schema learns of them elsewhere."""
    assert arguments_of(["a=5"], schema) == {"a": 5}


@given(st.text())
def test_a_text_argument_arrives_unchanged(text):
    assert arguments_of([f"text={text}"], SCHEMA) == {"text": text}
    assert arguments_of([f"texts={text}", "texts=b"], SCHEMA) == {"texts": [text, "b"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True), JSON, max_size=4))
def test_json_arguments_arrive_unchanged(arguments):
    """This holds with `:=` under any schema, and for a JSON object."""
    assert arguments_of([f"{key}:={json.dumps(value)}" for key, value in arguments.items()], SCHEMA) == arguments
    assert parse_json_arguments(json.dumps(arguments)) == arguments


@given(st.lists(st.text(), max_size=5))
def test_every_word_is_an_argument_or_refused(words):
    """None is lost, and none breaks it."""
    try:
        decoded = arguments_of(words, {"properties": {"text": TEXT}})
    except BadArgs:
        decoded = None
    is_plain = all(word.partition("=")[0].removesuffix(":") and "=" in word for word in words)
    assert is_plain or decoded is None
    assert decoded is None or {word.partition("=")[0].removesuffix(":") for word in words} == set(decoded)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[1]", 'arguments are a JSON object: {"name": "value"}'), ("{", "not JSON: Expecting property name enclosed in double quotes at line 1, column 2")],
)  # fmt: skip
def test_json_that_is_not_an_object_is_refused_with_the_right_form(text, problem):
    with pytest.raises(BadArgs) as caught:
        parse_json_arguments(text)
    assert str(caught.value) == problem
