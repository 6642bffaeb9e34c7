"""
Explain to a model why its arguments were refused.

jsonschema finds the errors. This module turns them into `Problem`s: the place, the value that was sent and the value
that would be right. Each problem is one short line. For a union, the problems are those of the member that the model
meant, if that member can be recognised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...errors import Problem, find_nearest
from ..strictjson.checks import show_value
from .text_forms import find_text_form
from .vocabulary import UNION_KEYWORDS, stated_types

__all__ = ["describe_expectation", "explain_errors"]

_MAX_CHOICES = 12

_TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def explain_errors(errors: Iterable[Any]) -> list[Problem]:
    """Turn *errors* of a validator into problems, in the order in which they were found."""
    # A schema that is reached in several ways reports the same error several times.
    problems: dict[Any, Problem] = {}
    for error in errors:
        if error.context:
            problems.update((id(problem), problem) for problem in _union_problems(error))
        else:
            message, path = _build_message(error), tuple(error.absolute_path)
            problems.setdefault((path, error.validator, message), Problem(message, path))
    return list(problems.values())


def describe_expectation(schema: Any) -> str:
    """Describe in a few words what *schema* expects."""
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "anything"
    if "const" in schema:
        return _format_constant(schema["const"])
    if "enum" in schema:
        return _format_choices(schema["enum"])
    for keyword in UNION_KEYWORDS:
        if keyword in schema:
            return _join_with_or(list(dict.fromkeys(map(describe_expectation, schema[keyword]))))
    if "$ref" in schema:
        return show_value(str(schema["$ref"]).rpartition("/")[2]).strip('"') or "another value"
    types = stated_types(schema)
    if types in (["object"], []) and schema.get("required"):
        return (
            f"an object with {_join_words([show_value(key, max_chars=30) for key in schema['required']], max_items=4)}"
        )
    form = find_text_form(schema)
    if form is not None:
        # An exact number may also be sent as a plain number, but text is what its author asks for.
        return _join_with_or([form.expectation, *(["null"] if "null" in types else [])])
    words = [_TYPE_WORDS.get(kind, str(kind)) for kind in types]
    text = _join_with_or(words) if words else "another value"
    return f"{text} ({schema['format']})" if "format" in schema and types == ["string"] else text


def _format_choices(choices: Sequence[Any]) -> str:
    return _join_with_or(
        [_format_constant(choice) for choice in choices[:_MAX_CHOICES]], more=len(choices) > _MAX_CHOICES
    )


def _format_constant(value: Any) -> str:
    """Show a value that the schema's author wrote, in full if it is short."""
    if not isinstance(value, (dict, list)):
        return show_value(value)
    text = json.dumps(value)
    return text if len(text) <= 60 else show_value(value)


def _join_with_or(words: list[str], *, more: bool = False) -> str:
    words = [*words[:_MAX_CHOICES], *(["..."] if more or len(words) > _MAX_CHOICES else [])]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _join_words(words: list[str], *, max_items: int) -> str:
    return ", ".join(words[:max_items]) + (", ..." if len(words) > max_items else "")


def _build_message(error: Any) -> str | Callable[[], str]:
    word = _MESSAGES.get(error.validator, _other_message)
    if "propertyNames" in error.schema_path and isinstance(error.instance, str):
        message = word(error)
        text = message if isinstance(message, str) else message()
        return f"the key {show_value(error.instance)} is not expected: {text}"
    return word(error)


def _mismatch_message(words: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda error: f"expected {words(error.validator_value)}, got {show_value(error.instance)}"


def _count_message(words: str, unit: str) -> Callable[[Any], str]:
    return lambda error: f"expected {words} {show_value(error.validator_value)} {unit}, got {len(error.instance)}"


def _missing_message(error: Any) -> str:
    schema = error.schema.get("properties", {}).get(error.path[-1])
    return f"required, but missing; expected {describe_expectation(schema)}" if schema else "required, but missing"


def _unknown_key_message(error: Any) -> Callable[[], str]:
    declared = list(error.schema.get("properties", ()))
    patterns = [f"one that matches {source[:100]}" for source in error.schema.get("patternProperties", ())]
    key = str(error.path[-1])

    def build_message() -> str:
        near = find_nearest(key, declared, max_items=1)
        if near:
            return f"unknown key; did you mean {show_value(near[0])}?"
        if declared or patterns:
            return f"unknown key; expected {_join_with_or([show_value(name) for name in declared] + patterns)}"
        return "unknown key; none are expected"

    return build_message


def _wrong_choice_message(error: Any) -> str | Callable[[], str]:
    choices, value = error.validator_value, error.instance
    message = f"expected {_format_choices(choices)}, got {show_value(value)}"
    if len(choices) <= _MAX_CHOICES or not isinstance(value, str):
        return message

    def build_message() -> str:
        # The choice that the model meant may be among those that are not shown.
        near = find_nearest(value, (choice for choice in choices if isinstance(choice, str)), max_items=1)
        return f"{message}; did you mean {show_value(near[0])}?" if near else message

    return build_message


def _describe_pattern(error: Any) -> str:
    form = find_text_form(error.schema)
    return f"text that matches {error.validator_value[:100]}" if form is None else form.expectation


def _other_message(error: Any) -> str:
    return f"does not fit what `{error.validator}` asks"


_MESSAGES: dict[Any, Callable[[Any], str | Callable[[], str]]] = {
    None: lambda error: "not allowed here",
    "type": lambda error: f"expected {describe_expectation(error.schema)}, got {show_value(error.instance)}",
    "required": _missing_message,
    "dependentRequired": lambda error: f"required beside {show_value(error.message)}, but missing",
    "additionalProperties": _unknown_key_message,
    "enum": _wrong_choice_message,
    "const": _mismatch_message(_format_constant),
    "minimum": _mismatch_message(lambda limit: f"at least {show_value(limit)}"),
    "exclusiveMinimum": _mismatch_message(lambda limit: f"more than {show_value(limit)}"),
    "maximum": _mismatch_message(lambda limit: f"at most {show_value(limit)}"),
    "exclusiveMaximum": _mismatch_message(lambda limit: f"less than {show_value(limit)}"),
    "multipleOf": _mismatch_message(lambda factor: f"a multiple of {show_value(factor)}"),
    "minLength": _mismatch_message(lambda limit: f"at least {show_value(limit)} characters"),
    "maxLength": _count_message("at most", "characters"),
    "pattern": lambda error: f"expected {_describe_pattern(error)}, got {show_value(error.instance)}",
    "items": lambda error: f"expected at most {error.message} items, got {len(error.instance)}",
    "minItems": _count_message("at least", "items"),
    "maxItems": _count_message("at most", "items"),
    "uniqueItems": lambda error: "expected items that differ, but some are equal",
    "minProperties": _count_message("at least", "entries"),
    "maxProperties": _count_message("at most", "entries"),
    "contains": lambda error: f"expected at least one item that is {describe_expectation(error.validator_value)}",
    "minContains": lambda error: f"expected at least {error.validator_value} items of a kind, got fewer",
    "maxContains": lambda error: f"expected at most {error.validator_value} items of a kind, got more",
    "unevaluatedItems": lambda error: "some of the items are not expected",
    "unevaluatedProperties": lambda error: f"some of the keys are not expected, in {show_value(error.instance)}",
    "oneOf": lambda error: (
        f"{show_value(error.instance)} fits more than one of the alternatives; it has to fit exactly one"
    ),
    "not": lambda error: f"{show_value(error.instance)} is not allowed here",
}


def _union_problems(error: Any) -> list[Problem]:
    """Return the problems of the member that was meant, or what all members expect if no member is the clear best."""
    members: dict[Any, list[Any]] = {}
    for suberror in error.context:
        members.setdefault(suberror.schema_path[0], []).append(suberror)
    # If the value has the wrong type for a member, the model did not mean that member.
    possible = [
        suberrors
        for suberrors in members.values()
        if not any(not suberror.path and suberror.validator in ("type", "const", "enum") for suberror in suberrors)
    ]
    wrong_tag = _tag_problem(possible)
    if wrong_tag is not None:
        return [wrong_tag]
    fewest = min(map(_mismatch_score, possible), default=0)
    best_members = [suberrors for suberrors in possible if _mismatch_score(suberrors) == fewest]
    if len(best_members) == 1:
        return explain_errors(best_members[0])
    expected = describe_expectation({"anyOf": error.validator_value})
    return [Problem(f"expected {expected}, got {show_value(error.instance)}", error.absolute_path)]


def _tag_problem(members: Sequence[Sequence[Any]]) -> Problem | None:
    """Return a problem that lists the tags of all members if the value has none of these tags, otherwise None."""
    tags = [
        error for errors in members for error in [error for error in errors if _tag_constant(error) is not None][:1]
    ]
    if len(tags) < max(2, len(members)) or any(tag.path != tags[0].path for tag in tags):
        return None
    expected = _join_with_or(list(dict.fromkeys(describe_expectation(_tag_constant(tag)) for tag in tags)))
    if all(tag.validator == "required" for tag in tags):
        return Problem(f"required, but missing; expected {expected}", tags[0].absolute_path)
    return Problem(f"expected {expected}, got {show_value(tags[0].instance)}", tags[0].absolute_path)


def _tag_constant(error: Any) -> dict[str, Any] | None:
    """Return the constant that identifies a member, if *error* is about that constant."""
    if len(error.path) != 1:
        return None
    if error.validator == "const":
        return {"const": error.validator_value}
    schema = error.schema.get("properties", {}).get(error.path[-1]) if error.validator == "required" else None
    return {"const": schema["const"]} if isinstance(schema, dict) and "const" in schema else None


def _mismatch_score(errors: Sequence[Any]) -> int:
    """Score how strongly the keys of an object speak against a member. A wrong tag weighs more than all else."""
    return sum(_MISMATCH_SCORES.get(error.validator, 0) for error in errors if len(error.path) == 1)


_MISMATCH_SCORES = {"required": 1, "additionalProperties": 1, "enum": 1, "const": 1000}
