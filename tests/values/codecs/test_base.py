"""The record that holds all three directions, and the words of a refusal."""

from collections import abc
from typing import Optional

import pytest

from toolkit import Codec
from toolkit.errors import Problem
from toolkit.values.codecs.base import type_name
from toolkit.values.codecs.refusals import Refusal


def test_a_codec_is_immutable():
    """Two codecs are equal only if they are the same object."""
    codec = Codec(schema={"type": "string"}, decode=str, encode=str)
    with pytest.raises(AttributeError):
        codec.schema = {}
    assert codec != Codec(schema={"type": "string"}, decode=str, encode=str)


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"anyOf": [{"type": "string"}]}, set()),
        ({}, set()),
    ],
)
def test_a_codec_has_the_json_types_of_its_schema(schema, kinds):
    """This holds as far as the schema states them."""
    assert Codec(schema=schema, decode=str, encode=str).kinds == kinds


def test_a_refusal_reads_as_a_sentence():
    """It has all problems, each with its place."""
    assert str(Refusal(Problem("too small", ("a", 0)), Problem("too big"))) == "a[0]: too small; too big"
    assert str(Refusal.mismatch("a date", "x")) == 'expected a date, got "x"'


@pytest.mark.parametrize(
    ("hint", "name"),
    [(int, "int"), (list[int], "list[int]"), (Optional[int], "Optional[int]"), (abc.Callable, "Callable")],
)
def test_a_hint_has_the_name_of_its_source(hint, name):
    assert type_name(hint) == name
