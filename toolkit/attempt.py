"""
One try of one call: resources in, the function run where it belongs, time kept.

Async functions run on the loop, sync ones in a thread unless they ask to stay.
A function that outlasts its limit is cancelled; a thread that cannot be is
abandoned, and counted until it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from .context import Context, Progress
from .errors import Transient
from .rendering import as_json
from .resources import supplied
from .spec import Tool
from .threads import Threads

__all__ = ["Abandoned", "Attempt", "TimedOut"]

_log = logging.getLogger("toolkit")


class TimedOut(Transient):
    """One attempt outlasted its limit."""


class Abandoned:
    """The threads that nobody waits for any more, by the call they were running."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Any]] = {}
        self._unsafe: set[asyncio.Future[Any]] = set()
        self.count = 0

    def add(self, digest: str, future: asyncio.Future[Any], *, unsafe: bool) -> None:
        self.count += 1
        self._futures[digest] = future
        if unsafe:
            self._unsafe.add(future)

        def ended(done: asyncio.Future[Any]) -> None:
            self._unsafe.discard(done)
            if self._futures.get(digest) is done:
                del self._futures[digest]
            _looked_at(done)

        future.add_done_callback(ended)

    @property
    def alive(self) -> int:
        """How many still run."""
        return len(self._futures)

    def still_runs(self, digest: str) -> bool:
        return digest in self._futures

    async def unsafe_ended(self, timeout_seconds: float | None) -> bool:
        """Wait until no abandoned call runs that must not be run beside others; False if time ran out first."""
        while self._unsafe:
            _, waiting = await asyncio.wait(set(self._unsafe), timeout=timeout_seconds)
            if waiting:
                return False
        return True


def _looked_at(ended: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more, so nobody has to be warned of how it ended."""
    if not ended.cancelled():
        ended.exception()


class Attempt:
    """How a tool is tried; one for each call that needs more than a plain await."""

    __slots__ = (
        "abandoned",
        "arguments",
        "cleanup_seconds",
        "context",
        "digest",
        "sources",
        "threads",
        "tool",
        "unsafe",
    )

    def __init__(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        context: Context,
        sources: list[Mapping[Any, Any]],
        threads: Threads,
        abandoned: Abandoned,
        *,
        digest: Callable[[], str],
        unsafe: bool,
        cleanup_seconds: float,
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.context = context
        self.sources = sources
        self.threads = threads
        self.abandoned = abandoned
        self.digest = digest
        self.unsafe = unsafe
        self.cleanup_seconds = cleanup_seconds

    async def run(self, timeout_seconds: float | None) -> Any:
        """What the function returns; `TimedOut` if it takes longer than it may."""
        if timeout_seconds is None:
            return await self._with_resources(None)
        if self._in_thread and not self.tool.signature.wanted:
            return await self._with_resources(timeout_seconds)
        return await self._limited(timeout_seconds)

    async def _limited(self, timeout_seconds: float) -> Any:
        task = asyncio.ensure_future(self._with_resources(None))
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout_seconds)
        except asyncio.CancelledError:
            self.context.stop.set()
            task.cancel()
            await asyncio.wait({task}, timeout=self.cleanup_seconds)
            raise
        if done:
            return task.result()
        self.context.stop.set()
        task.cancel()
        # Its cleanup may await, but not for ever.
        done, _ = await asyncio.wait({task}, timeout=self.cleanup_seconds)
        if not done:
            _log.warning("`%s` did not end within %g s of being cancelled", self.tool.name, self.cleanup_seconds)
            task.add_done_callback(_looked_at)
        elif not task.cancelled() and task.exception() is None:
            return task.result()  # it finished in the very moment
        raise TimedOut(f"took longer than {timeout_seconds:g} s", happened="maybe")

    @property
    def _in_thread(self) -> bool:
        return self.tool.signature.style in ("sync", "generator") and self.tool.facts.thread

    async def _with_resources(self, timeout_seconds: float | None) -> Any:
        wanted = self.tool.signature.wanted
        if not wanted:
            return await self._call(self.arguments, timeout_seconds)
        async with contextlib.AsyncExitStack() as stack:
            given = await supplied(wanted, self.sources, self.context, stack)
            return await self._call({**self.arguments, **given}, timeout_seconds)

    async def _call(self, arguments: dict[str, Any], timeout_seconds: float | None) -> Any:
        args, keywords = self.tool.signature.bind(arguments)
        function, style = self.tool.function, self.tool.signature.style
        if style == "async":
            return await function(*args, **keywords)
        if style == "async_generator":
            return await self._collect(function(*args, **keywords))
        if style == "generator":
            work = lambda: self._drain(function(*args, **keywords))  # noqa: E731 -- as short as it is
        else:
            work = lambda: function(*args, **keywords)  # noqa: E731
        value = await self._in_a_thread(work, timeout_seconds) if self._in_thread else work()
        return await value if inspect.isawaitable(value) else value

    async def _in_a_thread(self, work: Callable[[], Any], timeout_seconds: float | None) -> Any:
        future = self.threads.run(work)
        try:
            done, _ = await asyncio.wait({future}, timeout=timeout_seconds)
        except asyncio.CancelledError:
            self._abandon(future)
            raise
        if done:
            return future.result()
        self._abandon(future)
        raise TimedOut(f"took longer than {timeout_seconds:g} s, and its thread could not be stopped", happened="maybe")

    def _abandon(self, future: asyncio.Future[Any]) -> None:
        self.context.stop.set()
        if not future.done():
            _log.warning("`%s` still runs in a thread that nobody waits for", self.tool.name)
            self.abandoned.add(self.digest(), future, unsafe=self.unsafe)

    async def _collect(self, stream: Any) -> list[Any]:
        items = []
        async with contextlib.aclosing(stream):
            async for item in stream:
                items.append(item)
                self._yielded(item)
        return items

    def _drain(self, stream: Any) -> list[Any]:
        items = []
        with contextlib.closing(stream):
            for item in stream:
                if self.context.cancelled:
                    break
                items.append(item)
                self._yielded(item)
        return items

    def _yielded(self, item: Any) -> None:
        call = self.context.call
        self.context.on_progress(Progress(call_id=call.id, tool=self.tool.name, value=as_json(item)))
