"""
What a hook may say, and how a chain of hooks is prepared.

A hook is any object with one or more of these, sync or async:

    before(call) -> Proceed | Modify | Deny | Replace | Ask | Halt
    around(call, run) -> result        run() takes no arguments and gives the result
    after(call, result) -> result

An agent also calls `agent_started` and `agent_ended` around a run, of those that have them.

They run in the order they were given. A hook that raises fails the call closed.
`run()` may be awaited again only if the tool is idempotent and not destructive.
`blocking = True` on a sync hook moves it to a thread; `timeout_seconds` limits an async
one, not counting the time that an `around` spends in `run()`.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..functions.coroutines import is_coroutine_function, may_suspend
from ..results import ToolCall, ToolResult, id_of
from ..session import Session
from ..values.strictjson.checks import copied
from ..values.strictjson.digests import digest_of

__all__ = [
    "PROCEED",
    "Ask",
    "Chain",
    "Deny",
    "Halt",
    "HookRunner",
    "Modify",
    "Outcome",
    "Proceed",
    "Replace",
    "Run",
    "ShownCall",
    "Step",
    "copied",
]

AGENT_METHODS = ("agent_started", "agent_ended")
"""What an agent calls around its runs."""


class HookRunner(Protocol):
    """What a hook's method needs to be run: threads, and a limit on its cleanup."""

    async def in_thread(self, work: Callable[[], Any], label: str) -> Any:
        """Run *work* in a thread for hooks."""

    async def attend(self, work: Awaitable[Any], step: Step) -> Any:
        """Await *work*; once it is cancelled, its cleanup has a limit."""


class _Single(type):
    """A class of one object: calling it gives that one, whoever calls."""


class Proceed(metaclass=_Single):
    """Go on. There is only one, since hooks say it of nearly every call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Proceed()"

    def __reduce__(self) -> tuple[type[Proceed], tuple[()]]:
        return Proceed, ()


PROCEED = Proceed()
if not TYPE_CHECKING:
    # An endless iterator's `__next__` is the quickest function without arguments that gives the same object again.
    _Single.__call__ = itertools.repeat(PROCEED).__next__


@dataclass(frozen=True, slots=True)
class Modify:
    """Go on with other arguments (JSON form); they are checked again."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model is told why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Do not run it; this is the result. A plain value is rendered as a tool's would be."""

    result: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to agree first."""

    reason: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Do not run it, nor what comes after it in this batch; an agent's run ends."""

    reason: str


Outcome: TypeAlias = Proceed | Modify | Deny | Replace | Ask | Halt
Run: TypeAlias = Callable[[], Awaitable[ToolResult]]


class ShownCall(ToolCall):
    """
    A call as hooks see it: theirs to change, to no effect.

    Attributes:
        actual: The arguments themselves; for us.
        number: The id, or the number that it is made from.
        seen: This hook's copy of them, made when it looks; most do not. None gives the next one its own.
    """

    # Slots for what every call has and no constructor of its own: the quick lane makes one for each call, and
    # this way costs half of the other.
    __slots__ = ("actual", "name", "number", "seen", "tool")
    if TYPE_CHECKING:

        def __init__(self) -> None: ...
    else:
        __init__ = object.__init__

    actual: Any
    number: int | str
    seen: Any

    @classmethod
    def of(cls, call: ToolCall, arguments: Any) -> ShownCall:
        """*call* as hooks see it, with the arguments as they are by now."""
        shown = cls()
        shown.name = call.name
        shown.number = call.id
        shown.tool = call.tool
        shown.actual = arguments
        shown.seen = None
        shown.belongs(call.session, call.principal, call)
        return shown

    def belongs(self, session: Session | None, principal: str | None, call: ToolCall | None) -> None:
        """Say where it belongs, if that is anywhere."""
        self.session = session
        self.principal = session.principal if principal is None and session is not None else principal
        if call is not None:
            self.turn, self.metadata = call.turn, call.metadata

    @property
    def id(self) -> str:
        return id_of(self.number)

    @id.setter  # noqa: A003 -- the property above, not the builtin
    def id(self, value: str) -> None:
        self.number = value

    @property
    def arguments(self) -> Any:
        if self.seen is None:
            self.seen = copied(self.actual)
        return self.seen

    @arguments.setter
    def arguments(self, value: Any) -> None:
        self.seen = value

    def digest(self) -> str:
        """The same for calls that mean the same: decoded, defaults filled in, whatever form they came in."""
        if self.tool is None:
            return super().digest()
        try:
            canonical = self.tool.encode(self.tool.about.checker.check(self.actual))
        except Exception:  # noqa: BLE001 -- what does not fit, or has no JSON form, is compared as it came
            canonical = self.actual
        return digest_of(self.tool.name, canonical)


@dataclass(frozen=True, slots=True)
class Step:
    """
    One method of one hook, ready to be called.

    Attributes:
        is_plain: Whether it can be called with nothing around it.
        may_suspend: Whether what it returns can wait for anything, and so be cancelled.
    """

    hook: Any
    function: Callable[..., Any]
    is_blocking: bool
    timeout_seconds: float | None
    is_plain: bool
    may_suspend: bool

    @property
    def name(self) -> str:
        """What the hook is called in messages."""
        return type(self.hook).__name__

    async def run(self, runner: HookRunner, limit: float | None, *arguments: Any) -> Any:
        """Call it as it wants to be called: in a thread, or within *limit* seconds and its own limit."""
        seconds = self._limit(limit)
        if seconds is None:
            return await runner.attend(self._answer(runner, *arguments), self)
        async with asyncio.timeout(seconds):
            # Inside the timer, which otherwise could not tell its own cancellation from the caller's.
            return await runner.attend(self._answer(runner, *arguments), self)

    async def run_around(self, runner: HookRunner, limit: float | None, call: ToolCall, run: Run) -> Any:
        """The same, for what has others inside: these keep their own time."""
        seconds = self._limit(limit)
        if seconds is None:
            return await runner.attend(self._answer(runner, call, run), self)
        async with asyncio.timeout(seconds) as timer:
            return await runner.attend(self._answer(runner, call, _untimed(run, timer)), self)

    async def _answer(self, runner: HookRunner, *arguments: Any) -> Any:
        if self.is_blocking:
            found = await runner.in_thread(lambda: self.function(*arguments), self.name)
        else:
            found = self.function(*arguments)
        return await found if inspect.isawaitable(found) else found

    def _limit(self, limit: float | None) -> float | None:
        return min((each for each in (limit, self.timeout_seconds) if each is not None), default=None)


def _untimed(run: Run, timer: asyncio.Timeout) -> Run:
    """*run*, with *timer* stopped meanwhile."""

    async def untimed() -> ToolResult:
        loop, due = asyncio.get_running_loop(), timer.when()
        if due is None:  # stopped already: the hook awaits several at once
            return await run()
        left = due - loop.time()
        timer.reschedule(None)
        try:
            return await run()
        finally:
            timer.reschedule(loop.time() + left)

    return untimed


@dataclass(frozen=True, slots=True)
class Chain:
    """The hooks of a dispatcher, by what they do and all of them."""

    before: tuple[Step, ...]
    around: tuple[Step, ...]
    after: tuple[Step, ...]
    hooks: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.around or self.after)

    @property
    def is_plain(self) -> bool:
        """Whether all of them can be asked in passing."""
        return not self.around and all(step.is_plain for step in (*self.before, *self.after))

    @classmethod
    def of(cls, hooks: Iterable[Any]) -> Chain:
        steps: dict[str, list[Step]] = {"before": [], "around": [], "after": []}
        hooks = tuple(hooks)
        for hook in hooks:
            found = [(name, getattr(hook, name, None)) for name in steps]
            is_one = any(callable(getattr(hook, name, None)) for name in (*steps, *AGENT_METHODS))
            if isinstance(hook, type) or not is_one:
                methods = ", ".join((*steps, *AGENT_METHODS))
                what = "is a class; give an instance" if isinstance(hook, type) else f"has none of {methods}"
                raise TypeError(f"{hook!r} is not a hook: it {what}")
            for name, method in found:
                if callable(method):
                    steps[name].append(_step(hook, method))
        return cls(tuple(steps["before"]), tuple(steps["around"]), tuple(steps["after"]), hooks)


def _step(hook: Any, method: Callable[..., Any]) -> Step:
    limit = getattr(hook, "timeout_seconds", None)
    if limit is not None and not limit > 0:
        raise ValueError(f"the timeout_seconds of {hook!r} have to be above 0, got {limit!r}")
    is_blocking = bool(getattr(hook, "blocking", False)) and not inspect.iscoroutinefunction(method)
    suspends = not is_coroutine_function(method) or may_suspend(method)
    return Step(hook, method, is_blocking, limit, is_plain=not is_blocking and limit is None, may_suspend=suspends)
