"""
Recognise the metadata of pydantic, annotated-types and msgspec in an `Annotated`.

Each object of these packages has an effect or is refused. None of them is ignored, because each one states a check
that its author relies on. None of the packages is imported here. Any other metadata is its author's own business.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ForwardRef, get_args, get_origin

from .aliases import substitute_variables
from .base import Codec, HintReader, type_name
from .foreign import read_with_pydantic
from .refusals import RefusedMetadata
from .registered import REGISTERED_FACTORIES
from .validators import SERIALIZERS, VALIDATORS

__all__ = ["flatten_metadata", "known_name", "needs_pydantic", "read_whole"]

_PACKAGES = frozenset({"annotated_types", "msgspec", "pydantic"})

_LIMITS = frozenset(
    [
        *("Ge", "Gt", "Le", "Lt", "MaxLen", "MinLen", "MultipleOf", "Not", "Predicate", "Timezone", "Unit"),
        *("FieldInfo", "InstanceOf", "PathType", "PydanticGeneralMetadata", "UuidVersion"),
        "Meta",
    ]
)
_OTHERS = frozenset({"Discriminator", "Json", "WithJsonSchema"}) | VALIDATORS | SERIALIZERS

_WITHOUT_EFFECT: Mapping[str, str] = {
    "Strict": "arguments are always checked strictly",
    "AllowInfNan": "JSON has no infinities and no NaN",
    "FailFast": "it says how many problems are reported, and not which values are accepted",
}
"""The metadata that asks for nothing here, each with the reason."""

_UNDERSTOOD = _LIMITS | _OTHERS | _WITHOUT_EFFECT.keys()

_REFUSED: Mapping[str, str] = {
    "SkipValidation": "arguments are always checked; leave it out, or use Any as the type",
    "OnErrorOmit": "an item that fails its check is refused and not left out; write the type without OnErrorOmit",
    "SkipJsonSchema": "a value that the schema does not show is refused, so it counts only for a member of a union, "
    "as in `int | SkipJsonSchema[None]`; leave the parameter out, or use `Inject[...]`",
    "Tag": "it counts only in a union that has a Discriminator",
}
_FIELD_OPTIONS: Mapping[str, str] = {
    "alias": "name the parameter or field as the model should see it",
    "validation_alias": "name the parameter or field as the model should see it",
    "serialization_alias": "name the parameter or field as the model should see it",
    "exclude": "return a type that does not have the field",
    "exclude_if": "return a type that does not have the field",
}
"""The options of pydantic's `Field` that cannot have an effect outside a model, each with the remedy."""

_GENERAL_OPTIONS = frozenset(
    [
        *("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "max_digits", "decimal_places", "pattern"),
        *("ascii_only", "strip_whitespace", "to_lower", "to_upper"),
        *("allow_inf_nan", "coerce_numbers_to_str", "fail_fast", "strict", "union_mode"),
    ]
)


def known_name(item: Any) -> str | None:
    """Return the name of the class, such as `Strict`, of which *item* is an object or which it is; None for others."""
    return _known_name_of_class(item if isinstance(item, type) else type(item))


@functools.lru_cache(maxsize=1000)
def _known_name_of_class(cls: type) -> str | None:
    for base in cls.__mro__:
        package = base.__module__.partition(".")[0]
        # A user's own class that derives from `BaseModel` or `BaseMetadata` says nothing to us.
        if package in _PACKAGES and base.__name__ not in ("BaseModel", "BaseMetadata", "Representation", "Struct"):
            return base.__name__.lstrip("_")
    return None


def _has_schema_hook(item: Any) -> bool:
    """Return whether *item* tells pydantic how to treat the type beside it. A model has the same hook for itself."""
    return (
        hasattr(item, "__get_pydantic_core_schema__") or hasattr(item, "__get_pydantic_json_schema__")
    ) and not hasattr(item, "__pydantic_validator__")


def flatten_metadata(metadata: Sequence[Any]) -> Iterator[Any]:
    """
    Yield the objects of the known packages in *metadata*, with groups taken apart.

    Raises:
        RefusedMetadata: An object can have no effect here.
    """
    for item in metadata:
        if getattr(item, "__is_annotated_types_grouped_metadata__", False) is True:
            yield from flatten_metadata(list(item))
            continue
        if get_origin(item) is Annotated and list(flatten_metadata(item.__metadata__)):
            raise RefusedMetadata(f"{type_name(item)} is a type and not metadata; use it as the type")
        name = known_name(item)
        if name is None and not _has_schema_hook(item):
            continue
        _check_known(item, name)
        yield item
        if name == "FieldInfo":
            yield from flatten_metadata(item.metadata)


def _check_known(item: Any, name: str | None) -> None:
    """Raise `RefusedMetadata` if the metadata *item*, an object of the class *name*, can have no effect here."""
    if name is not None and name in _REFUSED:
        raise RefusedMetadata(f"{name}: {_REFUSED[name]}")
    if name == "FieldInfo":
        _check_field_options(item)
    elif name == "PydanticGeneralMetadata":
        _check_general_options(vars(item))
    elif isinstance(item, type) and name in _LIMITS and name != "InstanceOf":
        raise RefusedMetadata(f"{name} has no value; write `{name}(...)`")
    elif name is not None and name not in _UNDERSTOOD and not _has_schema_hook(item):
        raise RefusedMetadata(
            f"{name} of {type(item).__module__.partition('.')[0]} has no effect on arguments; leave it out, "
            f"or check the value in the tool"
        )


def _check_field_options(field: Any) -> None:
    """Raise `RefusedMetadata` if pydantic's `Field` has an option that can have no effect outside a model."""
    for option, remedy in _FIELD_OPTIONS.items():
        if getattr(field, option, None):
            raise RefusedMetadata(f"Field({option}=...) counts only in a pydantic model; {remedy}")
    if callable(getattr(field, "json_schema_extra", None)):
        raise RefusedMetadata("Field(json_schema_extra=...) is a function; write a dictionary")


def _check_general_options(options: Mapping[str, Any]) -> None:
    if options.get("coerce_numbers_to_str"):
        raise RefusedMetadata(
            "Field(coerce_numbers_to_str=True): the schema of str refuses numbers; take `str | int` and convert it"
        )
    unknown = [name for name, value in options.items() if value is not None and name not in _GENERAL_OPTIONS]
    if unknown:
        raise RefusedMetadata(f"Field({unknown[0]}=...) has no effect on arguments; check the value in the tool")


def needs_pydantic(item: Any) -> bool:
    """Return whether only pydantic knows what *item* does to the type beside it."""
    name = known_name(item)
    if name == "Discriminator":
        return not isinstance(item.discriminator, str)
    if name == "FieldInfo":
        return not isinstance(item.discriminator, str | None)
    if name == "PydanticGeneralMetadata":
        return getattr(item, "union_mode", None) == "left_to_right"
    return name not in _UNDERSTOOD and _has_schema_hook(item)


def read_whole(inner: Any, items: Sequence[Any], reader: HintReader) -> Codec:
    """Return the codec of the type *inner* with the metadata *items*, all of it described and checked by pydantic."""
    asking = next((item for item in items if needs_pydantic(item)), items[0])
    word = known_name(asking) or type_name(asking if isinstance(asking, type) else type(asking))
    if importlib.util.find_spec("pydantic") is None:
        raise RefusedMetadata(f"{word} needs pydantic, which is not installed; install it, or leave {word} out")
    if isinstance(inner, (str, ForwardRef)):
        inner = reader.resolve(inner if isinstance(inner, str) else inner.__forward_arg__)
    if _has_own_codec(inner):
        raise RefusedMetadata(
            f"{word} lets pydantic read the type, and pydantic does not know the codec of {type_name(inner)}; "
            f"use an AfterValidator, or convert it in the codec"
        )
    if reader.for_output and any(known_name(item) in VALIDATORS for item in items):
        raise RefusedMetadata(f"a validator beside {word} does not run on a result; check the result in the tool")
    hint: Any = Annotated[(substitute_variables(inner, reader.variables), *items)]
    try:
        return read_with_pydantic(hint, reader)
    except RecursionError:
        raise
    except (RuntimeError, TypeError) as error:
        raise RefusedMetadata(f"pydantic cannot apply {word}: {' '.join(str(error).split())}") from error


def _has_own_codec(hint: Any) -> bool:
    if isinstance(hint, Codec):
        return True
    try:
        registered = hint in REGISTERED_FACTORIES
    except TypeError:  # metadata of any kind
        registered = False
    return registered or any(map(_has_own_codec, (*get_args(hint), *getattr(hint, "__metadata__", ()))))
