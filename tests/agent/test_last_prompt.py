"""
The session of a run knows what the user asked for last.
"""

from __future__ import annotations

import pytest

from toolkit import Agent, Catalog, Context, ToolCall
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio


async def test_tools_of_a_run_see_the_last_prompt():
    prompts = []

    def note(context: Context) -> str:
        """Note it."""
        prompts.append(context.session.last_prompt)
        return "noted"

    call = AssistantMessage(calls=(ToolCall("note", {}),))
    provider = ScriptedProvider([call, "done", call, "done"])
    catalog = Catalog()
    catalog.tool(read_only=True)(note)
    agent = Agent(provider, catalog)
    run = await agent.run("Bill the customer.")
    await agent.run("And again.", run=run)
    assert prompts == ["Bill the customer.", "And again."]
