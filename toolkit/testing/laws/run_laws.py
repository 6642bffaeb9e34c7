"""
The laws that can be checked only by running a tool.

A tool is run if `may_run` permits it, or if the caller names it. Each law is a function of a `ToolRunner` and the
arguments of one call, and returns what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..._plumbing.wording import format_seconds
from ...calls.render_result import WrongResult
from ...errors import DefinitionError
from ...spec import Tool
from ..strategies.arguments import arguments
from ..strategies.base import Unsupported
from .run_conditions import RunConditions, describe_changes
from .smallest_example import Effort, find_smallest
from .tool_runner import ToolRunner, open_tool_runner
from .violations import Fault, show_cut

__all__ = ["RUNNER_LAWS", "RUN_LAWS", "find_broken_run_laws", "may_run"]


@dataclass(frozen=True, slots=True)
class RunLaw:
    """
    A law that a tool keeps or breaks while it runs.

    *find_fault* makes a call and returns what is wrong with it. *applies* returns whether the law can be checked here.
    """

    find_fault: Callable[[ToolRunner, Mapping[str, Any]], str | None]
    remedy: str
    applies: Callable[[ToolRunner], bool] = lambda runner: True


RUNNER_LAWS = ("ends-in-time", "runnable")
"""The laws whose violations show while the other laws run the tool."""

_MAX_SECONDS = 20.0
"""How many seconds one law may run one tool, over all calls."""
_END_REMEDY = "limit in the schema what a call may ask for, or state how long the tool may take: `timeout_seconds=`"


def may_run(tool: Tool) -> bool:
    """
    Return whether *tool* may be run although the caller has not named it.

    Its facts must say that it changes nothing, stays on this machine, and needs no approval.
    """
    facts = tool.facts
    return facts.read_only and not facts.destructive and not facts.open_world and facts.approval == "never"


def find_broken_run_laws(tool: Tool, effort: Effort, conditions: RunConditions) -> Iterator[Fault]:
    """Run *tool*, and yield each law that it breaks, with the smallest arguments that show it."""
    try:
        strategy = arguments(tool)
        with open_tool_runner(tool, conditions) as runner:
            for rule, law in RUN_LAWS.items():
                # Each law runs the tool, so each may find a call that does not end.
                if not law.applies(runner) or not effort.includes(rule, *RUNNER_LAWS):
                    continue
                example = find_smallest(strategy, _limit_time(law, runner), effort)
                if example is not None:
                    value, message = example
                    yield Fault(rule, message, law.remedy, arguments=value)
            # The dispatcher enforces a longer timeout that the tool states.
            is_bounded = (tool.facts.timeout_seconds or 0) > conditions.timeout_seconds
            if runner.stuck_arguments is not None and not is_bounded:
                message = f"it did not end within {format_seconds(conditions.timeout_seconds)}"
                yield Fault("ends-in-time", message, _END_REMEDY, arguments=runner.stuck_arguments)
    except DefinitionError as error:
        remedy = "give `resources=`, or leave it out: `run=False`, or a catalog without it"
        yield Fault("runnable", f"it cannot be run here: {error}", remedy)
    except Unsupported:
        return  # the law `callable` reports it


def _limit_time(law: RunLaw, runner: ToolRunner) -> Callable[[Mapping[str, Any]], str | None]:
    """
    Return a function that applies *law* to one call as long as there is time left, and no call has failed to end.

    Then it finds no fault, so that a call that did not end is neither tried again nor made smaller.
    """
    limit = runner.spent_seconds + _MAX_SECONDS

    def find_fault(call_arguments: Mapping[str, Any]) -> str | None:
        is_over = runner.stuck_arguments is not None or runner.spent_seconds > limit
        return None if is_over else law.find_fault(runner, call_arguments)

    return find_fault


def fails_as_declared(runner: ToolRunner, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool neither returns a result nor raises an error that a model can act on."""
    ran = runner.run(call_arguments)
    if ran.error is not None and not ran.is_overdue and not isinstance(ran.error, WrongResult):
        return f"it raised {type(ran.error).__name__}: {str(ran.error)[:300]}"
    if ran.result is not None and ran.result.kind in ("internal", "cancelled"):
        return f"it ended as {ran.result.kind!r}: {ran.result.text.splitlines()[0][:300]}"
    return None


def returns_what_it_says(runner: ToolRunner, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool's return value has no JSON form, or does not fit the output schema."""
    ran = runner.run(call_arguments)
    return str(ran.error).partition("the tool ran, but ")[2] if isinstance(ran.error, WrongResult) else None


def changes_nothing(runner: ToolRunner, call_arguments: Mapping[str, Any]) -> str | None:
    """Return which files changed if a read-only tool did not leave the files as they were."""
    before = runner.conditions.read_files()
    runner.run(call_arguments)
    changes = describe_changes(before, runner.conditions.read_files())
    return f"it says that it is read-only, but {changes}" if changes else None


def twice_is_once(runner: ToolRunner, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what changed if an idempotent tool changes the state when it runs a second time."""
    runner.run(call_arguments)
    once = runner.conditions.read_state()
    runner.run(call_arguments)
    twice = runner.conditions.read_state()
    if once == twice:
        return None
    if runner.conditions.state is None:
        return f"it says that it is idempotent, but the second time {describe_changes(once, twice)}"
    first, second = (show_cut(state, 200) for state in (once, twice))
    return f"it says that it is idempotent, but after the first time the state was {first}, and then {second}"


def _has_files(runner: ToolRunner) -> bool:
    return runner.tool.facts.read_only and runner.conditions.folder is not None


def _has_state(runner: ToolRunner) -> bool:
    facts, conditions = runner.tool.facts, runner.conditions
    # The law `read-only` has compared the files of a read-only tool already.
    has_state = conditions.state is not None or (conditions.folder is not None and not facts.read_only)
    return facts.idempotent and has_state


RUN_LAWS: dict[str, RunLaw] = {
    # This law comes first: after its first run a tool may find its change made, and leave the files as they are.
    "read-only": RunLaw(changes_nothing, "leave the files alone, or do not state `read_only=True`", _has_files),
    "declared-failures": RunLaw(
        fails_as_declared,
        "annotate its parameters so that the schema refuses such a call, or raise ToolError, BadArgs, Safety or "
        "Transient with words for the model; declare an exception of a library: `classify={LibraryError: ToolError}` "
        "(for `toolkit check`, in a dispatcher that the target names: `tools.py:dispatcher`)",
    ),
    "output": RunLaw(returns_what_it_says, "return what the annotation says, or annotate what is returned"),
    "idempotent": RunLaw(
        twice_is_once, "make the second run find the work done, or do not state `idempotent=True`", _has_state
    ),
}
