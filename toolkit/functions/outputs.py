"""Read return annotations: whether they describe a value or content, and how such a value is encoded."""

from __future__ import annotations

import functools
import types
from collections import abc
from collections.abc import Callable, Sequence
from inspect import Signature
from typing import Annotated, Any, ForwardRef, Self, TypeAlias, Union, get_args, get_origin

from .._plumbing.records import record
from ..content import PART_TYPES
from ..errors import DefinitionError
from ..results import ToolResult
from ..values.codecs.base import Codec, HintReader, Schema
from ..values.codecs.code_writer import UNSURE, compile_encode
from ..values.codecs.definitions import assemble_schema
from ..values.codecs.refusals import RefusedMetadata, Unresolved, UnsendableType
from ..values.codecs.rules import create_hint_reader
from ..values.rendering import is_async_stream, is_stream, may_have_json_form
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, iter_subschemas
from ..values.unsendable_value import UnsendableValue
from .namespaces import Scope
from .unsent_parameters import Omission

__all__ = ["EncodeOutput", "OutputDescription", "compile_output", "read_output"]


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


def read_output(annotation: Any, scope: Scope, subject: str) -> OutputDescription:
    """
    Return what the return annotation says about the result.

    A return annotation is optional, so an annotation that cannot be read is ignored. A check in it that cannot run is
    a `DefinitionError`.
    """
    if annotation is Signature.empty:
        return OutputDescription()
    reader = create_hint_reader(scope.global_names, scope.local_names(), for_output=True)
    if isinstance(scope.function, types.MethodType):
        owner = scope.function.__self__
        reader.variables = {Self: owner if isinstance(owner, type) else type(owner)}
    try:
        hint = _find_final_hint(annotation, reader)
        if _returns_content(hint, reader):
            return OutputDescription()
        codec = reader.codec(hint)
    except Unresolved:
        return OutputDescription(has_undefined_names=True)
    except RefusedMetadata as error:
        raise DefinitionError(f"{subject}: the return annotation: {error}") from error
    except UnsendableType as error:
        return OutputDescription(omissions=_describe_unsendable_result(error))
    except (DefinitionError, TypeError, ValueError, RecursionError):
        return OutputDescription()
    if not codec.schema:
        return OutputDescription(codec, is_exact=not reader.has_metadata, has_metadata=reader.has_metadata)
    schema = assemble_schema(codec.schema, reader.definitions)
    is_exact = reader.encodes_exactly and _has_only_exact_keywords(schema)
    return OutputDescription(codec, schema, is_exact=is_exact, has_metadata=reader.has_metadata)


_STREAMS = (abc.Generator, abc.Iterator, abc.AsyncGenerator, abc.AsyncIterator, abc.AsyncIterable)


def _find_final_hint(hint: Any, reader: HintReader) -> Any:
    """Return the type of the result of a call that returns *hint*: what is awaited, or a list of what is streamed."""
    if isinstance(hint, (str, ForwardRef)):
        hint = reader.resolve(hint)
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if isinstance(origin, type) and issubclass(origin, abc.Awaitable):
        return _find_final_hint(arguments[-1], reader) if arguments else Any
    if origin in _STREAMS:
        return abc.Iterable[arguments[0]] if arguments else abc.Iterable  # type: ignore[valid-type]
    if isinstance(origin, type) and (is_stream(origin) or is_async_stream(origin)):
        return abc.Iterable
    if origin is Annotated:
        return Annotated[(_find_final_hint(arguments[0], reader), *arguments[1:])]
    if hasattr(hint, "__value__"):  # an alias that was defined with `type`
        final = _find_final_hint(hint.__value__, reader)
        return hint if final is hint.__value__ else final
    if origin in (Union, types.UnionType):
        return Union[tuple(_find_final_hint(member, reader) for member in arguments)]  # noqa: UP007 -- as for any tuple
    return hint


_CONTENT = (*PART_TYPES, ToolResult)
_TRANSPARENT = (Union, types.UnionType, Annotated, list, tuple, abc.Sequence, abc.Iterable, abc.Collection)


def _returns_content(hint: Any, reader: HintReader) -> bool:
    """
    Return whether *hint* names parts or results: alone, as a member of a union, or as the items of a list or tuple.

    A tool with such an annotation may return content that is no JSON value, such as an image. It has no output schema.
    """
    if isinstance(hint, (str, ForwardRef)):
        hint = reader.resolve(hint if isinstance(hint, str) else hint.__forward_arg__)
    if isinstance(hint, type) and issubclass(hint, _CONTENT):
        return True
    if hasattr(hint, "__value__"):  # an alias that was defined with `type`
        return _returns_content(hint.__value__, reader)
    origin = get_origin(hint)
    if origin not in _TRANSPARENT:
        return False
    arguments = get_args(hint)[:1] if origin is Annotated else get_args(hint)
    return any(_returns_content(argument, reader) for argument in arguments)


def _describe_unsendable_result(error: UnsendableType) -> list[Omission]:
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
    *("$defs", "$ref", "anyOf", "const", "enum", "type", "format", "contentEncoding"),
    *("properties", "additionalProperties", "propertyNames", "required", "items", "prefixItems"),
}
"""The keywords that say no more than the types do. What a codec of the library encodes always fits them."""


EncodeOutput: TypeAlias = Callable[[Any, int], Any]
"""Called with a return value and 0, it returns the JSON form of the value or `UNSURE`."""


def compile_output(output: OutputDescription, title: str) -> EncodeOutput:
    """Return the generated function that encodes return values, or one that is never sure; *title* names it."""
    if output.codec is None and output.schema is None:
        return _encode_plain_json
    if output.codec is None or not output.is_exact:
        return _never_sure
    try:
        return compile_encode(output.codec, title)
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


def _has_only_exact_keywords(schema: Any) -> bool:
    if isinstance(schema, bool):
        return True
    keywords = schema.keys() - _EXACT_KEYWORDS
    if "prefixItems" in schema:
        keywords -= {"minItems", "maxItems"}
    return not keywords and all(_has_only_exact_keywords(inner) for _, inner in iter_subschemas(schema))
