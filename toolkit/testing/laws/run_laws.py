"""
The laws that show only when a tool runs.

Tools that are read-only are run; others only if somebody names them. Each law
is a function of a `Trial` and the arguments of one call, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...content import PARTS
from ...errors import DefinitionError
from ...results import ToolResult
from ...spec import Tool
from ...values.codecs import Reader
from ...values.schemas.messages import problems_of
from ...values.schemas.validator import validator
from ...values.strictjson.checks import flaws
from ..strategies.arguments import arguments
from ..strategies.unsupported import Unsupported
from .findings import Finding
from .folder_snapshots import Snapshot, Watched, differences
from .schema_laws import Effort
from .smallest_example import smallest
from .tool_runner import Ran, Runner, running

__all__ = ["RUN_LAWS", "Conditions", "may_run", "run_findings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """
    What tools are run with.

    Attributes:
        folder: Where a read-only tool must change nothing.
        state: What an idempotent tool leaves the same when it runs twice; the files in *folder* unless given.
        resources: What their `Inject` parameters get.
        timeout_seconds: How long one call may take.
    """

    folder: Watched | None = None
    state: Callable[[], Any] | None = None
    resources: Mapping[Any, Any] | None = None
    timeout_seconds: float = 3.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool that runs, and where."""

    tool: Tool
    runner: Runner
    conditions: Conditions

    def files(self) -> Snapshot:
        return {} if self.conditions.folder is None else self.conditions.folder.snapshot()

    def state(self) -> Any:
        return self.files() if self.conditions.state is None else self.conditions.state()


@dataclass(frozen=True, slots=True)
class RunLaw:
    """
    A law that a tool keeps or breaks while it runs.

    Attributes:
        fault: What is wrong with one call, None if nothing is.
        remedy: What would be right.
        applies: Whether there is anything to be found out; most laws always apply.
    """

    fault: Callable[[Trial, Mapping[str, Any]], str | None]
    remedy: str
    applies: Callable[[Trial], bool] = lambda trial: True


_MOST_SECONDS = 20.0
"""How long one law may run one tool, in all."""


def may_run(tool: Tool) -> bool:
    """Whether *tool* may be run unasked: it says that it changes nothing, stays here, and needs no one's word."""
    facts = tool.facts
    return facts.read_only and not facts.destructive and not facts.open_world and facts.approval == "never"


def run_findings(tool: Tool, effort: Effort, conditions: Conditions) -> Iterator[Finding]:
    """What *tool* does that it should not, with the smallest arguments that show it."""
    try:
        strategy = arguments(tool)
        with running(tool, resources=conditions.resources, timeout_seconds=conditions.timeout_seconds) as runner:
            trial = Trial(tool, runner, conditions)
            for rule, law in RUN_LAWS.items():
                if not law.applies(trial):
                    continue
                found = smallest(strategy, _patient(law, trial), examples=effort.examples, seed=effort.seed)
                if found is not None:
                    value, message = found
                    yield Finding(tool=tool.name, rule=rule, message=message, remedy=law.remedy, arguments=value)
            if runner.stuck_on is not None and not _is_bounded(tool, conditions):
                yield Finding(
                    tool=tool.name,
                    rule="ends-in-time",
                    message=f"it did not end within {conditions.timeout_seconds:g} s",
                    remedy="bound what it may be asked for in the schema, or state how long it may take: "
                    "`timeout_seconds=`",
                    arguments=runner.stuck_on,
                )
    except DefinitionError as error:
        yield Finding(
            tool=tool.name,
            rule="runnable",
            message=f"it cannot be run here: {error}",
            remedy="give `resources=`, or leave it out: `run=False`, or a catalog without it",
        )
    except Unsupported:
        return  # `callable` tells of it


def _is_bounded(tool: Tool, conditions: Conditions) -> bool:
    """Whether *tool* states a limit that is longer than anybody waits here: a dispatcher holds it to that."""
    return (tool.facts.timeout_seconds or 0) > conditions.timeout_seconds


def _patient(law: RunLaw, trial: Trial) -> Callable[[Mapping[str, Any]], str | None]:
    """*law* as long as there is time: what takes for ever is not tried again, nor made smaller."""
    limit = trial.runner.spent_seconds + _MOST_SECONDS

    def fault(given: Mapping[str, Any]) -> str | None:
        is_over = trial.runner.stuck_on is not None or trial.runner.spent_seconds > limit
        return None if is_over else law.fault(trial, given)

    return fault


def fails_as_declared(trial: Trial, given: Mapping[str, Any]) -> str | None:
    """It answers, or raises what a model can act on."""
    ran = trial.runner.run(given)
    if ran.error is not None and not ran.is_overdue:
        return f"it raised {type(ran.error).__name__}: {str(ran.error)[:300]}"
    if ran.result is not None and ran.result.kind in ("internal", "cancelled"):
        return f"it ended as {ran.result.kind!r}: {ran.result.text.splitlines()[0][:300]}"
    return None


def returns_what_it_says(trial: Trial, given: Mapping[str, Any]) -> str | None:
    """What it returns has a JSON form, and fits the output schema."""
    ran = trial.runner.run(given)
    if ran.result is None or ran.result.kind != "ok" or not ran.returned:
        return None
    return _unsendable(trial.tool, ran)


def changes_nothing(trial: Trial, given: Mapping[str, Any]) -> str | None:
    """A read-only tool leaves the files as they were."""
    before = trial.files()
    trial.runner.run(given)
    changed = differences(before, trial.files())
    return f"it says that it is read-only, but {changed}" if changed else None


def twice_is_once(trial: Trial, given: Mapping[str, Any]) -> str | None:
    """After an idempotent tool has run twice, the state is what it was after the first time."""
    trial.runner.run(given)
    once = trial.state()
    trial.runner.run(given)
    twice = trial.state()
    if once == twice:
        return None
    if trial.conditions.state is None:
        return f"it says that it is idempotent, but the second time {differences(once, twice)}"
    return f"it says that it is idempotent, but after the first time the state was {once!r}, and then {twice!r}"


def _has_files(trial: Trial) -> bool:
    return trial.tool.facts.read_only and trial.conditions.folder is not None


def _has_state(trial: Trial) -> bool:
    facts, conditions = trial.tool.facts, trial.conditions
    # What is read-only has been held against the files already.
    has_state = conditions.state is not None or (conditions.folder is not None and not facts.read_only)
    return facts.idempotent and has_state


RUN_LAWS: dict[str, RunLaw] = {
    # First: what a tool has changed once may look the same ever after.
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


def _unsendable(tool: Tool, ran: Ran) -> str | None:
    value = ran.returned[0]
    if isinstance(value, (ToolResult, *PARTS)) or (
        isinstance(value, (list, tuple)) and any(isinstance(each, PARTS) for each in value)
    ):
        return None
    output = tool.signature.output
    if output is None:
        return _without_form(value)
    try:
        form = output.encode(value)
    except Exception as error:  # noqa: BLE001 -- codecs are anybody's code
        return f"it returned {_named(value)}, which is not what its annotation says: {error}"
    wrong = "; ".join(map(str, flaws(form)))
    if not wrong and tool.output_schema is not None:
        wrong = "; ".join(map(str, problems_of(validator(tool.output_schema).iter_errors(form))))
    return f"what it returned does not fit its output schema: {wrong}" if wrong else None


def _without_form(value: Any) -> str | None:
    """What in *value* has no JSON form of its own, where no annotation says more."""
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += each
        elif flaws(each):
            try:
                Reader().codec(type(each)).encode(each)
            except Exception:  # noqa: BLE001 -- no codec, or somebody's class is broken
                return f"it returned {_named(each)}, which has no JSON form"
    return None


def _named(value: Any) -> str:
    return f"a Python {type(value).__name__}"
