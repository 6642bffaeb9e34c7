"""
Replace jsonschema's keywords with versions that are safe and quick for untrusted values.

Each keyword gives exactly jsonschema's verdict, except that no rounding of floats misleads `multipleOf`. Patterns go
through `toolkit.values.patterns`, so no pattern can stall the process. Unique items are compared in linear time.
Missing and unknown keys are reported one by one, each with its place. The keywords write no messages: the module
`messages` has better ones, and writing out a large value takes time.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from ..._plumbing.forks import unlock_properties_in_children
from ..patterns import compile_pattern
from .multiples import is_multiple
from .union_tags import resolve_members
from .vocabulary import UNION_KEYWORDS

__all__ = [
    "KEYWORDS",
    "MAX_ERRORS",
    "MAX_UNEVALUATED_KEY_CHARS",
    "UNSET",
    "IndexedChoices",
    "SchemaError",
    "classes_that_fit",
    "equality_key",
]

MAX_ERRORS = 100
"""The most errors that are looked for, in the whole value and in each member of a union."""

MAX_UNEVALUATED_KEY_CHARS = 1000
"""
The longest key in an object that `unevaluatedProperties` checks. For this keyword jsonschema itself searches the keys
with `re`.
"""

_NO_CLASSES: frozenset[type] = frozenset()
_CLASSES: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "array": frozenset({list}),
    "object": frozenset({dict}),
}
_ALL_CLASSES = _NO_CLASSES.union(*_CLASSES.values())


def classes_that_fit(schema: Mapping[str, Any]) -> frozenset[type]:
    """Return the classes whose values obviously fit *schema*, because it constrains only the type."""
    if not isinstance(schema, dict) or len(schema) != 1 + ("format" in schema):
        return _NO_CLASSES
    kinds = schema.get("type", ())
    return _CLASSES[kinds] if isinstance(kinds, str) else _NO_CLASSES.union(*map(_CLASSES.__getitem__, kinds))


@unlock_properties_in_children
class IndexedChoices(list[Any]):
    """The choices of an `enum`, in which a value is found without a look at each of them."""

    @functools.cached_property
    def keys(self) -> frozenset[Any]:
        """Return the equality keys of all choices."""
        return frozenset(map(equality_key, self))


UNSET: Any = object()
"""The value of the fields of an error that the keyword does not fill in."""


class SchemaError:
    """
    An error in a value, with the attributes of jsonschema's `ValidationError`, which takes four times as long to make.

    Attributes:
        message: What the module `messages` has to know besides; it is not for people.
        validator: The keyword; None for the schema false.
        validator_value: The value of the keyword.
        path: The steps from the value that was checked, or from that of the parent, to the wrong value.
        schema_path: The steps from the schema to the keyword.
        instance: The wrong value.
        schema: The schema that holds the keyword.
        context: The errors of the members, if the keyword is a union.
        parent: The error of the union that this error is in the context of.
    """

    __slots__ = (
        "context", "instance", "message", "parent", "path", "schema", "schema_path", "validator", "validator_value",
    )  # fmt: skip

    def __init__(
        self,
        message: Any = "",
        *,
        path: Iterable[Any] = (),
        schema_path: Iterable[Any] = (),
        context: Iterable[Any] = (),
        validator: Any = UNSET,
        validator_value: Any = UNSET,
        instance: Any = UNSET,
        schema: Any = UNSET,
    ) -> None:
        self.message = message
        self.path, self.schema_path = deque(path), deque(schema_path)
        self.validator, self.validator_value = validator, validator_value
        self.instance, self.schema = instance, schema
        self.parent: Any = None
        self.context = list(context)
        for error in self.context:
            error.parent = self

    @property
    def absolute_path(self) -> deque[Any]:
        """The steps from the whole value."""
        return self.path if self.parent is None else deque([*self.parent.absolute_path, *self.path])

    @property
    def absolute_schema_path(self) -> deque[Any]:
        """The steps from the whole schema."""
        if self.parent is None:
            return self.schema_path
        return deque([*self.parent.absolute_schema_path, *self.schema_path])

    def _set(self, type_checker: Any = None, **fields: Any) -> None:
        """Fill in the fields that are empty. jsonschema's own keywords call this."""
        for name, value in fields.items():
            if getattr(self, name) is UNSET:
                setattr(self, name, value)


def _check_reference(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[Any]:
    budget = validator.format_checker
    if reference in budget.targets:
        contents, resolver = budget.targets[reference], None
    else:
        target = validator._resolver.lookup(reference)  # noqa: SLF001 -- jsonschema's own keyword does this too
        contents, resolver = target.contents, target.resolver
        if budget.validators is not None:
            budget.targets[reference] = contents
    key = id(contents), id(instance)
    known_errors = budget.known
    if known_errors is not None and key in known_errors:
        yield from (SchemaError(**fields) for fields in known_errors[key])
        return
    errors = list(islice(validator.descend(instance, contents, resolver=resolver), MAX_ERRORS))
    is_container = isinstance(instance, (dict, list))
    if known_errors is not None and (is_container or budget.is_frequent(key)):
        # Copies are kept, because the path of an error grows while the error passes through the outer schemas.
        known_errors[key] = [{name: _freeze_path(getattr(error, name)) for name in _ERROR_FIELDS} for error in errors]
        for fields in () if is_container else known_errors[key]:
            fields["context"] = ()  # equal numbers at two places may be one object, and a context has one place
    yield from errors


_ERROR_FIELDS = ("message", "validator", "validator_value", "path", "schema_path", "instance", "schema", "context")


def _freeze_path(value: Any) -> Any:
    return tuple(value) if isinstance(value, deque) else value


def _check_type(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not _has_type(validator, expected, instance):
        yield SchemaError()


def _has_type(validator: Any, expected: Any, instance: Any) -> bool:
    cls = type(instance)
    for kind in (expected,) if isinstance(expected, str) else expected:
        if cls in _CLASSES[kind]:
            return True
        # Of the classes that JSON is read as, only a float may be of a type that is not its own.
        if (cls is float or cls not in _ALL_CLASSES) and validator.is_type(instance, kind):
            return True
    return False


def _find_type_error(validator: Any, instance: Any, schema: Any, step: Any, *schema_steps: Any) -> Any:
    """
    Return the error that `validator.descend` yields for a schema that constrains only the type, or None.

    Wrong types are the most frequent errors, and descending takes three times as long. *step* leads to the value, whose
    class is none of `classes_that_fit`.
    """
    validator.format_checker.step()
    cls, expected = type(instance), schema["type"]
    if (cls is float or cls not in _ALL_CLASSES) and _has_type(validator, expected, instance):
        return None
    return SchemaError(
        path=(step,),
        schema_path=(*schema_steps, "type"),
        validator="type",
        validator_value=expected,
        instance=instance,
        schema=schema,
    )


def _check_enum(validator: Any, choices: Any, instance: Any, schema: Any) -> Iterator[Any]:
    keys = choices.keys if isinstance(choices, IndexedChoices) else map(equality_key, choices)
    if equality_key(instance) not in keys:
        yield SchemaError()


def _check_properties(validator: Any, properties: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name, subschema in properties.items():
            if name not in instance or type(instance[name]) in (classes := classes_that_fit(subschema)):
                continue
            if not classes:
                yield from validator.descend(instance[name], subschema, path=name, schema_path=name)
            elif (error := _find_type_error(validator, instance[name], subschema, name, name)) is not None:
                yield error


def _check_required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                union = next((schema[keyword] for keyword in UNION_KEYWORDS if keyword in schema), None)
                yield SchemaError("" if union is None else _members_reader(validator, union), path=(name,))


def _check_dependent_required(validator: Any, names: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name, others in names.items():
            if name in instance:
                for other in others:
                    if other not in instance:
                        yield SchemaError(name, path=(other,))


def _check_additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict) or allowed is True:
        return
    declared = schema.get("properties", ())
    extras = [key for key in instance if key not in declared]
    if extras and "patternProperties" in schema:
        patterns = [compile_pattern(source) for source in schema["patternProperties"]]
        extras = [key for key in extras if not any(pattern.search(key) for pattern in patterns)]
    for key in extras:
        if allowed is False:
            yield SchemaError(path=(key,))
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _check_pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for source, subschema in patterns.items():
            pattern = compile_pattern(source)
            for key, value in instance.items():
                if pattern.search(key):
                    yield from validator.descend(value, subschema, path=key, schema_path=source)


def _check_unevaluated_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict) and any(len(key) > MAX_UNEVALUATED_KEY_CHARS for key in instance):
        raise ValueError(f"a key is longer than {MAX_UNEVALUATED_KEY_CHARS:,} characters")
    from jsonschema import Draft202012Validator

    yield from Draft202012Validator.VALIDATORS["unevaluatedProperties"](validator, allowed, instance, schema)


def _check_items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, list):
        first = len(schema.get("prefixItems", ()))
        if items is False and len(instance) > first:
            yield SchemaError(str(first))
        elif isinstance(items, Mapping):
            fine = classes_that_fit(items)
            for index in range(first, len(instance)):
                if type(instance[index]) in fine:
                    continue
                if not fine:
                    yield from validator.descend(instance[index], items, path=index)
                elif (error := _find_type_error(validator, instance[index], items, index)) is not None:
                    yield error


def _check_any_of(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    context: list[Any] = []
    for index, member in enumerate(members):
        errors = list(islice(validator.descend(instance, member, schema_path=index), MAX_ERRORS))
        if not errors:
            return
        context += errors
    yield SchemaError(_members_reader(validator, members), context=context)


def _check_one_of(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    context: list[Any] = []
    fit_count = 0
    for index, member in enumerate(members):
        errors = list(islice(validator.descend(instance, member, schema_path=index), MAX_ERRORS))
        context += errors
        fit_count += not errors
    if fit_count != 1:
        yield SchemaError(_members_reader(validator, members), context=() if fit_count else context)


def _members_reader(validator: Any, members: Any) -> Callable[[], list[list[Mapping[str, Any]]]]:
    """Return a function that reads the members of a union. It takes time, so it is called only for a message."""
    return functools.partial(resolve_members, validator._resolver, members)  # noqa: SLF001 -- as for a reference


def _check_not(validator: Any, unwanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.evolve(schema=unwanted).is_valid(instance):
        yield SchemaError()


def _refuse_if(fails: Callable[[Any, Any], bool]) -> Callable[..., Iterator[Any]]:
    """Return the check of a keyword whose value and the instance are enough to decide."""

    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if fails(limit, instance):
            yield SchemaError()

    return check


def _refuse_length(kind: Any, fails: Callable[[Any, Any], bool]) -> Callable[..., Iterator[Any]]:
    return _refuse_if(lambda limit, instance: isinstance(instance, kind) and fails(len(instance), limit))


def _is_number(instance: Any) -> bool:
    return isinstance(instance, (int, float)) and not isinstance(instance, bool)


def _has_repeated_items(unique: Any, instance: Any) -> bool:
    return bool(unique) and isinstance(instance, list) and len(set(map(equality_key, instance))) != len(instance)


KEYWORDS: dict[str, Callable[..., Iterator[Any]]] = {
    "$ref": _check_reference,
    "type": _check_type,
    "enum": _check_enum,
    "const": _refuse_if(lambda constant, instance: equality_key(instance) != equality_key(constant)),
    "properties": _check_properties,
    "required": _check_required,
    "dependentRequired": _check_dependent_required,
    "additionalProperties": _check_additional_properties,
    "patternProperties": _check_pattern_properties,
    "unevaluatedProperties": _check_unevaluated_properties,
    "items": _check_items,
    "pattern": _refuse_if(
        lambda source, instance: isinstance(instance, str) and not compile_pattern(source).search(instance)
    ),
    "anyOf": _check_any_of,
    "oneOf": _check_one_of,
    "not": _check_not,
    "uniqueItems": _refuse_if(_has_repeated_items),
    "multipleOf": _refuse_if(lambda factor, instance: _is_number(instance) and not is_multiple(instance, factor)),
    "minLength": _refuse_length(str, operator.lt),
    "maxLength": _refuse_length(str, operator.gt),
    "minItems": _refuse_length(list, operator.lt),
    "maxItems": _refuse_length(list, operator.gt),
    "minProperties": _refuse_length(dict, operator.lt),
    "maxProperties": _refuse_length(dict, operator.gt),
    # `format` is only an annotation, as the draft says. The validator's slot for it holds the `WorkBudget` instead.
    "format": lambda validator, form, instance, schema: iter(()),
}


def equality_key(value: Any) -> Any:
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
        return "l", *map(equality_key, value)
    if isinstance(value, dict):
        return "d", frozenset((key, equality_key(item)) for key, item in value.items())
    return value
