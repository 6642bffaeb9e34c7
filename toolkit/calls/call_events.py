"""
The start and the end of each call, as the listeners are told: also of a call that is refused, denied or unknown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from .._lazy_names import LazyModule
from ..hooks.base import ShownCall
from ..hooks.events import CallEnded, CallStarted
from ..policies.redaction import Redaction
from ..results import Kind, ToolCall, ToolResult
from ..verdicts import Verdict
from .call_frame import CallFrame
from .listeners import tell_around, tell_soon
from .propagation import CallPaused
from .settings import Settings

if TYPE_CHECKING:
    from .approval import claim
else:  # few calls end like that
    claim = LazyModule(f"{__package__}.approval.claim")

__all__ = ["tell_call", "tell_refused_call", "tell_unstarted_call"]


async def tell_call(frame: CallFrame, run: Callable[[CallFrame], Awaitable[ToolResult]]) -> ToolResult:
    """Run the call of *frame* with *run*, and tell where it starts and ends."""
    frame.is_told = True
    settings = frame.settings

    def build_end(result: ToolResult | None, error: BaseException | None) -> CallEnded:
        verdict = None if frame.judgement is None else frame.judgement.verdict
        return _build_end(frame.show_to_listeners(), result, error, frame.redaction, verdict)

    async def withdraw(result: ToolResult, error: BaseException) -> None:
        if result.request is not None:
            await claim.withdraw_undelivered(result, frame.requested, settings, error)

    start = None
    if frame.plan.tells_starts and frame.answer is not None:
        start = CallStarted(frame.show_to_listeners(), frame.answer[0].request.id, frame.answer[0].request.trace_parent)
    elif frame.plan.tells_starts:
        start = CallStarted(frame.show_to_listeners())
    return await tell_around(settings, start, partial(run, frame), build_end, frame=frame, on_lost=withdraw)


async def tell_unstarted_call(
    call: ToolCall, settings: Settings, finish: Callable[[], Awaitable[ToolResult]]
) -> ToolResult:
    """Tell the start and the end of a call that the pipeline does not run; *finish* returns its result."""
    shown = ShownCall.of(call, call.arguments)

    def build_end(result: ToolResult | None, error: BaseException | None) -> CallEnded:
        return _build_end(shown, result, error, lambda: settings.redaction)

    return await tell_around(settings, CallStarted(shown), finish, build_end)


def tell_refused_call(call: ToolCall, settings: Settings, result: ToolResult) -> None:
    """Tell the start and the end of a call that is refused where nothing can be awaited."""
    shown = ShownCall.of(call, call.arguments)
    tell_soon(settings, [CallStarted(shown), _build_end(shown, result, None, lambda: settings.redaction)])


def _build_end(
    call: ToolCall,
    result: ToolResult | None,
    error: BaseException | None,
    redaction: Callable[[], Redaction],
    verdict: Verdict | None = None,
) -> CallEnded:
    if result is not None:
        return CallEnded(call, result.kind, result, None, verdict, redaction)
    kind: Kind = "internal" if isinstance(error, Exception) else "cancelled"
    return CallEnded(call, "waiting" if isinstance(error, CallPaused) else kind, None, error, verdict, redaction)
