"""
The errors for schemas from which no values can be drawn, with the reason.

`Unsupported` names the keyword and its place in the schema. `Impossible` says the
same of one part of a schema, while other parts may still give a value: a union drops
the member that raised it, and an object drops the optional property.
"""

from __future__ import annotations

from ...errors import ToolkitError

__all__ = ["Impossible", "Unsupported"]


class Unsupported(ToolkitError):  # noqa: N818 -- named by what happened, as all our errors are
    """
    No values can be drawn for a schema, or too few of the drawn values fit it.

    Attributes:
        keyword: The keyword of the schema that prevents it.
        place: The place of the keyword in the schema: "#/properties/name/pattern".
    """

    def __init__(self, message: str, *, keyword: str, place: str) -> None:
        super().__init__(message)
        self.keyword = keyword
        self.place = place


class Impossible(Exception):  # noqa: N818 -- a state to recover from, not an error yet
    """
    No value fits this part of a schema.

    Attributes:
        keyword: The keyword of the schema that no value fits.
        place: The place of the keyword in the schema.
        why: The reason, as the end of a sentence.
        is_starved: Whether the only reason is that references lead deeper than the allowed depth.
    """

    def __init__(self, keyword: str, place: str, why: str, *, is_starved: bool = False) -> None:
        super().__init__(f"`{keyword}` at {place} {why}")
        self.keyword = keyword
        self.place = place
        self.why = why
        self.is_starved = is_starved
