"""
The `Agent`: it lets a model work on a prompt with tools.

    agent = Agent(AnthropicProvider("..."), dispatcher, system="You are a careful engineer.")
    run = await agent.run("Mend the failing test.")
    run.status, run.text

A run is a value. `resume` takes a run that waits, with decisions. `execute` takes a run that has planned. `run`
continues any run that does not wait. A run can be saved as JSON, and each of these also works in another process. From
sync code, call `run_sync`, `resume_sync` and `execute_sync`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from types import NoneType
from typing import Any, Generic, Never, TypeAlias, cast, overload

from typing_extensions import TypeVar, Unpack

from .._option_checks import OptionTypes, add_other_words, check_option_names, check_option_types, require_list
from ..catalog import Catalog
from ..catalogs.views import CatalogView
from ..decisions import Decision
from ..dispatcher import Dispatcher
from ..facts import FactOptions
from ..permissions.modes import Mode, check_mode
from ..policies.costs import count_costs
from ..policies.retry import count_retries
from ..providers.base import Provider
from ..providers.messages import AssistantMessage, UserMessage
from ..session import Session
from ..spec import Tool
from ..steps.call_step import StepSetup
from ..steps.expense import Expense
from ..steps.requests import name_request
from .active_run import ActiveRun, RunEnding
from .agent_as_tool import build_agent_tool
from .agent_inputs import build_active_run, build_dispatcher, build_prompt, with_own_tools
from .conversation.run_inbox import RunInboxes
from .events import Event, stream_events
from .final_answers import AnswerFormat, check_name_is_free
from .hand_overs import add_hand_over, take_hand_over
from .inner_agents import RunOrder, find_step_for, run_in_step, wait_for_run
from .lifecycle import run_with_lifecycle
from .loop import run_turns
from .model_requests import choose_provider
from .options import AGENT_ATTRIBUTES, AGENT_WORDS, RUN_WORDS, AgentKeywords, AgentOptions, RunKeywords
from .plan_mode import check_execution, resolve_plan_tools, with_plan
from .prompts import EXECUTE_PROMPT
from .resume import Decisions, check_decisions, withdraw_unknown_requests
from .saved.runs import Run, check_run
from .subruns import resume_turns
from .toolbox import Toolbox

__all__ = ["Agent"]

Prompt: TypeAlias = str | UserMessage
Resources: TypeAlias = Mapping[Any, Any]
Tools: TypeAlias = Dispatcher | CatalogView | Iterable[Any]
T = TypeVar("T", default=str)

_OPTION_TYPES: OptionTypes = {"session": ((Session, NoneType), "Session(principal=...), or None")}


class Agent(Generic[T]):
    """
    A model that works on prompts with tools.

    `Agent[Model]` is an agent with `output=Model`; its runs are `Run[Model]`. A plain `Agent` answers with a text.

    Args:
        provider: The provider of the model, or a text that names both: "anthropic:claude-sonnet-4-5".
        tools: A `Dispatcher`, a catalog or a list of functions; none unless given. For a catalog or a list the agent
            makes a dispatcher with permission mode "default", which asks before a tool changes something.
        system: The system prompt.
        name: The name of the agent, by which other agents call it or hand over to it.
        description: What the agent is for, in words for the models of other agents.
        hand_over_to: Agents that may go on with a conversation of this one; see `hand_over_to`.
        mode: The permission mode that conversations start in; the dispatcher's mode unless given. In mode "plan" the
            model can only read, and hand over a plan.
        max_turns: The maximum number of requests to the model for one prompt.
        budget: The other limits of one prompt.
        on_event: A function that is called with every event that `stream` would yield.
        plan_prompt: The text that is added to the system prompt while the model plans.
        plan_tools: The names of the read-only tools that the model may use while it plans; all of them unless given.
        frame_results: Whether the output of tools is put between marks that the output cannot forge.
        compact_at: The number of characters above which the conversation is made shorter: old results are cut, and if
            that is not enough, the model sums up old turns. None for no limit.
        summary_prompt: The system prompt by which the model sums up old turns; None to cut old results only.
        output: The type of the final answer, which is then `run.output`: a class such as a dataclass, a TypedDict or a
            pydantic model, or any other annotation that a parameter of a tool can have. A text unless given.
        output_retries: How many answers that are not of this type are sent back to the model, for one prompt.
        output_by: How a typed answer is asked for: "tool" for a call of a tool, "provider" for the provider's own
            structured output. The provider chooses unless given.
        session: The session of all runs, with their principal; each run has a session of its own unless given.
        steps: Keeps what came of each step of a run, so that another process can continue it; see `Steps`. Nothing is
            kept unless given. `toolkit.durable` keeps the steps in a database.
        telemetry: `Telemetry` or `TraceFile`, which records the runs and all that they start.
        clock: A function that returns seconds, by which the time of a run is measured.

    Attributes:
        last_run: The run that ended last, in any way. After a cancellation or an exception the run is found here.
    """

    @overload
    def __init__(
        self: Agent[str],
        provider: Provider | str,
        tools: Tools = ...,
        *,
        output: None = None,
        **options: Unpack[AgentKeywords],
    ) -> None: ...
    @overload
    def __init__(
        self, provider: Provider | str, tools: Tools = ..., *, output: type[T], **options: Unpack[AgentKeywords]
    ) -> None: ...
    @overload  # a type that is not a class, such as `Literal["a", "b"]`
    def __init__(
        self: Agent[Any],
        provider: Provider | str,
        tools: Tools = ...,
        *,
        output: object,
        **options: Unpack[AgentKeywords],
    ) -> None: ...
    def __init__(self, provider: Any = None, tools: Tools = (), *, output: Any = None, **options: Any) -> None:
        check_option_names(options, ["output", *AgentKeywords.__annotations__], AGENT_WORDS, "Agent")
        if provider is None:
            raise TypeError("Agent: the first argument is the provider, or a text such as 'anthropic:MODEL'")
        names = ("mode", "session", "plan_tools", "telemetry")
        mode, session, plan_tools, telemetry = (options.pop(name, None) for name in names)
        next_agents = require_list(options.pop("hand_over_to", ()), "hand_over_to", "agents")
        self._options = AgentOptions(provider=choose_provider(provider), output=AnswerFormat.of(output), **options)
        check_option_types({"session": session}, _OPTION_TYPES)
        dispatcher = build_dispatcher(tools, telemetry)
        if self._options.output is not None:
            check_name_is_free(dispatcher.catalog)
        plan_tool_names = resolve_plan_tools(plan_tools, dispatcher.catalog)
        self._hand_overs = Catalog()
        catalog = with_own_tools(dispatcher.catalog, self._hand_overs)
        self._toolbox = Toolbox(dispatcher, catalog, plan_tools=plan_tool_names)
        self._mode: Mode | None = None if mode is None else check_mode(mode)
        self._session = session
        self._inboxes = RunInboxes()
        self.last_run: Run[T] | None = None
        self._toolbox.set_mode(Session(), self._mode)  # raises here if nothing would enforce the mode
        self.hand_over_to(*next_agents)

    @property
    def name(self) -> str:
        """The name of the agent; empty if it has none."""
        return self._options.name

    @property
    def description(self) -> str:
        """What the agent is for; empty if it does not say so."""
        return self._options.description

    def as_tool(self, name: str | None = None, description: str | None = None, **options: Unpack[FactOptions]) -> Tool:
        """
        Return a tool whose calls let this agent work on a prompt, and return its answer.

        A call in a run of another agent is a sub-run of that run: it has the session of that run, counts in its budget,
        may do nothing that the other agent may not do, and waits with it. Any other call is a run of its own, in which
        each request for approval is denied.

        Args:
            name: The name of the tool; that of the agent unless given.
            description: What the tool does; the description of the agent unless given.
            options: The facts of the tool, as for `@tool`. Unless given, it is `read_only` if all tools of the agent
                are, and `destructive` if one of them is.

        Raises:
            DefinitionError: The name or a fact is not possible.
            ValueError: There is no name or no description, or the agent has a `mode`.
        """
        return build_agent_tool(self, name or self.name, description or self.description, options)

    def hand_over_to(self, *agents: Agent[Any]) -> None:
        """
        Let the model hand conversations over to *agents*, each with a name and a description.

        The model gets a tool `hand_over_to_NAME` for each of them. When it calls one, that agent goes on with the same
        conversation, in the same run: with its own system prompt, tools and provider, and with the session, the budget
        and the type of answer of the run. The run says in `agent` who goes on with it.

        Raises:
            DuplicateTool: The name of the tool is taken.
            ValueError: An agent has no name or no description, or it cannot go on with a conversation of this one.
        """
        for agent in agents:
            if not isinstance(agent, Agent):
                raise TypeError(f"hand_over_to wants agents, got {type(agent).__name__}; write Agent(..., name=...)")
            add_hand_over(self, agent)

    async def run(
        self,
        prompt: Prompt | None = None,
        *,
        run: Run[Any] | None = None,
        resources: Resources | None = None,
        **unknown: Never,
    ) -> Run[T]:
        """
        Work on *prompt* until the model answers or something stops the run.

        With *run*, the agent continues its conversation. Without a prompt, *run* goes on where it was interrupted. If
        the catalog has a skill `name`, a line `/name text` in a text prompt is replaced with the skill's text; a
        `UserMessage` is left as it is. If the provider fails, the run is returned with status "failed". A bug, or a
        tool that cannot be described, raises an exception. *resources* go to every call, as in `Dispatcher.call`.
        """
        check_option_names(unknown, RunKeywords.__annotations__, RUN_WORDS, "Agent.run")
        return await self._start(RunOrder("run", prompt, run, resources))

    async def resume(
        self, run: Run[Any], decisions: Decisions | Decision, *, resources: Resources | None = None, **unknown: Never
    ) -> Run[T]:
        """
        Resume a run that waits; the keys of *decisions* are the ids of its requests.

        If the run waits for one request, the decision alone is enough: `agent.resume(run, Decision.approve())`.
        A request without a decision keeps waiting. A call that was held back runs when no call before it waits.
        If a request asked for credentials, the caller passes them in *resources*.

        Raises:
            ApprovalError: A decision cannot be accepted. If the run had already gone on by then, `last_run` is the
                run up to that point.
        """
        check_option_names(unknown, ["resources"], RUN_WORDS, "Agent.resume")
        named = name_request(decisions, getattr(run, "requests", ()))
        return await self._start(RunOrder("resume", None, run, resources, decisions=named))

    async def execute(
        self,
        run: Run[Any],
        prompt: Prompt = EXECUTE_PROMPT,
        *,
        mode: Mode | None = "default",
        resources: Resources | None = None,
        **unknown: Never,
    ) -> Run[T]:
        """
        Carry out the plan of *run* in *mode*, in the same conversation.

        *prompt* tells the model to do so. It is read in the same way as by `run`. If a hook or the caller has changed
        `run.plan` since the model handed it over, the model is also told the new plan. Only this method leaves plan
        mode; no output of a model does. A plan is carried out once. If this method is cancelled, continue with
        `last_run`.

        Raises:
            ApprovalError: The plan was carried out already, or another caller is carrying it out.
            ValueError: *run* has not planned, or *mode* is "plan".
        """
        check_option_names(unknown, ["mode", "resources"], RUN_WORDS, "Agent.execute")
        return await self._start(RunOrder("execute", prompt, run, resources, mode=mode))

    def run_sync(self, prompt: Prompt | None = None, **options: Unpack[RunKeywords]) -> Run[T]:
        """
        Work on *prompt* as `run` does, from sync code. This also works inside a notebook.

        Tools with `thread="caller"` run in the thread that calls this method. `on_event` is called in the thread of
        the background loop.
        """
        return wait_for_run(self, lambda: self.run(prompt, **options))

    def resume_sync(
        self, run: Run[Any], decisions: Decisions | Decision, *, resources: Resources | None = None, **unknown: Never
    ) -> Run[T]:
        """Resume a run that waits, as `resume` does, from sync code. See `run_sync`."""
        return wait_for_run(self, lambda: self.resume(run, decisions, resources=resources, **unknown))

    def execute_sync(
        self,
        run: Run[Any],
        prompt: Prompt = EXECUTE_PROMPT,
        *,
        mode: Mode | None = "default",
        resources: Resources | None = None,
        **unknown: Never,
    ) -> Run[T]:
        """Carry out the plan of *run*, as `execute` does, from sync code. See `run_sync`."""
        return wait_for_run(self, lambda: self.execute(run, prompt, mode=mode, resources=resources, **unknown))

    def say(self, text: Prompt, *, run: Run[Any] | str | None = None) -> None:
        """
        Say something to a run that is under way. The model reads it with its next turn.

        Any thread may call this method, also a listener to events. If the model gives its answer meanwhile, it is asked
        once more. If the run ends in another way first, `Run.unread` keeps the text until the run goes on. *text* is
        read in the same way as a prompt. Sub-runs do not read it.

        Args:
            run: The run, or its id: one of `active_run_ids`. It is needed only while several runs are under way.

        Raises:
            NotRunning: The run is not under way. Nothing is kept for a later run.
            ValueError: Several runs are under way, and *run* names none; or *text* is empty.
        """
        self._inboxes.add(build_prompt(text, self._toolbox), run.id if isinstance(run, Run) else run)

    @property
    def active_run_ids(self) -> tuple[str, ...]:
        """The ids of the runs that are under way, and that `say` can reach, in the order in which they started."""
        return self._inboxes.open_ids()

    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        run: Run[Any] | None = None,
        decisions: Decisions | Decision | None = None,
        resources: Resources | None = None,
        **unknown: Never,
    ) -> AsyncGenerator[Event, None]:
        """
        Return the events of `run`, or of `resume` if *decisions* are given; the last event is `Done`.

        The run ends when the caller stops reading. Read the events to the end, or close the generator with
        `contextlib.aclosing`.
        """
        check_option_names(unknown, ["run", "decisions", "resources"], RUN_WORDS, "Agent.stream")
        if decisions is not None and (run is None or prompt is not None):
            raise TypeError("decisions go with the run that waits for them, and without a prompt")
        named = name_request(decisions, getattr(run, "requests", ()))
        order = RunOrder("run" if named is None else "resume", prompt, run, resources, decisions=named)
        return stream_events(lambda on_event: self._start(order._replace(on_event=on_event)))

    async def _start(self, order: RunOrder, setup: StepSetup | None = None) -> Run[T]:
        if setup is None and (step := find_step_for(self._options)) is not None:
            return await run_in_step(self, step, order)
        if order.verb == "run":
            return await self._run_prompt(order, setup)
        return await (self._resume_run if order.verb == "resume" else self._execute_run)(order, setup)

    async def _run_prompt(self, order: RunOrder, setup: StepSetup | None) -> Run[T]:
        run, prompt = order.run, order.prompt
        if run is not None and check_run(run).status == "waiting":
            raise ValueError("the run waits for answers; call resume(run, decisions) with a decision for each request")
        active_run = build_active_run(self, order, Expense(), setup)
        active_run.plan, active_run.refused_answers = None, 0
        take_hand_over(active_run)  # the run may have been cancelled in a turn that had handed it over
        active_run.read_inbox()  # it was said before the prompt
        if prompt is not None:
            active_run.add_prompt(build_prompt(prompt, self._toolbox))
        elif not (messages := active_run.conversation.messages) or isinstance(messages[-1], AssistantMessage):
            raise ValueError("the run has nothing to continue; give a prompt")
        return await self._run_with_lifecycle(active_run, order, lambda: run_turns(active_run))

    async def _resume_run(self, order: RunOrder, setup: StepSetup | None) -> Run[T]:
        run, decisions = check_run(order.run), cast("Decisions", order.decisions)  # `check_decisions` refuses None
        await check_decisions(run, decisions, self._toolbox.check_request)
        active_run = build_active_run(self, order, run.spent, setup)
        return await self._run_with_lifecycle(active_run, order, lambda: resume_turns(active_run, decisions))

    async def _execute_run(self, order: RunOrder, setup: StepSetup | None) -> Run[T]:
        run = check_run(order.run)
        execution_mode, message = check_execution(run, order.mode), build_prompt(order.prompt, self._toolbox)
        # What keeps the steps counts over the plan and its execution, and lets the plan be carried out once.
        active_run = build_active_run(self, order, run.spent if setup else Expense(), setup)
        self._toolbox.check_mode(active_run.session, execution_mode)
        may_claim = setup is None or setup.is_new
        cancelled = await self._toolbox.claim_plan(active_run.session, run) if may_claim else None
        self._toolbox.set_mode(active_run.session, execution_mode)
        active_run.plan, active_run.refused_answers = None, 0
        active_run.read_inbox()
        active_run.add_prompt(with_plan(message, run))

        async def work() -> RunEnding:
            if cancelled is not None:
                raise cancelled  # not earlier: the plan is used up, so the caller needs a run to continue with
            return await run_turns(active_run)

        new_run = await self._run_with_lifecycle(active_run, order, work)
        if cancelled is not None:
            raise cancelled  # `work` did not raise it, because a hook prevented the start
        return new_run

    async def _run_with_lifecycle(
        self, active_run: ActiveRun, order: RunOrder, work: Callable[[], Awaitable[RunEnding]]
    ) -> Run[T]:
        async def go_on() -> RunEnding:
            # Requests that were made after the run was saved are withdrawn. A session that the host gave may have other
            # runs, whose requests stay. A run with steps makes its own again.
            if order.run is not None and self._session is None and active_run.steps is None:
                await withdraw_unknown_requests(active_run, order.run)
            return await work()

        with (
            self._toolbox.mark_in_progress(active_run.session),
            self._inboxes.register(active_run.run_id, active_run.inbox),
            count_retries(active_run.ledger.take_retry),
            count_costs(active_run.ledger.take_cost),
        ):
            return await run_with_lifecycle(active_run, go_on, partial(setattr, self, "last_run"))


add_other_words(Agent, AGENT_ATTRIBUTES)
