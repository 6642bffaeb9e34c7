"""The description of a tool for any provider. It is loaded if a program names its type."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

__all__ = ["Definition"]


class Definition(TypedDict):
    """The description of a tool for any provider, as plain JSON."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    facts: dict[str, Any]
