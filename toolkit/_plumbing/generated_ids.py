"""
The mark of ids that the library has made.
"""

from __future__ import annotations

__all__ = ["GeneratedId"]


class GeneratedId(str):
    """
    An id that the library made for a call, because its caller gave none.

    Another process or another conversation may make the same id. So the id does not tell that two calls are the same.
    """

    __slots__ = ()
