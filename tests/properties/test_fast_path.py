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
from toolkit.values.codecs.code_writer import UNSURE

from .signatures import Case, cases
from .values import damaged, json_objects, same


def verdict(tool: Tool, arguments: Any, validation: Any) -> Any:
    """The decoded arguments, or the refusal."""
    try:
        return tool.check(arguments, validation=validation)
    except BadArgs as error:
        return error


def find_disagreement(tool: Tool, arguments: Any) -> str | None:
    """Return what the two modes and plain jsonschema do not agree about; None if they agree about *arguments*."""
    fast, slow = (verdict(tool, arguments, mode) for mode in ("fast", "jsonschema"))
    allowed = Draft202012Validator(tool.schema).is_valid(arguments)
    if isinstance(fast, BadArgs):
        is_same = isinstance(slow, BadArgs) and str(fast) == str(slow) and bool(fast.problems)
        return None if is_same else f"refused with {fast}, and not with {slow}"
    if not allowed:
        return f"jsonschema refuses it, and {fast} was accepted"
    return None if not isinstance(slow, BadArgs) and same(fast, slow) else f"{fast} is not {slow}"


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
