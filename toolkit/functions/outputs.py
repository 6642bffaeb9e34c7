"""
Decide about return annotations: whether they describe a value or content, and how such a value is encoded.
"""

from __future__ import annotations

import functools
import types
from collections import abc
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ForwardRef, TypeAlias, Union, get_args, get_origin

from .._plumbing.records import record
from ..content import PART_TYPES
from ..results import ToolResult
from ..values.codecs.base import Codec, HintReader, Schema
from ..values.codecs.code_writer import UNSURE
from ..values.codecs.encode_writer import compile_encode
from ..values.codecs.refusals import UnsendableType
from ..values.codecs.rules import create_hint_reader
from ..values.rendering import is_async_stream, is_stream, may_have_json_form
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, iter_subschemas
from ..values.unsendable_value import UnsendableValue
from .unsent_parameters import Omission

__all__ = [
    "EncodeOutput",
    "OutputDescription",
    "compile_output",
    "describe_unsendable_result",
    "find_final_hint",
    "keeps_to_schema",
    "returns_content",
]


@record(frozen=True, slots=True)
class OutputDescription:
    """
    What a return annotation says about the result.

    Attributes:
        codec: The codec of the return value; None if there is no annotation, or none that can be used.
        schema: The schema of the return value, complete in itself.
        is_exact: Whether everything that the codec encodes fits the schema.
        has_metadata: Whether limits or validators in the annotation check what the codec encodes.
        has_undefined_names: Whether the annotation has a name that is not defined yet.
        omissions: Why there is no schema, if the annotation says that calls cannot succeed.
    """

    codec: Codec | None = None
    schema: Schema | None = None
    is_exact: bool = False
    has_metadata: bool = False
    has_undefined_names: bool = False
    omissions: Sequence[Omission] = ()


_AWAITABLES = (abc.Awaitable, abc.Coroutine)
_STREAMS = (abc.Generator, abc.Iterator, abc.AsyncGenerator, abc.AsyncIterator, abc.AsyncIterable)


def find_final_hint(hint: Any, reader: HintReader) -> Any:
    """
    Return the type of the result of a call that returns *hint*.

    The call awaits what can be awaited, and the result of a stream is the list of its items.
    """
    if isinstance(hint, (str, ForwardRef)):
        hint = reader.resolve(hint)
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin in _AWAITABLES:
        return find_final_hint(arguments[-1], reader) if arguments else Any
    if origin in _STREAMS:
        return abc.Iterable[arguments[0]] if arguments else abc.Iterable  # type: ignore[valid-type]
    if isinstance(origin, type) and (is_stream(origin) or is_async_stream(origin)):
        return abc.Iterable
    if origin is Annotated:
        return Annotated[(find_final_hint(arguments[0], reader), *arguments[1:])]
    if hasattr(hint, "__value__"):  # an alias that was defined with `type`
        final = find_final_hint(hint.__value__, reader)
        return hint if final is hint.__value__ else final
    if origin in (Union, types.UnionType):
        return Union[tuple(find_final_hint(member, reader) for member in arguments)]  # noqa: UP007 -- as for any tuple
    return hint


_CONTENT = (*PART_TYPES, ToolResult)
_TRANSPARENT = (Union, types.UnionType, Annotated, list, tuple, abc.Sequence, abc.Iterable, abc.Collection)


def returns_content(hint: Any, reader: HintReader) -> bool:
    """
    Return whether *hint* names parts or results: alone, as a member of a union, or as the items of a list or tuple.

    A tool with such an annotation may return content that is no JSON value, such as an image. It has no output schema.
    """
    if isinstance(hint, (str, ForwardRef)):
        hint = reader.resolve(hint if isinstance(hint, str) else hint.__forward_arg__)
    if isinstance(hint, type) and issubclass(hint, _CONTENT):
        return True
    if hasattr(hint, "__value__"):  # an alias that was defined with `type`
        return returns_content(hint.__value__, reader)
    origin = get_origin(hint)
    if origin not in _TRANSPARENT:
        return False
    arguments = get_args(hint)[:1] if origin is Annotated else get_args(hint)
    return any(returns_content(argument, reader) for argument in arguments)


def describe_unsendable_result(error: UnsendableType) -> list[Omission]:
    """Return what *error*, about a type in the return annotation, means for calls: nothing, or that they fail."""
    kind = get_origin(error.hint) or error.hint
    if kind is abc.Callable:
        kind = types.FunctionType
    if not isinstance(kind, type) or may_have_json_form(kind):
        return []
    value, _, remedy = str(UnsendableValue.of_class(kind)).partition(" has no JSON form; ")
    fault = f"{value} in the return annotation has no JSON form, so a call that returns one fails after the tool ran"
    return [Omission("unsendable-result", fault, f"{remedy[:1].upper()}{remedy[1:]}")]


_EXACT_KEYWORDS = ANNOTATION_KEYWORDS | {
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "contentEncoding",
    "enum",
    "format",
    "items",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "type",
}
"""The keywords that say no more than the types do. What a codec of the library encodes always fits them."""


EncodeOutput: TypeAlias = Callable[[Any, int], Any]
"""Called with a return value and 0, it returns the JSON form of the value or `UNSURE`."""


def compile_output(codec: Codec | None, schema: Schema | None, title: str, *, is_exact: bool) -> EncodeOutput:
    """
    Return the generated function that encodes return values, or one that is never sure.

    Without an annotation, the function encodes values that are plain JSON.

    Args:
        codec: The codec of the return value, if there is one.
        schema: The schema of the return value, if there is one.
        title: The name of the tool's function, for tracebacks.
        is_exact: Whether everything that *codec* encodes fits *schema*, so that no check has to follow.
    """
    if codec is None and schema is None:
        return _encode_plain_json
    if codec is None or not is_exact:
        return _never_sure
    try:
        return compile_encode(codec, title)
    except (SyntaxError, RecursionError, MemoryError):  # the code is too deep or too large for Python's compiler
        return _never_sure


def _never_sure(value: Any, depth: int) -> Any:
    return UNSURE


_LEVELS_TO_SPARE = 15
"""Without an annotation, fewer levels are encoded than JSON may have, so deeper values are left to the slower way."""


@functools.cache
def _compile_plain_json() -> EncodeOutput:
    return compile_encode(create_hint_reader(for_output=True).codec(Any), "a value without annotation")


def _encode_plain_json(value: Any, depth: int) -> Any:
    return _compile_plain_json()(value, depth + _LEVELS_TO_SPARE)


def keeps_to_schema(schema: Schema, reader: HintReader) -> bool:
    """Return whether every value that the codecs of *reader* can encode fits *schema*, so that no check is needed."""
    return reader.encodes_exactly and _has_only_exact_keywords(schema)


def _has_only_exact_keywords(schema: Any) -> bool:
    if isinstance(schema, bool):
        return True
    keywords = schema.keys() - _EXACT_KEYWORDS
    if "prefixItems" in schema:
        keywords -= {"minItems", "maxItems"}
    return not keywords and all(_has_only_exact_keywords(inner) for _, inner in iter_subschemas(schema))
