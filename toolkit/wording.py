"""
What a model reads when its arguments were refused.

jsonschema finds the errors; here they become `Problem`s: where, what was
given, what would be right. Each is one short line. For a union the problems
of the member that was meant are told, if that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .errors import Problem, nearest
from .strictjson import show

__all__ = ["expectation", "problems_of"]

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def problems_of(errors: Iterable[Any]) -> list[Problem]:
    """*errors* of jsonschema, as problems in the order they were found."""
    problems: list[Problem] = []
    told: dict[int, int] = {}
    for error in errors:
        keyword = error.validator
        if keyword == "required":
            # jsonschema reports the missing keys one by one, in order, naming each only in its message.
            nth = told[id(error.instance)] = told.get(id(error.instance), -1) + 1
            missing = [key for key in error.validator_value if key not in error.instance]
            problems.append(Problem(_missing(error.schema, missing[nth]), (*error.absolute_path, missing[nth])))
        elif keyword in ("anyOf", "oneOf") and error.context:
            problems += _of_union(error)
        else:
            word = _WORDS.get(keyword)
            message = _other(error) if word is None else word(error)
            problems.append(Problem(message, error.absolute_path))
    return problems


def expectation(schema: Any) -> str:
    """What *schema* wants, in a few words."""
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "anything"
    if "const" in schema:
        return show(schema["const"])
    if "enum" in schema:
        return _one_of([show(each) for each in schema["enum"][:12]] + (["..."] if len(schema["enum"]) > 12 else []))
    if "anyOf" in schema:
        return _one_of(list(dict.fromkeys(expectation(each) for each in schema["anyOf"])))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kinds = schema.get("type", ())
    words = [_TYPES.get(kind, str(kind)) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    text = _one_of(words) if words else "something else"
    return f"{text} ({schema['format']})" if "format" in schema and kinds == "string" else text


def _one_of(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _missing(schema: Any, key: str) -> str:
    wanted = schema.get("properties", {}).get(key) if isinstance(schema, Mapping) else None
    return f"required, but missing; expected {expectation(wanted)}" if wanted else "required, but missing"


def _got(words: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda error: f"expected {words(error)}, got {show(error.instance)}"


def _unknown_key(error: Any) -> str | Callable[[], str]:
    if not (isinstance(error.validator_value, bool) and error.path):
        return _other(error)
    known = list(error.schema.get("properties", ()))

    def word() -> str:
        near = nearest(str(error.absolute_path[-1]), known, most=1)
        if near:
            return f"unknown key; did you mean {show(near[0])}?"
        return (
            f"unknown key; expected {_one_of([show(key) for key in known[:12]])}" if known else "no keys are expected"
        )

    return word


def _other(error: Any) -> str:
    """A keyword without words of its own: jsonschema's, cut short and without the value."""
    if error.validator is None:
        return "not allowed here"
    return f"{show(error.instance)} does not fit {error.validator}: {show(error.validator_value)}"


_WORDS: dict[str, Callable[[Any], str | Callable[[], str]]] = {
    "type": _got(lambda error: expectation(error.schema)),
    "enum": _got(lambda error: expectation({"enum": error.validator_value})),
    "const": _got(lambda error: show(error.validator_value)),
    "additionalProperties": _unknown_key,
    "minimum": _got(lambda error: f"at least {error.validator_value}"),
    "exclusiveMinimum": _got(lambda error: f"more than {error.validator_value}"),
    "maximum": _got(lambda error: f"at most {error.validator_value}"),
    "exclusiveMaximum": _got(lambda error: f"less than {error.validator_value}"),
    "multipleOf": _got(lambda error: f"a multiple of {error.validator_value}"),
    "minLength": _got(lambda error: f"at least {error.validator_value} characters"),
    "maxLength": lambda error: f"expected at most {error.validator_value} characters, got {len(error.instance)}",
    "pattern": _got(lambda error: f"text that matches {error.validator_value}"),
    "minItems": lambda error: f"expected at least {error.validator_value} items, got {len(error.instance)}",
    "maxItems": lambda error: f"expected at most {error.validator_value} items, got {len(error.instance)}",
    "uniqueItems": lambda error: "expected items that differ, but some are equal",
    "minProperties": lambda error: f"expected at least {error.validator_value} entries, got {len(error.instance)}",
    "maxProperties": lambda error: f"expected at most {error.validator_value} entries, got {len(error.instance)}",
    "dependentRequired": lambda error: f"these keys need others beside them: {show(error.validator_value)}",
}


def _of_union(error: Any) -> list[Problem]:
    """The problems of the member that was meant; if none stands out, what all of them want."""
    members: dict[Any, list[Any]] = {}
    for each in error.context:
        members.setdefault(each.schema_path[0], []).append(each)
    # A member is out of the question if the value has another type, or another tag.
    meant = [
        found
        for found in members.values()
        if not any(each.validator in ("type", "const", "enum") and len(each.path) <= _tag_depth(each) for each in found)
    ]
    if len(meant) == 1:
        return problems_of(meant[0])
    return [
        Problem(
            f"expected {expectation({'anyOf': error.validator_value})}, got {show(error.instance)}", error.absolute_path
        )
    ]


def _tag_depth(error: Any) -> int:
    # A type decides only at the member's top; a constant also one level down, where tags are.
    return 0 if error.validator == "type" else 1
