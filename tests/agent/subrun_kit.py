"""Helpers for the tests of runs inside runs."""

from __future__ import annotations

from tests.agent.kit import Shed
from toolkit.agent import sub_run
from toolkit.context import Context
from toolkit.providers import AssistantMessage, Reply, Usage

__all__ = ["script_by_prompt", "shed_with_helper", "spending"]


def shed_with_helper(mode="default", tools=("look", "cut", "help"), rules=(), **facts) -> Shed:
    """Return a shed in which one tool lets the model work on a prompt of its own."""
    shed = Shed(mode, rules)
    facts.setdefault("read_only", True)

    @shed.catalog.tool(name="help", **facts)
    async def helper(task: str, context: Context) -> str:
        """Have a helper do something."""
        answer = await sub_run(task, context=context, tools=tools, system="You are a helper.")
        return f"the helper says: {answer}"

    return shed


def script_by_prompt(**turns):
    """Replies by prompt: what is said to each, turn by turn."""
    left = {prompt: list(replies) for prompt, replies in turns.items()}

    def say(request):
        return left[request.messages[0].text].pop(0)

    return [say] * 50


def spending(step, tokens=100):
    """Return a reply that costs so many tokens, with calls or with an answer."""
    calls = tuple(step) if isinstance(step, list) else ()
    message = AssistantMessage(text="" if calls else step, calls=calls)
    return Reply(message=message, stop="calls" if calls else "answer", usage=Usage(input_tokens=tokens))
