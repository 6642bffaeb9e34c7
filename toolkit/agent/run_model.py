"""The model of a run, for a tool that asks it with `context.sample`: within the budget of the run, without tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..errors import ProviderError, ToolError, Transient
from ..providers.base import Request
from ..providers.messages import AssistantMessage, Message, UserMessage
from ..steps.call_step import current_step
from .active_run import ActiveRun

__all__ = ["RunModel"]


class RunModel:
    """Asks the provider of *active_run*. What it uses counts in the budget of the run."""

    def __init__(self, active_run: ActiveRun) -> None:
        self._active_run = active_run

    async def sample(
        self, context: Context, key: str, messages: Sequence[Mapping[str, str]], system: str, max_tokens: int
    ) -> str:
        """Return the answer to *messages*; raise `ToolError` if the budget is used up or the provider fails."""
        active_run = self._active_run
        limit = active_run.ledger.find_reached_limit()
        if limit is not None:
            raise ToolError(f"the model cannot be asked: {limit[1]}")
        request = Request(messages=tuple(map(_build_message, messages)), system=system, max_tokens=max_tokens)
        try:
            async with asyncio.timeout(active_run.ledger.remaining_seconds()):
                reply = await active_run.ask_model(lambda: active_run.options.provider.reply(request))
        except (ProviderError, Transient, TimeoutError) as error:
            reason = str(error) or active_run.ledger.explain_limit("seconds")[1]
            raise ToolError(f"the model did not answer: {reason}") from error
        active_run.usage += reply.usage
        expense, step = active_run.ledger.add_reply(reply.usage, reply.model, is_turn=False), current_step.get()
        if step is not None and active_run.steps is not None:
            step.spent += expense  # it is kept with the result of the call
        return reply.message.text

    async def list_roots(self, context: Context) -> Any:
        """Return None: an agent has no client that could name folders."""
        return None


def _build_message(message: Mapping[str, str]) -> Message:
    text = message["content"]
    return UserMessage.of(text) if message["role"] == "user" else AssistantMessage(text=text)
