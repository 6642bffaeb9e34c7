"""What a check notes of calls that fail."""

from __future__ import annotations

from typing import Annotated

import pytest

from toolkit import Catalog, ToolError, ToolkitWarning
from toolkit.spec import Tool
from toolkit.testing import check_catalog, check_tool


def test_a_note_says_that_all_calls_failed():
    def find_order(order: Annotated[str, "Which one."]) -> str:
        """Find an order."""
        raise ToolError(f"there is no order {order}")

    spec = Tool.described(find_order, read_only=True)
    with pytest.warns(ToolkitWarning, match="`find_order`: all .* calls failed, such as: .*there is no order"):
        check_tool(spec, examples=10)


def test_a_note_on_calls_that_fail_has_no_advice_for_the_model():
    def count(order: Annotated[str, "Which one."]) -> int:
        """Count an order."""
        raise ToolError("There is\nno such order.")

    notes = []
    check_tool(Tool.described(count, read_only=True), examples=10, on_note=notes.append)
    (note,) = notes
    assert "calls failed, such as: There is no such order, so the laws have seen little of it; give" in note


def test_a_tool_with_examples_or_without_parameters_may_always_give_the_same_answer():
    def greet(name: Annotated[str, "Who."]) -> str:
        """Greet a person."""
        return "hello"

    def wave() -> str:
        """Wave."""
        return "hello"

    catalog = Catalog(Tool.described(greet, read_only=True, examples=[{"name": "ada"}]))
    catalog.add(Tool.described(wave, read_only=True))
    check_catalog(catalog, examples=10)
