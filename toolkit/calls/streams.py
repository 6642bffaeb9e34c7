"""
Read the iterators that tools return, sync or async, into lists.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..errors import ToolError
from ..values.arrays import check_stream_size
from ..values.unsendable_value import UnsendableValue

__all__ = ["read_async_stream", "read_stream"]


def read_stream(stream: Any, on_item: Callable[[Any], None], is_stopped: Callable[[], bool]) -> list[Any]:
    """Return the items of *stream* until its end, or until *is_stopped*. *on_item* gets each; the stream is closed."""
    items: list[Any] = []
    with contextlib.closing(stream) if hasattr(stream, "close") else contextlib.nullcontext():
        for item in stream:
            if is_stopped():
                break
            _add_item(items, item, on_item)
    return items


async def read_async_stream(stream: Any, on_item: Callable[[Any], None]) -> list[Any]:
    """Return the items of *stream* until its end. *on_item* gets each; the stream is closed."""
    items: list[Any] = []
    async with contextlib.aclosing(stream) if hasattr(stream, "aclose") else contextlib.nullcontext():
        async for item in stream:
            _add_item(items, item, on_item)
    return items


def _add_item(items: list[Any], item: Any, on_item: Callable[[Any], None]) -> None:
    items.append(item)
    try:
        check_stream_size(len(items))
    except UnsendableValue as error:
        raise ToolError(str(error)) from None
    on_item(item)
