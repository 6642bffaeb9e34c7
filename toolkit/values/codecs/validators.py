"""
Run the validators and serializers of pydantic around a codec.

pydantic itself calls the functions, so a function may take a `ValidationInfo` or a handler as its documentation says.
What a function raises is a refusal of the value. pydantic is imported only if an annotation holds such an object.

A value has to fit the schema before a validator sees it. For `BeforeValidator`, `WrapValidator` and `PlainValidator`,
`json_schema_input_type` says what the schema is, if it is not that of the type.

pydantic's `Json` and `Json[T]`, text that holds JSON, are converted here too.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_type_hints

from ...errors import Problem
from ..strictjson.checks import loads, show_value
from .base import UNKNOWN_BREADTH, Codec, HintReader, Schema
from .code_writer import CodeWriter
from .definitions import assemble_schema
from .limits import refuse_async
from .ranks import CodecRank, narrow_breadth
from .refusals import OutputRefusal, Refusal, RefusedMetadata, SerializerFailure, build_type_error, problems_of
from .schema_first import make_strict_codec

__all__ = [
    "REPLACEMENTS",
    "SERIALIZERS",
    "VALIDATORS",
    "apply_serializer",
    "apply_validator",
    "build_opaque_codec",
    "json_text_codec",
    "problems_of_validation",
]

VALIDATORS = frozenset({"AfterValidator", "BeforeValidator", "PlainValidator", "WrapValidator"})
SERIALIZERS = frozenset({"PlainSerializer", "WrapSerializer"})
REPLACEMENTS = frozenset({"PlainSerializer", "PlainValidator"})
"""The metadata whose function takes the place of the type's own check or form."""


def build_opaque_codec(cls: type) -> Codec:
    """Return a codec for a class without a JSON form, whose values a `PlainValidator` makes."""

    def decode(value: Any) -> Any:
        raise Refusal.mismatch(f"an instance of {cls.__name__}", value)

    def encode(value: Any) -> Any:
        if not isinstance(value, cls):
            raise build_type_error(value, cls.__name__)
        raise ValueError(f"{cls.__name__} has no JSON form")

    return Codec(schema={}, decode=decode, encode=encode, type=cls, hashable=cls.__hash__ is not None)


def apply_validator(base: Codec, item: Any, name: str, reader: HintReader) -> Codec:
    """Return *base* with the validator *item*. *name* is the name of its class in pydantic."""
    function = _get_function(item, name)
    if reader.for_output:
        return _validate_output(base, item, function)
    if name == "AfterValidator":
        return _validate_after(base, item, function)
    input_type = getattr(item, "json_schema_input_type", None)
    is_stated = type(input_type).__name__ != "PydanticUndefinedType"
    schema = reader.codec(input_type).schema if is_stated else base.schema
    run = _build_runner(item, function, lambda value: _decode_leniently(base, value))
    codec = Codec(
        schema=schema,
        decode=run,
        encode=lambda value: _encode_leniently(base, value),
        breadth=UNKNOWN_BREADTH if is_stated else narrow_breadth(base.breadth),
        hashable=base.hashable,
    )
    strict_codec = make_strict_codec(codec, lambda: assemble_schema(schema, reader.definitions))
    return replace(strict_codec, type=base.type)


def _get_function(item: Any, name: str) -> Any:
    function = getattr(item, "func", None)
    if isinstance(item, type) or not callable(function):
        raise RefusedMetadata(f"{name} has no function; write `{name}(function)`")
    refuse_async(f"{name}({_name_of(function)})", function)
    return function


def _name_of(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]


def _validate_after(base: Codec, item: Any, function: Any) -> Codec:
    run = _build_runner(item, function, lambda value: value)

    def emit(writer: CodeWriter, value: str) -> str:
        return f"{writer.constant(run)}({writer.convert(base, value)})"

    return replace(
        base,
        decode=lambda value: run(base.decode(value)),
        encode=lambda value: _encode_leniently(base, value),
        breadth=narrow_breadth(base.breadth),
        choices=None,
        tags=None,
        members=(),
        emit=None if base.emit is None else emit,
    )


def _validate_output(base: Codec, item: Any, function: Any) -> Codec:
    """Return *base* with a validator that runs when a result is encoded, and may change the result."""

    def accept(value: Any) -> Any:
        base.encode(value)  # raises if the value is not of the type
        return value

    run = _build_runner(item, function, accept)

    def encode(value: Any) -> Any:
        try:
            validated = run(value)
        except Refusal as refusal:
            base.encode(value)  # a value of another type is not this codec's to refuse
            raise OutputRefusal(*refusal.problems) from refusal.__cause__
        return _encode_leniently(base, validated)

    return replace(base, encode=encode, type=None, breadth=narrow_breadth(base.breadth), members=())


def _build_runner(item: Any, function: Any, inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that runs the validator *item* around *inner*, and raises `Refusal` if it refuses the value."""
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError
    from pydantic_core import core_schema

    class InnerCodec:
        """Tells pydantic to call *inner* where it would check the type."""

        def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
            return core_schema.no_info_plain_validator_function(inner)

    name = _name_of(function)
    try:
        validate = TypeAdapter(Annotated[Any, InnerCodec(), item]).validator.validate_python
    except PydanticUserError as error:
        raise RefusedMetadata(f"pydantic cannot use `{name}` as a validator: {error.message}") from error

    def run(value: Any) -> Any:
        try:
            result = validate(value)
        except ValidationError as error:
            raise Refusal(*problems_of_validation(error, f"refused by `{name}`")) from error
        except Refusal:
            raise
        except Exception as error:
            raise Refusal(Problem(str(error)[:300] or f"`{name}` raised {type(error).__name__}")) from error
        if inspect.iscoroutine(result):
            result.close()
            raise Refusal(Problem(f"`{name}` returned a coroutine, so it checked nothing; make it a plain function"))
        return result

    return run


def problems_of_validation(error: Any, fallback: str = "refused") -> Sequence[Problem]:
    """Return the problems in pydantic's `ValidationError`; *fallback* if one has no message."""
    return [
        problem.below(*detail["loc"])
        for detail in error.errors(include_url=False, include_input=False)
        for problem in _iter_problems(detail, fallback)
    ]


def _iter_problems(detail: dict[str, Any], fallback: str) -> Iterator[Problem]:
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, Refusal):
        yield from cause.problems
    elif isinstance(cause, Exception):
        yield Problem(str(cause)[:300] or fallback)
    else:
        yield Problem(detail["msg"])


def _decode_leniently(base: Codec, value: Any) -> Any:
    """Decode what a validator passed on, which is JSON or already a value of the type."""
    try:
        return base.decode(value)
    except Exception as error:  # noqa: BLE001 -- a constructor may raise anything
        try:
            return base.decode(base.encode(value))
        except Exception:  # noqa: BLE001 -- the value is neither, and the first error says what is wrong with it
            raise Refusal(*problems_of(error)) from error


def _encode_leniently(base: Codec, value: Any) -> Any:
    """Encode a value that a validator may have turned into another type."""
    try:
        return base.encode(value)
    except (TypeError, ValueError):
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(value)


def apply_serializer(base: Codec, item: Any, name: str, reader: HintReader) -> Codec:
    """
    Return *base* with the serializer *item*, which writes the JSON form.

    The schema of a result is that of the type which the serializer returns. If that type is not stated, every JSON
    value is possible.
    """
    from pydantic import TypeAdapter
    from pydantic_core import core_schema

    function = _get_function(item, name)

    class InnerCodec:
        """Tells pydantic to encode with *base* where it would write the type itself."""

        def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
            return core_schema.any_schema(
                serialization=core_schema.plain_serializer_function_ser_schema(base.encode, when_used="always")
            )

    dump = TypeAdapter(Annotated[Any, InnerCodec(), item]).serializer.to_python

    def encode(value: Any) -> Any:
        if base.type is None:
            base.encode(value)  # raises if the value is not of the type
        elif not isinstance(value, base.type):
            raise build_type_error(value, base.type.__name__)
        try:
            return dump(value, mode="json")
        except Exception as error:
            raise SerializerFailure(
                Problem(f"`{_name_of(function)}` raised {type(error).__name__}: {error}"[:300])
            ) from error

    if not reader.for_output:
        return replace(base, encode=encode, breadth=narrow_breadth(base.breadth), members=(), parts=None)
    schema = _read_return_schema(item, function, reader)
    return replace(
        base, schema=schema, encode=encode, type=None, breadth=UNKNOWN_BREADTH, choices=None, tags=None, members=()
    )


def _read_return_schema(item: Any, function: Any, reader: HintReader) -> dict[str, Any]:
    stated = getattr(item, "return_type", None)
    if type(stated).__name__ == "PydanticUndefinedType":
        try:
            stated = get_type_hints(function, include_extras=True).get("return", Any)
        except Exception:  # noqa: BLE001 -- a builtin has no hints, and a name in them may be undefined
            stated = Any
    return reader.codec(stated).schema


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
        parts=None,
        description=None,
        emit=emit,
    )
