"""
Runs calls: finds the tool, sends the call along the pipeline, hands back a result.

A dispatcher holds policies; facts are on the tools. It needs no agent, no
server and no model. `call` runs one call, `call_many` a batch, `call_sync` one
from code that has no event loop.
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
from .calls.batch import run_batch
from .calls.call_copies import UnreadableMetadata, copy_call
from .calls.pipeline import Walk, walk
from .calls.plan import Plan
from .calls.planner import Planner
from .calls.settings import Settings
from .calls.trio_check import is_under_trio, refuse_under_trio
from .calls.unstarted import unstarted
from .catalogs.views import CatalogView
from .concurrency.background_loop import BackgroundLoop
from .concurrency.thread_pool import Threads
from .context import Progress
from .decisions import ApprovalRequest, Decision
from .errors import DefinitionError, UnknownTool, nearest
from .formats.call_ids import unique_ids
from .functions.checker import Validation
from .permissions.judge import Judge
from .policies.classify import Rules
from .policies.redaction import RedactionRule
from .policies.retry import RetryPolicy
from .results import ToolCall, ToolResult
from .session import Session
from .values.codecs import UNSURE
from .verdicts import Verdict

if TYPE_CHECKING:  # loaded when a call has to be judged, or somebody asked; most programs start without
    from .approvals import Approvals
    from .policies.audit import AuditLog
    from .safety import SafetyChecks

__all__ = ["Dispatcher"]

_DEFAULT_RETRY = RetryPolicy()
_MOST_NEAR = 20


class Dispatcher:
    """
    Runs the tools of a catalog.

    Args:
        catalog: Where the tools are; followed as it changes.
        permissions: `Permissions`, another judge, or several; without, nothing is judged but by safety checks.
        safety: The checks on what calls are about to touch; the usual ones in the current folder unless given.
        approvals: How people are asked, and where their answers are kept; in memory unless given.
        audit: Where verdicts, intents and outcomes are written down.
        hooks: Objects with `before`, `around` or `after`; run in this order.
        retry: How transient failures are tried again.
        repair: Whether arguments that fail the check may be mended.
        validation: "fast", or "jsonschema" to have it judge every call.
        resources: What `Inject[T]` parameters get, by type; `PER_CALL` for what each call brings.
        classify: What exceptions count as, before the built-in table is asked.
        redact: Texts, patterns or functions that mask what must not leave.
        timeout_seconds: The limit of one attempt, for tools that state none.
        max_chars: The size of a result's text, for tools that state none.
        max_concurrency: How many calls of a batch, and how many threads, may run at once.
        check_output: Whether results are held against the output schema.
        raise_bugs: Whether what is not a `ToolError` is raised instead of becoming a result.
        on_progress: Told what running calls report, and what streaming ones yield.
        cleanup_seconds: How long a cancelled tool or hook may take to clean up before it is abandoned.
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
        classify: Rules = (),
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
        self._begin(catalog, settings)
        # A dispatcher that nobody closes leaves neither listeners nor idle threads behind. Calls under way hold the
        # settings, so one that was made for a single call lives as long as the call.
        self._ending = weakref.finalize(settings, _end, self._planner.follow(), settings.pools)
        self._ending.atexit = False

    def _begin(self, catalog: CatalogView, settings: Settings) -> None:
        self.catalog = catalog
        self._settings = settings
        self._planner = Planner(catalog, settings)
        self._known = self._planner.known
        self._background: BackgroundLoop | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        renew_in_children(self)

    # One call.

    def call(
        self,
        name: str | ToolCall,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 -- what everyone calls it
        session: Session | None = None,
        principal: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> Coroutine[Any, Any, ToolResult]:
        """
        Run one call: `await dispatcher.call("read", {"path": "notes.txt"})`.

        *arguments* is a JSON object or JSON text. *timeout_seconds* limits the whole call,
        waits and retries included. Never raises for what a tool does.
        """
        plan = self._known.get(name) if type(name) is str else None
        if "trio" in modules and is_under_trio():
            return refuse_under_trio(self._adopted(name, arguments, id, session, principal))
        if plan is not None and plan.lane is not None and resources is None and timeout_seconds is None:
            return plan.lane(arguments, id, session, principal)
        call = self._adopted(name, arguments, id, session, principal)
        if type(call.metadata) is UnreadableMetadata:
            return unstarted(call, call.metadata.describe(), None, self._settings)
        try:
            plan = self._planner.find(call.name)
        except DefinitionError as error:
            return unstarted(call, ToolResult.error("internal", str(error), cause=error), None, self._settings)
        if plan is None:
            return self._not_found(call)
        call.tool = plan.tool
        if plan.lane is not None and resources is None and timeout_seconds is None:
            return plan.lane(call.arguments, call.id, call.session, call.principal, call)
        return walk(call, plan, self._settings, {} if resources is None else resources, timeout_seconds)

    def _adopted(
        self, call: Any, arguments: Any, call_id: str | None, session: Session | None, principal: str | None
    ) -> ToolCall:
        """Return a call of our own; the arguments beside *call* fill what it leaves open."""
        return copy_call(call, arguments, call_id, session, principal, lambda: f"call_{next(self._planner.ids)}")

    def _not_found(self, call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
        table, keep = self.catalog.table, self._settings.judges.possible(self.catalog, call.session)
        near = nearest(call.name, [*table.tools, *table.aliases], most=_MOST_NEAR)
        # Nobody is led to what the rules of this session forbid.
        known = [name for name in near if keep is None or ((tool := table.find(name)) and keep(tool))]
        error = UnknownTool(call.name, known)
        return unstarted(call, ToolResult.error("not_found", str(error), cause=error), None, self._settings)

    # Many calls.

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
        Run a batch; results come back in the order of the calls.

        Neighbouring calls of concurrency-safe tools run together, others alone, in order. One
        call's failure, wait or cancellation never loses another's result. A call whose id another
        call of the batch has already is run under a numbered one, such as `t1~repeat-2`.
        """
        adopted = self._adopted_batch(calls, session, principal)
        if is_under_trio():
            return [await refuse_under_trio(call) for call in adopted]

        def start(call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
            return self.call(call, resources=resources, timeout_seconds=timeout_seconds)

        def planned(call: ToolCall) -> Plan | None:
            try:
                return self._planner.find(call.name)
            except DefinitionError:
                return None  # the call itself will say so

        def leave(call: ToolCall, result: ToolResult) -> Coroutine[Any, Any, ToolResult]:
            plan = planned(call)
            call.tool = None if plan is None else plan.tool
            return unstarted(call, result, plan, self._settings)

        def may_wait(call: ToolCall) -> bool:
            plan = planned(call)
            return plan is not None and (bool(self._settings.chain.before) or not plan.may_run(call.session))

        return await run_batch(adopted, start, leave, may_wait, self.catalog.get, self._settings.max_concurrency)

    def _adopted_batch(
        self, calls: Iterable[ToolCall | tuple[str, Any]], session: Session | None, principal: str | None
    ) -> list[ToolCall]:
        """Return calls of our own for *calls*, each with an id that no other call of the batch has."""
        given = [ToolCall(*call) if isinstance(call, tuple) else call for call in calls]
        taken = {call.id for call in given if isinstance(call, ToolCall)}
        fresh = (name for number in self._planner.ids if (name := f"call_{number}") not in taken)
        adopted = [
            self._adopted(call, None, None if getattr(call, "id", None) else next(fresh), session, principal)
            for call in given
        ]
        ids = [call.id for call in adopted]
        if len(set(ids)) < len(ids):
            for call, call_id in zip(adopted, unique_ids(ids), strict=True):
                call.id = call_id
        return adopted

    # What a person decides.

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
        Go on with a call that waits: `await dispatcher.resume(request_id, Decision.approve(by="ada"))`.

        From any process that has the same catalog and store. *request* is its id; where requests are sealed, the
        request itself. Rules and checks are asked again; before-hooks are not. An approval is used at most once.

        Raises:
            ApprovalError: The answer cannot be taken; `why` tells programs the reason.
        """
        if not isinstance(decision, Decision):
            raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
        if is_under_trio():
            return await refuse_under_trio()
        from .calls.resume import resumed

        return await resumed(
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
        The tools that the rules and the mode of *session* could ever allow, as a view to list, search or summarise.

        Make a new one when the mode or the rules may have changed.
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
        Which rule, check, fact or mode decides about a call, and why; nothing is run, and nobody is asked.

        The verdict's `warnings` tell of rules that forbid one tool and leave another one with the same access.
        Hooks are not asked: they may still deny it. Raises `UnknownTool` and `BadArgs`.
        """
        call = self._adopted(name, arguments, None, session, principal)
        plan = self._planner.find(call.name)
        if plan is None:
            raise UnknownTool(call.name, self.catalog.names())
        walk = Walk(call, plan, self._settings, self._settings.clock(), UNSURE)
        refused = await walk.check()  # mends what a call would mend
        if refused is not None:
            refused.unwrap()
        judges = self._settings.judges
        judgement = await judges.judged(plan.tool, plan.names, call, walk.decoded)
        return replace(judgement.verdict, warnings=judges.warnings(self.catalog, judgement.request))

    # From code without an event loop.

    def call_sync(self, name: str | ToolCall, arguments: Any = None, **options: Any) -> ToolResult:
        """
        The same as `call`, from sync code; also inside a notebook or a sync tool.

        One background loop per dispatcher serves all such calls, so async clients survive between them.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the dispatcher is closed")
            if self._background is None:
                self._background = BackgroundLoop(cleanup_seconds=self._settings.cleanup_seconds)
        with self._settings.lent():
            return self._background.wait_for(lambda: self.call(name, arguments, **options))

    # Life.

    @property
    def abandoned(self) -> int:
        """How many calls still run although no caller waits for them: they could not be stopped."""
        return self._settings.abandoned.alive

    @property
    def abandoned_threads(self) -> int:
        """
        How many threads run a tool or a hook that could not be stopped.

        Each is replaced, up to `max_concurrency` of them; a number that stays near that means that a tool hangs.
        """
        return sum(pool.given_up for pool in self._settings.pools)

    def renew_after_fork(self) -> None:
        """Prepare for calls in a forked child, which has none of its parent's threads; `os.fork()` calls this."""
        self._lock = threading.Lock()
        if self._background is not None:
            self._background.leave_to_parent()
            self._background = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # In a thread, because what runs in the background may need this loop for its cleanup.
        helper = Threads(1)
        await helper.run(self.close)
        helper.close()

    def close(self) -> None:
        """End threads and the background loop; calls under way in them are given up."""
        with self._lock:
            self._is_closed = True
        if self._background is not None:
            self._background.close()
        self._ending()


def _end(subscriptions: Iterable[Callable[[], None]], pools: Iterable[Threads]) -> None:
    for stop in subscriptions:
        stop()
    for threads in pools:
        threads.close()
