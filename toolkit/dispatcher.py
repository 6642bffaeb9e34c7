"""
The dispatcher, which runs calls: it finds the tool, sends the call through the pipeline and returns a result.

It holds the policies, and the tools hold the facts. It needs no agent, no server and no model.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from sys import modules
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from ._lazy_names import LazyModule
from .calls.call_copies import UnreadableMetadata, check_call_keywords, copy_batch, copy_call
from .calls.call_frame import CallFrame
from .calls.pipeline import run_call
from .calls.plan import CallPlan
from .calls.planner import Planner
from .calls.settings import DispatcherOptions, Settings
from .calls.typed_calls import TypedCalls
from .catalog import Tools, as_catalog
from .catalogs.views import CatalogView
from .concurrency.background_loop import BackgroundLoop
from .concurrency.thread_pool import ThreadPool
from .context import Progress
from .errors import DefinitionError
from .hooks.base import SpanRecorder, current_recording, find_recorders
from .results import ToolCall, ToolResult
from .session import Session, check_session

if TYPE_CHECKING:
    from .approvals import Approvals
    from .calls import batch, resume, unstarted
    from .calls.background import detached_calls, jobs
    from .calls.call_copies import BatchKeywords, CallKeywords, SharedKeywords
    from .decisions import ApprovalRequest, Decision
    from .permissions.judge import SupportsJudge
    from .verdicts import Verdict
else:  # most calls come alone, name a tool that exists, and are neither resumed nor run in the background
    batch = LazyModule("toolkit.calls.batch")
    detached_calls = LazyModule("toolkit.calls.background.detached_calls")
    jobs = LazyModule("toolkit.calls.background.jobs")
    resume = LazyModule("toolkit.calls.resume")
    unstarted = LazyModule("toolkit.calls.unstarted")

__all__ = ["Dispatcher"]

T = TypeVar("T")


class Dispatcher(TypedCalls):
    """
    Runs the tools of a catalog.

    Args:
        catalog: A catalog, which the dispatcher follows as it changes; or a function, or a list of functions.
        permissions: `Permissions`, another judge, or several judges. Without them, only the safety checks judge calls.
        safety: The checks on what calls are about to touch. The default is the usual checks in the current folder.
        approvals: How people are asked, and where their answers are stored. The default is in memory.
        audit: The log that verdicts, intents and outcomes are written to.
        telemetry: `Telemetry` or `TraceFile`, which records calls, and the agents and flows that they start.
        hooks: Objects with `before`, `around`, `after` or `on_event`. They run in this order.
        retry: How transient failures are retried; `RetryPolicy()` unless given.
        repair: Whether arguments that fail the check may be repaired.
        validation: "fast", or "jsonschema" to let jsonschema validate every call.
        resources: The values for `Inject[T]` parameters, by type. `PER_CALL` stands for a value that each call brings.
        classify: Rules for how exceptions are classified. They are consulted before the built-in table.
        redact: Texts, patterns or functions that mask content which must not leave the program.
        timeout_seconds: The limit of one attempt, for tools that state no limit.
        max_chars: How many characters the text of a result may have, for tools that do not state it.
        max_bytes: How many bytes it may have as UTF-8, for tools that do not state it. The smaller of the two limits
            counts. If there is neither, the limit is 10,000 tokens, estimated at four bytes a token.
        max_concurrency: How many calls of a batch, and how many threads, may run at once.
        check_output: Whether a value that its output schema does not allow is a failure. It is passed on otherwise.
        raise_bugs: Whether an exception that is no `ToolError`, and is not classified as a subclass of it, is raised
            instead of becoming a result. A value that its tool may not return raises `DefinitionError`.
        on_progress: Called with the reports of running calls, and with the values that streaming calls yield.
        cleanup_seconds: How long a cancelled tool or hook may take to clean up before the dispatcher abandons it.
        clock: The function that returns the time in seconds.
        sleep: The function that waits between attempts.
        chance: The function that returns a random number from 0 to 1, for the waits between attempts.

    Attributes:
        catalog: The tools.
        settings: The options after they were checked. They are for reading only.
    """

    def __init__(self, catalog: Tools, **options: Unpack[DispatcherOptions]) -> None:
        self._set_up(catalog, Settings(**options), None)

    def _set_up(self, catalog: Tools, settings: Settings, source: Dispatcher | None) -> None:
        """Prepare for calls. *source* is the dispatcher that this one extends; None if it has its own threads."""
        self.catalog = catalog = as_catalog(catalog)
        self.settings = settings
        self._planner = Planner(catalog, settings)
        self._plans_by_name = self._planner.plans_by_name
        self._is_closed = False
        self._recorded: tuple[list[SpanRecorder], Dispatcher] | None = None
        self._owns_threads = source is None
        if source is None:
            self._background = BackgroundLoop(cleanup_seconds=settings.cleanup_seconds)
            subscriptions, pools = self._planner.check_and_follow(), settings.pools
        else:
            self._background = source._background  # noqa: SLF001 -- an object of this class
            self._planner.check_resources(known_tools=source.catalog)
            told = self._planner.tell_changes(source.settings.chain.listeners)  # the source tells its own listeners
            subscriptions, pools = (self._planner.drop_plans_on_change(), *told), ()
        # If a program never closes its dispatcher, this still removes the listeners and the idle threads. Running calls
        # hold the settings, so a dispatcher made for a single call keeps working until the call ends.
        self._finalizer = weakref.finalize(settings, _close_all, subscriptions, pools)
        self._finalizer.atexit = False

    def extended(
        self,
        catalog: CatalogView | None = None,
        *,
        permissions: SupportsJudge | Sequence[SupportsJudge] | None = None,
        hooks: Iterable[Any] = (),
        on_progress: Callable[[Progress], object] | None = None,
        approvals: Approvals | None = None,
        telemetry: SpanRecorder | None = None,
    ) -> Dispatcher:
        """
        Return a dispatcher for other tools, which shares the policies and the threads of this one.

        The two share every option that is not named here, all threads, the loop of `call_sync`, the numbers of calls
        and the calls that could not be stopped. Closing this dispatcher closes both. Closing the new one does not.

        Args:
            catalog: The tools of the new dispatcher; those of this one unless given.
            permissions: Judges that a call must satisfy as well. They cannot allow what this dispatcher forbids.
            hooks: Hooks that run after those of this dispatcher.
            on_progress: A listener that is called as well, after the one of this dispatcher.
            approvals: How people are asked, and where their answers are stored; as in this dispatcher unless given.
            telemetry: What records as well.

        Raises:
            DefinitionError: Some tools need resources that this dispatcher does not have.
        """
        settings = self.settings.extended(permissions, hooks, on_progress, approvals, telemetry)
        dispatcher = Dispatcher.__new__(Dispatcher)
        dispatcher._set_up(self.catalog if catalog is None else catalog, settings, self)  # noqa: SLF001 -- as above
        return dispatcher

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
        request_id: str | None = None,
    ) -> Coroutine[Any, Any, ToolResult]:
        """
        Run one call: `await dispatcher.call("read", {"path": "notes.txt"})`.

        *arguments* is a JSON object or JSON text. *timeout_seconds* limits the whole call, including waits and
        retries. If a person has to be asked, the request gets *request_id*, and the same call with the same id gets
        the same request again. A tool's failure is returned as a result, never raised.
        """
        if session is not None and type(session) is not Session:  # a quick answer for nearly all calls
            check_session(session)
        if current_recording.get() is not None and (recorded := self._with_recorders()) is not self:
            more: Any = {"resources": resources, "timeout_seconds": timeout_seconds, "request_id": request_id}
            return recorded.call(name, arguments, id=id, session=session, principal=principal, **more)
        plan = self._plans_by_name.get(name) if type(name) is str else None
        if "trio" in modules and unstarted.is_under_trio():
            call = copy_call(name, arguments, id, session, principal, self.settings.call_numbers)
            return unstarted.refuse_under_trio(call, self.settings)
        is_plain = resources is None and timeout_seconds is None and request_id is None
        if is_plain and plan is not None and not plan.may_detach:
            return run_call(CallFrame(plan, arguments, id, session, principal))
        call = copy_call(name, arguments, id, session, principal, self.settings.call_numbers, request_id)
        if type(call.metadata) is UnreadableMetadata:
            return unstarted.finish_unstarted(call, call.metadata.to_result(), None, self.settings)
        try:
            plan = self._planner.find(call.name)
        except DefinitionError as error:
            failure = ToolResult.failure("internal", str(error), cause=error)
            return unstarted.finish_unstarted(call, failure, None, self.settings)
        if plan is None:
            return unstarted.finish_unknown(call, self.catalog, self.settings)
        call.tool = plan.tool
        frame = CallFrame.of(plan, call)
        if resources is not None or timeout_seconds is not None:
            frame.limit(resources, timeout_seconds)
        if not plan.may_detach:
            return run_call(frame)
        return detached_calls.run_or_detach(frame, self.settings)

    def _with_recorders(self) -> Dispatcher:
        """Return this dispatcher, or one whose calls are recorded too by what records the tool that uses this one."""
        if not (recorders := self.settings.chain.leave_out_own(find_recorders())):
            return self
        if (recorded := self._recorded) is None or recorded[0] != recorders:  # another thread may change it
            self._recorded = recorded = recorders, self.extended(hooks=recorders)
        return recorded[1]

    # Running several calls.

    async def call_many(
        self,
        calls: Iterable[ToolCall | tuple[str, Any]],
        *,
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
        run_call: Callable[[ToolCall], Coroutine[Any, Any, ToolResult]] | None = None,
    ) -> list[ToolResult]:
        """
        Run a batch, and return the results in the order of the calls.

        Neighbouring calls of concurrency-safe tools run together. Other calls run alone, in order. If one call fails,
        waits or is cancelled, the results of the others are not lost. A call whose id is already used in the batch
        runs under a numbered id, such as `t1~repeat-2`.

        If *run_call* is given, it runs each call that is started. It can do something before and after `call`, and
        *resources* and *timeout_seconds* are left to it. If the batch is cancelled, the requests of calls that wait are
        withdrawn, unless *run_call* has got their results.
        """
        copies = copy_batch(calls, session, principal, self.settings.call_numbers)
        if "trio" in modules and unstarted.is_under_trio():
            return [await unstarted.refuse_under_trio(call, self.settings) for call in copies]

        def start(call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
            if run_call is not None:
                return run_call(call)
            return self.call(call, resources=resources, timeout_seconds=timeout_seconds)

        return await batch.Batch(
            copies, self.catalog, self._planner, self.settings, start, has_own_results=run_call is not None
        ).run()

    def find_plan(self, name: str) -> CallPlan | None:
        """Return the plan by which calls of *name* run, or None. A signature that cannot be read is an error."""
        return self._plans_by_name.get(name) or self._planner.find(name)

    # Approvals and permissions.

    @property
    def approvals(self) -> Approvals:
        """How people are asked, and the store of their answers: as given, or the default one in memory."""
        return self.settings.approvals

    async def resume(
        self,
        request: str | ApprovalRequest | ToolResult | Mapping[str, Any],
        decision: Decision,
        *,
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> ToolResult:
        """
        Continue a call that waits: `await dispatcher.resume(waiting, Decision.approve(by="ada"))`.

        This works from any process that has the same catalog and store. *request* is the result that waits, the id of
        its request, or the request itself, which it has to be if requests are sealed. Rules and checks judge the call
        again; before-hooks do not run again. An approval is used at most once.

        Raises:
            ApprovalError: The answer cannot be accepted; `why` gives programs the reason.
            ValueError: The given result does not wait.
        """
        from .decisions import Decision

        if not isinstance(decision, Decision):
            raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
        if "trio" in modules and unstarted.is_under_trio():
            return ToolResult.failure("internal", unstarted.TRIO_REFUSAL)
        recorded = self if current_recording.get() is None else self._with_recorders()
        return await resume.resume_call(
            request,
            decision,
            recorded.find_plan,
            recorded.settings,
            session=session,
            principal=principal,
            resources=resources,
            timeout_seconds=timeout_seconds,
        )

    def permitted(self, session: Session | None = None) -> CatalogView:
        """
        Return the tools that the rules and the mode of *session* could ever allow.

        The result is a view. Make a new one when the mode or the rules may have changed.
        """
        return self.settings.judges.visibility.permitted(self.catalog, session)

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

        The verdict's `warnings` name rules that forbid one tool but leave another with the same access. No hook is
        asked, so one may still deny the call.

        Raises:
            UnknownTool: No tool has this name.
            BadArgs: The arguments do not fit the tool.
        """
        call = copy_call(name, arguments, None, session, principal, self.settings.call_numbers)
        return await unstarted.explain_verdict(call, self._planner.find(call.name), self.catalog, self.settings)

    # Running calls from code without an event loop.

    def call_sync(self, name: str | ToolCall, arguments: Any = None, **options: Unpack[CallKeywords]) -> ToolResult:
        """
        Run one call as `call` does, from sync code. This also works inside a notebook or a sync tool.

        A tool with `thread="caller"` runs in the thread that calls this method.
        """
        check_call_keywords(name, options)
        return self.wait_for(lambda: self.call(name, arguments, **options))

    def call_many_sync(
        self, calls: Iterable[ToolCall | tuple[str, Any]], **options: Unpack[BatchKeywords]
    ) -> list[ToolResult]:
        """Run a batch as `call_many` does, from sync code. See `call_sync`."""
        listed = list(calls)  # here, because a generator may need what belongs to the caller's thread
        return self.wait_for(lambda: self.call_many(listed, **options))

    def resume_sync(
        self,
        request: str | ApprovalRequest | ToolResult | Mapping[str, Any],
        decision: Decision,
        **options: Unpack[SharedKeywords],
    ) -> ToolResult:
        """Continue a call that waits, as `resume` does, from sync code. See `call_sync`."""
        return self.wait_for(lambda: self.resume(request, decision, **options))

    def wait_for(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """
        Run an async function in the background loop of the sync methods: `dispatcher.wait_for(client.aclose)`.

        Each dispatcher has one such loop, so an async client that one call has made can be used by the next.
        """
        if self._is_closed:
            raise RuntimeError("the dispatcher is closed")
        with self.settings.lend_threads():
            return self._background.wait_for(start)

    # Lifetime.

    @property
    def abandoned(self) -> int:
        """How many calls still run although their caller no longer waits, because they could not be stopped."""
        return self.settings.abandoned.alive

    @property
    def abandoned_threads(self) -> int:
        """
        How many threads run a tool or a hook that could not be stopped.

        Up to `max_concurrency` such threads are replaced. If the number stays near that, a tool hangs.
        """
        return sum(pool.stuck_count for pool in self.settings.pools)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # This runs in a thread, because the background calls may need this event loop for their cleanup.
        helper = ThreadPool(1)
        await helper.run(self.close)
        helper.close()

    def close(self) -> None:
        """
        End the threads and the background loop, and abandon the calls that still run in them.

        Calls in the background are cancelled first, and have `cleanup_seconds` to clean up. A dispatcher that
        `extended` has made owns no threads. Closing it ends its own `call_sync`, and it no longer follows its catalog.
        """
        self._is_closed = True
        if self._owns_threads:
            if running := list(self.settings.background_jobs):
                jobs.end_jobs(running, self.settings.cleanup_seconds)
            self._background.close()
        self._finalizer()


def _close_all(subscriptions: Iterable[Callable[[], None]], pools: Iterable[ThreadPool]) -> None:
    for close in (*subscriptions, *(pool.close for pool in pools)):
        close()
