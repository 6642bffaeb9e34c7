"""What a person sees of a value: one line as text, and Markdown in a notebook."""

from __future__ import annotations

import pytest

from toolkit import Agent, Catalog, Dispatcher, Tool, ToolResult
from toolkit._plumbing.markdown import build_table, fence_text
from toolkit.providers import ScriptedProvider

catalog = Catalog()


@catalog.tool(read_only=True)
def add(a: int, b: int) -> int:
    """
    Add two numbers.

    It takes | and *stars*.
    """
    return a + b


def make_values():
    """Return one value of each class that people look at."""
    run = Agent(ScriptedProvider(["Three.\n" * 50]), catalog).run_sync("How many?")
    many = Catalog([Tool.from_schema(f"tool_{number}", "Do it.", {}, lambda arguments: 1) for number in range(300)])
    return [catalog["add"], catalog, many, Dispatcher(add).call_sync("add", {"a": 1, "b": 2}), run]


@pytest.mark.parametrize("value", make_values(), ids=lambda value: type(value).__name__)
def test_the_repr_of_a_value_is_one_short_line(value):
    assert "\n" not in repr(value)
    assert len(repr(value)) < 160


def test_a_tool_names_the_facts_that_are_set():
    """It also names its origin, unless that is this program."""
    assert repr(catalog["add"]) == "<Tool add, read_only>"
    foreign = Tool.from_schema("stars", "Count stars.", {}, lambda arguments: 1, origin="mcp:github", destructive=True)
    assert repr(foreign) == "<Tool stars, destructive, mcp:github>"


def test_a_catalog_is_a_table_in_a_notebook():
    """The table has the first line of each description, and a large one is cut."""
    assert catalog._repr_markdown_().splitlines()[-1] == r"| add | Add two numbers. |"
    assert make_values()[2]._repr_markdown_().endswith("\n\nand 250 more")


def test_the_text_of_a_tool_cannot_leave_its_place():
    """It cannot close the fence around it, or the cell of a table."""
    hostile = "```\n<script>alert(1)</script>\n````"
    assert fence_text(hostile) == f"`````\n{hostile}\n`````"
    assert hostile in ToolResult(hostile, tool="x")._repr_markdown_()
    assert build_table(("a",), [("x | <b>\n*y*",)]).splitlines()[-1] == r"| x \| \<b\> \*y\* |"
    assert len(fence_text("x" * 10_000)) < 5000
