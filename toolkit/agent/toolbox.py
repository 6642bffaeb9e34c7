"""
The tools of an agent, with a dispatcher that extends the host's dispatcher.

Every call goes through the same hooks, rules, approvals and log as in the host's dispatcher.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..approvals import ApprovalError
from ..approvals.comparisons import is_same_request
from ..approvals.policy import Approvals
from ..approvals.records import Record, is_past
from ..approvals.store import ApprovalStore
from ..calls.kept_outputs import KeptOutputReader, find_output_reader, is_output_reader
from ..calls.listeners import tell
from ..calls.propagation import must_propagate
from ..calls.settings import Settings
from ..catalog import Catalog
from ..catalogs.snapshot import Table
from ..catalogs.views import CatalogView
from ..concurrency.futures import run_to_end
from ..context import Progress
from ..decisions import ApprovalRequest
from ..dispatcher import Dispatcher
from ..errors import DefinitionError
from ..formats.base import SEARCH_TOOL_NAME
from ..hooks.base import Step
from ..hooks.events import Event as LifecycleEvent
from ..hooks.events import PersonAnswered, PersonAsked
from ..permissions import Permissions
from ..permissions.modes import Mode
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..steps.call_step import BEGIN_HOOK
from ..values.visible import make_visible
from .call_watcher import current_run
from .events import ToolProgress
from .plan_mode import PlanGuard, build_plan_request
from .prompts import EXIT_PLAN
from .saved.runs import Run

__all__ = ["HAND_OVER_KEY", "Toolbox", "find_next_agent"]

HAND_OVER_KEY = "toolkit.hand_over_to"
"""The key in the metadata of a tool that hands a conversation over; its value is the agent that goes on."""

_RUN_COUNT_KEY = "toolkit.agent.saved.runs"
_LEAVING_PLAN_KEY = "toolkit.agent.leaving"
_MAX_SUMMARY_CHARS = 200
_MAX_OFFERED_VIEWS = 8


class Toolbox:
    """
    The tools of one agent, and a dispatcher for them that shares the policies, threads and approvals of *source*.

    While the model plans, it may use *plan_tools*, or all read-only tools if None. If *has_steps*, the steps of runs
    are told when a tool is about to run.
    """

    def __init__(
        self,
        source: Dispatcher,
        catalog: CatalogView,
        *,
        plan_tools: Collection[str] | None = None,
        has_steps: bool = False,
    ) -> None:
        self._source = source
        self._plan_tools = plan_tools
        self._has_steps = has_steps
        self._with_steps: Toolbox | None = self if has_steps else None
        self._permissions = source.settings.judges.find_all(Permissions)
        needs_guard = not self._permissions or plan_tools is not None
        guard = PlanGuard(self.mode_of, self.is_for_planning) if needs_guard else None
        hooks = (BEGIN_HOOK,) if has_steps else ()  # it comes last, so the hooks of the host are around it
        self.dispatcher = source.extended(catalog, permissions=guard, hooks=hooks, on_progress=_report_progress)
        self._find_offered_view = lru_cache(_MAX_OFFERED_VIEWS)(self._build_offered_view)

    def with_steps(self) -> Toolbox:
        """Return the same tools for runs that have steps."""
        if self._with_steps is None:
            catalog = self.dispatcher.catalog
            self._with_steps = Toolbox(self._source, catalog, plan_tools=self._plan_tools, has_steps=True)
        return self._with_steps

    def with_approvals(self, approvals: Approvals) -> Toolbox:
        """Return the same tools with another way to ask people, and another store of their answers."""
        source = self._source.extended(approvals=approvals)
        return Toolbox(source, self.dispatcher.catalog, plan_tools=self._plan_tools, has_steps=self._has_steps)

    def with_hooks(self, hooks: Iterable[Any]) -> Toolbox:
        """Return the same tools with those of *hooks* that are not among theirs."""
        if not (further_hooks := self._source.settings.chain.leave_out_own(hooks)):
            return self
        source = self._source.extended(hooks=further_hooks)
        return Toolbox(source, self.dispatcher.catalog, plan_tools=self._plan_tools, has_steps=self._has_steps)

    def within(self, outer: Toolbox) -> Toolbox:
        """
        Return the same tools for a run that is a part of another agent's run, which has the toolbox *outer*.

        Calls have to satisfy the judges of both, so nothing is allowed that the other agent may not do. People are
        asked as that agent asks them, and all requests of the run are in one store. The listeners of that agent are
        told so too, and what records that agent's runs records this one.
        """
        outer_source, has_steps = outer._source, outer._has_steps
        outer_chain = outer_source.settings.chain
        hooks = self._source.settings.chain.leave_out_own(outer_chain.recorders)
        own_hooks = (*self._source.settings.chain.hooks, *hooks)
        steps = [step for step in outer_chain.listeners if step.hook not in own_hooks]
        if steps:
            hooks.append(_PersonListener(outer_source.settings, steps))
        own_judges = self._source.settings.judges.judges
        judges = [judge for judge in outer_source.settings.judges.judges if judge not in own_judges]
        source = self._source.extended(permissions=judges, approvals=outer_source.approvals, hooks=hooks)
        return Toolbox(source, self.dispatcher.catalog, plan_tools=self._plan_tools, has_steps=has_steps)

    def for_sub_run(self, tools: Collection[str] | None) -> Toolbox:
        """
        Return a toolbox for a sub-run: with only *tools*, or all tools if None, but never `exit_plan`.

        Nor does it have tools that hand the conversation over. A tool that reads results that were cut is always there,
        because the sub-run's own results may be cut.
        """
        catalog = self.dispatcher.catalog
        names = None if tools is None else {own_tool.name for name in tools if (own_tool := catalog.get(name))}
        view = catalog.filtered(
            lambda tool: (
                tool.name != EXIT_PLAN
                and find_next_agent(tool) is None
                and (names is None or tool.name in names or is_output_reader(tool))
            )
        )
        return Toolbox(self._source, view, plan_tools=self._plan_tools, has_steps=self._has_steps)

    def names_for(self, tools: Iterable[str | Tool]) -> tuple[str, ...]:
        """Return the names that *tools* have here. A `Tool` is found if it was renamed, and left out if it is not."""
        names: dict[str, None] = {}
        for tool in tools:
            if isinstance(tool, Tool):
                names |= dict.fromkeys(
                    own.name
                    for own in self.dispatcher.catalog
                    if own is tool or (own.function is tool.function and tool.name in (own.name, *own.former))
                )
            else:
                own_tool = self.dispatcher.catalog.get(tool)
                names[tool if own_tool is None else own_tool.name] = None
        return tuple(names)

    # Modes.

    def mode_of(self, session: Session | None) -> str | None:
        """
        Return the mode that holds for *session*; None if it has none.

        Several permissions may have several modes. A call must satisfy all of them, so the mode is "plan" if it is the
        mode of any, and that of the first otherwise.
        """
        if not self._permissions:
            return None if session is None else session.mode
        modes = [permissions.mode_of(session) for permissions in self._permissions]
        return "plan" if "plan" in modes else modes[0]

    def set_mode(self, session: Session, mode: Mode | None) -> None:
        """Set the mode of *session*, or raise as `check_mode` does."""
        self.check_mode(session, mode)
        # The mode is kept in the session, so it holds for all permissions.
        permissions = self._permissions[0] if self._permissions else Permissions()
        permissions.set_mode(mode, session=session)

    def check_mode(self, session: Session, mode: Mode | None) -> None:
        """
        Raise `ValueError` if *session* cannot get *mode* now.

        That is so if nothing here would enforce the mode, if a run in progress in *session* has another mode, or if a
        plan is about to be carried out in *session*.
        """
        _check_not_leaving_plan(session)
        current_mode = self.mode_of(session)
        if session.state.get(_RUN_COUNT_KEY) and current_mode != (mode or self.mode_of(None)):
            raise ValueError(
                f"a run is under way in this session in mode {current_mode!r}, and a session has one mode; "
                "wait for its end, or give each run a session of its own"
            )
        if not self._permissions and mode not in (None, "plan"):
            raise ValueError(
                f"the dispatcher has no permissions, so nothing would keep to mode {mode!r}; "
                "give it some: Dispatcher(..., permissions=Permissions()), or execute plans with mode=None"
            )

    @contextlib.contextmanager
    def mark_in_progress(self, session: Session) -> Iterator[None]:
        """Mark a run as in progress in *session* inside the block, so that no other run changes the mode."""
        _check_not_leaving_plan(session)
        state = session.state
        state[_RUN_COUNT_KEY] = state.get(_RUN_COUNT_KEY, 0) + 1
        try:
            yield
        finally:
            state[_RUN_COUNT_KEY] = state.get(_RUN_COUNT_KEY, 1) - 1
            if not state[_RUN_COUNT_KEY]:
                del state[_RUN_COUNT_KEY]

    def is_for_planning(self, tool: Tool) -> bool:
        is_own = (
            tool.name in (EXIT_PLAN, SEARCH_TOOL_NAME) or is_output_reader(tool) or find_next_agent(tool) is not None
        )
        return tool.facts.read_only and (is_own or self._plan_tools is None or tool.name in self._plan_tools)

    def select_offered_tools(self, session: Session, answer_tool: Tool | None = None) -> CatalogView:
        """
        Return the tools to offer to the model in this turn: those that could ever be allowed and fit the mode.

        The model gives its answer with *answer_tool*, if there is one. The view shows the tools as they are now. If
        they are those of an earlier turn, it is the same object, which has the definitions already.
        """
        is_planning = self.mode_of(session) == "plan"
        return self._find_offered_view(self.dispatcher.permitted(session).table, is_planning, answer_tool)

    def _build_offered_view(self, table: Table, is_planning: bool, answer_tool: Tool | None) -> CatalogView:
        offered = table.selected(lambda tool: self.is_for_planning(tool) if is_planning else tool.name != EXIT_PLAN)
        view = CatalogView((), lambda: offered)
        return view if answer_tool is None else view.merged(Catalog(answer_tool))

    # Requests, and texts that were cut.

    def find_output_reader(self, session: Session) -> KeptOutputReader | None:
        """Return the tool by which *session* can read results that were cut; None if there is none."""
        return find_output_reader(self.dispatcher.catalog.table, self.dispatcher.settings.judges, session)

    async def check_request(self, request: ApprovalRequest) -> None:
        """Raise `ApprovalError` if the store does not know *request*, or knows it as something else."""
        settings = self.dispatcher.settings
        if settings.approvals.seal is not None:
            return  # a seal is checked when the request is resumed
        record = await self.dispatcher.settings.store_runner.find_record(request.id)
        if record is None and not is_past(request.expires_at, settings.approvals.clock()):
            raise ApprovalError(
                f"the store of this agent's approvals does not know request {request.id} of the run, so it cannot be "
                "approved here; give the process that asks and the one that resumes the same store: "
                "Dispatcher(..., approvals=Approvals(SQLiteApprovals(path))), or PostgresApprovals",
                why="unknown",
            )
        if record is not None and not is_same_request(request, record.request, settings.redaction):
            raise ApprovalError(
                f"request {request.id} of this run is not what was asked: the run was changed; "
                "answer what the store has in pending()",
                why="forged",
            )

    async def claim_request(self, request: ApprovalRequest) -> bool:
        """Return whether *request*, a held call or a plan, was not run so far, and record that it is run now."""
        settings = self.dispatcher.settings
        # The record is expired: it cannot be answered, it is not listed, and a purge deletes it.
        expired_request = replace(request, arguments={}, expires_at=settings.approvals.clock())
        record = Record(request=expired_request, arguments={}, identity="")
        return await settings.store_runner.run("keep request", request.id, lambda store: _try_add_record(store, record))

    async def claim_plan(self, session: Session, run: Run[Any]) -> asyncio.CancelledError | None:
        """
        Record that the caller carries out the plan of *run*, once, and return the cancellation that came meanwhile.

        While the store is asked, no run can start in *session*, because the new mode would be wrong for that run.
        """
        settings, request, cancelled = self.dispatcher.settings, build_plan_request(run), None
        if not settings.approvals.store.blocking:
            is_ours = await self.claim_request(request)  # the store answers at once, so no other task runs in between
        else:
            session.state[_LEAVING_PLAN_KEY] = True
            try:
                claim, cancelled = await run_to_end(self.claim_request(request), settings.cleanup_seconds)
            finally:
                del session.state[_LEAVING_PLAN_KEY]
            if cancelled is not None and (claim.cancelled() or claim.exception() is not None):
                raise cancelled
            is_ours = claim.result()
        if not is_ours:
            raise cancelled or ApprovalError(
                "the plan of this run was carried out already, or is being carried out; "
                "continue with the run that `execute` returned, or let the model plan again",
                why="answered",
            )
        return cancelled

    async def is_plan_claimed(self, run: Run[Any]) -> bool:
        """Return whether the plan of *run* was carried out already, or is being carried out."""
        return await self.dispatcher.settings.store_runner.find_record(build_plan_request(run).id) is not None

    def expand_skills(self, prompt: str) -> str:
        """Return *prompt* with each line that names a skill replaced by the skill's text, if the catalog has skills."""
        expand = getattr(self._source.catalog, "expanded", None)
        return str(expand(prompt)) if callable(expand) else prompt

    # Summaries for people.

    def summary_of(self, call: ToolCall) -> str:
        """Return what *call* does in a few words of the tool's author, or the name of the tool if there are none."""
        try:
            plan = self.dispatcher.find_plan(call.name)
        except DefinitionError:
            plan = None  # the result of the call will report it
        if plan is None:
            return _shorten_summary(call.name)
        facts = plan.tool.facts
        try:
            decoded = plan.tool.about.checker.check(call.arguments)
            summary = facts.summary(decoded) if facts.summary is not None else facts.activity
            summary = summary(decoded) if callable(summary) else summary
        except BaseException as error:
            if must_propagate(error):
                raise
            # The author's function failed, or the arguments are not valid. The result of the call will report it.
            return _shorten_summary(plan.name)
        return _shorten_summary(
            plan.redaction(decoded, call.arguments).mask_text(summary) if isinstance(summary, str) else plan.name
        )


class _PersonListener:
    """Tells *steps*, the listeners of another agent with these *settings*, that a person is asked or has answered."""

    listens_to = (PersonAsked, PersonAnswered)

    def __init__(self, settings: Settings, steps: Sequence[Step]) -> None:
        self._settings = settings
        self._steps = steps

    async def on_event(self, event: LifecycleEvent) -> None:
        await tell(self._settings, event, steps=self._steps)


def find_next_agent(tool: Tool) -> Any:
    """Return the agent that *tool* hands a conversation over to; None for every other tool."""
    return (tool.facts.metadata or {}).get(HAND_OVER_KEY)


def _check_not_leaving_plan(session: Session) -> None:
    if session.state.get(_LEAVING_PLAN_KEY):
        raise ValueError(
            "a plan is about to be carried out in this session; wait for that, or give each run a session of its own"
        )


def _try_add_record(store: ApprovalStore, record: Record) -> bool:
    try:
        store.add(record)
    except ValueError:  # the store has a record with this id
        return False
    return True


def _report_progress(progress: Progress) -> None:
    run = current_run.get()
    if run is not None:
        run.watcher.publish_event(ToolProgress(progress))


def _shorten_summary(text: str) -> str:
    line = make_visible(text[: 2 * _MAX_SUMMARY_CHARS], keep_lines=False)
    return line if len(line) <= _MAX_SUMMARY_CHARS else f"{line[: _MAX_SUMMARY_CHARS - 3]}..."
