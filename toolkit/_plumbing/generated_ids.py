"""
The ids of calls whose callers gave none.
"""

from __future__ import annotations

__all__ = ["GeneratedId", "build_call_id", "format_call_id"]


class GeneratedId(str):
    """
    An id that the library made for a call, because its caller gave none.

    Another process or another conversation may make the same id. So the id does not tell that two calls are the same.
    """

    __slots__ = ()


def format_call_id(number: int | str) -> str:
    """
    Return the id of a call: *number* itself if it is a text, or an id made from the number.

    A call gets a number if its caller gave no id. The id is made when it is read, because few programs read it.
    """
    return f"call_{number}" if type(number) is int else str(number)


def build_call_id(number: int | str) -> str:
    """Return the id of a call as `format_call_id` does, marked as made by the library if *number* is a number."""
    return GeneratedId(format_call_id(number)) if type(number) is int else str(number)
