"""
The start and the end of each call, as the listeners are told: also of a call that is refused, denied or unknown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from .._lazy_names import LazyModule
from ..hooks.base import ShownCall
from ..hooks.events import CallEnded, CallStarted
from ..results import Kind, ToolCall, ToolResult
from .call_frame import CallFrame
from .listeners import start_telling, tell, tell_around, tell_soon
from .propagation import CallPaused
from .settings import Settings

if TYPE_CHECKING:
    from .approval import claim
else:  # few calls end like that
    claim = LazyModule(f"{__package__}.approval.claim")

__all__ = ["tell_call", "tell_refused_call", "tell_unstarted_call"]


async def tell_call(frame: CallFrame, run: Callable[[CallFrame], Awaitable[ToolResult]]) -> ToolResult:
    """
    Run the call of *frame* with *run*, and tell where it starts and ends.

    If the caller cannot get the result, because it was cancelled while the end was told, a request in it is withdrawn.
    """
    frame.is_told = True
    settings = frame.settings
    try:
        if frame.plan.tells_starts and (telling := start_telling(settings, _build_start(frame), frame)) is not None:
            await telling
        result = await run(frame)
    except GeneratorExit as error:  # nothing can be awaited any more
        tell_soon(settings, [_build_end(frame, None, error)], frame)
        raise
    except BaseException as error:
        await tell(settings, _build_end(frame, None, error), frame)
        raise
    try:
        if (telling := start_telling(settings, _build_end(frame, result, None), frame)) is not None:
            await telling
    except BaseException as error:
        if result.request is not None:
            await claim.withdraw_undelivered(result, frame.requested, settings, error)
        raise
    else:
        return result
    finally:
        del result  # the traceback of its error may hold this frame


async def tell_unstarted_call(
    call: ToolCall, settings: Settings, finish: Callable[[], Awaitable[ToolResult]]
) -> ToolResult:
    """Tell the start and the end of a call that the pipeline does not run; *finish* returns its result."""
    shown = ShownCall.of(call, call.arguments)

    def build_end(result: ToolResult | None, error: BaseException | None) -> CallEnded:
        kind = _name_end(error) if result is None else result.kind
        return CallEnded(shown, kind, result, error, redaction=lambda: settings.redaction)

    return await tell_around(settings, CallStarted(shown), finish, build_end)


def tell_refused_call(call: ToolCall, settings: Settings, result: ToolResult) -> None:
    """Tell the start and the end of a call that is refused where nothing can be awaited."""
    shown = ShownCall.of(call, call.arguments)
    end = CallEnded(shown, result.kind, result, redaction=lambda: settings.redaction)
    tell_soon(settings, [CallStarted(shown), end])


def _build_start(frame: CallFrame) -> CallStarted:
    call = frame.show_to_listeners()
    if frame.answer is None:
        return CallStarted(call)
    request = frame.answer[0].request
    return CallStarted(call, request.id, request.trace_parent)


def _build_end(frame: CallFrame, result: ToolResult | None, error: BaseException | None) -> CallEnded:
    call, verdict = frame.show_to_listeners(), None if frame.judgement is None else frame.judgement.verdict
    if result is not None:
        return CallEnded(call, result.kind, result, None, verdict, frame.redaction)
    return CallEnded(call, _name_end(error), None, error, verdict, frame.redaction)


def _name_end(error: BaseException | None) -> Kind:
    """Return the kind of a call that *error* has left without a result."""
    if isinstance(error, CallPaused):
        return "waiting"
    return "internal" if isinstance(error, Exception) else "cancelled"
