"""Convert text that holds JSON: pydantic's `Json` and `Json[T]`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ...errors import Problem
from ..strictjson.checks import loads, show_value
from .base import Codec, Schema
from .code_writer import CodeWriter
from .ranks import CodecRank
from .refusals import Refusal

__all__ = ["json_text_codec"]


def json_text_codec(content: Codec) -> Codec:
    """Return a codec for a string of JSON whose content *content* decodes."""
    schema: Schema = {"type": "string", "contentMediaType": "application/json"}
    if content.schema:
        schema["contentSchema"] = content.schema

    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise Refusal.mismatch("a string of JSON", value)
        try:
            form = loads(value)
        except ValueError as error:
            raise Refusal(
                Problem(f"expected a string of JSON, got {show_value(value)}: {error}"), wanted="a string of JSON"
            ) from None
        return content.decode(form)

    def encode(value: Any) -> str:
        return json.dumps(content.encode(value), ensure_ascii=False)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require_text(value)
        return f"{writer.constant(decode)}({value})"

    return replace(
        content,
        schema=schema,
        decode=decode,
        encode=encode,
        type=None,
        breadth=(CodecRank.FORMATTED_TEXT,),
        decisive=True,
        tags=None,
        choices=None,
        members=(),
        description=None,
        emit=emit,
    )
