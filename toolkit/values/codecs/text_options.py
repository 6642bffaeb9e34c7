"""Apply the options of pydantic's `StringConstraints` that change a text: strip it, write it in one case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..._plumbing.records import record
from ...errors import Problem
from ..strictjson.checks import show_value
from .base import Codec, OutputRefusal, Refusal, RefusedMetadata
from .code_writer import CodeWriter
from .limits import Limit
from .ranks import narrow_breadth

__all__ = ["TextOptions", "apply_text_options", "has_text_options"]

_NAMES = ("strip_whitespace", "to_lower", "to_upper")


def has_text_options(item: Any) -> bool:
    """Return whether the metadata *item* asks for a change of the text."""
    return any(getattr(item, name, None) for name in _NAMES)


@record(frozen=True, slots=True)
class TextOptions:
    """What is done to a text, in this order."""

    strip_whitespace: bool
    to_lower: bool
    to_upper: bool

    @classmethod
    def of(cls, items: Sequence[Any]) -> TextOptions | None:
        """Return the options that *items* state, or None if there are none."""
        options = [any(getattr(item, name, None) for item in items) for name in _NAMES]
        return cls(*options) if any(options) else None


def apply_text_options(base: Codec, options: TextOptions, limits: Sequence[Limit], *, on_output: bool) -> Codec:
    """
    Return *base* with *options* applied to its texts.

    The *limits* hold for the text as it was sent, because the schema states them. They also have to hold for the text
    without the white space around it.
    """
    if base.type not in (None, str) or (base.kinds and "string" not in base.kinds):
        raise RefusedMetadata(
            f"StringConstraints is about text, and {base.type.__name__ if base.type else 'the type'} is none; "
            f"leave it out, or use an AfterValidator"
        )

    def change(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        result = text.strip() if options.strip_whitespace else text
        failed = [limit for limit in limits if not limit.holds(result)]
        if failed:
            raise Refusal(*(Problem(f"expected {limit.message}, got {show_value(result)}") for limit in failed))
        result = result.lower() if options.to_lower else result
        return result.upper() if options.to_upper else result

    def emit(writer: CodeWriter, value: str) -> str:
        return f"{writer.constant(change)}({writer.convert(base, value)})"

    def encode_changed(value: Any) -> Any:
        form = base.encode(value)
        try:
            return change(form)
        except Refusal as refusal:
            raise OutputRefusal(*refusal.problems) from None

    return replace(
        base,
        decode=lambda value: change(base.decode(value)),
        encode=encode_changed if on_output else base.encode,
        type=None if on_output else base.type,
        breadth=narrow_breadth(base.breadth),
        members=(),
        emit=None if base.emit is None else emit,
    )
