"""
The laws that can be checked only by running a tool.

A tool is run if `may_run` permits it, or if the caller names it. Each law is a function of a `Trial` and the arguments
of one call, and returns what is wrong.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..._plumbing.wording import format_seconds
from ...calls.render_result import WrongResult
from ...errors import DefinitionError
from ...policies.classify import ClassifyRules
from ...results import ToolResult
from ...spec import Tool
from ..strategies.arguments import arguments
from ..strategies.base import Unsupported
from .smallest_example import Effort, find_smallest
from .tool_runner import ToolRunner, TrialOutcome, open_tool_runner
from .violations import Fault, show_cut

__all__ = [
    "RUNNER_LAWS",
    "RUN_LAWS",
    "RunConditions",
    "WatchedFolder",
    "describe_changes",
    "find_broken_run_laws",
    "may_run",
]

Snapshot: TypeAlias = "dict[str, tuple[str, int, str]]"
"""For each path: the kind of the entry, its permissions, and the digest of its content or the target of the link."""

_MAX_LISTED_CHANGES = 5


class WatchedFolder:
    """A folder of which snapshots are taken. A file is read again only if its inode, size or times have changed."""

    def __init__(self, folder: str | os.PathLike[str], *, max_entries: int = 20_000) -> None:
        self._folder = Path(folder)
        self._max_entries = max_entries
        self._digests: dict[tuple[str, int, int, int, int], str] = {}
        if not self._folder.is_dir():
            raise NotADirectoryError(f"{folder} is no folder; give one whose files must not change")

    def snapshot(self) -> Snapshot:
        """Return every entry under the folder as it is now. Links are not followed."""
        entries: Snapshot = {}
        for root, folders, files in os.walk(self._folder):
            for name in sorted([*folders, *files]):
                path = os.path.join(root, name)
                entries[os.path.relpath(path, self._folder)] = self._describe_entry(path)
                if len(entries) > self._max_entries:
                    raise ValueError(
                        f"more than {self._max_entries:,} entries in {self._folder}; watch a smaller folder"
                    )
        return entries

    def _describe_entry(self, path: str) -> tuple[str, int, str]:
        try:
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                return "link", 0, os.readlink(path)
            if not stat.S_ISREG(status.st_mode):
                return ("folder" if stat.S_ISDIR(status.st_mode) else "other"), mode, ""
            key = path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
            if key not in self._digests:
                self._digests[key] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:  # the entry was deleted meanwhile, or this process may not read it
            return "unreadable", 0, type(error).__name__
        return "file", mode, self._digests[key]


def describe_changes(before: Snapshot, after: Snapshot) -> str:
    """Return in a few words which entries appeared, went or changed; an empty text if none did."""
    changes = [f"{path} appeared" for path in after if path not in before]
    changes += [f"{path} went" for path in before if path not in after]
    changes += [f"{path} changed" for path in after if path in before and before[path] != after[path]]
    more = f" and {len(changes) - _MAX_LISTED_CHANGES} more" if len(changes) > _MAX_LISTED_CHANGES else ""
    return ", ".join(changes[:_MAX_LISTED_CHANGES]) + more


class AnswerLog:
    """What came of the calls of each tool, to tell when a law was kept only because the calls showed nothing."""

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[str, str]]] = {}

    def add(self, result: ToolResult) -> None:
        text = result.text if result.error is None else result.error.message  # without the advice for the model
        self._answers.setdefault(result.tool, []).append((result.kind, text))

    def describe_poor_calls(self, tool: Tool) -> str:
        """Return a note if all calls of *tool* failed, or answered alike; empty if they did not."""
        answers = self._answers.get(tool.name, [])
        if len(answers) < 2 or not tool.schema.get("properties"):
            return ""
        has_failed = all(kind != "ok" for kind, _ in answers)
        # An author who gave examples knows that the tool has one answer for all of them.
        if not has_failed and (tool.facts.examples or len(set(answers)) > 1):
            return ""
        message = " ".join(answers[0][1].split()).rstrip(".")
        outcome = f"failed, such as: {message:.200}" if has_failed else "answered alike"
        return (
            f"`{tool.name}`: all {len(answers)} calls {outcome}, so the laws have seen little of it; "
            "give `examples=` with arguments that its data has"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConditions:
    """The conditions under which tools are run, which `check_tool` describes, and what came of the calls."""

    folder: WatchedFolder | None = None
    state: Callable[[], Any] | None = None
    resources: Mapping[Any, Any] | None = None
    classify: ClassifyRules = ()
    timeout_seconds: float = 3.0
    answers: AnswerLog = field(default_factory=AnswerLog)


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool to run, its runner, and the conditions under which it runs."""

    tool: Tool
    runner: ToolRunner
    conditions: RunConditions

    def run(self, call_arguments: Mapping[str, Any]) -> TrialOutcome:
        """Call the tool once, and keep its answer."""
        outcome = self.runner.run(call_arguments)
        if outcome.result is not None:
            self.conditions.answers.add(outcome.result)
        return outcome

    def files(self) -> Snapshot:
        return {} if self.conditions.folder is None else self.conditions.folder.snapshot()

    def state(self) -> Any:
        return self.files() if self.conditions.state is None else self.conditions.state()


@dataclass(frozen=True, slots=True)
class RunLaw:
    """
    A law that a tool keeps or breaks while it runs.

    *find_fault* makes a call and returns what is wrong with it. *applies* returns whether the law can be checked here.
    """

    find_fault: Callable[[Trial, Mapping[str, Any]], str | None]
    remedy: str
    applies: Callable[[Trial], bool] = lambda trial: True


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
        with open_tool_runner(
            tool,
            resources=conditions.resources,
            timeout_seconds=conditions.timeout_seconds,
            classify=conditions.classify,
        ) as runner:
            trial = Trial(tool, runner, conditions)
            for rule, law in RUN_LAWS.items():
                # Each law runs the tool, so each may find a call that does not end.
                if not law.applies(trial) or not effort.includes(rule, *RUNNER_LAWS):
                    continue
                example = find_smallest(strategy, _limit_time(law, trial), effort)
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


def _limit_time(law: RunLaw, trial: Trial) -> Callable[[Mapping[str, Any]], str | None]:
    """
    Return a function that applies *law* to one call as long as there is time left, and no call has failed to end.

    Then it finds no fault, so that a call that did not end is neither tried again nor made smaller.
    """
    limit = trial.runner.spent_seconds + _MAX_SECONDS

    def find_fault(call_arguments: Mapping[str, Any]) -> str | None:
        is_over = trial.runner.stuck_arguments is not None or trial.runner.spent_seconds > limit
        return None if is_over else law.find_fault(trial, call_arguments)

    return find_fault


def fails_as_declared(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool neither returns a result nor raises an error that a model can act on."""
    ran = trial.run(call_arguments)
    if ran.error is not None and not ran.is_overdue and not isinstance(ran.error, WrongResult):
        return f"it raised {type(ran.error).__name__}: {str(ran.error)[:300]}"
    if ran.result is not None and ran.result.kind in ("internal", "cancelled"):
        return f"it ended as {ran.result.kind!r}: {ran.result.text.splitlines()[0][:300]}"
    return None


def returns_what_it_says(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong if the tool's return value has no JSON form, or does not fit the output schema."""
    ran = trial.run(call_arguments)
    return str(ran.error).partition("the tool ran, but ")[2] if isinstance(ran.error, WrongResult) else None


def changes_nothing(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return which files changed if a read-only tool did not leave the files as they were."""
    before = trial.files()
    trial.run(call_arguments)
    changes = describe_changes(before, trial.files())
    return f"it says that it is read-only, but {changes}" if changes else None


def twice_is_once(trial: Trial, call_arguments: Mapping[str, Any]) -> str | None:
    """Return what changed if an idempotent tool changes the state when it runs a second time."""
    trial.run(call_arguments)
    once = trial.state()
    trial.run(call_arguments)
    twice = trial.state()
    if once == twice:
        return None
    if trial.conditions.state is None:
        return f"it says that it is idempotent, but the second time {describe_changes(once, twice)}"
    first, second = (show_cut(state, 200) for state in (once, twice))
    return f"it says that it is idempotent, but after the first time the state was {first}, and then {second}"


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
        "Transient with words for the model; declare an exception of a library: `classify={LibraryError: ToolError}` "
        "(for `toolkit check`, in a dispatcher that the target names: `tools.py:dispatcher`)",
    ),
    "output": RunLaw(returns_what_it_says, "return what the annotation says, or annotate what is returned"),
    "idempotent": RunLaw(
        twice_is_once, "make the second run find the work done, or do not state `idempotent=True`", _has_state
    ),
}
