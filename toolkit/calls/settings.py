"""
The policies of a dispatcher, checked where they are given.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from .._option_checks import Kinds, check_kinds, kind_of, several
from ..concurrency.abandoned import Abandoned
from ..concurrency.thread_pool import Threads
from ..context import Progress
from ..errors import ToolError
from ..functions.checker import Validation
from ..hooks.base import Chain
from ..permissions.judge import Judge
from ..permissions.judgement import Judges
from ..policies.classify import Rules, checked_rules, classified
from ..policies.redaction import Redaction, RedactionRule
from ..policies.retry import RetryPolicy
from .hook_runner import SettingsHookRunner, run_in_thread

if TYPE_CHECKING:  # most calls ask nobody
    from ..approvals import Approvals
    from ..approvals.store_runner import StoreRunner
    from ..policies.audit import AuditLog
    from ..safety import SafetyChecks

__all__ = ["MAX_NOTE_SECONDS", "Settings"]

MAX_NOTE_SECONDS = 30.0
"""How long the audit log is waited for where a result is there already, and its call sets no closer limit."""

# For stores, and for the audit log and the check of large arguments; as many as asyncio's own executor has at most.
_MAX_OWN_THREADS = 32

_KINDS: Kinds = {
    "retry": ((RetryPolicy,), "RetryPolicy(...); RetryPolicy(attempts=1) tries once"),
    "resources": ((Mapping,), "a dictionary from types to values, or None"),
    "timeout_seconds": ((int, float, NoneType), "a number of seconds, or None"),
    "max_chars": ((int,), "a whole number of characters"),
    "max_concurrency": ((int,), "a whole number of calls"),
    "on_progress": ((Callable, NoneType), "a function of the progress, or None"),
    "cleanup_seconds": ((int, float), "a number of seconds"),
    "clock": ((Callable,), "a function that returns seconds, such as time.monotonic"),
    "sleep": ((Callable,), "a function that waits for seconds, such as asyncio.sleep"),
    "chance": ((Callable,), "a function that returns a number from 0 to 1, such as random.random"),
}
# These stay unloaded until they are needed, so they are known by what they can do.
_PARTS = {
    "safety": (("judge", "root"), "SafetyChecks(...)"),
    "approvals": (("sealed", "answer"), "Approvals(store) or Approvals(ask=...)"),
    "audit": (("write",), "AuditLog(path)"),
}


class Settings:
    """What the options of `Dispatcher` come to; that says what each means."""

    def __init__(
        self,
        *,
        permissions: Judge | Sequence[Judge] | None,
        safety: SafetyChecks | None,
        approvals: Approvals | None,
        audit: AuditLog | None,
        hooks: Iterable[Any],
        retry: RetryPolicy,
        repair: bool,
        validation: Validation,
        resources: Mapping[Any, Any] | None,
        classify: Rules,
        redact: Sequence[RedactionRule],
        timeout_seconds: float | None,
        max_chars: int,
        max_concurrency: int,
        check_output: bool,
        raise_bugs: bool,
        on_progress: Callable[[Progress], object] | None,
        cleanup_seconds: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        chance: Callable[[], float],
    ) -> None:
        self.retry = retry
        self.repair = repair
        self.validation = validation
        self.resources: Mapping[Any, Any] = {} if resources is None else resources
        self.timeout_seconds = timeout_seconds
        self.max_chars = max_chars
        self.max_concurrency = max_concurrency
        self.check_output = check_output
        self.raise_bugs = raise_bugs
        self.on_progress = on_progress
        self.cleanup_seconds = cleanup_seconds
        self.clock = clock
        self.sleep = sleep
        self.chance = chance
        self.audit = audit
        self._approvals = approvals
        self._check()
        _check_parts(permissions, {"safety": safety, "approvals": approvals, "audit": audit})
        self.resources = dict(self.resources)
        self.chain = Chain.of(several(hooks, "hooks"))
        self.redaction = Redaction(redact)
        self.threads = Threads(max_concurrency, name="toolkit")
        # Strangers' code that is not a tool, and our own work: neither waits for threads that tools hold.
        self.hook_threads = Threads(max_concurrency, name="toolkit-hook")
        self.own_threads = Threads(_MAX_OWN_THREADS, name="toolkit-own")
        # A store that hangs holds up neither the audit log nor the check of large arguments.
        self.store_threads = Threads(_MAX_OWN_THREADS, name="toolkit-store")
        self.judges = Judges(safety, permissions, _files_of(approvals, audit))
        self.abandoned = Abandoned()
        self.hook_runner = SettingsHookRunner(self.hook_threads, self.abandoned, cleanup_seconds)
        self._classify = checked_rules(classify)

    def _check(self) -> None:
        check_kinds(vars(self), _KINDS)
        if self.max_concurrency < 1:
            raise ValueError(f"max_concurrency has to be at least 1, got {self.max_concurrency}")
        if self.max_chars < 50:
            raise ValueError(f"max_chars has to be at least 50, got {self.max_chars}")
        if not (self.timeout_seconds is None or self.timeout_seconds > 0):
            raise ValueError(f"timeout_seconds has to be above 0, or None; got {self.timeout_seconds}")
        if not self.cleanup_seconds >= 0:
            raise ValueError(f"cleanup_seconds has to be 0 or more, got {self.cleanup_seconds}")
        if self.validation not in get_args(Validation):
            raise ValueError(f'validation has to be "fast" or "jsonschema", got {self.validation!r}')

    @property
    def approvals(self) -> Approvals:
        """How people are asked."""
        if self._approvals is None:
            from ..approvals import Approvals

            self._approvals = Approvals()
        return self._approvals

    @property
    def store_runner(self) -> StoreRunner:
        """What runs the operations of the approvals' store."""
        from ..approvals.store_runner import StoreRunner

        return StoreRunner(self.approvals, self.store_threads, self.cleanup_seconds)

    def classified(self, error: BaseException) -> ToolError:
        """What *error* counts as, by the user's rules and the table."""
        return classified(error, self._classify)

    @property
    def pools(self) -> tuple[Threads, ...]:
        """All threads: those of tools, of hooks, of the store of approvals, and for the rest of our own work."""
        return self.threads, self.hook_threads, self.store_threads, self.own_threads

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Run our own blocking work: the audit log, the check of large arguments."""
        return await run_in_thread(self.own_threads, work, "toolkit")

    async def in_hook_thread(self, work: Callable[[], Any]) -> Any:
        """Run a stranger's blocking function that is not a tool: an asker, a preview."""
        return await run_in_thread(self.hook_threads, work, "a preview or an asker")

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Let others have the slot of the current thread, if that is one of ours and only waits for them."""
        with contextlib.ExitStack() as stack:
            for pool in self.pools:
                stack.enter_context(pool.lent())
            yield


def _check_parts(permissions: Any, parts: Mapping[str, Any]) -> None:
    if isinstance(permissions, str):
        raise TypeError(f"permissions is an object; write Permissions({permissions!r})")
    for name, (methods, remedy) in _PARTS.items():
        given = parts[name]
        if given is not None and (isinstance(given, type) or not all(hasattr(given, each) for each in methods)):
            raise TypeError(f"{name} cannot be {kind_of(given)}; give {remedy}")


def _files_of(approvals: Approvals | None, audit: AuditLog | None) -> list[str]:
    """The files that only the dispatcher may touch; what begins with one of these names is SQLite's journal."""
    paths = [getattr(each, "path", None) for each in (None if approvals is None else approvals.store, audit)]
    return [os.path.realpath(path) for path in paths if isinstance(path, str)]
