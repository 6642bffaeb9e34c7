"""
The policies of a dispatcher, checked where they are given.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .._lazy_names import LazyModule
from .._option_checks import OptionTypes, check_option_names, check_option_types, describe_type, require_list
from .._plumbing.forks import unlock_properties_in_children
from ..concurrency.abandoned import AbandonedCalls, log_abandoned
from ..concurrency.thread_pool import ThreadPool, run_in_thread
from ..concurrency.time_limits import await_with_limit
from ..context import Progress
from ..errors import ToolError, ToolkitError
from ..hooks.base import Chain, SpanRecorder, Step
from ..policies.redaction import Redaction, RedactionRule
from ..values.text_limits import TextLimit
from ..verdicts import allow_any_call

if TYPE_CHECKING:
    from ..approvals import Approvals
    from ..approvals.store_runner import StoreRunner
    from ..functions.checker import Validation
    from ..permissions.judge import CallGate, SupportsJudge
    from ..permissions.judgement import CallJudges
    from ..policies import classify, retry
    from ..policies.audit import AuditLog
    from ..policies.classify import ClassifyRules
    from ..policies.retry import RetryPolicy
    from ..safety import SafetyChecks
    from ..spec import Tool
else:  # most calls succeed at once
    classify = LazyModule("toolkit.policies.classify")
    retry = LazyModule("toolkit.policies.retry")

__all__ = ["MAX_NOTE_SECONDS", "DispatcherOptions", "Settings"]

_log = logging.getLogger("toolkit")

MAX_NOTE_SECONDS = 30.0
"""How long a call that already has a result waits for the audit log, unless the call sets a closer limit."""

# The size of the pool for stores, and of the pool for the audit log and the check of large arguments. It is the maximum
# size of asyncio's own executor.
_MAX_OWN_THREADS = 32

_MIN_TEXT_LIMIT = 50

_KINDS: OptionTypes = {
    "resources": ((Mapping,), "a dictionary from types to values, or None"),
    "timeout_seconds": ((int, float, NoneType), "a number of seconds, or None"),
    "max_chars": ((int, NoneType), "a whole number of characters, or None"),
    "max_bytes": ((int, NoneType), "a whole number of bytes, or None"),
    "max_concurrency": ((int,), "a whole number of calls"),
    "on_progress": ((Callable, NoneType), "a function of the progress, or None"),
    "cleanup_seconds": ((int, float), "a number of seconds"),
    "clock": ((Callable,), "a function that returns seconds, such as time.monotonic"),
    "sleep": ((Callable,), "a function that waits for seconds, such as asyncio.sleep"),
    "chance": ((Callable,), "a function that returns a number from 0 to 1, such as random.random"),
}
# These modules stay unloaded until they are needed, so the objects are recognised by their methods.
_PARTS = {
    "safety": (("judge", "root"), "SafetyChecks(...)"),
    "approvals": (("sealed", "answer"), "Approvals(store) or Approvals(ask=...)"),
    "audit": (("write",), "AuditLog(path)"),
    "telemetry": (("on_event", "trace_parent"), "Telemetry() or TraceFile(path)"),
}


class DispatcherOptions(TypedDict, total=False):
    """The options of a `Dispatcher`, all by keyword. The docstring of `Dispatcher` explains each of them."""

    permissions: SupportsJudge | Sequence[SupportsJudge] | None
    safety: SafetyChecks | None
    approvals: Approvals | None
    audit: AuditLog | None
    telemetry: SpanRecorder | None
    hooks: Iterable[Any]
    retry: RetryPolicy
    repair: bool
    validation: Validation
    resources: Mapping[Any, Any] | None
    classify: ClassifyRules
    redact: Sequence[RedactionRule]
    timeout_seconds: float | None
    max_chars: int | None
    max_bytes: int | None
    max_concurrency: int
    check_output: bool
    raise_bugs: bool
    on_progress: Callable[[Progress], object] | None
    cleanup_seconds: float
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    chance: Callable[[], float]


@unlock_properties_in_children
class Settings:
    """
    The options of a `Dispatcher` after they were checked, and the threads that its calls run in.

    `Dispatcher` explains each option. No field is set after the dispatcher was made.

    Attributes:
        call_numbers: The numbers for calls that have no id.
        background_jobs: The calls that run in the background.
        classify_rules: The user's rules for exceptions, as functions.
    """

    def __init__(self, **options: Unpack[DispatcherOptions]) -> None:
        check_option_names(options, DispatcherOptions.__annotations__, _OTHER_WORDS, "Dispatcher")
        resources = options.get("resources")
        self._retry = options.get("retry")
        self.repair = options.get("repair", True)
        self.validation: Validation = options.get("validation", "fast")
        self.resources: Mapping[Any, Any] = {} if resources is None else resources
        self.timeout_seconds = options.get("timeout_seconds")
        self.max_chars = options.get("max_chars")
        self.max_bytes = options.get("max_bytes")
        self.max_concurrency = options.get("max_concurrency", 100)
        self.check_output = options.get("check_output", True)
        self.raise_bugs = options.get("raise_bugs", False)
        self.on_progress = options.get("on_progress")
        self.cleanup_seconds = options.get("cleanup_seconds", 5.0)
        self.clock = options.get("clock", time.monotonic)
        self.sleep = options.get("sleep", asyncio.sleep)
        self.chance = options.get("chance", lambda: retry.random_chance())  # noqa: PLW0108 -- it is not loaded here
        self.audit = options.get("audit")
        approvals = options.get("approvals")
        if approvals is not None:
            self.approvals = approvals
        self._check()
        _check_parts(options)
        if "retry" in options:
            remedy = "RetryPolicy(...); RetryPolicy(attempts=1) tries once"
            check_option_types(options, {"retry": ((retry.RetryPolicy,), remedy)})
        self.resources = dict(self.resources)
        if self.resources:
            from .resources import check_resource_keys

            check_resource_keys(self.resources)
        telemetry = options.get("telemetry")
        recorders = () if telemetry is None else (telemetry,)
        self.chain = Chain.of((*recorders, *require_list(options.get("hooks", ()), "hooks")))
        self.redaction = Redaction(options.get("redact", ()))
        self._tool_threads = ThreadPool(self.max_concurrency, name="toolkit")
        # User code that is not a tool, and the library's own work, must not wait for threads that tools hold.
        self.hook_threads = ThreadPool(self.max_concurrency, name="toolkit-hook")
        # Calls must not wait for threads that jobs hold, because `job_stop` is a call.
        self.job_threads = ThreadPool(self.max_concurrency, name="toolkit-job")
        self.own_threads = ThreadPool(_MAX_OWN_THREADS, name="toolkit-own")
        # A store that hangs must hold up neither the audit log nor the check of large arguments.
        self.store_threads = ThreadPool(_MAX_OWN_THREADS, name="toolkit-store")
        own_files = _files_of(approvals, self.audit)
        self._judge_options = options.get("safety"), options.get("permissions"), own_files
        if options.get("permissions") is not None:
            _ = self.judges  # a judge that is none is refused here
        self.abandoned = AbandonedCalls()
        self.hook_runner = DispatcherHookRunner(self.hook_threads, self.abandoned, self.cleanup_seconds)
        self.call_numbers = itertools.count(1)
        self.background_jobs: set[Any] = set()  # of `CallJob`, which is made with these settings
        self._is_in_job: Callable[[], bool] | None = None
        self.classify_rules = classify.compile_rules(options["classify"]) if "classify" in options else []
        self._source: Settings | None = None

    def extended(
        self,
        permissions: SupportsJudge | Sequence[SupportsJudge] | None,
        hooks: Iterable[Any],
        on_progress: Callable[[Progress], object] | None,
        approvals: Approvals | None = None,
        telemetry: SpanRecorder | None = None,
    ) -> Settings:
        """
        Return settings that share everything with these ones, with the given judges, hooks and listener added.

        *approvals* take the place of those of these settings. No tool may touch the files of either.
        """
        check_option_types({"on_progress": on_progress}, {"on_progress": _KINDS["on_progress"]})
        _check_parts({"approvals": approvals, "telemetry": telemetry})
        _ = self.approvals  # made now if it is the default, so that both settings have the same object
        settings = copy.copy(self)
        settings._source = self  # noqa: SLF001 -- an object of this class; the threads end when the source is freed
        settings.judges = self.judges.with_judges(permissions, _files_of(approvals, None))
        if approvals is not None:
            settings.approvals = approvals
            vars(settings).pop("store_runner", None)
        recorders = () if telemetry is None else (telemetry,)
        settings.chain = Chain.of((*recorders, *self.chain.hooks, *require_list(hooks, "hooks")))
        settings.on_progress = _join_listeners(self.on_progress, on_progress)
        return settings

    def for_jobs(self, hook: Any, on_progress: Callable[[Progress], object], is_in_job: Callable[[], bool]) -> Settings:
        """
        Return settings for tools that may be jobs, with *hook* outside all other hooks.

        *is_in_job* returns whether the current call is a job, and runs in the threads of jobs.
        """
        settings = self.extended(None, (), on_progress)
        settings._is_in_job = is_in_job  # noqa: SLF001 -- an object of this class
        settings.chain = Chain.of((hook, *self.chain.hooks))
        return settings

    def _check(self) -> None:
        check_option_types(vars(self), _KINDS)
        if self.max_concurrency < 1:
            raise ValueError(f"max_concurrency has to be at least 1, got {self.max_concurrency}")
        for name, most in (("max_chars", self.max_chars), ("max_bytes", self.max_bytes)):
            if most is not None and most < _MIN_TEXT_LIMIT:
                raise ValueError(f"{name} has to be at least {_MIN_TEXT_LIMIT}, got {most}")
        if not (self.timeout_seconds is None or self.timeout_seconds > 0):
            raise ValueError(f"timeout_seconds has to be above 0, or None; got {self.timeout_seconds}")
        if not self.cleanup_seconds >= 0:
            raise ValueError(f"cleanup_seconds has to be 0 or more, got {self.cleanup_seconds}")
        if self.validation not in ("fast", "jsonschema"):
            raise ValueError(f'validation has to be "fast" or "jsonschema", got {self.validation!r}')

    def limit_text(self, max_chars: int | None = None, max_bytes: int | None = None) -> TextLimit:
        """Return the limit of a result's text. What a tool states takes the place of the same number here."""
        return TextLimit.of(
            self.max_chars if max_chars is None else max_chars, self.max_bytes if max_bytes is None else max_bytes
        )

    @cached_property
    def approvals(self) -> Approvals:
        """How people are asked, and where their answers are stored. The default is made when it is first needed."""
        from ..approvals import Approvals

        return Approvals()

    @cached_property
    def store_runner(self) -> StoreRunner:
        """The object that runs the operations of the approval store."""
        from ..approvals.store_runner import StoreRunner

        return StoreRunner(self.approvals, self.store_threads, self.cleanup_seconds)

    @property
    def retry(self) -> RetryPolicy:
        """How transient failures are retried. The default is made for the first of them."""
        if self._retry is None:
            self._retry = retry.RetryPolicy()
        return self._retry

    @cached_property
    def judges(self) -> CallJudges:
        """The checks and judges of calls. Those of a dispatcher without permissions are made when they are needed."""
        from ..permissions.judgement import CallJudges

        return CallJudges(*self._judge_options)

    def build_gate(self, tool: Tool, names: frozenset[str]) -> CallGate | None:
        """Return a quick check whether a call of *tool* may run; None if every call has to be judged."""
        facts = tool.facts
        has_functions = facts.preflight is not None or facts.approval != "never" or callable(facts.cost)
        states_nothing = not has_functions and not tool.signature.accesses
        return allow_any_call if states_nothing and not self._has_judges else self.judges.gate(tool, names)

    def find_rule_mistakes(self, tools: Iterable[Tool]) -> list[str]:
        """Return the mistakes that the judges find in their own rules, for these *tools*."""
        return self.judges.mistakes(tools) if self._has_judges else []

    @property
    def _has_judges(self) -> bool:
        """Whether the checks and judges were made, and their module is loaded."""
        return "judges" in vars(self)

    @property
    def has_asker(self) -> bool:
        """Whether a person can be asked at once. The default `approvals` have no asker, and are not made for this."""
        return getattr(vars(self).get("approvals"), "asker", None) is not None

    def classify_error(self, error: BaseException) -> ToolError:
        """Return the `ToolError` that *error* is classified as, by the user's rules and the built-in table."""
        return classify.classify_error(error, self.classify_rules)

    @property
    def threads(self) -> ThreadPool:
        """The threads for the tool of the current call."""
        return self._tool_threads if self._is_in_job is None or not self._is_in_job() else self.job_threads

    @property
    def pools(self) -> tuple[ThreadPool, ...]:
        """All thread pools: for tools, jobs, hooks, the approval store, and the library's other work."""
        return self._tool_threads, self.job_threads, self.hook_threads, self.store_threads, self.own_threads

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Run blocking work of the library itself: the audit log, the check of large arguments."""
        return await run_in_thread(self.own_threads, work, "toolkit")

    async def in_hook_thread(self, work: Callable[[], Any]) -> Any:
        """Run a blocking user function that is not a tool: an asker, a preview."""
        return await run_in_thread(self.hook_threads, work, "a preview or an asker")

    async def write_late(self, subject: str, writing: Awaitable[object], seconds: float | None = None) -> None:
        """
        Await *writing*, which adds a line to the audit log about *subject*, for at most *seconds*.

        What the line says has happened already, so a failure is only logged.
        """
        try:
            async with asyncio.timeout(MAX_NOTE_SECONDS if seconds is None else seconds):
                await writing
        except ToolkitError as error:
            _log.error("%s is missing in the audit log: %s", subject, error)
        except TimeoutError:
            _log.error("%s may be missing in the audit log: writing takes too long", subject)

    @contextlib.contextmanager
    def lend_threads(self) -> Iterator[None]:
        """
        Lend the slot of the current thread to other jobs while the block runs.

        This has an effect only in a thread of these pools. That thread only waits for the other jobs meanwhile.
        """
        with contextlib.ExitStack() as stack:
            for pool in self.pools:
                stack.enter_context(pool.lend_slot())
            yield


_OTHER_WORDS = {
    **dict.fromkeys(("deps", "context", "dependencies"), "tools get such objects with `resources={type: object}`"),
    **dict.fromkeys(("middleware", "callbacks"), "objects that see each call are `hooks`"),
    **dict.fromkeys(("retries", "max_retries"), "write `retry=RetryPolicy(attempts=...)`"),
}


def _check_parts(options: Mapping[str, Any]) -> None:
    permissions = options.get("permissions")
    if isinstance(permissions, str):
        raise TypeError(f"permissions is an object; write Permissions({permissions!r})")
    for name, (methods, remedy) in _PARTS.items():
        part = options.get(name)
        if part is not None and (isinstance(part, type) or not all(hasattr(part, method) for method in methods)):
            raise TypeError(f"{name} cannot be {describe_type(part)}; give {remedy}")


def _join_listeners(
    first: Callable[[Progress], object] | None, second: Callable[[Progress], object] | None
) -> Callable[[Progress], object] | None:
    """Return a function that calls both listeners, or the only one; None if there is none."""
    if first is None or second is None:
        return second if first is None else first

    def notify_both(progress: Progress) -> None:
        try:
            first(progress)
        finally:
            second(progress)

    return notify_both


def _files_of(approvals: Approvals | None, audit: AuditLog | None) -> list[str]:
    """
    Return the files that only the dispatcher may touch.

    Another file whose name begins with one of these names is a journal of SQLite.
    """
    paths = [getattr(part, "path", None) for part in (None if approvals is None else approvals.store, audit)]
    return [os.path.realpath(path) for path in paths if isinstance(path, str)]


class DispatcherHookRunner:
    """The `HookRunner` of a dispatcher."""

    def __init__(self, threads: ThreadPool, abandoned: AbandonedCalls, cleanup_seconds: float) -> None:
        self._threads = threads
        self._abandoned = abandoned
        self._cleanup_seconds = cleanup_seconds

    async def in_thread(self, work: Callable[[], Any], label: str) -> Any:
        """Run *work* in a thread for hooks."""
        return await run_in_thread(self._threads, work, label)

    def await_hook(self, work: Awaitable[Any], step: Step) -> Coroutine[Any, Any, Any]:
        """Return a coroutine that awaits *work*. After a cancellation its cleanup has a limit; then it is abandoned."""
        return await_with_limit(work, self._cleanup_seconds, partial(self._abandon, step))

    def _abandon(self, step: Step, task: asyncio.Task[Any]) -> None:
        log_abandoned(f"the hook {step.name}", self._cleanup_seconds)
        self._abandoned.keep_alive(task)
