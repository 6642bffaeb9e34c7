"""
Calls as a caller gives them, and copies of them.

A caller's own objects are never modified, and never read again while a call runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from typing import Any, TypedDict

from ..results import ToolCall, ToolResult, build_call_id
from ..session import Session, check_session
from ..values.rendering import describe_value
from .propagation import must_propagate

__all__ = [
    "BatchKeywords",
    "CallKeywords",
    "SharedKeywords",
    "UnreadableMetadata",
    "check_call_keywords",
    "copy_batch",
    "copy_call",
]

_MAX_TEXT_CHARS = 200


class SharedKeywords(TypedDict, total=False):
    """The keyword arguments of `call`, `call_many` and `resume` of a dispatcher."""

    session: Session | None
    principal: str | None
    resources: Mapping[Any, Any] | None
    timeout_seconds: float | None


class CallKeywords(SharedKeywords, total=False):
    """The keyword arguments of `call`."""

    id: str | None
    request_id: str | None


class BatchKeywords(SharedKeywords, total=False):
    """The keyword arguments of `call_many`."""

    run_call: Callable[[ToolCall], Coroutine[Any, Any, ToolResult]] | None


def check_call_keywords(name: object, options: Mapping[str, Any]) -> None:
    """Raise `TypeError` if *options* has a name that `call` does not know, such as that of an argument of the tool."""
    if unknown := options.keys() - CallKeywords.__annotations__.keys():
        remedy = f'the arguments of a tool are one dictionary: call_sync("{name}", {{"{min(unknown)}": ...}})'
        known = f"and the options are {', '.join(CallKeywords.__annotations__)}"
        raise TypeError(f"Dispatcher.call_sync: there is no option {min(unknown)!r}; {remedy}, {known}")


def copy_call(
    call: Any,
    arguments: Any,
    call_id: str | None,
    session: Session | None,
    principal: str | None,
    call_numbers: Iterator[int],
    request_id: str | None = None,
    *,
    used_ids: Collection[str] = (),
) -> ToolCall:
    """
    Return a new `ToolCall` for *call*, which is a `ToolCall` or the name of a tool.

    The other arguments fill the fields that the call leaves empty. A call without an id gets one with the next of
    *call_numbers* that is not in *used_ids*.

    Raises:
        TypeError: *call* is neither, *arguments* are given beside a `ToolCall`, or the id of its request or its
            idempotency key is no text.
        ValueError: The id of its request or its idempotency key cannot be used.
    """
    if isinstance(call, str):
        call = ToolCall(str.__str__(call), arguments)  # the `str` of an enum would give its label
    elif not isinstance(call, ToolCall):
        raise TypeError(f"call wants a tool's name or a ToolCall, got {type(call).__name__}")
    elif arguments is not None:
        raise TypeError("a ToolCall has its own arguments; give one or the other")
    session = call.session or session
    check_session(session)
    copied = ToolCall(
        call.name,
        call.arguments,
        call.id or call_id or next(name for name in map(build_call_id, call_numbers) if name not in used_ids),
        session,
        call.principal or principal or (None if session is None else session.principal),
        call.turn,
        None if call.metadata is None else _copy_metadata(call.metadata),
    )
    if call.request_id is not None:
        request_id = call.request_id
    if request_id is not None:
        copied.request_id = _check_text(request_id, "the id of a request")
    if call.idempotency_key is not None:
        copied.idempotency_key = _check_text(call.idempotency_key, "an idempotency key")
    if call.former_request:
        copied.former_request = _check_text(call.former_request, "the id of an earlier request")
    if call.claim_mark:
        copied.claim_mark = _check_text(call.claim_mark, "the mark of a claim")
    return copied


def copy_batch(
    calls: Iterable[ToolCall | tuple[str, Any]],
    session: Session | None,
    principal: str | None,
    call_numbers: Iterator[int],
) -> list[ToolCall]:
    """
    Return a new `ToolCall` for each of *calls*, with an id that no other call of the batch has.

    *call_numbers* are the numbers for the ids of calls that have none.
    """
    originals = [ToolCall(*call) if isinstance(call, tuple) else call for call in calls]
    used_ids = {call.id for call in originals if isinstance(call, ToolCall)}
    copies = [copy_call(call, None, None, session, principal, call_numbers, used_ids=used_ids) for call in originals]
    ids = [call.id for call in copies]
    if len(set(ids)) < len(ids):
        from ..formats.call_ids import unique_ids  # most batches have an id for each call

        for call, call_id in zip(copies, unique_ids(ids), strict=True):
            call.id = call_id
    return copies


def _check_text(text: Any, subject: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{subject} is a text, got {type(text).__name__}")
    if not (0 < len(text) <= _MAX_TEXT_CHARS and text.isprintable()):
        raise ValueError(f"{text[:64]!r} cannot be {subject}; give 1 to {_MAX_TEXT_CHARS} printable characters")
    return text


class UnreadableMetadata(dict[str, Any]):
    """
    Metadata that could not be read. The call is answered with `to_result()`.

    Attributes:
        error: The exception that the mapping raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def to_result(self) -> ToolResult:
        """Return the result of a call whose metadata cannot be read."""
        message = f"the metadata of the call cannot be read: {describe_value(self.error)}"
        return ToolResult.failure("internal", message, cause=self.error)


def _copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of *metadata*, or `UnreadableMetadata` if the mapping raises."""
    if type(metadata) is UnreadableMetadata:
        return metadata
    try:
        return dict(metadata)
    except BaseException as error:
        if must_propagate(error):
            raise
        return UnreadableMetadata(error)
