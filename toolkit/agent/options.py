"""
The options of an agent that stay the same from run to run. They are checked when they are given.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args

from typing_extensions import TypedDict

from .._option_checks import OptionTypes, check_option_types, explain_unknown_choice
from ..hooks.base import SpanRecorder
from ..permissions.modes import Mode
from ..providers.base import Provider, StructuredProvider
from ..session import Session
from ..steps.base import Steps
from ..steps.expense import Expense
from .budgets import Budget, Ledger
from .events import Event
from .final_answers import AnswerFormat
from .prompts import PLAN_PROMPT, SUMMARY_PROMPT
from .saved.runs import Run

__all__ = ["AGENT_ATTRIBUTES", "AGENT_WORDS", "RUN_WORDS", "AgentKeywords", "AgentOptions", "OutputWay", "RunKeywords"]

OutputWay: TypeAlias = Literal["tool", "provider"]
"""How a typed answer is asked for: as a call of a tool, or as text with the provider's own structured output."""

_OPTION_TYPES: OptionTypes = {
    **dict.fromkeys(("system", "name", "description"), ((str,), "a text, or leave it out")),
    "max_turns": ((int,), "a whole number, such as 50"),
    "budget": ((Budget,), "Budget(tokens=..., seconds=...), or leave it out for no limit"),
    "on_event": ((Callable, NoneType), "a function of the event, or None"),
    "plan_prompt": ((str,), "a text, or leave it out for the usual one"),
    "frame_results": ((bool,), "True or False"),
    "output_retries": ((int,), "a whole number, such as 2"),
    "compact_at": ((int, NoneType), "a whole number of characters, or None"),
    "summary_prompt": ((str, NoneType), "a text, or None to sum up nothing"),
    "clock": ((Callable,), "a function that returns seconds, such as time.monotonic"),
}


class AgentKeywords(TypedDict, total=False):
    """The options of `Agent` that do not depend on the type of its answer. The docstring of `Agent` explains them."""

    system: str
    name: str
    description: str
    hand_over_to: Iterable[Any]
    mode: Mode | None
    max_turns: int
    budget: Budget
    on_event: Callable[[Event], object] | None
    plan_prompt: str
    plan_tools: Iterable[str] | None
    frame_results: bool
    compact_at: int | None
    summary_prompt: str | None
    output_retries: int
    output_by: OutputWay | None
    session: Session | None
    steps: Steps | None
    telemetry: SpanRecorder | None
    clock: Callable[[], float]


class RunKeywords(TypedDict, total=False):
    """The options of `Agent.run`, which explains them."""

    run: Run[Any] | None
    resources: Mapping[Any, Any] | None


AGENT_WORDS = {
    **dict.fromkeys(("instructions", "system_prompt", "system_message"), "the system prompt is `system`"),
    **dict.fromkeys(("output_type", "result_type", "response_format", "response_model"), "that type is `output`"),
    **dict.fromkeys(("max_iterations", "max_steps", "recursion_limit"), "that limit is `max_turns`"),
    **dict.fromkeys(("callbacks", "callback", "event_handler"), "give a function of the events as `on_event`"),
    **dict.fromkeys(("functions", "toolsets"), "the tools are the second argument, `tools`"),
    **dict.fromkeys(
        ("model", "llm", "client"),
        "the model belongs to the first argument, `provider`, such as 'anthropic:MODEL'",
    ),
    **dict.fromkeys(
        ("temperature", "max_tokens", "top_p", "model_settings", "timeout"),
        "give it to the provider, which sends it to the model",
    ),
    **dict.fromkeys(
        ("hooks", "permissions", "approvals", "safety", "audit", "retry", "retries", "resources"),
        "give it to the `Dispatcher` that the agent gets as `tools`",
    ),
    **dict.fromkeys(("deps", "deps_type", "context"), "tools get such objects with `Dispatcher(resources=...)`"),
    **dict.fromkeys(
        ("handoffs", "handoff", "handover", "transfers"),
        "the agents that may go on with the conversation are `hand_over_to`",
    ),
    **dict.fromkeys(
        ("agents", "sub_agents", "subagents", "managed_agents"),
        "another agent is a tool by `agent.as_tool(name, description)`, or it goes on by `hand_over_to=[agent]`",
    ),
    "handoff_description": "what an agent is for is its `description`",
    "memory": "a conversation goes on with `run(prompt, run=earlier_run)`",
    "middleware": "give `hooks` to the `Dispatcher` that the agent gets as `tools`",
    "usage_limits": "the limits are `max_turns` and `budget=Budget(...)`",
    "checkpointer": "what a run has done is kept by `steps`; see toolkit.durable",
}
"""What other libraries call an option of an agent, and what to write here."""

AGENT_ATTRIBUTES = {
    **dict.fromkeys(("tool", "tool_plain"), "tools are the second argument: `Agent(provider, [function])`"),
    **dict.fromkeys(
        ("run_stream", "run_streamed", "iter", "astream"), "write `agent.stream(prompt)`, which yields events"
    ),
    **dict.fromkeys(("invoke", "ainvoke", "kickoff"), "write `agent.run_sync(prompt)`, or `await agent.run(prompt)`"),
}
"""What other libraries call a method of an agent, and what to write here."""

RUN_WORDS = {
    **dict.fromkeys(
        ("message_history", "messages", "history", "thread_id"), "a conversation goes on with `run=earlier_run`"
    ),
    **dict.fromkeys(("user_prompt", "input"), "the prompt is the first argument, `prompt`"),
    **dict.fromkeys(("deps", "context"), "tools get such objects with `resources={type: object}`"),
    **dict.fromkeys(
        ("usage_limits", "max_turns", "budget"), "limits belong to `Agent(max_turns=..., budget=Budget(...))`"
    ),
    **dict.fromkeys(
        ("model", "instructions", "session", "mode"), "it is the same for all runs; give it to `Agent(...)`"
    ),
}
"""What other libraries call an option of one run, and what to write here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The options of `Agent` that say how it talks to the model, and how much a run may use."""

    provider: Provider
    system: str = ""
    name: str = ""
    description: str = ""
    max_turns: int = 50
    budget: Budget = Budget()  # noqa: RUF009 -- it is immutable
    on_event: Callable[[Event], object] | None = None
    plan_prompt: str = PLAN_PROMPT
    frame_results: bool = False
    compact_at: int | None = 400_000
    summary_prompt: str | None = SUMMARY_PROMPT
    clock: Callable[[], float] = time.monotonic
    output: AnswerFormat | None = None
    output_retries: int = 2
    output_by: OutputWay | None = None
    steps: Steps | None = None

    def __post_init__(self) -> None:
        provider = self.provider
        if not callable(getattr(provider, "reply", None)) or isinstance(provider, type):
            raise TypeError(f"a provider has `reply` and `stream`, and {provider!r} has not; see toolkit.providers")
        check_option_types({option.name: getattr(self, option.name) for option in fields(self)}, _OPTION_TYPES)
        if self.max_turns < 1:
            raise ValueError(f"max_turns has to be at least 1, got {self.max_turns!r}")
        self._check_output()
        if self.compact_at is not None and self.compact_at < 1000:
            raise ValueError(f"compact_at has to be at least 1000 characters, or None; got {self.compact_at!r}")
        if inspect.iscoroutinefunction(self.on_event):
            raise TypeError("on_event is called and not awaited; give a plain function, or use `stream`")
        if not self.plan_prompt.strip():
            raise ValueError("plan_prompt is empty; leave it out for the usual one")
        if self.summary_prompt is not None and not self.summary_prompt.strip():
            raise ValueError("summary_prompt is empty; leave it out for the usual one, or give None to sum up nothing")
        if self.steps is not None and (
            isinstance(self.steps, type) or not all(hasattr(self.steps, name) for name in ("reply", "call"))
        ):
            raise TypeError(f"steps have `reply` and `call`, and {self.steps!r:.80} has not; see toolkit.agent.Steps")
        if self.budget.prices is not None:
            self.build_ledger(Expense()).check_prices(provider)  # it raises before an answer has cost money

    def _check_output(self) -> None:
        if self.output_retries < 0:
            raise ValueError(f"output_retries has to be 0 or more, got {self.output_retries!r}")
        if self.output_by is not None and self.output_by not in get_args(OutputWay):
            raise ValueError(f"output_by: {explain_unknown_choice(self.output_by, get_args(OutputWay))}")
        if self.output_by == "provider" and not isinstance(self.provider, StructuredProvider):
            raise ValueError(
                f'output_by: {type(self.provider).__name__} has no structured output; write output_by="tool", '
                "or give it a method `structures_output`"
            )

    def structures_output(self, *, has_tools: bool) -> bool:
        """Return whether a typed answer is asked for as text, with the provider's own structured output."""
        if self.output is None or self.output_by is not None:
            return self.output is not None and self.output_by == "provider"
        provider = self.provider
        return isinstance(provider, StructuredProvider) and provider.structures_output(
            self.output.tool, has_tools=has_tools
        )

    def build_ledger(self, spent: Expense, *, is_replayed: bool = False) -> Ledger:
        return Ledger(
            self.budget,
            self.max_turns,
            model=self.provider.model,
            spent=spent,
            clock=self.clock,
            is_replayed=is_replayed,
        )
