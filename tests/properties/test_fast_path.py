"""
jsonschema is the judge: the generated code in front of it never accepts what it refuses.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolkit.errors import BadArgs
from toolkit.spec import Tool
from toolkit.values.codecs import UNSURE

from .signatures import Case, cases
from .values import damaged, json_objects, same


def verdict(tool: Tool, arguments: Any, validation: Any) -> Any:
    """The decoded arguments, or the refusal."""
    try:
        return tool.check(arguments, validation=validation)
    except BadArgs as error:
        return error


def agree(tool: Tool, arguments: Any) -> None:
    """Both modes and plain jsonschema have to agree about *arguments*."""
    fast, slow = (verdict(tool, arguments, mode) for mode in ("fast", "jsonschema"))
    allowed = Draft202012Validator(tool.schema).is_valid(arguments)
    if isinstance(fast, BadArgs):
        assert isinstance(slow, BadArgs)
        assert str(fast) == str(slow)
        assert fast.problems
    else:
        assert allowed
        assert same(fast, slow)
    if not allowed:
        assert isinstance(slow, BadArgs)


@given(case=cases(), data=st.data())
def test_damaged_arguments_get_one_verdict(case: Case, data):
    """Arguments that nearly fit are judged alike by both modes, and never accepted against jsonschema."""
    agree(case.tool, data.draw(damaged(case.tool.encode(case.arguments))))


@given(case=cases(), arguments=json_objects())
def test_arbitrary_objects_get_one_verdict(case: Case, arguments):
    """Arguments that have nothing to do with the tool are judged alike, too."""
    agree(case.tool, arguments)


@given(case=cases())
def test_ordinary_arguments_take_the_fast_path(case: Case):
    """The fast path and the judge convert alike where the fast path is sure."""
    encoded = json.loads(json.dumps(case.tool.encode(case.arguments)))
    checker = case.tool.about.checker
    checker.check_and_convert(encoded, 0)
    converted = checker.check_and_convert(encoded, 0)
    if converted is not UNSURE:
        assert same(converted, case.tool.check(encoded, validation="jsonschema"))
