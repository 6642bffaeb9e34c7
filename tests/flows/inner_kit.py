"""A shop whose agents pay bills inside the steps of a flow."""

from __future__ import annotations

import itertools

from tests.flows.kit import Edited, Task
from toolkit import Agent, Catalog, Context, Decision, Dispatcher, Permissions, ToolCall
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider, UserMessage


class BillShop:
    """A till, and agents whose model pays a bill and answers. Its replies depend on the conversation alone."""

    def __init__(self):
        self.paid = []
        self.run_ids = []
        self.catalog = Catalog()

        @self.catalog.tool(destructive=True)
        def pay(bill: str) -> str:
            """Pay a bill."""
            self.paid.append(bill)
            return f"{bill} is paid"

        @self.catalog.tool
        def note(text: str, context: Context) -> str:
            """Note a text."""
            self.paid.append(text)
            self.run_ids.append(context.run_id)
            return "noted"

    def agent(self, *calls, mode="default", **options):
        """Return an agent that makes *calls* for each prompt, one after the other, with the prompt as the argument."""

        def play(request):
            prompt = next(message.text for message in reversed(request.messages) if isinstance(message, UserMessage))
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            if turn < len(calls):
                argument = "bill" if calls[turn] == "pay" else "text"
                return [ToolCall(calls[turn], {argument: prompt}, f"c{turn}")]
            return f"done: {prompt}"

        dispatcher = Dispatcher(self.catalog, permissions=Permissions(mode))
        return Agent(ScriptedProvider(itertools.repeat(play)), dispatcher, **options)


def build_flow(work, **options):
    """Return a flow whose only step is *work*."""
    flow = Flow[Edited]("inner")

    @flow.step(**options)
    async def edit(task: Task, context: Context) -> Edited:
        return Edited(await work(task, context))

    return flow


def approve(waiting):
    return {request.id: Decision.approve(by="ada") for request in waiting.requests}


def build_front(shop):
    """Return an agent that hands its conversation over to another, which pays and answers."""
    billing = shop.agent("hand over", "pay", name="billing", description="Pays bills.")
    provider = ScriptedProvider(itertools.repeat([ToolCall("hand_over_to_billing", {}, "h")]))
    return Agent(provider, Dispatcher(Catalog(), permissions=Permissions("default")), hand_over_to=[billing])
