"""
Check values against one schema: jsonschema's validator with our keywords, and a limit to its work.

A check that would take too long ends with a `ValueError`. That happens if the schema allows too many readings of a
value, or if the value is too large.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from .keywords import KEYWORDS, MAX_ERRORS, UNSET, SchemaError, classes_that_fit
from .vocabulary import is_mapping

__all__ = ["SchemaValidator", "iter_mappings"]

_MAX_STEPS = 200_000
_MANY_VISITS = 8


class WorkBudget(threading.local):
    """
    The state of the check that is running. Each thread has its own.

    Attributes:
        steps_left: How many more times a schema may be applied to a value.
        known: The errors that schemas behind a `$ref` found in a container, or in another value that they were applied
            to many times. Without this memory, a value that several members of a union contain would be checked once
            for each member, so the work would double at every level. None if the answers may change.
        validators: The validators of the parts of the schema, by the identity of the part, for all threads. None if a
            part means something else depending on the path to it.
        targets: The parts that references lead to. It is used if `validators` is not None.
    """

    def __init__(self, *, remembers: bool, validators: dict[int, Any] | None, targets: dict[str, Any]) -> None:
        self.steps_left = 0
        self.known: dict[tuple[int, int], list[dict[str, Any]]] | None = None
        self._visits: Counter[tuple[int, int]] = Counter()
        self.validators = validators
        self.targets = targets
        self._remembers = remembers

    def reset(self) -> None:
        self.steps_left = _MAX_STEPS
        self.known = {} if self._remembers else None
        self._visits.clear()

    def step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise ValueError("it would take too long; send less at once, or nest it less deeply")

    def is_frequent(self, key: tuple[int, int]) -> bool:
        """Return whether the schema and the value that *key* stands for have met many times in this check."""
        self._visits[key] += 1
        return self._visits[key] >= _MANY_VISITS


class SchemaValidator:
    """
    A compiled validator for one schema, to be kept for many checks.

    jsonschema is imported here, when the first validator is needed.

    Attributes:
        resolver: The resolver of the references in the schema.
    """

    __slots__ = ("_budget", "_validator", "resolver")

    def __init__(self, schema: Any) -> None:
        from referencing import Registry

        registry: Registry[Any] = Registry()
        parts = list(iter_mappings(schema))
        # The target of a dynamic reference depends on the path to it, so answers cannot be remembered.
        remembers = not any("$dynamicRef" in part for part in parts)
        is_one_document = remembers and not any("$id" in part or _leads_out(part.get("$ref")) for part in parts)
        self._budget = WorkBudget(remembers=remembers, validators={} if is_one_document else None, targets={})
        self._validator = _validator_class()(schema, registry=registry, format_checker=self._budget)
        self.resolver = self._validator._resolver  # noqa: SLF001 -- jsonschema offers no other way to it

    def iter_errors(self, value: Any, *, max_errors: int = MAX_ERRORS) -> Iterator[Any]:
        """Yield the errors in *value*, at most *max_errors* of them; the default is one hundred."""
        self._budget.reset()
        return islice(_iter_errors(self._validator, value, None, None), max_errors)

    @property
    def steps_taken(self) -> int:
        """Return how many steps the last check of this thread took."""
        return _MAX_STEPS - self._budget.steps_left

    def is_valid(self, value: Any) -> bool:
        """Return whether *value* has no errors."""
        return next(self.iter_errors(value), None) is None

    def evolve(self, schema: Any) -> SchemaValidator:
        """Return a validator for *schema*, a part of this one's schema. The part may refer to the whole schema."""
        validator = object.__new__(SchemaValidator)
        validator._budget, validator.resolver = self._budget, self.resolver
        validator._validator = self._validator.evolve(schema=schema)
        return validator


def iter_mappings(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield each mapping in the document *schema*, even if the mapping is not a schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if type(part) is str:  # as most values are
            continue
        if is_mapping(part):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


@functools.cache
def _validator_class() -> Any:
    """Return jsonschema's class for draft 2020-12 with our `KEYWORDS`. Its `format_checker` is a `WorkBudget`."""
    from jsonschema import Draft202012Validator, validators

    validator_class: Any = validators.extend(Draft202012Validator, KEYWORDS)
    validator_class.descend = _descend
    validator_class.evolve = _evolve
    return validator_class


def _descend(
    self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, resolver: Any = None
) -> Iterator[Any]:
    """Replace jsonschema's own `descend`: count each step, and return early where the value obviously fits."""
    if schema is True:
        return
    if type(instance) in classes_that_fit(schema):
        return
    budget = self.format_checker
    budget.step()
    if budget.validators is not None:
        validator = budget.validators.get(id(schema)) or self.evolve(schema=schema)
        yield from _iter_errors(validator, instance, path, schema_path)
        return
    if resolver is None:
        resolver = self._resolver
        if isinstance(schema, Mapping) and "$id" in schema:
            from referencing.jsonschema import DRAFT202012

            resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
    yield from _iter_errors(self.evolve(schema=schema, _resolver=resolver), instance, path, schema_path)


def _iter_errors(validator: Any, instance: Any, path: Any, schema_path: Any) -> Iterator[Any]:
    """Run jsonschema's own loop over the keywords of a schema."""
    schema = validator.schema
    if schema is False:
        error: Any = SchemaError(validator=None, validator_value=None, instance=instance, schema=schema)
        yield _prepend_steps(error, path, schema_path)
    for check, keyword, value in validator._validators:  # noqa: SLF001 -- like jsonschema's own loop, here and below
        for error in check(validator, value, instance, schema) or ():
            if error.schema is UNSET:
                error.validator, error.validator_value, error.instance, error.schema = keyword, value, instance, schema
            elif not isinstance(error.schema, (dict, bool)):
                error._set(validator=keyword, validator_value=value, instance=instance, schema=schema)  # noqa: SLF001
            if keyword not in ("if", "$ref"):
                error.schema_path.appendleft(keyword)
            yield _prepend_steps(error, path, schema_path)


def _evolve(self: Any, **changes: Any) -> Any:
    # jsonschema's own `evolve` reads `$schema`. For another dialect it returns a validator without these keywords.
    schema, budget = changes.get("schema", self.schema), self.format_checker
    validators = budget.validators
    if validators is not None and id(schema) in validators:
        return validators[id(schema)]
    validator = type(self)(
        schema,
        format_checker=budget,
        registry=self._registry,
        _resolver=changes.get("_resolver", self._resolver) if validators is None else self._resolver,
    )
    if validators is not None:
        # The validator holds the schema, so no other object gets the same identity.
        validators[id(schema)] = validator
    return validator


def _leads_out(reference: Any) -> bool:
    """Return whether *reference* may lead to another document than the one it stands in."""
    return isinstance(reference, str) and not reference.startswith("#")


def _prepend_steps(error: Any, path: Any, schema_path: Any) -> Any:
    if path is not None:
        error.path.appendleft(path)
    if schema_path is not None:
        error.schema_path.appendleft(schema_path)
    return error
