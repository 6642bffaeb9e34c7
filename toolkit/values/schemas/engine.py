"""
One schema's judge: jsonschema's validator with our keywords, and a limit to its work.

A judgement that would take too long, because a value could be read in too
many ways or is too large, ends with a `ValueError`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from .keywords import KEYWORDS, MOST_ERRORS, error_of, obvious

__all__ = ["Judge", "mappings_in"]

_MOST_WORK = 200_000


class Work(threading.local):
    """
    The judgement under way, one a thread.

    Attributes:
        left: How many schemas may still be held against values.
        known: What referred schemas had to say of containers. Without, a value that several members of a union
            contain would be judged once for each, at every level twice as often. None if answers may change.
    """

    def __init__(self, *, remembers: bool) -> None:
        self.left = 0
        self.known: dict[tuple[int, int], list[dict[str, Any]]] | None = None
        self._remembers = remembers

    def begin(self) -> None:
        self.left = _MOST_WORK
        self.known = {} if self._remembers else None

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ValueError("it would take too long; send less at once, or nest it less deeply")


class Judge:
    """
    A compiled validator, to be kept; jsonschema is imported here, at the first need.

    Attributes:
        resolver: What answers the references in the schema.
    """

    __slots__ = ("_validator", "_work", "resolver")

    def __init__(self, schema: Any) -> None:
        from referencing import Registry

        registry: Registry[Any] = Registry()
        # What a dynamic reference means depends on the way to it.
        self._work = Work(remembers=not any("$dynamicRef" in part for part in mappings_in(schema)))
        self._validator = _validator_class()(schema, registry=registry, format_checker=self._work)
        self.resolver = self._validator._resolver  # noqa: SLF001 -- jsonschema offers no other way to it

    def iter_errors(self, value: Any, *, max_errors: int = MOST_ERRORS) -> Iterator[Any]:
        """Yield what is wrong with *value*: the first hundred errors, or *max_errors*."""
        self._work.begin()
        return islice(_judged(self._validator, value, None, None), max_errors)

    @property
    def steps_taken(self) -> int:
        """Return how much work the last judgement of this thread took."""
        return _MOST_WORK - self._work.left

    def is_valid(self, value: Any) -> bool:
        """Whether nothing is wrong with *value*."""
        return next(self.iter_errors(value), None) is None

    def evolve(self, schema: Any) -> Judge:
        """A judge of a part of the schema, which may refer to the whole."""
        made = object.__new__(Judge)
        made._work, made.resolver = self._work, self.resolver
        made._validator = self._validator.evolve(schema=schema)
        return made


def mappings_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in the document that *schema* is, whether it is a schema or not."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


@functools.cache
def _validator_class() -> Any:
    """jsonschema's validator for draft 2020-12 with our `KEYWORDS`; its `format_checker` has to be a `Work`."""
    from jsonschema import Draft202012Validator, validators

    made: Any = validators.extend(Draft202012Validator, KEYWORDS)
    made.descend = _descend
    made.evolve = _evolve
    return made


def _descend(
    self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, resolver: Any = None
) -> Iterator[Any]:
    """jsonschema's own `descend`, counted, and short where the answer is obvious."""
    if schema is True:
        return
    if type(instance) in obvious(schema):
        return
    self.format_checker.step()
    if resolver is None:
        resolver = self._resolver
        if isinstance(schema, Mapping) and "$id" in schema:
            from referencing.jsonschema import DRAFT202012

            resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
    yield from _judged(self.evolve(schema=schema, _resolver=resolver), instance, path, schema_path)


def _judged(validator: Any, instance: Any, path: Any, schema_path: Any) -> Iterator[Any]:
    """jsonschema's own loop over the keywords of a schema."""
    schema = validator.schema
    if schema is False:
        about = {"validator": None, "validator_value": None, "instance": instance, "schema": schema}
        yield error_of(path=_steps(path), schema_path=_steps(schema_path), **about)
    for check, keyword, value in validator._validators:  # noqa: SLF001 -- this and below as jsonschema's own does
        for error in check(validator, value, instance, schema) or ():
            if not isinstance(error.schema, (dict, bool)):
                error._set(validator=keyword, validator_value=value, instance=instance, schema=schema)  # noqa: SLF001
            if keyword not in ("if", "$ref"):
                error.schema_path.appendleft(keyword)
            if path is not None:
                error.path.appendleft(path)
            if schema_path is not None:
                error.schema_path.appendleft(schema_path)
            yield error


def _evolve(self: Any, **changes: Any) -> Any:
    # jsonschema's own looks at `$schema`, and for another dialect gives a validator without these keywords.
    return type(self)(
        changes.get("schema", self.schema),
        format_checker=self.format_checker,
        registry=self._registry,
        _resolver=changes.get("_resolver", self._resolver),
    )


def _steps(path: Any) -> tuple[Any, ...]:
    return () if path is None else (path,)
