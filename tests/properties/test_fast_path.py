"""
jsonschema is the judge: the generated code in front of it never accepts what it refuses.
"""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.verdict_comparison import find_disagreement
from toolkit.values.codecs.code_writer import UNSURE

from .signatures import Case, cases
from .values import damaged, json_objects, same


@given(case=cases(), data=st.data())
def test_damaged_arguments_get_one_verdict(case: Case, data):
    """Arguments that nearly fit are judged alike by both modes, and never accepted against jsonschema."""
    assert find_disagreement(case.tool, data.draw(damaged(case.tool.encode(case.arguments)))) is None


@given(case=cases(), arguments=json_objects())
def test_arbitrary_objects_get_one_verdict(case: Case, arguments):
    """Arguments that have nothing to do with the tool are judged alike, too."""
    assert find_disagreement(case.tool, arguments) is None


@given(case=cases())
def test_ordinary_arguments_take_the_fast_path(case: Case):
    """The fast path and the judge convert alike where the fast path is sure."""
    encoded = json.loads(json.dumps(case.tool.encode(case.arguments)))
    checker = case.tool.about.checker
    checker.check_and_convert(encoded, 0)
    converted = checker.check_and_convert(encoded, 0)
    if converted is not UNSURE:
        assert same(converted, case.tool.check(encoded, validation="jsonschema"))
