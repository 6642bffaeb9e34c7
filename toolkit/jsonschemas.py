"""
jsonschema, made safe for schemas and values from strangers.

Nothing is fetched: a `$ref` that the schema does not answer itself is refused.
Patterns go through `toolkit.patterns`, so none can stall the process, and
unique items are compared in linear time. `format` is annotation, as the
draft says. Everything else is jsonschema's own judgement.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import DefinitionError
from .patterns import compile_pattern

__all__ = ["DIALECT", "check_schema", "validator"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PATTERN_KEYS_WITH_UNEVALUATED = 1000


def validator(schema: Any) -> Any:
    """A compiled validator for *schema*; jsonschema is imported here, at the first need."""
    from referencing import Registry

    registry: Registry[Any] = Registry()
    return _validator_class()(schema, registry=registry)


def check_schema(schema: Any, subject: str) -> None:
    """Raise `DefinitionError` unless *schema* is a 2020-12 schema that can be enforced without the network."""
    from jsonschema.exceptions import SchemaError

    dialect = schema.get("$schema", DIALECT) if isinstance(schema, Mapping) else DIALECT
    if str(dialect).rstrip("#") != DIALECT:
        raise DefinitionError(
            f"{subject}: the schema is written for {dialect}; draft 2020-12 is enforced here, so adapt it and "
            f"leave `$schema` out"
        )
    try:
        # The meta-schema asks of a pattern only that it is a regular expression; we ask the same below.
        _validator_class().check_schema(schema, format_checker=None)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
        raise DefinitionError(f"{subject}: not a valid schema at {place}: {error.message[:200]}") from None
    except RecursionError:
        raise DefinitionError(f"{subject}: the schema is nested too deeply to be enforced") from None
    root = validator(schema)
    for place, part in _parts(schema):
        _check_references(root, part, f"{subject}: {place}")
        _check_patterns(part, f"{subject}: {place}")


def _check_references(root: Any, part: Mapping[str, Any], subject: str) -> None:
    import referencing.exceptions

    for keyword in ("$ref", "$dynamicRef"):
        reference = part.get(keyword)
        if isinstance(reference, str):
            try:
                root._resolver.lookup(reference)  # noqa: SLF001 -- jsonschema offers no other way to ask
            except (referencing.exceptions.Unresolvable, ValueError):
                raise DefinitionError(
                    f"{subject}: {keyword} {reference!r} is not answered by the schema itself; nothing is fetched, "
                    f"so put the definition under `$defs`"
                ) from None


def _check_patterns(part: Mapping[str, Any], subject: str) -> None:
    by_key = part.get("patternProperties")
    keys = list(by_key) if isinstance(by_key, Mapping) else []
    sources = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    for source in sources + keys:
        try:
            pattern = compile_pattern(source)
        except ValueError as error:
            raise DefinitionError(f"{subject}: {error}") from None
        # jsonschema searches these itself when it looks for unevaluated properties.
        if source in keys and pattern.fast_limit < _PATTERN_KEYS_WITH_UNEVALUATED:
            raise DefinitionError(
                f"{subject}: the pattern {source!r} in patternProperties could take for ever; write it without "
                f"nested or neighbouring repetitions"
            )


def _parts(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object in *schema* that may hold keywords, with its place."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, Mapping):
            yield place or "the top", part
            skipped = ("const", "enum", "default", "examples")
            waiting += [(f"{place}/{key}", each) for key, each in part.items() if key not in skipped]
        elif isinstance(part, list):
            waiting += [(f"{place}/{index}", each) for index, each in enumerate(part)]


@functools.cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators

    safe = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    return validators.extend(Draft202012Validator, safe)


def _pattern(validator: Any, source: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not compile_pattern(source).search(instance):
        yield _error("does not match")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for source, subschema in patterns.items():
            pattern = compile_pattern(source)
            for key, value in instance.items():
                if pattern.search(key):
                    yield from validator.descend(value, subschema, path=key, schema_path=source)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict) or allowed is True:
        return
    known = schema.get("properties", ())
    extras = [key for key in instance if key not in known]
    if extras and "patternProperties" in schema:
        patterns = [compile_pattern(source) for source in schema["patternProperties"]]
        extras = [key for key in extras if not any(pattern.search(key) for pattern in patterns)]
    for key in extras:
        if allowed is False:
            yield _error("unknown key", path=(key,))
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if wanted and isinstance(instance, list) and len({_identity(each) for each in instance}) != len(instance):
        yield _error("items repeat")


def _error(message: str, path: tuple[str, ...] = ()) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message, path=path)


def _identity(value: Any) -> Any:
    """Equal for values that JSON Schema takes for equal, and only for these."""
    if isinstance(value, str):
        return "s", value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (list, dict)):
        return json.dumps(_canonical(value), sort_keys=True)
    return ("b", value) if isinstance(value, bool) else value


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items()}
    return value
