from __future__ import annotations

from typing import Any

import pytest

from toolkit.values.codecs.base import Codec
from toolkit.values.codecs.code_writer import UNSURE, CodeWriter, compile_codec, is_identifier
from toolkit.values.codecs.rules import create_hint_reader


def compile_hint(hint: Any) -> Any:
    return compile_codec(create_hint_reader().codec(hint), "it")


def test_unsure_has_a_readable_repr():
    assert repr(UNSURE) == "UNSURE"


def test_deep_types_are_split_into_functions():
    """Python allows twenty nested blocks; types may nest deeper."""
    hint: Any = int
    value: Any = 5
    for _ in range(40):
        hint, value = list[hint], [value]
    check = compile_hint(hint)
    assert check(value, 0) == value
    assert check([value], 0) is UNSURE


def test_a_codec_without_generated_code_is_unsure():
    assert compile_codec(Codec(schema={}, decode=int, encode=int), "it")(5, 0) is UNSURE


def test_generated_code_is_unsure_if_a_constructor_raises():
    def emit(writer: CodeWriter, value: str) -> str:
        return f"{writer.constant(int)}({value})"

    check = compile_codec(Codec(schema={}, decode=int, encode=int, emit=emit), "it")
    assert check("5", 0) == 5
    assert check("five", 0) is UNSURE


def test_a_constant_is_named_once():
    """The same object has one name in the code."""
    writer = CodeWriter()
    constant = object()
    assert writer.constant(constant) == writer.constant(constant)
    assert writer.namespace[writer.constant(constant)] is constant


def test_an_empty_block_is_still_a_block():
    """Code that has nothing to check compiles."""

    def emit(writer: CodeWriter, value: str) -> str:
        with writer.block("if True:"):
            pass
        return value

    assert compile_codec(Codec(schema={}, decode=int, encode=int, emit=emit), "it")(5, 0) == 5


@pytest.mark.parametrize(
    ("name", "plain"), [("a", True), ("_x1", True), ("class", False), ("1a", False), ("a b", False), ("ﬁ", False)]
)
def test_names_that_can_stand_in_source(name, plain):
    """Keywords cannot, and neither can names that Python would read as others."""
    assert is_identifier(name) is plain
