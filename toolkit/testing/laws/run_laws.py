"""
The laws that can be checked only by running a tool.

A tool is run if `may_run` permits it, or if the caller names it. Each law is a
function of a `Trial` and the arguments of one call, and returns what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..._plumbing.wording import format_seconds
from ...errors import DefinitionError
from ...spec import Tool
from ..strategies.arguments import arguments
from ..strategies.base import Unsupported
from .folder_snapshots import Snapshot, WatchedFolder, describe_changes
from .schema_laws import Effort
from .smallest_example import find_smallest
from .tool_runner import ToolRunner, open_tool_runner
from .violations import Violation

__all__ = ["RUNNER_LAWS", "RUN_LAWS", "RunConditions", "find_broken_run_laws", "may_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConditions:
    """
    The conditions under which tools are run.

    Attributes:
        folder: The folder in which a read-only tool must change nothing.
        state: A function that returns the state which an idempotent tool leaves the same when it runs twice. Without
            it, the state is the files in *folder*.
        resources: The values for the tools' `Inject` parameters.
        timeout_seconds: How long one call may take.
    """

    folder: WatchedFolder | None = None
    state: Callable[[], Any] | None = None
    resources: Mapping[Any, Any] | None = None
    timeout_seconds: float = 3.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool to run, its runner, and the conditions under which it runs."""

    tool: Tool
    runner: ToolRunner
    conditions: RunConditions

    def files(self) -> Snapshot:
        return {} if self.conditions.folder is None else self.conditions.folder.snapshot()

    def state(self) -> Any:
        return self.files() if self.conditions.state is None else self.conditions.state()


@dataclass(frozen=True, slots=True)
class RunLaw:
    """
    A law that a tool keeps or breaks while it runs.

    Attributes:
        find_fault: A function that makes a call and returns what is wrong with it; None if nothing is wrong.
        remedy: How to correct the tool.
        applies: A function that returns whether the law can be checked in this trial. By default it always can.
    """

    find_fault: Callable[[Trial, Mapping[str, Any]], str | None]
    remedy: str
    applies: Callable[[Trial], bool] = lambda trial: True


RUNNER_LAWS = ("ends-in-time", "runnable")
"""The laws whose violations show while the other laws run the tool."""

_MAX_SECONDS = 20.0
"""How many seconds one law may run one tool, over all calls."""


def may_run(tool: Tool) -> bool:
    """
    Return whether *tool* may be run although the caller has not named it.

    Its facts must say that it changes nothing, stays on this machine, and needs no approval.
    """
    facts = tool.facts
    return facts.read_only and not facts.destructive and not facts.open_world and facts.approval == "never"


def find_broken_run_laws(tool: Tool, effort: Effort, conditions: RunConditions) -> Iterator[Violation]:
    """Run *tool*, and yield each law that it breaks, with the smallest arguments that show it."""
    try:
        strategy = arguments(tool)
        with open_tool_runner(
            tool, resources=conditions.resources, timeout_seconds=conditions.timeout_seconds
        ) as runner:
            trial = Trial(tool, runner, conditions)
            for rule, law in RUN_LAWS.items():
                # Each law runs the tool, so each may find a call that does not end.
                if not law.applies(trial) or not effort.includes(rule, *RUNNER_LAWS):
                    continue
                example = find_smallest(strategy, _limit_time(law, trial), examples=effort.examples, seed=effort.seed)
                if example is not None:
                    value, message = example
                    yield Violation(tool=tool.name, rule=rule, message=message, remedy=law.remedy, arguments=value)
            if runner.stuck_arguments is not None and not _is_bounded(tool, conditions):
                yield Violation(
                    tool=tool.name,
                    rule="ends-in-time",
                    message=f"it did not end within {format_seconds(conditions.timeout_seconds)}",
                    remedy="limit in the schema what a call may ask for, or state how long the tool may take: "
                    "`timeout_seconds=`",
                    arguments=runner.stuck_arguments,
                )
    except DefinitionError as error:
        yield Violation(
            tool=tool.name,
            rule="runnable",
            message=f"it cannot be run here: {error}",
            remedy="give `resources=`, or leave it out: `run=False`, or a catalog without it",
        )
    except Unsupported:
        return  # the law `callable` reports it


def _is_bounded(tool: Tool, conditions: RunConditions) -> bool:
    """Return whether *tool* states a longer timeout than the check waits; the dispatcher enforces that timeout."""
    return (tool.facts.timeout_seconds or 0) > conditions.timeout_seconds


def _limit_time(law: RunLaw, trial: Trial) -> Callable[[Mapping[str, Any]], str | None]:
    """
    Return a function that applies *law* to one call as long as there is time left.

    After a call that did not end, or after `_MAX_SECONDS`, it finds no fault. So the call that did not end is
    neither tried again nor made smaller.
    """
    limit = trial.runner.spent_seconds + _MAX_SECONDS

    def find_fault(call_arguments: Mapping[str, Any]) -> str | None:
        is_over = trial.runner.stuck_arguments is not None or trial.runner.spent_seconds > limit
        return None if is_over else law.find_fault(trial, call_arguments)

    return find_fault


def fails_as_declared(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool neither returns a result nor raises an error that a model can act on."""
    ran = trial.runner.run(call_arguments)
    if ran.error is not None and not ran.is_overdue:
        return f"it raised {type(ran.error).__name__}: {str(ran.error)[:300]}"
    if ran.result is not None and ran.result.kind in ("internal", "cancelled"):
        return f"it ended as {ran.result.kind!r}: {ran.result.text.splitlines()[0][:300]}"
    return None


def returns_what_it_says(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool's return value has no JSON form, or does not fit the output schema."""
    ran = trial.runner.run(call_arguments)
    error = None if ran.result is None else ran.result.error
    if error is None or not ran.return_values or error.details.get("ran") is not True:
        return None
    return error.message.removeprefix("the tool ran, but ")


def changes_nothing(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return which files changed if a read-only tool did not leave the files as they were."""
    before = trial.files()
    trial.runner.run(call_arguments)
    changes = describe_changes(before, trial.files())
    return f"it says that it is read-only, but {changes}" if changes else None


def twice_is_once(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what changed if an idempotent tool changes the state when it runs a second time."""
    trial.runner.run(call_arguments)
    once = trial.state()
    trial.runner.run(call_arguments)
    twice = trial.state()
    if once == twice:
        return None
    if trial.conditions.state is None:
        return f"it says that it is idempotent, but the second time {describe_changes(once, twice)}"
    return f"it says that it is idempotent, but after the first time the state was {once!r}, and then {twice!r}"


def _has_files(trial: Trial) -> bool:
    return trial.tool.facts.read_only and trial.conditions.folder is not None


def _has_state(trial: Trial) -> bool:
    facts, conditions = trial.tool.facts, trial.conditions
    # The law `read-only` has compared the files of a read-only tool already.
    has_state = conditions.state is not None or (conditions.folder is not None and not facts.read_only)
    return facts.idempotent and has_state


RUN_LAWS: dict[str, RunLaw] = {
    # This law comes first: after its first run a tool may find its change made, and leave the files as they are.
    "read-only": RunLaw(changes_nothing, "leave the files alone, or do not state `read_only=True`", _has_files),
    "declared-failures": RunLaw(
        fails_as_declared,
        "annotate its parameters so that the schema refuses such a call, or raise ToolError, BadArgs, Safety or "
        "Transient with words for the model",
    ),
    "output": RunLaw(returns_what_it_says, "return what the annotation says, or annotate what is returned"),
    "idempotent": RunLaw(
        twice_is_once, "make the second run find the work done, or do not state `idempotent=True`", _has_state
    ),
}
