"""
Runs calls: finds the tool, sends the call along the pipeline, hands back a result.

A dispatcher holds policies; facts are on the tools. It needs no agent, no
server and no model. `call` runs one call, `call_many` a batch, `call_sync` one
from code that has no event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
import time
import warnings
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Self

from .batch import run_batch
from .classify import Rules
from .context import Progress
from .errors import DefinitionError, ToolkitWarning, UnknownTool
from .hooks.base import Chain
from .pipeline import run
from .plans import Plan, Settings
from .redaction import Redaction, RedactionRule
from .resources import missing_resources
from .results import ToolCall, ToolResult
from .retry import RetryPolicy
from .session import Session
from .spec import Tool
from .threads import Threads
from .validation import Validation
from .views import CatalogView, Change, Table

__all__ = ["Dispatcher"]

_DEFAULT_RETRY = RetryPolicy()


class Dispatcher:
    """
    Runs the tools of a catalog.

    Args:
        catalog: Where the tools are; followed as it changes.
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
        cleanup_seconds: How long a cancelled tool may take to clean up.
    """

    def __init__(
        self,
        catalog: CatalogView,
        *,
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
        if max_concurrency < 1 or max_chars < 50:
            raise ValueError("max_concurrency has to be at least 1, and max_chars at least 50")
        self.catalog = catalog
        self._max_concurrency = max_concurrency
        self._settings = Settings(
            chain=Chain.of(hooks),
            retry=retry,
            repair=repair,
            validation=validation,
            resources=dict(resources or {}),
            classify=classify,
            redaction=Redaction(redact),
            timeout_seconds=timeout_seconds,
            max_chars=max_chars,
            check_output=check_output,
            raise_bugs=raise_bugs,
            threads=Threads(max_concurrency),
            on_progress=on_progress,
            cleanup_seconds=cleanup_seconds,
            clock=clock,
            sleep=sleep,
            chance=chance,
        )
        self._ids = itertools.count(1)
        self._plans: dict[str, Plan] = {}
        self._table: Table | None = None
        self._background: _BackgroundLoop | None = None
        self._lock = threading.Lock()
        self._stop_listening = self._report_missing_resources()

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
        if type(name) is str:
            call = ToolCall(
                name,
                arguments,
                id or f"call_{next(self._ids)}",
                session,
                principal if session is None or principal is not None else session.principal,
            )
        else:
            call = self._adopted(name)
        plan = self._plan(call.name)
        if plan is None:
            return self._not_found(call)
        call.tool = plan.tool
        if resources is None and timeout_seconds is None:
            return run(call, plan, self._settings)
        return run(call, plan, self._settings, resources=resources or {}, timeout_seconds=timeout_seconds)

    def _adopted(self, call: Any) -> ToolCall:
        if not isinstance(call, ToolCall):
            raise TypeError(f"call wants a tool's name or a ToolCall, got {type(call).__name__}")
        principal = call.principal or (None if call.session is None else call.session.principal)
        metadata = None if call.metadata is None else dict(call.metadata)
        return ToolCall(
            call.name,
            call.arguments,
            call.id or f"call_{next(self._ids)}",
            call.session,
            principal,
            call.turn,
            metadata,
        )

    def _plan(self, name: str) -> Plan | None:
        table = self.catalog.table
        if table is not self._table:
            # The catalog changed: what is worked out for its tools is worked out again.
            self._plans, self._table = {}, table
        plan = self._plans.get(name)
        if plan is None:
            tool = table.find(name)
            if tool is None:
                return None
            plan = self._plans[name] = Plan(tool, self._settings)
        return plan

    async def _not_found(self, call: ToolCall) -> ToolResult:
        started = self._settings.clock()
        table = self.catalog.table
        error = UnknownTool(call.name, [*table.tools, *table.aliases])
        result = ToolResult.error("not_found", str(error), cause=error)
        for step in self._settings.chain.after:
            try:
                found = await step.run(self._settings.in_thread, call, result)
                result = found if isinstance(found, ToolResult) else result
            except Exception:  # noqa: BLE001, S112 -- nothing ran; the refusal stands whatever a hook makes of it
                continue
        result.call_id, result.tool = call.id, call.name
        result.duration_seconds = self._settings.clock() - started
        if self._settings.redaction:
            self._settings.redaction.result(result)
        return result

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
        call's failure, wait or cancellation never loses another's result.
        """
        adopted = [self._in_batch(call, session, principal) for call in calls]

        def start(call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
            return self.call(call, resources=resources, timeout_seconds=timeout_seconds)

        return await run_batch(adopted, start, self.catalog.get, self._max_concurrency)

    def _in_batch(self, call: Any, session: Session | None, principal: str | None) -> ToolCall:
        if isinstance(call, tuple):
            call = ToolCall(*call)
        adopted = self._adopted(call)
        adopted.session = adopted.session or session
        adopted.principal = adopted.principal or principal or (None if session is None else session.principal)
        return adopted

    # From code without an event loop.

    def call_sync(self, name: str | ToolCall, arguments: Any = None, **options: Any) -> ToolResult:
        """
        The same as `call`, from sync code; also inside a notebook or a sync tool.

        One background loop per dispatcher serves all such calls, so async clients survive between them.
        """
        with self._lock:
            if self._background is None:
                self._background = _BackgroundLoop()
        return self._background.wait_for(lambda: self.call(name, arguments, **options))

    # Life.

    @property
    def abandoned(self) -> int:
        """How many calls still run in threads that nobody waits for."""
        return self._settings.abandoned.alive

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End threads and the background loop; calls under way in them are given up."""
        self._stop_listening()
        self._settings.threads.close()
        with self._lock:
            background, self._background = self._background, None
        if background is not None:
            background.close()

    def _report_missing_resources(self) -> Callable[[], None]:
        wanting = [(tool, names) for tool in self.catalog if (names := _missing(tool, self._settings.resources))]
        if wanting:
            listed = "; ".join(f"`{tool.name}` wants {', '.join(names)}" for tool, names in wanting)
            raise DefinitionError(
                f"resources are missing: {listed}; give `resources=`, use `catalog.provided`, "
                f"or declare them as PER_CALL"
            )
        # The catalog must not keep the dispatcher alive.
        settings = weakref.ref(self._settings)

        def notice(change: Change) -> None:
            known = settings()
            for tool in change.added if known is not None else ():
                if names := _missing(tool, known.resources if known is not None else {}):
                    warnings.warn(
                        f"`{tool.name}` was added and wants {', '.join(names)}, which the dispatcher does not have",
                        ToolkitWarning,
                        stacklevel=2,
                    )

        return self.catalog.subscribe(notice)


def _missing(tool: Tool, resources: Mapping[Any, Any]) -> list[str]:
    try:
        return missing_resources(tool, resources)
    except DefinitionError:
        return []  # it waits for a name; its first call will say so


class _BackgroundLoop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toolkit-loop", daemon=True)
        self._thread.start()

    def wait_for(self, start: Callable[[], Coroutine[Any, Any, ToolResult]]) -> ToolResult:
        if threading.current_thread() is self._thread:
            raise RuntimeError("call_sync would wait for itself here; use `await dispatcher.call(...)`")
        future = asyncio.run_coroutine_threadsafe(start(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        async def finish() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._loop.shutdown_asyncgens()

        asyncio.run_coroutine_threadsafe(finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
