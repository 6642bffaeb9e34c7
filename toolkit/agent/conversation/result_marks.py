"""
Marks where a tool's output begins and ends, so that the model cannot mistake the output for anything else.

The mark is random, and it is made after the output is known. So the output
cannot contain its mark, even if the tool has read the conversation.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable

from ...providers.messages import Message, ToolMessage
from ...results import ToolResult
from ...steps.notes import with_metadata

__all__ = ["frame_message", "mark_result", "remove_mark"]

_MARK_KEY = "toolkit.frame"


def mark_result(result: ToolResult, *, make_mark: Callable[[], str] = lambda: secrets.token_hex(8)) -> ToolResult:
    """Return a copy of *result* with a new mark. A mark that *result* already has is dropped."""
    mark = make_mark()
    while mark in result.text:
        mark = make_mark()
    return with_metadata(result, _MARK_KEY, mark)


def remove_mark(result: ToolResult) -> ToolResult:
    """Return *result* without a mark. A mark in it would come from the tool or a hook, and not from `mark_result`."""
    return with_metadata(result, _MARK_KEY, None)


def frame_message(message: Message) -> Message:
    """
    Return *message* as it is sent to the model, with each marked result between its marks.

    A result without a mark gets none here, so that a message that was sent before stays the same.
    """
    if not isinstance(message, ToolMessage) or not any(map(_find_mark, message.results)):
        return message
    return ToolMessage(tuple(map(_frame_result, message.results)))


def _frame_result(result: ToolResult) -> ToolResult:
    mark = _find_mark(result)
    if mark is None:
        return result
    framed_result = copy.copy(result)
    framed_result.text = f'<result id="{mark}">\n{result.text}\n</result id="{mark}">'
    return framed_result


def _find_mark(result: ToolResult) -> str | None:
    mark = (result.metadata or {}).get(_MARK_KEY)
    return mark if isinstance(mark, str) else None
