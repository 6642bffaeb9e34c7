"""
Replace jsonschema's keywords with versions that are safe and quick for untrusted values.

Each keyword gives exactly jsonschema's verdict. Patterns go through `toolkit.values.patterns`, so no pattern can stall
the process. Unique items are compared in linear time. Missing and unknown keys are reported one by one, each with its
place. The keywords write no messages: `messages` has better ones, and writing out a large value takes time.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from ..patterns import compile_pattern

__all__ = ["KEYWORDS", "LONGEST_UNEVALUATED_KEY", "MOST_ERRORS", "error_of", "obvious"]

MOST_ERRORS = 100
"""The most errors that are looked for, in the whole value and in each member of a union."""

LONGEST_UNEVALUATED_KEY = 1000
"""
The longest key in an object that `unevaluatedProperties` checks. For this keyword jsonschema itself searches the keys
with `re`.
"""

_NOTHING: frozenset[type] = frozenset()
_CLASSES: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "array": frozenset({list}),
    "object": frozenset({dict}),
}


def obvious(schema: Mapping[str, Any]) -> frozenset[type]:
    """Return the classes whose values obviously fit *schema*, because it constrains only the type."""
    if not isinstance(schema, dict) or len(schema) != 1 + ("format" in schema):
        return _NOTHING
    kinds = schema.get("type", ())
    return _CLASSES[kinds] if isinstance(kinds, str) else _NOTHING.union(*map(_CLASSES.__getitem__, kinds))


def error_of(message: str = "", **about: Any) -> Any:
    return _error_class()(message, **about)


@functools.cache
def _error_class() -> Any:
    from jsonschema import ValidationError

    return ValidationError


def _reference(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[Any]:
    target = validator._resolver.lookup(reference)  # noqa: SLF001 -- jsonschema's own keyword does this too
    key = id(target.contents), id(instance)
    known_errors = validator.format_checker.known
    if known_errors is not None and key in known_errors:
        yield from (error_of(**fields) for fields in known_errors[key])
        return
    errors = list(islice(validator.descend(instance, target.contents, resolver=target.resolver), MOST_ERRORS))
    # Copies are kept, because the path of an error grows while the error passes through the outer schemas.
    if known_errors is not None and isinstance(instance, (dict, list)):
        known_errors[key] = [{name: _freeze_path(getattr(error, name)) for name in _ERROR_FIELDS} for error in errors]
    yield from errors


_ERROR_FIELDS = ("message", "validator", "validator_value", "path", "schema_path", "instance", "schema", "context")


def _freeze_path(value: Any) -> Any:
    return tuple(value) if isinstance(value, deque) else value


def _type(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
    kinds = [expected] if isinstance(expected, str) else expected
    for kind in kinds:
        if type(instance) in _CLASSES[kind] or validator.is_type(instance, kind):
            return
    yield error_of()


def _enum(validator: Any, choices: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str):
        fits = instance in choices
    else:
        identity = _identity(instance)
        fits = any(_identity(choice) == identity for choice in choices)
    if not fits:
        yield error_of()


def _const(validator: Any, constant: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if _identity(instance) != _identity(constant):
        yield error_of()


def _properties(validator: Any, properties: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name, subschema in properties.items():
            if name in instance and type(instance[name]) not in obvious(subschema):
                yield from validator.descend(instance[name], subschema, path=name, schema_path=name)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield error_of(path=(name,))


def _dependent_required(validator: Any, names: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name, others in names.items():
            if name in instance:
                for other in others:
                    if other not in instance:
                        yield error_of(name, path=(other,))


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict) or allowed is True:
        return
    declared = schema.get("properties", ())
    extras = [key for key in instance if key not in declared]
    if extras and "patternProperties" in schema:
        patterns = [compile_pattern(source) for source in schema["patternProperties"]]
        extras = [key for key in extras if not any(pattern.search(key) for pattern in patterns)]
    for key in extras:
        if allowed is False:
            yield error_of(path=(key,))
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for source, subschema in patterns.items():
            pattern = compile_pattern(source)
            for key, value in instance.items():
                if pattern.search(key):
                    yield from validator.descend(value, subschema, path=key, schema_path=source)


def _unevaluated_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict) and any(len(key) > LONGEST_UNEVALUATED_KEY for key in instance):
        raise ValueError(f"a key is longer than {LONGEST_UNEVALUATED_KEY:,} characters")
    from jsonschema import Draft202012Validator

    yield from Draft202012Validator.VALIDATORS["unevaluatedProperties"](validator, allowed, instance, schema)


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, list):
        first = len(schema.get("prefixItems", ()))
        if items is False and len(instance) > first:
            yield error_of(str(first))
        elif isinstance(items, Mapping):
            fine = obvious(items)
            for index in range(first, len(instance)):
                if type(instance[index]) not in fine:
                    yield from validator.descend(instance[index], items, path=index)


def _pattern(validator: Any, source: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not compile_pattern(source).search(instance):
        yield error_of()


def _any_of(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    context: list[Any] = []
    for index, member in enumerate(members):
        errors = list(islice(validator.descend(instance, member, schema_path=index), MOST_ERRORS))
        if not errors:
            return
        context += errors
    yield error_of(context=context)


def _one_of(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    context: list[Any] = []
    fit_count = 0
    for index, member in enumerate(members):
        errors = list(islice(validator.descend(instance, member, schema_path=index), MOST_ERRORS))
        context += errors
        fit_count += not errors
    if fit_count != 1:
        yield error_of(context=() if fit_count else context)


def _not(validator: Any, unwanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.evolve(schema=unwanted).is_valid(instance):
        yield error_of()


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if unique and isinstance(instance, list) and len({_identity(item) for item in instance}) != len(instance):
        yield error_of()


def _length(kind: type, fails: Callable[[int, Any], bool]) -> Callable[..., Iterator[Any]]:
    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, kind) and fails(len(instance), limit):  # type: ignore[arg-type]
            yield error_of()

    return check


KEYWORDS: dict[str, Callable[..., Iterator[Any]]] = {
    "$ref": _reference,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "properties": _properties,
    "required": _required,
    "dependentRequired": _dependent_required,
    "additionalProperties": _additional_properties,
    "patternProperties": _pattern_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "items": _items,
    "pattern": _pattern,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "uniqueItems": _unique_items,
    "minLength": _length(str, operator.lt),
    "maxLength": _length(str, operator.gt),
    "minItems": _length(list, operator.lt),
    "maxItems": _length(list, operator.gt),
    "minProperties": _length(dict, operator.lt),
    "maxProperties": _length(dict, operator.gt),
    # `format` is only an annotation, as the draft says. The validator's slot for it holds the `Work` instead.
    "format": lambda validator, form, instance, schema: iter(()),
}


def _identity(value: Any) -> Any:
    """Return a hashable key that is equal for values that JSON Schema treats as equal, and only for these."""
    if isinstance(value, str):
        return "s", value
    if isinstance(value, bool):
        return "b", value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        # The hash of a long integer is easy to predict, and a set of integers that share a hash is slow.
        return value if -sys.hash_info.modulus < value < sys.hash_info.modulus else hex(value)
    if isinstance(value, list):
        return "l", *map(_identity, value)
    if isinstance(value, dict):
        return "d", frozenset((key, _identity(item)) for key, item in value.items())
    return value
