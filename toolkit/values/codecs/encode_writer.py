"""
Write the function that encodes the return values of one tool.

The generated function returns the JSON form of a value, or `UNSURE`. If it is unsure, the codec itself encodes the
value, or says what is wrong with it. A form that the function returns is strict JSON and shares no container with the
value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..strictjson.checks import copy_json, is_plain_json
from .code_writer import UNSURE, CodeWriter, Emitter

__all__ = ["EncodeWriter", "InlineEncode", "compile_encode", "emit_plain_copy"]


class InlineEncode:
    """
    The encode function of a codec that generated code can do without, because it writes the same work as source.

    Both are one object, so that a codec with another encode function cannot keep the source of the former one.
    """

    __slots__ = ("_encode", "emit")

    def __init__(self, encode: Callable[[Any], Any], emit: Callable[[CodeWriter, str], str]) -> None:
        self._encode = encode
        self.emit = emit

    def __call__(self, value: Any) -> Any:
        return self._encode(value)


class EncodeWriter(CodeWriter):
    """The source of one generated function that encodes."""

    def emitter_of(self, codec: Any) -> Callable[[CodeWriter, str], str]:
        encode = codec.encode
        if isinstance(encode, InlineEncode):
            return encode.emit
        return lambda writer, value: _emit_call(writer, value, encode)


def _emit_call(writer: CodeWriter, value: str, encode: Callable[[Any], Any]) -> str:
    """Write a call of *encode*, and a check of what it returns."""
    form = writer.new_name()
    writer.line(f"{form} = {writer.constant(encode)}({value})")
    with writer.block(f"if type({form}) is not str or not {form}.isascii():"):
        emit_plain_copy(writer, form)
    return form


def emit_plain_copy(writer: CodeWriter, name: str) -> None:
    """Write that *name*, which may be any value, is its copy from here on, if it is strict JSON."""
    copied = writer.constant(_copy_if_plain)
    writer.line(f"{name} = {copied}({name}, {writer.depth_expression})")
    writer.line(f"if {name} is U: return U")


def _copy_if_plain(value: Any, depth: int) -> Any:
    return copy_json(value) if is_plain_json(value, depth) else UNSURE


def compile_encode(codec: Emitter, title: str) -> Callable[[Any, int], Any]:
    """Compile the function that encodes for *codec*. Call the function with the value and 0."""
    return EncodeWriter().compile(codec, f"<encoding of {title}>")
