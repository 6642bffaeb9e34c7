"""Check schemas that were written by hand or by a server, and join them with the signature of a function."""

from __future__ import annotations

import logging
import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import DefinitionError, ToolkitWarning
from ..values.codecs.base import Schema
from ..values.schemas.draft_rewriting import rewrite_schema
from ..values.schemas.validator import check_schema
from ..values.schemas.vocabulary import is_mapping, stated_types
from ..values.strictjson.checks import find_flaws
from .callables import find_source_location
from .signature import Signature

__all__ = ["copy_input_schema", "copy_schema", "enforce_schema", "find_secrets"]

_log = logging.getLogger("toolkit")
_DEFINITIONS = ("$defs", "definitions")
# Keywords whose values are data.
_VALUES = frozenset({"default", "const", "enum", "examples", "example"})


def copy_input_schema(schema: Mapping[str, Any], subject: str, function: Any) -> Schema:
    """Return the same as `copy_schema`, for the schema of the arguments of *function*, which are an object."""
    own = copy_schema(schema, subject, function)
    if "object" not in (stated_types(own) or ["object"]):
        raise DefinitionError(f'{subject}: arguments are a JSON object, so the schema\'s type has to be "object"')
    # Providers want one explicit type, but the schema may leave the type out or give a list.
    own["type"] = "object"
    return own


def copy_schema(schema: Any, subject: str, function: Any, *, name: str = "the schema") -> Schema:
    """
    Return a copy of *schema*, which the author of *function* calls *name*, in draft 2020-12.

    If *function* is None, the tool comes from elsewhere. Then nothing is warned of, because its author does not see it.

    Raises:
        DefinitionError: The schema cannot be enforced.
    """
    if not is_mapping(schema):
        raise DefinitionError(f"{subject}: {name} has to be a dictionary, got {reprlib.repr(schema)}")
    try:
        own: Schema = _to_plain_json(schema)
    except RecursionError:
        raise DefinitionError(f"{subject}: {name} is nested too deeply to be enforced") from None
    problems = find_flaws(own)
    if problems:
        raise DefinitionError(f"{subject}: {name} is not JSON: {'; '.join(map(str, problems))}")
    place = subject if name == "the schema" else f"{subject}: {name}"
    try:
        own, notes = rewrite_schema(own, place)
    except RecursionError:
        raise DefinitionError(f"{place} is nested too deeply to be enforced") from None
    for note in notes:
        if function is None:
            _log.info("%s: %s", place, note)
        else:
            warnings.warn_explicit(f"{place}: {note}", ToolkitWarning, *find_source_location(function))
    check_schema(own, place)
    return own


def _to_plain_json(schema: Any) -> Any:
    if is_mapping(schema):
        # Most values are texts, which need no further call.
        return {key: item if type(item) is str else _to_plain_json(item) for key, item in schema.items()}
    return [_to_plain_json(item) for item in schema] if isinstance(schema, (list, tuple)) else schema


def find_secrets(schema: Schema) -> frozenset[str]:
    """Return the properties of *schema* that are secrets: a part of them has the format `password`."""
    if not _has_password(schema, {}):
        return frozenset()
    definitions = {
        f"#/{key}/{name.replace('~', '~0').replace('/', '~1')}": part
        for key in _DEFINITIONS
        for name, part in schema.get(key, {}).items()
    }
    return frozenset(name for name, part in schema.get("properties", {}).items() if _has_password(part, definitions))


def _has_password(schema: Any, definitions: Mapping[str, Any]) -> bool:
    waiting, seen = [schema], set[str]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("format") == "password":
                return True
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                waiting.append(definitions.get(reference))
            part = [value for key, value in part.items() if isinstance(value, (dict, list)) and key not in _VALUES]
        waiting += part if isinstance(part, list) else ()
    return False


def enforce_schema(signature: Signature, schema: Schema, subject: str) -> Signature:
    """Return *signature* with a hand-written schema, which is checked before the arguments are decoded."""
    ours, closed = signature.schema["properties"], signature.schema.get("additionalProperties") is False
    unknown = [
        name for name in schema.get("properties", {}) if (closed and name not in ours) or name in signature.injected
    ]
    if unknown:
        raise DefinitionError(
            f"{subject}: the schema has properties that the function does not take: {', '.join(unknown)}; "
            f"add parameters for them, or **kwargs"
        )
    unsent = [name for name in schema.get("properties", {}) if name in signature.unsent]
    if unsent:
        raise DefinitionError(
            f"{subject}: the schema has properties that a model cannot send, because they are hidden or their type has "
            f"no JSON form: {', '.join(unsent)}; leave them out of the schema"
        )
    for name, theirs in schema.get("properties", {}).items():
        if name in ours and _have_disjoint_types(ours[name], theirs):
            raise DefinitionError(
                f"{subject}: parameter `{name}`: no value fits both its annotation ({ours[name]['type']}) and the "
                f"schema ({theirs['type']}); change one"
            )
    codec, secrets = replace(signature.codec, schema=schema, emit=None), signature.secrets | find_secrets(schema)
    return replace(signature, codec=codec, schema=schema, secrets=secrets)


def _have_disjoint_types(schema: Schema, other: Any) -> bool:
    """Return whether the types alone show that no value fits both schemas."""
    if not isinstance(other, Mapping) or "type" not in schema or "type" not in other:
        return False
    return _types_with_integer(schema).isdisjoint(_types_with_integer(other))


def _types_with_integer(schema: Mapping[str, Any]) -> set[str]:
    """Return the types that *schema* states. Every integer is a number, so "number" also means "integer" here."""
    types = set(stated_types(schema))
    return types | {"integer"} if "number" in types else types
