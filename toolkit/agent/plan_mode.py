"""
Plan mode: the prompts, the tool that hands over a plan, and the judge that allows only tools that read.

A text answer or a call of `exit_plan` ends the run with a plan. Only the host can leave plan mode; no output
of a model changes the mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._option_checks import require_list
from ..catalogs.views import CatalogView
from ..content import TextPart
from ..decisions import ApprovalRequest
from ..decorator import tool
from ..errors import BadArgs, ToolError
from ..permissions.judge import CallGate, Judge, PermissionRequest, RequestBuilder, Visibility
from ..permissions.modes import Mode, check_mode
from ..providers.messages import AssistantMessage, ToolMessage, UserMessage
from ..session import Session
from ..spec import Tool
from ..values.strictjson.digests import digest_call
from ..verdicts import Verdict, Word
from .call_watcher import current_run
from .conversation.kept_messages import list_plan_calls
from .prompts import EXIT_PLAN
from .saved.runs import Run, check_run

__all__ = ["PlanGuard", "build_plan_request", "check_execution", "exit_plan_tool", "resolve_plan_tools", "with_plan"]


def exit_plan_tool() -> Tool:
    """Return the tool by which the model hands over its plan, which ends the planning."""

    @tool(catalog=None, name=EXIT_PLAN, read_only=True, concurrency_safe=False, activity="handing over the plan")
    async def exit_plan(plan: str) -> str:
        """Hand your plan to the user, who decides whether it is carried out. Planning ends with it.

        Args:
            plan: The whole plan, in Markdown: the user reads this and nothing else.
        """
        if not plan.strip():
            raise BadArgs("plan: expected a text that is not empty")
        run = current_run.get()
        if run is None or not run.accept_plan(plan):
            raise ToolError("nothing is being planned here, or a plan was handed over already; go on without this one")
        return "The plan was handed to the user."

    return Tool.of(exit_plan)


def resolve_plan_tools(plan_tools: Iterable[str] | None, catalog: CatalogView) -> frozenset[str] | None:
    """Return the names of the read-only tools in *plan_tools*; None if *plan_tools* is None."""
    if plan_tools is None:
        return None
    names: set[str] = set()
    for name in require_list(plan_tools, "plan_tools", "names"):
        named_tool = catalog.get(name) if isinstance(name, str) else None
        if named_tool is None:
            raise ValueError(f"plan_tools: there is no tool {name!r}; known are {', '.join(catalog.names()) or 'none'}")
        if not named_tool.facts.read_only:
            raise ValueError(f"plan_tools: `{named_tool.name}` is not read-only, so it cannot be used while planning")
        names.add(named_tool.name)
    return frozenset(names)


def check_execution(run: Run[Any], mode: Mode | None) -> Mode | None:
    """Return *mode*, in which the plan of *run* is carried out; raise `ValueError` if that is not possible."""
    if check_run(run).status != "planned":
        raise ValueError(f"the run is {run.status}; only one that has planned can be executed")
    if mode == "plan":
        raise ValueError('a plan cannot be executed in mode "plan"; choose another mode, such as "default"')
    return None if mode is None else check_mode(mode)


def with_plan(prompt: UserMessage, run: Run[Any]) -> UserMessage:
    """
    Return *prompt*, with the plan of *run* added if that is not the plan that the model handed over.

    A hook, or the host that kept the run, may have changed the plan. The model has to carry out the plan that the host
    was shown.
    """
    if run.plan is None or run.plan == _find_handed_over_plan(run):
        return prompt
    return UserMessage(
        (*prompt.parts, TextPart(f"This is the plan that was agreed to, whatever was said before:\n\n{run.plan}"))
    )


def _find_handed_over_plan(run: Run[Any]) -> Any:
    """Return the plan that ends the conversation of *run*: the argument of the first `exit_plan`, or the text."""
    last_message = run.messages[-1] if run.messages else None
    if not isinstance(last_message, ToolMessage):
        return run.text
    message = run.messages[-2]
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    plans = [call.arguments for call in list_plan_calls(calls, last_message.results)]
    return plans[0].get("plan") if plans and isinstance(plans[0], Mapping) else None


def build_plan_request(run: Run[Any]) -> ApprovalRequest:
    """Return the request by which the store remembers, for all processes, that the plan of *run* is carried out."""
    # One conversation can plan twice. The number of messages tells the two plans apart. Messages that were summed up
    # count, because otherwise a later plan could have the number of an earlier one.
    summed_up = 0 if run.summary is None else run.summary.messages - 1
    key = digest_call(EXIT_PLAN, [run.id, len(run.messages) + summed_up])
    return ApprovalRequest(tool=EXIT_PLAN, call_id=run.id, reason="a plan is carried out", id=f"plan_{key}")


class PlanGuard(Judge):
    """
    The judge that, in plan mode, denies every tool that is not read-only or was not chosen for planning.

    It is needed if the dispatcher has no permissions that do so, or if the host chose the tools for planning.
    """

    def __init__(self, mode_of: Callable[[Session | None], str | None], may_use: Callable[[Tool], bool]) -> None:
        self._mode_of = mode_of
        self._may_use = may_use

    def judge(self, request: PermissionRequest) -> Verdict | Word:
        """Return "allow", or a verdict that denies the call because of the mode of its session."""
        tool = request.tool
        if self.could_allow(tool, request.names, request.session):
            return "allow"
        why = "was not chosen for it" if tool.facts.read_only else "is not read-only"
        return Verdict("deny", "mode `plan`", f"only tools that read are used in mode `plan`, and `{tool.name}` {why}")

    def could_allow(self, tool: Tool, names: frozenset[str], session: Session | None = None) -> bool:
        return self.visibility(session).could_allow(tool, names)

    def visibility(self, session: Session | None) -> Visibility:
        is_planning = self._mode_of(session) == "plan"
        return Visibility(is_planning, lambda tool, names: not is_planning or self._may_use(tool))

    def gate(self, tool: Tool, names: frozenset[str], build_request: RequestBuilder) -> CallGate:
        return lambda session, arguments: self.could_allow(tool, names, session)
