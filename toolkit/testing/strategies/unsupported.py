"""
What cannot be drawn, and why.

`Unsupported` names the keyword and its place in the schema. `Impossible` is the
same before anybody has given up: a union drops the member that raised it, an
object the optional property.
"""

from __future__ import annotations

from ...errors import ToolkitError

__all__ = ["Impossible", "Unsupported"]


class Unsupported(ToolkitError):  # noqa: N818 -- named by what happened, as all our errors are
    """
    No values can be drawn for a schema, or too few of those that are drawn fit it.

    Attributes:
        keyword: The keyword of the schema that is in the way.
        place: Where it stands: "#/properties/name/pattern".
    """

    def __init__(self, message: str, *, keyword: str, place: str) -> None:
        super().__init__(message)
        self.keyword = keyword
        self.place = place


class Impossible(Exception):  # noqa: N818 -- a state to recover from, not an error yet
    """
    No value fits this part of a schema.

    Attributes:
        is_starved: Whether it is only that references lead too deep for what was allowed.
    """

    def __init__(self, keyword: str, place: str, why: str, *, is_starved: bool = False) -> None:
        super().__init__(f"`{keyword}` at {place} {why}")
        self.keyword = keyword
        self.place = place
        self.why = why
        self.is_starved = is_starved
