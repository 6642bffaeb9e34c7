"""
Calls that are never started: those of unknown tools, and those that are held back, skipped, explained or refused.

After-hooks still see their results. The results are masked, cut to size and written down like any other result.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..catalogs.views import CatalogView
from ..errors import UnknownTool, find_nearest
from ..hooks.base import ShownCall
from ..results import ToolCall, ToolResult
from ..verdicts import Verdict
from .argument_check import find_refusal
from .call_events import tell_refused_call, tell_unstarted_call
from .call_frame import CallFrame
from .error_results import build_hook_error_result
from .kept_outputs import is_output_reader
from .plan import CallPlan
from .propagation import must_propagate
from .settings import Settings
from .truncation import keep_full_text, truncate_result

__all__ = [
    "TRIO_REFUSAL",
    "explain_verdict",
    "finish_unknown",
    "finish_unstarted",
    "is_under_trio",
    "refuse_under_trio",
]

_MAX_SUGGESTIONS = 20
_MAX_FITTING = 3
_MANY_NAMES = 200


async def finish_unknown(call: ToolCall, catalog: CatalogView, settings: Settings) -> ToolResult:
    """
    Return the finished result of *call*, whose tool *catalog* does not have, with the names that are nearest.

    If some tools are deferred, the model may have guessed a name, so the tools that fit its words are named, too.
    """
    table = catalog.table
    is_permitted = settings.judges.visibility.build_check(catalog, call.session)
    names = [*table.tools, *table.aliases]
    find = partial(find_nearest, call.name, names, max_items=_MAX_SUGGESTIONS)
    # With many names the search would hold up the event loop.
    near = find() if len(names) < _MANY_NAMES else await asyncio.to_thread(find)
    # A suggestion must not lead the model to a tool that the rules of this session forbid.
    suggestions = [name for name in near if is_permitted is None or ((tool := table.find(name)) and is_permitted(tool))]
    error = UnknownTool(call.name, suggestions)
    fitting = ""
    if any(tool.facts.defer and not is_output_reader(tool) for tool in table.tools.values()):
        from ..catalogs.summaries import describe_fitting_tools  # few programs need it, and it loads the search

        view = catalog if is_permitted is None else catalog.filtered(is_permitted)
        fitting = describe_fitting_tools(await asyncio.to_thread(view.search, call.name, _MAX_FITTING))
    advice = "Call one of these tools, or one of those you were given." if fitting else None
    result = ToolResult.failure("not_found", f"{error}{fitting}", cause=error, advice=advice)
    return await finish_unstarted(call, result, None, settings)


async def explain_verdict(call: ToolCall, plan: CallPlan | None, catalog: CatalogView, settings: Settings) -> Verdict:
    """Return what decides about *call*, and why."""
    if plan is None:
        raise UnknownTool(call.name, catalog.names())
    frame = CallFrame.of(plan, call)
    refusal = await find_refusal(frame)  # this also repairs the arguments, as a real call would
    if refusal is not None:
        refusal.unwrap()
    judgement = await settings.judges.judge(plan.tool, plan.names, call, frame.decoded)
    warnings = settings.judges.warnings(catalog, judgement.request)
    return replace(judgement.verdict, warnings=warnings, cost=judgement.request.cost)


async def finish_unstarted(call: ToolCall, result: ToolResult, plan: CallPlan | None, settings: Settings) -> ToolResult:
    """
    Return *result* as the finished result of *call*, which is never started.

    An after-hook may replace the result. *plan* is the plan of the tool, if there is one.
    """
    finish = partial(_finish, call, result, plan, settings)
    return await (tell_unstarted_call(call, settings, finish) if settings.chain.listeners else finish())


async def _finish(call: ToolCall, result: ToolResult, plan: CallPlan | None, settings: Settings) -> ToolResult:
    redaction = settings.redaction if plan is None else plan.redaction(call.arguments)
    result.alias = alias = None if plan is None else plan.alias
    for step in settings.chain.after:
        try:
            new_result = await step.run(settings.hook_runner, None, ShownCall.of(call, call.arguments), result)
            result = new_result if isinstance(new_result, ToolResult) else result
        except BaseException as error:
            # The tool did not run, and the result says so. A hook that fails does not change the result.
            if must_propagate(error):
                raise
            build_hook_error_result(error, step.hook, "after", ran=False, redaction=redaction)
    result.call_id, result.tool = call.id, call.name if plan is None else plan.name
    result.alias, result.cost = alias, 0.0
    if redaction:
        redaction.mask_result(result)
    limit = settings.limit_text() if plan is None else plan.limit
    if not limit.allows(result.text):
        truncate_result(result, limit, plan, call.session, call.principal)
    else:
        keep_full_text(result, limit, plan, call.session, call.principal)
    audit = settings.audit
    if audit is not None:
        line: dict[str, Any] = {} if plan is None else dict(plan.audit_fields)
        line |= {"call_id": call.id, "tool": result.tool, "principal": call.principal, "kind": result.kind}
        line |= {"attempts": 0, "session": call.session_key or None}
        writing = settings.in_thread(lambda: audit.write("outcome", **line))
        await settings.write_late(f"the outcome of call {call.id}", writing)
    return result


TRIO_REFUSAL = (
    "trio is not supported: calls need an asyncio event loop; await them under asyncio, or run "
    "`dispatcher.call_sync` with `trio.to_thread.run_sync`"
)
"""The error message for a call under trio."""


def is_under_trio(modules: Mapping[str, Any] = sys.modules) -> bool:
    """Return whether the running code is a task of trio and not of asyncio. *modules* are the loaded modules."""
    trio = modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except (AttributeError, RuntimeError):  # trio is only half imported, or it is not running
        return False
    try:
        # Both may run at once: trio as a guest of asyncio, or asyncio inside trio.
        return asyncio.current_task() is None
    except RuntimeError:
        return True


async def refuse_under_trio(call: ToolCall, settings: Settings) -> ToolResult:
    """Return the result of a call under trio. After-hooks do not run, because they may need asyncio too."""
    result = ToolResult.failure("internal", TRIO_REFUSAL, call_id=call.id, tool=call.name)
    if settings.chain.listeners:
        tell_refused_call(call, settings, result)
    return result
