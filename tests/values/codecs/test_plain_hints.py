"""The codecs of hints that consist of builtin types are made once for all tools."""

from __future__ import annotations

import json
import types
from typing import Any, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values import json_values
from toolkit import Tool
from toolkit.values.codecs.base import CodecRules, HintReader
from toolkit.values.codecs.foreign import register_codec
from toolkit.values.codecs.plain_hints import plain_key
from toolkit.values.codecs.refusals import Refusal
from toolkit.values.codecs.rules import create_hint_reader

_SCALARS = st.sampled_from([str, int, float, bool])


def _unite(members: list[Any]) -> Any:
    hint = members[0]
    for member in members[1:]:
        hint = hint | member
    return hint


plain_hints = st.recursive(
    _SCALARS,
    lambda deeper: st.one_of(
        deeper.map(lambda hint: list[hint]),  # type: ignore[valid-type]  # made at run time
        st.tuples(st.sampled_from([str, int]), deeper).map(lambda pair: dict[pair]),  # type: ignore[misc,valid-type]
        st.lists(deeper | st.just(types.NoneType), min_size=2, max_size=3).map(_unite),
    ),
    max_leaves=5,
)


def decode(codec: Any, value: Any) -> Any:
    """Return the decoded value and its type, or the refusal in words."""
    try:
        decoded = codec.decode(value)
    except Refusal as refusal:
        return str(refusal)
    return repr(decoded)


@given(plain_hints, st.lists(json_values(), max_size=4))
def test_a_cached_codec_equals_a_new_one(hint, values):
    """Its schema has the same order of members, and it decodes the same values."""
    cached_codec = create_hint_reader().codec(hint)
    own = create_hint_reader()._rules
    fresh = HintReader(CodecRules(own.by_origin, own.by_predicate)).read_hint(hint)
    assert json.dumps(cached_codec.schema) == json.dumps(fresh.schema)
    assert [decode(cached_codec, value) for value in values] == [decode(fresh, value) for value in values]


def test_a_plain_codec_is_built_once():
    """All tools of all modules share it."""
    create_hint_reader()._rules.plain_codecs.clear()
    assert create_hint_reader({"a": 1}).codec(list[str] | None) is create_hint_reader({"b": 2}).codec(list[str] | None)


def test_the_order_of_a_union_counts():
    """Python compares the two unions as equal."""
    assert (int | str) == (str | int)
    reader = create_hint_reader()
    assert reader.codec(list[int | str]).schema != reader.codec(list[str | int]).schema


@pytest.mark.parametrize("hint", [Any, "int", object, Optional[int], tuple[int, ...], set[int], list, Tool, None, 5])
def test_any_other_hint_is_not_plain(hint):
    """It may mean another type elsewhere, or carry a marker. `list` alone is plain."""
    assert (plain_key(hint) is None) == (hint is not list)


@pytest.mark.usefixtures("own_forms")
def test_a_codec_that_is_registered_later_counts():
    """This holds also inside a hint that was read before."""
    assert create_hint_reader().codec(list[bool]).schema["items"] == {"type": "boolean"}
    register_codec(bool, schema={"type": "string"}, decode=lambda text: text == "yes", encode=str)
    assert create_hint_reader().codec(list[bool]).schema["items"]["type"] == "string"


def test_members_without_a_json_form_are_left_out_as_ever():
    """The reader of the tool notes them, so that its author is told."""

    def plain(x: dict[list[int], int] | int = 0) -> None:
        """Take it."""

    def spelt(x: Union[dict[list[int], int], int] = 0) -> None:
        """Take it."""

    def read(function: Any) -> Any:
        try:
            return Tool.described(function, name="f").schema
        except Exception as error:  # noqa: BLE001 -- compared in words
            return str(error).replace("spelt", "plain")

    assert read(plain) == read(spelt)
