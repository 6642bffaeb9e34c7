"""Drive an agent from the command line: start a run or continue it, ask the user about requests and plans."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..agent import Agent, Done, Run
from ..approvals import Approvals
from ..builders import build_agent, build_provider, find_instructions
from ..decisions import Decision
from ..errors import ProviderError
from ..providers.base import Provider
from ..providers.messages import AssistantMessage, UserMessage
from ..providers.scripted import ScriptedProvider
from ..steps.expense import Expense
from .approval_prompt import InterruptiblePrompt, confirm, make_prompt
from .call_policy import CallOptions, dispatcher_for, resources_of_call
from .display.agent_display import AgentDisplay
from .exit_codes import RUN_EXITS
from .failures import Failure
from .interruptible_loop import InterruptibleLoop, open_interruptible_loop
from .output import Output
from .saved_files import SavedFile, SavedKind
from .settings_options import note_instructions
from .targets import Target
from .user_extensions import open_extended_target

__all__ = ["RUN", "RunDriver", "open_agent", "open_driver"]

RUN: SavedKind[Run] = SavedKind("run", Run.loads, Run.dumps)
_REFUSAL = "no person could be asked, and the user has gone on with another prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDriver:
    """
    Drives an agent.

    Without *prompt*, no person is asked. With *asks_afterwards*, the user is asked about requests when the run waits,
    because the dispatcher of the target has its own way to ask. *expand_skills* replaces `/name text` in a prompt.
    """

    loop: InterruptibleLoop
    agent: Agent
    display: AgentDisplay
    prompt: InterruptiblePrompt | None
    resources: Mapping[Any, Any] | None = None
    asks_afterwards: bool = False
    expand_skills: Callable[[str], str] = str

    @property
    def is_interrupted(self) -> bool:
        """Whether the user has left a request open, by Ctrl-C at the question."""
        return self.prompt is not None and self.prompt.is_interrupted

    def run(self, prompt_text: str | None, run: Run | None, *, refuses_requests: bool = False) -> Run:
        """
        Start a run, or continue *run* from where it was, and return it.

        If the run has a plan and the user agrees to it, the plan is carried out too. With *refuses_requests*, a prompt
        for a run that waits refuses what it waits for.
        """
        if run is not None and run.status == "waiting":
            if prompt_text is None:
                work = self._ask_and_resume(run)
            elif refuses_requests:
                work = self._refuse_and_resume(run, prompt_text)
            else:
                raise Failure("the run waits for answers; give them first, with --resume and without a PROMPT")
            run = self.loop.run(work)
        elif run is not None and run.status == "planned" and prompt_text is None:
            self.display.show(Done(run))
        elif prompt_text is None and (
            run is None or not run.messages or isinstance(run.messages[-1], AssistantMessage)
        ):
            raise Failure("the run is over, so there is nothing to continue; give a prompt")
        else:
            self.display.thinking()
            run = self.loop.run(self.agent.run(prompt_text, run=run, resources=self.resources))
        run = self._ask_while_waiting(run)
        # The user is asked outside of the loop, because the loop would keep Ctrl-C from the question.
        if run.status == "planned" and self.prompt is not None and confirm("Carry out this plan?"):
            self.display.thinking()
            run = self.loop.run(self.agent.execute(run, resources=self.resources))
            run = self._ask_while_waiting(run)
        return run

    def _ask_while_waiting(self, run: Run) -> Run:
        """Ask the user about the requests of *run* as long as it waits and the user answers."""
        while self.asks_afterwards and self.prompt is not None and run.status == "waiting":
            before, run = run, self.loop.run(self._ask_and_resume(run))
            if run is before:
                break
        return run

    async def _ask_and_resume(self, run: Run) -> Run:
        """
        Ask the user about each request of a run that waits, and resume it. A request without an answer keeps waiting.

        After Ctrl-C the run is returned as it was: none of its calls runs, and each is asked about again the next time.
        """
        approvals = Approvals(ask=self.prompt)
        answers = {request.id: await approvals.answer(request, asyncio.to_thread) for request in run.requests}
        decisions = {key: decision for key, decision in answers.items() if decision is not None}
        if self.is_interrupted or (self.prompt is not None and not decisions):
            return run
        return await self.agent.resume(run, decisions, resources=self.resources)

    async def _refuse_and_resume(self, run: Run, prompt_text: str) -> Run:
        """Refuse each request of a run that waits, and resume it. The model reads the refusals and *prompt_text*."""
        message = UserMessage.of(self.expand_skills(prompt_text))
        refusals = {request.id: Decision.deny(_REFUSAL, principal=request.principal) for request in run.requests}
        self.display.thinking()
        # A prompt has a budget of its own.
        run = replace(run, unread=(*run.unread, message), spent=Expense())
        return await self.agent.resume(run, refusals, resources=self.resources)

    def note_requests(
        self, run: Run | None, saved: SavedFile[Run], output: Output, *, next_line_refuses: bool = False
    ) -> None:
        """Tell the user which requests wait, and how to answer them, unless the user has just left them open."""
        if run is None or run.status != "waiting" or self.is_interrupted:
            return
        for request in run.requests:
            output.note(f"waiting: `{request.tool}` did not run (request {request.id})", "yellow")
        remedy = (
            "--save FILE keeps a request" if saved.path is None else f"answer in a terminal with --resume {saved.path}"
        )
        if all(request.is_approval for request in run.requests):
            remedy += ", and in a new run --mode or --rule permits such a call (toolkit explain shows what asks)"
        if next_line_refuses:
            remedy += "; the next line refuses what waits"
        output.note(remedy, "yellow")

    @contextlib.contextmanager
    def save_afterwards(self, saved: SavedFile[Run]) -> Iterator[None]:
        """Write the agent's run to its file after the block, also if the block was broken off, as Ctrl-C does."""
        try:
            yield
        finally:
            if self.agent.last_run is not None:
                saved.write(self.agent.last_run)


@contextlib.contextmanager
def open_driver(
    target: str, options: CallOptions, output: Output, saved: SavedFile[Run], *, needs_key: bool = False
) -> Iterator[RunDriver]:
    """
    Yield a driver for an agent with the tools of *target*, which is closed at the end of the block.

    The servers of the settings are started for it, and have ended after the block. *needs_key* says whether a missing
    key ends the command at once, and not with the first prompt.
    """
    provider = build_provider(options.settings)
    if needs_key and not isinstance(provider, ScriptedProvider):
        try:
            provider.require_key()
        except ProviderError as error:
            raise Failure(str(error), RUN_EXITS["failed"]) from error
    with AgentDisplay(output.error_console if output.is_json else output.console) as display:
        prompt = make_prompt(options.asks, display.paused)
        opened_agent = open_agent(
            target, options, output, provider=provider, prompt=prompt, saved=saved, on_event=display.show
        )
        with (
            opened_agent as (agent, loaded_target, resources),
            open_interruptible_loop(take_interrupt=None if prompt is None else prompt.interrupt) as loop,
        ):
            yield RunDriver(
                loop=loop,
                agent=agent,
                display=display,
                prompt=prompt,
                resources=resources,
                asks_afterwards=loaded_target.dispatcher is not None,
                expand_skills=getattr(loaded_target.catalog, "expanded", str),
            )
            loop.run(provider.aclose())


@contextlib.contextmanager
def open_agent(
    name: str,
    options: CallOptions,
    output: Output,
    *,
    provider: Provider | None = None,
    prompt: InterruptiblePrompt | None = None,
    saved: SavedFile[Run] | None = None,
    **agent_options: Any,
) -> Iterator[tuple[Agent, Target, Mapping[Any, Any] | None]]:
    """Yield an agent made by the settings, its target, and the resources that go with every call."""
    settings = options.settings
    opened_target = open_extended_target(name, output, settings=settings, starts_servers=options.starts_servers)
    with opened_target as target:
        resources, store = resources_of_call(target, options), None if saved is None else saved.store()
        dispatcher = dispatcher_for(target, options, output, asker=prompt, store=store)
        instructions = find_instructions(settings)
        note_instructions(instructions, output)
        with contextlib.closing(dispatcher):
            agent = build_agent(settings, dispatcher, provider=provider, instructions=instructions, **agent_options)
            yield agent, target, resources
