"""
Write the functions of one tool that check and convert its arguments, before jsonschema, and encode its return values.

A generated function returns the converted value or `UNSURE`. It never refuses a value. Codecs write their part with
`line` and `require`, name the objects that they need with `constant`, and return the expression of the converted value.

If the function that encodes is unsure, the codec itself encodes the value, or says what is wrong with it. A form that
the function returns is strict JSON and shares no container with the value.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..strictjson.checks import INT_LIMIT, MAX_STRING, copy_json, is_plain_json, is_valid_text

__all__ = [
    "UNSURE",
    "CodeWriter",
    "InlineEncode",
    "compile_codec",
    "compile_encode",
    "emit_plain_copy",
    "is_identifier",
]


class _Unsure:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSURE"


UNSURE = _Unsure()
"""The other answer of generated code: something slower must decide, such as jsonschema."""

_MAX_NESTED_BLOCKS = 12
"""The depth of nested blocks at which code moves to a separate function. Python allows twenty nested blocks."""

_MAX_RECORD_LEVEL = 40
"""The level beyond which generated code leaves recursive records to jsonschema, which counts levels of JSON exactly."""


class Emitter(Protocol):
    """An object that can write its own code, such as a codec."""

    @property
    def emit(self) -> Callable[[CodeWriter, str], str] | None: ...


class CodeWriter:
    """The source of one generated module while it is being written."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {
            "U": UNSURE,
            "clean": is_valid_text,
            "MAX": MAX_STRING,
            "HIGH": INT_LIMIT,
            "LOW": -INT_LIMIT,
        }
        self.source: list[str] = []
        self._lines: list[str] = []
        self._depth = 1
        self._level = 0
        self._max_level = 0
        self._name_count = 0
        self._constants: dict[int, str] = {}
        self._functions: dict[Any, str] = {}

    def new_name(self) -> str:
        """Return a new local name."""
        self._name_count += 1
        return f"v{self._name_count}"

    def constant(self, value: Any) -> str:
        """Return a name for an object that the code needs."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"c{len(self._constants)}"
            self.namespace[name] = value
        return name

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def require(self, condition: str) -> None:
        """Write that the answer is `U` (`UNSURE`) unless *condition* holds."""
        self.line(f"if not ({condition}): return U")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        self._depth += 1
        start = len(self._lines)
        yield
        if len(self._lines) == start:
            self.line("pass")
        self._depth -= 1

    def require_text(self, value: str) -> None:
        """Write a check that *value* is a string that can be sent."""
        self.line(f"if type({value}) is not str or {_cannot_be_sent(value)}: return U")

    def require_sendable(self, value: str) -> None:
        """Write a check that *value*, which is a string, can be sent."""
        self.line(f"if {_cannot_be_sent(value)}: return U")

    def convert(self, codec: Emitter, value: str) -> str:
        """Write the code of *codec* here, and return the expression of the converted value."""
        emit = self.emitter_of(codec)
        if emit is None:
            self.line("return U")
            return "U"
        if self._depth > _MAX_NESTED_BLOCKS:
            result = self.attempt(codec, value)
            self.line(f"if {result} is U: return U")
            return result
        self._level += 1
        self._max_level = max(self._max_level, self._level)
        result = emit(self, value)
        self._level -= 1
        return result

    def emitter_of(self, codec: Any) -> Callable[[CodeWriter, str], str] | None:
        """Return the function that writes the code of *codec*, if it has one."""
        emit: Callable[[CodeWriter, str], str] | None = codec.emit
        return emit

    @property
    def depth_expression(self) -> str:
        """Return an expression for the depth of the value whose code is being written. It is never too low."""
        return f"depth + {self._level - 1}"

    def attempt(self, codec: Emitter, value: str) -> str:
        """Call the code of *codec* as a separate function, whose answer may be `U`."""
        result = self.new_name()
        # There is no guard against depth, because a union takes `U` from a decisive member as "no".
        self.line(f"{result} = {self._function(codec, lambda: codec, guard=False)}({value}, depth + {self._level})")
        return result

    def call(self, key: Any, codec: Callable[[], Emitter], value: str) -> str:
        """Convert *value* with a function that is made once for *key*. Recursive records need this."""
        result = self.new_name()
        self.line(f"{result} = {self._function(key, codec, guard=True)}({value}, depth + {self._level})")
        self.line(f"if {result} is U: return U")
        return result

    def _function(self, key: Any, codec: Callable[[], Emitter], *, guard: bool) -> str:
        name = self._functions.get(key)
        if name is None:
            name = self._functions[key] = f"f{len(self._functions)}"
            outer_state = self._lines, self._depth, self._level, self._max_level
            self._lines, self._depth, self._level, self._max_level = [], 2, 0, 0
            result = self.convert(codec(), "value")
            self.line(f"return {result}")
            self.source += [
                f"def {name}(value, depth):",
                *([f"    if depth > {_MAX_RECORD_LEVEL - self._max_level}: return U"] if guard else []),
                "    try:",
                *self._lines,
                # A constructor may raise any exception. jsonschema and the strict decoding write the message for it.
                "    except Exception: return U",
            ]
            self._lines, self._depth, self._level, self._max_level = outer_state
        return name

    def compile(self, codec: Emitter, title: str) -> Callable[[Any, int], Any]:
        """Return the function for *codec*. A traceback shows *title* as its file."""
        name = self._function(object(), lambda: codec, guard=False)
        exec(compile("\n".join(self.source), title, "exec"), self.namespace)  # noqa: S102 -- our own text
        function: Callable[[Any, int], Any] = self.namespace[name]
        return function


def _cannot_be_sent(value: str) -> str:
    return f"(not {value}.isascii() or len({value}) > MAX) and not clean({value})"


def compile_codec(codec: Emitter, title: str) -> Callable[[Any, int], Any]:
    """Compile the check-and-convert function for *codec*. Call the function with the value and 0."""
    return CodeWriter().compile(codec, f"<check of {title}>")


def is_identifier(name: str) -> bool:
    """Return whether *name* can be a keyword argument in source code. Python normalises names that are not ASCII."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


class InlineEncode:
    """An encode function together with its source for generated code, so that neither is replaced without the other."""

    __slots__ = ("_encode", "emit")

    def __init__(self, encode: Callable[[Any], Any], emit: Callable[[CodeWriter, str], str]) -> None:
        self._encode = encode
        self.emit = emit

    def __call__(self, value: Any) -> Any:
        return self._encode(value)


class _EncodeWriter(CodeWriter):
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
    return _EncodeWriter().compile(codec, f"<encoding of {title}>")
