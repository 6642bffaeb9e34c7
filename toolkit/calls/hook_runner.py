"""
The runner of hooks: it runs blocking hooks in their own threads, and limits the cleanup time of each hook.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from ..concurrency.abandoned import AbandonedCalls, log_abandoned
from ..concurrency.cleanup_limit import await_with_limit, finish_with_limit
from ..concurrency.thread_pool import ThreadPool
from ..hooks.base import Step

__all__ = ["DispatcherHookRunner", "run_in_thread"]


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

    def finish_hook(self, work: Coroutine[Any, Any, Any], waits_for: Any, step: Step) -> Awaitable[Any]:
        """Await the rest of *work*, whose first step ran in the same task and yielded *waits_for*, with that limit."""
        return finish_with_limit(work, waits_for, self._cleanup_seconds, partial(self._abandon, step))

    def _abandon(self, step: Step, task: asyncio.Task[Any]) -> None:
        log_abandoned(f"the hook {step.name}", self._cleanup_seconds)
        self._abandoned.keep_alive(task)


async def run_in_thread(threads: ThreadPool, work: Callable[[], Any], label: str) -> Any:
    """Return what *work* returns in one of *threads*. If the caller is cancelled, the job is given up."""
    future = threads.run(work, label)
    try:
        return await future
    except asyncio.CancelledError:
        threads.give_up(future)
        raise
