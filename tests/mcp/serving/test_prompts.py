"""Skills are served as prompts."""

from __future__ import annotations

import pytest
from mcp import MCPError
from mcp_types import PromptReference

from tests.mcp.serving.kit import MODES, connected
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.skills import Skills

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

REVIEW = """---
name: review
description: Review a change.
arguments:
  - name: change
    description: The change.
  - name: lines
    type: integer
    required: false
---
Review {change} of {lines} lines.
"""


@pytest.fixture
def dispatcher(tmp_path):
    """A dispatcher with one skill beside one tool."""
    (tmp_path / "review.md").write_text(REVIEW)
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    return Dispatcher(Skills(catalog, tmp_path))


async def test_skills_are_prompts(dispatcher, mode):
    """A prompt has the name, the description and the arguments of its skill; tools are no prompts."""
    async with connected(dispatcher, mode) as client:
        [prompt] = (await client.list_prompts()).prompts
        result = await client.get_prompt("review", {"change": "main.py", "lines": "12"})
    assert (prompt.name, prompt.description) == ("review", "Review a change.")
    assert [(argument.name, argument.required) for argument in prompt.arguments] == [("change", True), ("lines", False)]
    [message] = result.messages
    assert message.content.text.startswith("Review main.py of 12 lines.")


async def test_a_skill_in_a_view_with_a_prefix_is_a_prompt_of_that_name(dispatcher, mode):
    """The name that is listed is the one that can be asked for."""
    prefixed = Dispatcher(dispatcher.catalog.prefixed("my_"))
    async with connected(prefixed, mode) as client:
        [prompt] = (await client.list_prompts()).prompts
        result = await client.get_prompt(prompt.name, {"change": "main.py"})
    assert prompt.name == "my_review"
    assert result.messages[0].content.text.startswith("Review main.py")


async def test_a_skill_that_the_rules_never_allow_is_not_a_prompt(dispatcher, mode):
    """It is not listed and not returned, and its arguments are not completed."""
    denying = Dispatcher(dispatcher.catalog, permissions=Permissions("default", ["deny review"]))
    async with connected(denying, mode) as client:
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="unknown prompt 'review'; there are none"):
            await client.get_prompt("review", {"change": "main.py"})
        reference = PromptReference(type="ref/prompt", name="review")
        completion = await client.complete(reference, {"name": "change", "value": ""})
    assert completion.completion.values == []


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("reviews", {}, "unknown prompt 'reviews'; there are review"),
        ("look", {}, "unknown prompt 'look'"),
        ("review", {}, "change: required"),
        ("review", {"change": "a", "lines": "many"}, "lines: expected an integer"),
    ],
)
async def test_a_prompt_that_cannot_be_made_is_an_error(dispatcher, mode, name, arguments, problem):
    """The message says what is wrong."""
    async with connected(dispatcher, mode) as client:
        with pytest.raises(MCPError, match=problem) as caught:
            await client.get_prompt(name, arguments)
    assert caught.value.code == -32602
