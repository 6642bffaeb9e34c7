"""
The attributes of a result that are made when they are first read, and the error of a result.

Most programs read the value of a result, or its text, and nothing else. What is seldom read costs nothing before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from ._plumbing.records import record

__all__ = ["DeferredText", "ErrorInfo", "NoError", "ReturnedOrValue", "TextWhenRead"]


class _DetailsWhenRead:
    """
    Makes the details of an error when they are first read, if they were given as a function.

    Most programs read only the text of a result, and listing the problems of bad arguments takes as long as a call.
    """

    __slots__ = ("write_details",)

    write_details: Callable[[], dict[str, Any]]

    if not TYPE_CHECKING:  # for a type checker, the class would have attributes of all names

        def __getattr__(self, name: str) -> Any:
            # Python calls this method only for an attribute that is not set.
            if name != "details":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.details = self.write_details()
            return self.details


@record(slots=True, eq=False)
class ErrorInfo(_DetailsWhenRead):
    """
    What went wrong in a call.

    Attributes:
        message: The message for the model.
        details: Plain JSON for programs: the problems of `BadArgs`, or whether the effect may have happened.
        cause: The exception itself. It is never serialised.
    """

    message: str
    details: dict[str, Any] = field(default_factory=dict)
    cause: BaseException | None = field(default=None, repr=False)

    @classmethod
    def with_details_of(
        cls, write_details: Callable[[], dict[str, Any]], message: str, cause: BaseException | None
    ) -> ErrorInfo:
        """Return an error whose details *write_details* returns. It is called when the details are first read."""
        error = cls.__new__(cls)
        error.message = message
        error.cause = cause
        error.write_details = write_details
        return error


class NoError:
    """
    Makes `result.error` None until it is set, and refuses `ToolResult.error`.

    An error that is set is an ordinary attribute of the result, which Python finds before this object.
    """

    def __get__(self, result: Any, owner: type) -> None:
        if result is None:
            raise AttributeError(
                "`error` is an attribute of a result; to make a result of a call that failed, "
                "write ToolResult.failure(kind, message)"
            )


DeferredText: TypeAlias = tuple[Callable[[Any, Any, int], None], Any, int]
"""A function that sets the text of a result, and what it needs: the value, and the most characters."""


class TextWhenRead:
    """
    Makes `text` and `truncated` when one of them is first read, and stands for the default of results without them.

    Many programs use the value of a result and never read its text, whose JSON takes longer to write than a call takes.
    As with `NoError`, an attribute that is set is found before this object.
    """

    def __init__(self, default: Any) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: type) -> Any:
        if result is not None and (deferred := result.deferred_text) is not None:
            write, value, max_chars = deferred
            # Another thread may write the same text meanwhile. A text that was set since is kept.
            own_text = result.__dict__.get("text")
            write(result, value, max_chars)
            result.deferred_text = None
            if own_text is not None:
                result.text = own_text
            return result.__dict__.get(self._name, self._default)
        return self._default


class ReturnedOrValue:
    """Makes `result.returned` the value until it is set, because a value that needs no encoding is not stored twice."""

    def __get__(self, result: Any, owner: type) -> Any:
        return result.value if result is not None and result.attempts and result.kind == "ok" else None
