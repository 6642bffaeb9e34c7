"""Agents and providers as users write them; checked by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import assert_type

from toolkit import (
    Agent,
    ApprovalRequest,
    Catalog,
    Context,
    Decision,
    Dispatcher,
    Session,
    Tool,
    ToolCall,
    ToolResult,
)
from toolkit.agent import Budget, Done, Run, ToolFinished, sub_run
from toolkit.formats import Definitions, anthropic
from toolkit.providers import (
    AnthropicProvider,
    FallbackProvider,
    Reply,
    Request,
    ScriptedProvider,
    UserMessage,
    create_provider,
)
from toolkit.skills import Skills


@dataclass
class Bill:
    total: float


class KeptSteps:
    """Steps that keep nothing."""

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        return await ask()

    async def call(
        self,
        key: str,
        call: ToolCall,
        work: Callable[[Callable[[], Awaitable[None]]], Awaitable[ToolResult]],
        *,
        may_repeat: bool,
        session: Session,
    ) -> ToolResult:
        async def begin() -> None: ...

        return await work(begin)


async def helper(context: Context) -> float:
    assert_type(context.idempotency_key, str)
    assert_type(await sub_run("How?", context=context), str)
    assert_type(await sub_run("How?", context=context, provider="groq:a-model", budget=Budget(tokens=5)), str)
    return (await sub_run("How much?", context=context, output=Bill)).total


async def agents(dispatcher: Dispatcher, session: Session, catalog: Catalog) -> None:
    provider = ScriptedProvider(["hello", [ToolCall("add", {"a": 1})], lambda request: request.system])
    agent = Agent(provider, dispatcher, system="Be kind.", mode="plan", budget=Budget(tokens=1000), session=session)
    run = await agent.run("Do it.")
    assert_type(agent.run_sync("Do it."), Run)
    assert_type(agent.resume_sync(run, {"id": Decision.approve()}), Run)
    assert_type(agent.execute_sync(run, mode="auto"), Run)
    assert_type(run, Run)
    assert_type(run.text, str)
    assert_type(run.requests, tuple[ApprovalRequest, ...])
    run = await agent.resume(Run.loads(run.dumps()), {pending.id: Decision.approve() for pending in run.requests})
    assert_type(await agent.execute(run, mode="auto"), Run)
    async for event in agent.stream("More.", run=run):
        if isinstance(event, Done):
            assert_type(event.run, Run[Any])
        elif isinstance(event, ToolFinished):
            assert_type(event.result, ToolResult)
    async with AnthropicProvider("a-model", api_key="key", cache="1h", native_loading=True) as remote:
        reply = await remote.reply(Request(messages=(UserMessage.of("hi"),), catalog=catalog))
    assert_type(reply, Reply)
    assert_type(reply.usage.input_tokens, int)
    assert_type(reply.usage.result_tokens, Mapping[str, int])
    Agent(remote, [len], on_event=print, steps=KeptSteps())
    fallback = FallbackProvider("anthropic:a-model", remote, create_provider("groq:a-model", max_tokens=100))
    assert_type(Agent(fallback, [len]).run_sync("Do it."), Run)
    assert_type(Agent("groq:a-model", [len], output=Bill).run_sync("Do it."), Run[Bill])
    assert_type(run.unwrap(), str)
    assert_type(run.output, str)
    billing = Agent(remote, [len], name="billing", description="Pays bills.")
    assert_type(billing.as_tool("ask_billing", "Ask about bills.", read_only=True), Tool)
    assert_type(Agent(remote, [billing.as_tool()], hand_over_to=[billing]).run_sync("Pay it.").agent, str)
    billing.hand_over_to(agent)
    typed = Agent(remote, [len], output=Bill, output_retries=1, system="Be kind.")
    assert_type(typed, Agent[Bill])
    assert_type((await typed.run("How much?")).output, Bill)
    assert_type(await typed.run("How much?"), Run[Bill])
    assert_type((await typed.resume(Run.loads("", output=Bill), {})).unwrap(), Bill)
    assert_type(Run.loads("", output=Bill).output, Bill)
    assert_type(Agent(remote, [], output=list[int]), Agent[list[int]])
    choice: Agent[Literal["yes", "no"]] = Agent(remote, [], output=Literal["yes", "no"])
    assert_type((await choice.run("Well?")).output, Literal["yes", "no"])
    plain: Agent = Agent(remote, [])
    assert_type((await plain.run("Well?")).output, str)
    skills = Skills(catalog, "skills", project=".")
    assert_type(skills.expanded("/greet Ada"), str)
    assert_type(anthropic.definitions(catalog, session, strict=True), Definitions)
    assert_type(anthropic.calls({"content": []}), list[ToolCall])
