"""
Attributes of a `ToolResult` that are made when they are first read.

An attribute that is set is an ordinary attribute of the result, which Python finds before these objects.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NoError", "WrittenWhenRead"]


class NoError:
    """Makes `result.error` None until it is set, and refuses `ToolResult.error`."""

    def __get__(self, result: Any, owner: type) -> None:
        if result is None:
            raise AttributeError(
                "`error` is an attribute of a result; to make a result of a call that failed, "
                "write ToolResult.failure(kind, message)"
            )


class WrittenWhenRead:
    """
    Makes `text` and `truncated` when one of them is first read, and stands for the default of results without them.

    Many programs use the value of a result and never read its text, whose JSON takes longer to write than a call takes.
    """

    def __init__(self, default: Any) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: type) -> Any:
        if result is not None and (deferred := result.deferred_text) is not None:
            write, value, limit = deferred
            # Another thread may write the same text meanwhile. A text that was set since is kept.
            own_text = result.__dict__.get("text")
            write(result, value, limit)
            result.deferred_text = None
            if own_text is not None:
                result.text = own_text
            return result.__dict__.get(self._name, self._default)
        return self._default
