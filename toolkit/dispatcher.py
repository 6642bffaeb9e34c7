"""
The dispatcher, which runs calls: it finds the tool, sends the call through the pipeline and returns a result.

The dispatcher holds the policies, and the tools hold the facts. It needs no agent, no server and no model. `call` runs
one call, `call_many` runs a batch, and `call_sync` runs one call from code that has no event loop.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from sys import modules
from typing import TYPE_CHECKING, Any, Self

from ._forks import renew_in_children
from .calls.batch import Batch
from .calls.call_copies import UnreadableMetadata, copy_call
from .calls.call_state import CallState
from .calls.pipeline import run_pipeline
from .calls.planner import Planner
from .calls.settings import Settings
from .calls.trio_check import is_under_trio, refuse_under_trio
from .calls.unstarted import finish_unstarted
from .catalogs.views import CatalogView
from .concurrency.background_loop import BackgroundLoop
from .concurrency.thread_pool import ThreadPool
from .context import Progress
from .decisions import ApprovalRequest, Decision
from .errors import DefinitionError, UnknownTool, find_nearest
from .formats.call_ids import unique_ids
from .functions.checker import Validation
from .permissions.judge import Judge
from .policies.classify import ClassifyRules
from .policies.redaction import RedactionRule
from .policies.retry import RetryPolicy
from .results import ToolCall, ToolResult
from .session import Session
from .values.codecs import UNSURE
from .verdicts import Verdict

if TYPE_CHECKING:  # loaded only when a call has to be judged or a person asked; most programs start without them
    from .approvals import Approvals
    from .policies.audit import AuditLog
    from .safety import SafetyChecks

__all__ = ["Dispatcher"]

_DEFAULT_RETRY = RetryPolicy()
_MAX_SUGGESTIONS = 20


class Dispatcher:
    """
    Runs the tools of a catalog.

    Args:
        catalog: The tools. The dispatcher follows the catalog as it changes.
        permissions: `Permissions`, another judge, or several judges. Without them, only the safety checks judge calls.
        safety: The checks on what calls are about to touch. The default is the usual checks in the current folder.
        approvals: How people are asked, and where their answers are stored. The default is in memory.
        audit: The log that verdicts, intents and outcomes are written to.
        hooks: Objects with `before`, `around` or `after`. They run in this order.
        retry: How transient failures are retried.
        repair: Whether arguments that fail the check may be repaired.
        validation: "fast", or "jsonschema" to let jsonschema validate every call.
        resources: The values for `Inject[T]` parameters, by type. `PER_CALL` stands for a value that each call brings.
        classify: Rules for how exceptions are classified. They are consulted before the built-in table.
        redact: Texts, patterns or functions that mask content which must not leave the program.
        timeout_seconds: The limit of one attempt, for tools that state no limit.
        max_chars: The maximum length of a result's text, for tools that state no limit.
        max_concurrency: How many calls of a batch, and how many threads, may run at once.
        check_output: Whether results are checked against the output schema.
        raise_bugs: Whether an exception that is no `ToolError`, and is not classified as a subclass of it, is raised
            instead of becoming a result.
        on_progress: Called with the reports of running calls, and with the values that streaming calls yield.
        cleanup_seconds: How long a cancelled tool or hook may take to clean up before the dispatcher abandons it.
    """

    def __init__(
        self,
        catalog: CatalogView,
        *,
        permissions: Judge | Sequence[Judge] | None = None,
        safety: SafetyChecks | None = None,
        approvals: Approvals | None = None,
        audit: AuditLog | None = None,
        hooks: Iterable[Any] = (),
        retry: RetryPolicy = _DEFAULT_RETRY,
        repair: bool = True,
        validation: Validation = "fast",
        resources: Mapping[Any, Any] | None = None,
        classify: ClassifyRules = (),
        redact: Sequence[RedactionRule] = (),
        timeout_seconds: float | None = None,
        max_chars: int = 100_000,
        max_concurrency: int = 100,
        check_output: bool = False,
        raise_bugs: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
        cleanup_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not isinstance(catalog, CatalogView):
            raise TypeError(f"a dispatcher wants a catalog, got {type(catalog).__name__}; write Catalog(function, ...)")
        settings = Settings(
            permissions=permissions,
            safety=safety,
            approvals=approvals,
            audit=audit,
            hooks=hooks,
            retry=retry,
            repair=repair,
            validation=validation,
            resources=resources,
            classify=classify,
            redact=redact,
            timeout_seconds=timeout_seconds,
            max_chars=max_chars,
            max_concurrency=max_concurrency,
            check_output=check_output,
            raise_bugs=raise_bugs,
            on_progress=on_progress,
            cleanup_seconds=cleanup_seconds,
            clock=clock,
            sleep=sleep,
            chance=chance,
        )
        self._set_up(catalog, settings)
        # If a program never closes its dispatcher, this still removes the listeners and the idle threads. Running calls
        # hold the settings, so a dispatcher made for a single call keeps working until the call ends.
        self._finalizer = weakref.finalize(settings, _close_all, self._planner.check_and_follow(), settings.pools)
        self._finalizer.atexit = False

    def _set_up(self, catalog: CatalogView, settings: Settings) -> None:
        self.catalog = catalog
        self._settings = settings
        self._planner = Planner(catalog, settings)
        self._plans_by_name = self._planner.plans_by_name
        self._background: BackgroundLoop | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        renew_in_children(self)

    # Running one call.

    def call(
        self,
        name: str | ToolCall,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 -- the usual name for it
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> Coroutine[Any, Any, ToolResult]:
        """
        Run one call: `await dispatcher.call("read", {"path": "notes.txt"})`.

        *arguments* is a JSON object or JSON text. *timeout_seconds* limits the whole call, including waits and
        retries. A tool's failure is returned as a result, never raised.
        """
        plan = self._plans_by_name.get(name) if type(name) is str else None
        if "trio" in modules and is_under_trio():
            return refuse_under_trio(self._copy_call(name, arguments, id, session, principal))
        if plan is not None and plan.fast_path is not None and resources is None and timeout_seconds is None:
            return plan.fast_path(arguments, id, session, principal)
        call = self._copy_call(name, arguments, id, session, principal)
        if type(call.metadata) is UnreadableMetadata:
            return finish_unstarted(call, call.metadata.to_result(), None, self._settings)
        try:
            plan = self._planner.find(call.name)
        except DefinitionError as error:
            return finish_unstarted(call, ToolResult.error("internal", str(error), cause=error), None, self._settings)
        if plan is None:
            return self._report_unknown_tool(call)
        call.tool = plan.tool
        if plan.fast_path is not None and resources is None and timeout_seconds is None:
            return plan.fast_path(call.arguments, call.id, call.session, call.principal, call)
        return run_pipeline(call, plan, self._settings, {} if resources is None else resources, timeout_seconds)

    def _copy_call(
        self, call: Any, arguments: Any, call_id: str | None, session: Session | None, principal: str | None
    ) -> ToolCall:
        """
        Return a new `ToolCall`, so the caller's object is never modified.

        The other arguments fill the fields that *call* leaves empty.
        """
        return copy_call(call, arguments, call_id, session, principal, lambda: f"call_{next(self._planner.ids)}")

    def _report_unknown_tool(self, call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
        table, is_permitted = (
            self.catalog.table,
            self._settings.judges.build_visibility_check(self.catalog, call.session),
        )
        near = find_nearest(call.name, [*table.tools, *table.aliases], max_items=_MAX_SUGGESTIONS)
        # A suggestion must not lead the model to a tool that the rules of this session forbid.
        suggestions = [
            name for name in near if is_permitted is None or ((tool := table.find(name)) and is_permitted(tool))
        ]
        error = UnknownTool(call.name, suggestions)
        return finish_unstarted(call, ToolResult.error("not_found", str(error), cause=error), None, self._settings)

    # Running several calls.

    async def call_many(
        self,
        calls: Iterable[ToolCall | tuple[str, Any]],
        *,
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> list[ToolResult]:
        """
        Run a batch, and return the results in the order of the calls.

        Neighbouring calls of concurrency-safe tools run together. Other calls run alone, in order. If one call fails,
        waits or is cancelled, the results of the others are not lost. A call whose id is already used in the batch
        runs under a numbered id, such as `t1~repeat-2`.
        """
        copies = self._copy_batch(calls, session, principal)
        if is_under_trio():
            return [await refuse_under_trio(call) for call in copies]

        def start(call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
            return self.call(call, resources=resources, timeout_seconds=timeout_seconds)

        return await Batch(copies, self.catalog, self._planner, self._settings, start).run()

    def _copy_batch(
        self, calls: Iterable[ToolCall | tuple[str, Any]], session: Session | None, principal: str | None
    ) -> list[ToolCall]:
        """Return a new `ToolCall` for each of *calls*, with an id that no other call of the batch has."""
        originals = [ToolCall(*call) if isinstance(call, tuple) else call for call in calls]
        used_ids = {call.id for call in originals if isinstance(call, ToolCall)}
        new_ids = (name for number in self._planner.ids if (name := f"call_{number}") not in used_ids)
        copies = [
            self._copy_call(call, None, None if getattr(call, "id", None) else next(new_ids), session, principal)
            for call in originals
        ]
        ids = [call.id for call in copies]
        if len(set(ids)) < len(ids):
            for call, call_id in zip(copies, unique_ids(ids), strict=True):
                call.id = call_id
        return copies

    # Approvals and permissions.

    async def resume(
        self,
        request: str | ApprovalRequest | Mapping[str, Any],
        decision: Decision,
        *,
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> ToolResult:
        """
        Continue a call that waits: `await dispatcher.resume(request_id, Decision.approve(by="ada"))`.

        This works from any process that has the same catalog and store. *request* is the id of the request, or the
        request itself if requests are sealed. Rules and checks judge the call again; before-hooks do not run again.
        An approval is used at most once.

        Raises:
            ApprovalError: The answer cannot be accepted; `why` gives programs the reason.
        """
        if not isinstance(decision, Decision):
            raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
        if is_under_trio():
            return await refuse_under_trio()
        from .calls.resume import resume_call

        return await resume_call(
            request,
            decision,
            self._planner.find,
            self._settings,
            session=session,
            principal=principal,
            resources={} if resources is None else resources,
            timeout_seconds=timeout_seconds,
        )

    def permitted(self, session: Session | None = None) -> CatalogView:
        """
        Return the tools that the rules and the mode of *session* could ever allow.

        The result is a view that can be listed, searched or summarised. Make a new view when the mode or the rules
        may have changed.
        """
        return self._settings.judges.permitted(self.catalog, session)

    async def explain(
        self,
        name: str | ToolCall,
        arguments: Any = None,
        *,
        session: Session | None = None,
        principal: str | None = None,
    ) -> Verdict:
        """
        Return which rule, check, fact or mode decides about a call, and why, without running it or asking a person.

        The verdict's `warnings` name rules that forbid one tool but leave another tool with the same access. Hooks
        are not consulted, so a hook may still deny the call.

        Raises:
            UnknownTool: No tool has this name.
            BadArgs: The arguments do not fit the tool.
        """
        call = self._copy_call(name, arguments, None, session, principal)
        plan = self._planner.find(call.name)
        if plan is None:
            raise UnknownTool(call.name, self.catalog.names())
        state = CallState(call, plan, self._settings, UNSURE)
        refusal = await state.check()  # this also repairs the arguments, as a real call would
        if refusal is not None:
            refusal.unwrap()
        judges = self._settings.judges
        judgement = await judges.judge(plan.tool, plan.names, call, state.decoded)
        return replace(judgement.verdict, warnings=judges.warnings(self.catalog, judgement.request))

    # Running calls from code without an event loop.

    def call_sync(self, name: str | ToolCall, arguments: Any = None, **options: Any) -> ToolResult:
        """
        Run one call as `call` does, from sync code. This also works inside a notebook or a sync tool.

        Each dispatcher has one background loop for all such calls, so async clients survive between calls.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the dispatcher is closed")
            if self._background is None:
                self._background = BackgroundLoop(cleanup_seconds=self._settings.cleanup_seconds)
        with self._settings.lend_threads():
            return self._background.wait_for(lambda: self.call(name, arguments, **options))

    # Lifetime.

    @property
    def abandoned(self) -> int:
        """How many calls still run although their caller no longer waits, because they could not be stopped."""
        return self._settings.abandoned.alive

    @property
    def abandoned_threads(self) -> int:
        """
        How many threads run a tool or a hook that could not be stopped.

        The dispatcher replaces each such thread, up to `max_concurrency` of them. If the number stays near
        `max_concurrency`, a tool hangs.
        """
        return sum(pool.stuck_count for pool in self._settings.pools)

    def renew_after_fork(self) -> None:
        """Prepare for calls in a forked child, which has none of its parent's threads. `os.fork()` triggers this."""
        self._lock = threading.Lock()
        if self._background is not None:
            self._background.leave_to_parent()
            self._background = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # This runs in a thread, because the background calls may need this event loop for their cleanup.
        helper = ThreadPool(1)
        await helper.run(self.close)
        helper.close()

    def close(self) -> None:
        """End the threads and the background loop, and abandon the calls that still run in them."""
        with self._lock:
            self._is_closed = True
        if self._background is not None:
            self._background.close()
        self._finalizer()


def _close_all(subscriptions: Iterable[Callable[[], None]], pools: Iterable[ThreadPool]) -> None:
    for stop in subscriptions:
        stop()
    for threads in pools:
        threads.close()
