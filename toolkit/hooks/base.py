"""
The outcomes that a hook may return, and the preparation of a chain of hooks.

A hook is any object with one or more of these methods, sync or async:

    before(call) -> Proceed | Modify | Deny | Replace | Ask | Halt
    around(call, run) -> result        run() takes no arguments and gives the result
    after(call, result) -> result
    on_event(event)                    is told what happens, and decides nothing; see `events`

An agent also calls `agent_started` before a run, on the hooks that have it. If a hook has `is_listening()`, that is
asked where a call starts, and the hook may be left out of the call's events if it returns False. If a hook has
`trace_parent()`, a request for approval and the journal of a durable run keep what it returns.

Hooks run in the order in which they were given. If a hook raises, the call ends with an error and does not go on.
A hook may await `run()` again only if the tool is idempotent and not destructive. `blocking = True` moves a sync hook
to a thread. `timeout_seconds` limits an async hook, or a hook in a thread. The time that an `around` spends in `run()`
does not count.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from .._plumbing.records import record
from ..functions.callables import is_coroutine_function, may_suspend
from ..results import ToolCall, ToolResult, format_call_id
from ..session import Session
from ..values.strictjson.checks import copy_json
from ..values.strictjson.digests import digest_call

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
    "Recording",
    "Replace",
    "Run",
    "ShownCall",
    "SpanRecorder",
    "Step",
    "copy_json",
    "current_recording",
    "find_recorders",
]

AGENT_METHODS = ("agent_started",)
"""The methods that an agent calls before its runs."""


class SpanRecorder(Protocol):
    """A hook that records what happens, such as `Telemetry`. It also records the agents and flows that tools start."""

    def on_event(self, event: Any) -> object: ...

    def trace_parent(self) -> str | None: ...


class Recording(Protocol):
    """What its *owner* records now, such as a span, as a part of the recording *outer*."""

    @property
    def owner(self) -> SpanRecorder: ...

    @property
    def outer(self) -> Recording | None: ...


current_recording: ContextVar[Recording | None] = ContextVar("toolkit_recording", default=None)


def find_recorders() -> list[SpanRecorder]:
    """Return the hooks that record what the calling code is a part of, in their order: the outermost first."""
    recorders: list[SpanRecorder] = []
    recording = current_recording.get()
    while recording is not None:
        if recording.owner not in recorders:
            recorders.insert(0, recording.owner)
        recording = recording.outer
    return recorders


class HookRunner(Protocol):
    """The services that run a hook's method: threads, and a limit on the cleanup of a cancelled hook."""

    async def in_thread(self, work: Callable[[], Any], label: str) -> Any:
        """Run *work* in a thread for hooks."""

    def await_hook(self, work: Awaitable[Any], step: Step) -> Awaitable[Any]:
        """Return an awaitable for *work*; if it is cancelled, its cleanup has a time limit."""


class Proceed:
    """An outcome that lets the call go on. There is only one object, because hooks return it for nearly every call."""

    __slots__ = ()

    def __new__(cls) -> Proceed:  # noqa: PYI034 -- there is one object, and a subclass has no other
        return PROCEED

    def __repr__(self) -> str:
        return "Proceed()"


PROCEED = object.__new__(Proceed)


@record(frozen=True, slots=True)
class Modify:
    """An outcome that lets the call go on with other arguments (JSON form), which are checked again."""

    arguments: Mapping[str, Any]


@record(frozen=True, slots=True)
class Deny:
    """An outcome that keeps the call from running; the model gets the reason."""

    reason: str


@record(frozen=True, slots=True)
class Replace:
    """
    An outcome that keeps the call from running and gives its result instead.

    A plain value is rendered as the result of a tool is.
    """

    result: Any


@record(frozen=True, slots=True)
class Ask:
    """An outcome that asks for a person, who has to approve the call before it runs."""

    reason: str


@record(frozen=True, slots=True)
class Halt:
    """An outcome that keeps this call and the calls after it in this batch from running; an agent's run ends."""

    reason: str


Outcome: TypeAlias = Proceed | Modify | Deny | Replace | Ask | Halt
"""What a before-hook may return."""
Run: TypeAlias = Callable[[], Awaitable[ToolResult]]
"""The function that runs the rest of a call, which an around-hook is given."""


class ShownCall(ToolCall):
    """
    A call as hooks see it. A hook may change it without any effect on the real call.

    Attributes:
        actual_arguments: The real arguments, for internal use.
        number: The id, or the number from which the id is made.
        arguments_copy: The copy of the arguments for this hook. It is made when the hook reads them, because most hooks
            do not. If it is set to None, the next hook gets its own copy.
    """

    def __init__(
        self,
        name: str,
        tool: Any,
        number: int | str,
        arguments: Any,
        session: Session | None,
        principal: str | None,
        call: ToolCall | None,
    ) -> None:
        self.name = name
        self.tool = tool
        self.number = number
        self.actual_arguments = arguments
        self.arguments_copy: Any = None
        if session is not None:
            self.session = session
        self.principal = principal or (None if session is None else session.principal)
        if call is not None:  # it is needed for these two only
            self.turn, self.metadata = call.turn, call.metadata

    @classmethod
    def of(cls, call: ToolCall, arguments: Any) -> ShownCall:
        """Return *call* as hooks see it, with the *arguments* that it has at this point."""
        return cls(call.name, call.tool, call.id, arguments, call.session, call.principal, call)

    @property
    def id(self) -> str:
        return format_call_id(self.number)

    @id.setter  # noqa: A003 -- it sets the property above, not the builtin
    def id(self, value: str) -> None:
        self.number = value

    @property
    def arguments(self) -> Any:
        if self.arguments_copy is None:
            self.arguments_copy = copy_json(self.actual_arguments)
        return self.arguments_copy

    @arguments.setter
    def arguments(self, value: Any) -> None:
        self.arguments_copy = value

    def digest(self) -> str:
        """
        Return a digest that is the same for calls that mean the same.

        The arguments are decoded and defaults are filled in, so that the form in which they were sent does not matter.
        """
        if self.tool is None:
            return super().digest()
        try:
            canonical = self.tool.encode(self.tool.about.checker.check(self.actual_arguments))
        except Exception:  # noqa: BLE001 -- arguments that do not fit, or have no JSON form, are compared as sent
            canonical = self.actual_arguments
        return digest_call(self.tool.name, canonical)


@record(frozen=True, slots=True)
class Step:
    """
    One method of one hook, ready to be called.

    Attributes:
        is_plain: Whether the method can be called directly, without a thread and without a timeout.
        may_suspend: Whether the awaitable that it returns can wait for anything, and so can be cancelled.
    """

    hook: Any
    function: Callable[..., Any]
    is_blocking: bool
    timeout_seconds: float | None
    is_plain: bool
    may_suspend: bool

    @property
    def name(self) -> str:
        """The name of the hook in messages."""
        return type(self.hook).__name__

    @property
    def is_async(self) -> bool:
        """Whether what a call of the method gives has to be awaited. A method in a thread or with a timeout counts."""
        return not self.is_plain or is_coroutine_function(self.function)

    def is_told(self, event: type) -> bool:
        """Return whether the hook wants to be told the events of this class, if the method is an `on_event`."""
        kinds = _list_events(self.hook)
        return kinds is None or issubclass(event, kinds)

    async def run(self, runner: HookRunner, limit: float | None, *arguments: Any) -> Any:
        """Run the method, in a thread if it blocks, within *limit* seconds and the hook's own limit."""
        async with asyncio.timeout(self._limit(limit)):
            # This is inside the timer, which otherwise could not tell its own cancellation from the caller's.
            return await runner.await_hook(self._call(runner, *arguments), self)

    async def run_around(self, runner: HookRunner, limit: float | None, call: ToolCall, run: Run) -> Any:
        """
        Run an `around` method in the same way, but stop its timer during *run*.

        The hooks and the tool inside *run* have limits of their own.
        """
        async with asyncio.timeout(self._limit(limit)) as timer:
            return await runner.await_hook(self._call(runner, call, _exclude_from_timer(run, timer)), self)

    async def _call(self, runner: HookRunner, *arguments: Any) -> Any:
        if self.is_blocking:
            answer = await runner.in_thread(lambda: self.function(*arguments), self.name)
        else:
            answer = self.function(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    def _limit(self, limit: float | None) -> float | None:
        return min((seconds for seconds in (limit, self.timeout_seconds) if seconds is not None), default=None)


def _exclude_from_timer(run: Run, timer: asyncio.Timeout) -> Run:
    """Return a function that calls *run* and stops *timer* meanwhile."""

    async def run_untimed() -> ToolResult:
        loop, due = asyncio.get_running_loop(), timer.when()
        if due is None:  # There is no limit, or the timer is stopped already: the hook awaits several runs at once.
            return await run()
        seconds_left = due - loop.time()
        timer.reschedule(None)
        try:
            return await run()
        finally:
            timer.reschedule(loop.time() + seconds_left)

    return run_untimed


@record(frozen=True, slots=True)
class Chain:
    """The *hooks* of a dispatcher, and their steps *before*, *around* and *after*. The *listeners* have `on_event`."""

    before: tuple[Step, ...]
    around: tuple[Step, ...]
    after: tuple[Step, ...]
    hooks: tuple[Any, ...] = ()
    listeners: tuple[Step, ...] = ()
    _listeners_by_event: dict[type, list[Step]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, hooks: Iterable[Any]) -> Chain:
        steps: dict[str, list[Step]] = {"before": [], "around": [], "after": [], "on_event": []}
        hooks = tuple(hooks)
        for hook in hooks:
            named_methods = [(name, getattr(hook, name, None)) for name in steps]
            has_method = any(callable(getattr(hook, name, None)) for name in (*steps, *AGENT_METHODS))
            if isinstance(hook, type) or not has_method:
                raise TypeError(f"{hook!r:.200} is not a hook: it {_explain_no_hook(hook, (*steps, *AGENT_METHODS))}")
            for name, method in named_methods:
                if callable(method):
                    steps[name].append(_build_step(hook, method))
        # A hook that is here twice is told once.
        listeners = {id(step.hook): step for step in steps["on_event"] if _list_events(step.hook) != ()}
        return cls(
            tuple(steps["before"]), tuple(steps["around"]), tuple(steps["after"]), hooks, tuple(listeners.values())
        )

    def has_listener(self, event: str) -> bool:
        """Return whether a hook is told the events of the class with this name."""
        wanted = [_list_events(step.hook) for step in self.listeners]
        return any(kinds is None or event in [kind.__name__ for kind in kinds] for kinds in wanted)

    def find_listeners(self, event: type) -> list[Step]:
        """Return the steps that are told the events of this class, in their order."""
        steps = self._listeners_by_event.get(event)
        if steps is None:
            steps = self._listeners_by_event[event] = [step for step in self.listeners if step.is_told(event)]
        return steps

    def prepare_listening(self) -> Callable[[], bool]:
        """Return a function that returns whether a listener wants to be told about a call that starts now."""
        checks = [getattr(step.hook, "is_listening", None) for step in self.listeners]
        asked = [check for check in checks if check is not None]
        if len(asked) < len(checks):
            return lambda: True
        return asked[0] if len(asked) == 1 else lambda: any(check() for check in asked)

    @property
    def recorders(self) -> list[SpanRecorder]:
        return [hook for hook in self.hooks if hasattr(hook, "trace_parent")]

    def find_trace_parent(self) -> str | None:
        """Return the span that a hook records now, as W3C trace context; None if there is none."""
        return next(filter(None, (recorder.trace_parent() for recorder in self.recorders)), None)

    def leave_out_own(self, hooks: Iterable[Any]) -> list[Any]:
        """Return those of *hooks* that are not in this chain."""
        return [hook for hook in hooks if not any(hook is own for own in self.hooks)]


def _explain_no_hook(hook: Any, methods: Iterable[str]) -> str:
    if isinstance(hook, type):
        return f"is a class; give an instance, such as {hook.__name__}(...)"
    if callable(getattr(hook, "judge", None)):
        return f"judges calls; give it as a permission: Dispatcher(catalog, permissions={type(hook).__name__}(...))"
    return f"has none of {', '.join(methods)}; write a class with one of these methods, and give an instance"


def _list_events(hook: Any) -> tuple[type, ...] | None:
    """Return the classes of the events that *hook* is told; None if it is told all of them."""
    kinds: tuple[type, ...] | None = getattr(hook, "listens_to", None)
    if kinds is not None and not (isinstance(kinds, tuple) and all(isinstance(kind, type) for kind in kinds)):
        raise TypeError(f"the listens_to of {hook!r:.200} has to be a tuple of events, such as (CallEnded,)")
    return kinds


def _build_step(hook: Any, method: Callable[..., Any]) -> Step:
    limit = getattr(hook, "timeout_seconds", None)
    if limit is not None and not limit > 0:
        raise ValueError(f"the timeout_seconds of {hook!r} have to be above 0, got {limit!r}")
    is_blocking = bool(getattr(hook, "blocking", False)) and not inspect.iscoroutinefunction(method)
    suspends = not is_coroutine_function(method) or may_suspend(method)
    return Step(hook, method, is_blocking, limit, is_plain=not is_blocking and limit is None, may_suspend=suspends)
