"""
Tell the listeners of a dispatcher what happens. The listeners are the hooks with a method `on_event`, in their order.

A listener cannot change what it is told about: if it raises or takes too long, that is logged. `tell_around` is the one
place where a run, a question to a model or a flow starts and ends, and `call_events` is that of a call. The end is told
once, however it ends.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from ..hooks.base import Outcome, Step
from ..hooks.events import AttemptStarted, CallRetried, Event, HookDecided
from .call_frame import CallFrame
from .error_results import log_masked_error
from .propagation import must_propagate
from .settings import MAX_NOTE_SECONDS, Settings

__all__ = ["start_telling", "tell", "tell_around", "tell_attempt", "tell_outcome", "tell_soon"]

T = TypeVar("T")


async def tell_around(
    settings: Settings,
    start: Event,
    work: Callable[[], Awaitable[T]],
    build_end: Callable[[T | None, BaseException | None], Event],
) -> T:
    """
    Tell *start*, do *work*, tell its end, and return the outcome.

    Args:
        build_end: Returns the end, from the outcome or from the exception.
    """
    try:
        await tell(settings, start)
        outcome = await work()
    except GeneratorExit as error:  # nothing can be awaited any more
        tell_soon(settings, [build_end(None, error)])
        raise
    except BaseException as error:
        await tell(settings, build_end(None, error))
        raise
    try:
        await tell(settings, build_end(outcome, None))
        return outcome
    finally:
        del outcome  # the traceback of its error may hold this frame


async def tell(
    settings: Settings, event: Event, frame: CallFrame | None = None, *, steps: Iterable[Step] | None = None
) -> None:
    """
    Tell *event* to all listeners, or to *steps*, and wait for them.

    What ends more than a call is raised after all were told.
    """
    steps = None if steps is None else [step for step in steps if step.is_told(type(event))]
    if (telling := start_telling(settings, event, frame, steps=steps)) is not None:
        await telling


def start_telling(
    settings: Settings, event: Event, frame: CallFrame | None = None, *, steps: Iterable[Step] | None = None
) -> Coroutine[Any, Any, None] | None:
    """
    Tell *event* as `tell` does, up to the first listener that has to be awaited. *steps* want to be told it.

    Return what awaits it and tells the others. It is None if all were told, so plain functions need no coroutine.
    """
    steps = iter(settings.chain.find_listeners(type(event)) if steps is None else steps)
    for step in steps:
        try:
            waiting = _call_listener(step, event, settings, frame)
        except BaseException as error:  # noqa: BLE001 -- a listener must not change what it is told about
            return _tell_rest(settings, event, frame, step, _raise(error), steps)
        if waiting is not None:
            return _tell_rest(settings, event, frame, step, waiting, steps)
    return None


async def _tell_rest(
    settings: Settings,
    event: Event,
    frame: CallFrame | None,
    step: Step,
    waiting: Awaitable[object],
    steps: Iterable[Step],
) -> None:
    """Await what the listener *step* has returned, and tell *event* to the *steps* after it."""
    try:
        await waiting
    except BaseException as error:
        if must_propagate(error):
            if isinstance(error, GeneratorExit):
                tell_soon(settings, [event], frame, steps=steps)
            else:
                await tell(settings, event, frame, steps=steps)
            raise
        _log_failure(step, event, error, settings, frame)
    if (telling := start_telling(settings, event, frame, steps=steps)) is not None:
        await telling


async def _raise(error: BaseException) -> None:
    try:
        raise error
    finally:
        del error  # its traceback holds this frame


def tell_soon(
    settings: Settings,
    events: Sequence[Event],
    frame: CallFrame | None = None,
    *,
    steps: Iterable[Step] | None = None,
) -> None:
    """
    Tell *events* to all listeners, or to *steps*, where nothing can be awaited.

    A listener that has to be awaited goes on in a task or a thread.
    """
    for step in settings.chain.listeners if steps is None else steps:
        waiting: list[tuple[Event, Coroutine[Any, Any, object]]] = []
        for event in events:
            if not step.is_told(type(event)):
                continue
            try:
                work = _call_listener(step, event, settings, frame)
                if work is not None:
                    waiting.append((event, work))
            except BaseException as error:
                if must_propagate(error):
                    raise
                _log_failure(step, event, error, settings, frame)
        if waiting:
            _start(_finish_listener(step, waiting, settings, frame), settings)


def tell_attempt(frame: CallFrame) -> Coroutine[Any, Any, None] | None:
    """Tell that the tool is about to run, for the first time or again. Return what has to be awaited for that."""
    frame.told_attempts += 1
    if frame.told_attempts == 1:
        frame.first_attempt_at = frame.plan.clock()
        if not frame.plan.tells_attempts:
            return None
    return _tell_attempt(frame, frame.told_attempts)


async def _tell_attempt(frame: CallFrame, number: int) -> None:
    plan, error = frame.plan, frame.last_error
    if number > 1:
        seconds = plan.clock() - frame.first_attempt_at
        await tell(plan.settings, CallRetried(frame.show_to_listeners(), number, error, seconds), frame)
    if plan.tells_attempts:
        await tell(plan.settings, AttemptStarted(frame.show_to_listeners(), number, error), frame)


def tell_outcome(frame: CallFrame, step: Step, outcome: Outcome) -> Coroutine[Any, Any, None]:
    """Tell what a hook wants, other than to go on."""
    return tell(frame.settings, HookDecided(frame.show_to_listeners(), step.hook, outcome), frame)


def _call_listener(
    step: Step, event: Event, settings: Settings, frame: CallFrame | None
) -> Coroutine[Any, Any, object] | None:
    """Call a listener, and return what has to be awaited, within its time limit."""
    if step.is_blocking:
        return step.run(settings.hook_runner, _find_limit(step, settings, frame), event)
    answer = step.function(event)
    if answer is None or not inspect.isawaitable(answer):
        return None
    return _await_within(answer, step, settings, _find_limit(step, settings, frame))


async def _await_within(work: Awaitable[Any], step: Step, settings: Settings, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await settings.hook_runner.await_hook(work, step)


def _find_limit(step: Step, settings: Settings, frame: CallFrame | None) -> float:
    """Return the seconds that a listener may take: its own limit or half a minute, and no more than the call has."""
    own: float = getattr(step.hook, "event_seconds", None) or step.timeout_seconds or MAX_NOTE_SECONDS
    left = None if frame is None else frame.deadline.with_minimum(settings.cleanup_seconds).seconds_left()
    return own if left is None else min(own, left)


async def _finish_listener(
    step: Step, waiting: list[tuple[Event, Coroutine[Any, Any, object]]], settings: Settings, frame: CallFrame | None
) -> None:
    for event, work in waiting:
        try:
            await work
        except Exception as error:  # noqa: BLE001 -- as in `tell`
            _log_failure(step, event, error, settings, frame)


def _start(work: Coroutine[Any, Any, None], settings: Settings) -> None:
    """Run *work* in a task of the running event loop, or in a thread with a loop of its own if there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        threading.Thread(target=asyncio.run, args=(work,), name="toolkit-hook", daemon=True).start()
    else:
        settings.abandoned.keep_alive(loop.create_task(work))


def _log_failure(step: Step, event: Event, error: BaseException, settings: Settings, frame: CallFrame | None) -> None:
    redaction = settings.redaction if frame is None else frame.redaction()
    log_masked_error(f"hook {step.name} failed in on_event, at {type(event).__name__}", error, redaction)
