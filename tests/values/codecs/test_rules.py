"""Each family of types exports its rules, and one module adds them up."""

from collections import Counter

import pytest

from toolkit.values.codecs.base import CodecRules, HintReader
from toolkit.values.codecs.foreign import register_codec
from toolkit.values.codecs.refusals import Undescribable
from toolkit.values.codecs.rules import all_families, create_hint_reader


def test_no_two_families_claim_one_hint():
    """The order of the families decides between predicates, and never between origins."""
    claims = Counter(origin for family in all_families() for origin in family.by_origin)
    assert [origin for origin, count in claims.items() if count > 1] == []


def test_a_hint_reader_uses_only_its_rules():
    """No table outside the reader adds rules to it."""
    assert create_hint_reader().codec(int).schema == {"type": "integer"}
    with pytest.raises(Undescribable, match="int has no JSON form"):
        HintReader(CodecRules()).codec(int)


@pytest.mark.usefixtures("own_forms")
def test_a_registered_codec_comes_before_the_rules():
    """A program may replace the form of a type that the package knows."""
    register_codec(
        complex, schema={"type": "array"}, decode=lambda pair: complex(*pair), encode=lambda c: [c.real, c.imag]
    )
    assert create_hint_reader().codec(complex).decode([1, 2]) == 1 + 2j
