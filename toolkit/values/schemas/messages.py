"""
Explain to a model why its arguments were refused.

jsonschema finds the errors. This module turns them into `Problem`s: the place, the value that was sent and the value
that would be right. Each problem is one short line. For a union, the problems are those of the member that the model
meant, if that member can be recognised.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..._plumbing.wording import format_count
from ...errors import Problem, find_nearest
from ..strictjson.checks import show_value
from .member_names import FLAG_NAMES, MEMBER_NAMES, MemberNames, fold_name, get_member_names
from .text_forms import find_text_form
from .union_tags import UnionTag, find_tags
from .vocabulary import UNION_KEYWORDS, stated_types

__all__ = ["describe_expectation", "explain_errors", "join_with_or"]

_MAX_CHOICES = 12
_MAX_SHOWN_LIMIT = 10**15
_MAX_CHARS_OF_CHOICES = 250
_MAX_TAGS = 60
_MAX_CHARS_OF_TAGS = 350
_MAX_NEIGHBOURS = 250
_NUMBERS = (int, float)

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
    errors = list(errors)
    wrong_choices = {_place_of(error) for error in errors if error.validator in ("enum", "const")}
    for error in errors:
        if error.context:
            problems.update((id(problem), problem) for problem in _union_problems(error))
        elif error.validator != "type" or not wrong_choices or _place_of(error) not in wrong_choices:
            # A value of the wrong type is none of the choices either, and the choices say more.
            message, path = _build_message(error), tuple(error.absolute_path)
            problems.setdefault((path, error.validator, message), Problem(message, path))
    # A tag that is missing is reported by its union, and by a schema that requires the tag of the union.
    missing_tags = {tuple(error.absolute_path) for error in errors if error.validator == "required" and error.message}
    if missing_tags:
        problems = {problem.path if problem.path in missing_tags else key: problem for key, problem in problems.items()}
    return list(problems.values())


def _place_of(error: Any) -> tuple[Any, ...]:
    """Return the part of the schema and the part of the value that *error* is about."""
    return id(error.schema), *error.absolute_path


def describe_expectation(schema: Any) -> str:
    """Describe in a few words what *schema* expects."""
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "anything"
    flags = get_member_names(schema, FLAG_NAMES)
    if flags is not None:
        return _format_flags(flags)
    if "const" in schema:
        return _format_choices([schema["const"]], get_member_names(schema, MEMBER_NAMES))
    if "enum" in schema:
        return _format_choices(schema["enum"], get_member_names(schema, MEMBER_NAMES))
    for keyword in UNION_KEYWORDS:
        if schema.get(keyword):
            return join_with_or(list(dict.fromkeys(map(describe_expectation, schema[keyword]))))
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
        return join_with_or([form.expectation, *(["null"] if "null" in types else [])])
    words = [_TYPE_WORDS.get(kind, str(kind)) for kind in types]
    text = join_with_or(words) if words else "another value"
    return f"{text} ({schema['format']})" if "format" in schema and types == ["string"] else text


def _format_choices(
    choices: Sequence[Any],
    names: MemberNames | None,
    *,
    max_items: int = _MAX_CHOICES,
    max_chars: int = _MAX_CHARS_OF_CHOICES,
) -> str:
    if not choices:
        return "nothing"
    words: list[str] = []
    chars_left = max_chars
    for choice in choices[:max_items]:
        word, name = _format_constant(choice), names.name_of(choice) if names else None
        words.append(word if name is None else f"{word} ({name})")
        chars_left -= len(words[-1])
        if chars_left <= 0:
            break
    return join_with_or(words, max_items=max_items, more=len(choices) > len(words))


def _format_flags(names: Mapping[str, int]) -> str:
    return f"a sum of {_join_words([f'{value} {name}' for name, value in names.items()], max_items=_MAX_CHOICES)}"


def _format_constant(value: Any) -> str:
    """Show a value that the schema's author wrote, in full if it is short."""
    if not isinstance(value, (dict, list)):
        return show_value(value)
    text = json.dumps(value)
    return text if len(text) <= 60 else show_value(value)


def join_with_or(words: Sequence[str], *, max_items: int = _MAX_CHOICES, more: bool = False) -> str:
    """Join *words* as in `a`, `a or b`, `a, b or c`. With *more*, or if there are more words, the last one is `...`."""
    words = [*words[:max_items], *(["..."] if more or len(words) > max_items else [])]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _join_words(words: list[str], *, max_items: int) -> str:
    return ", ".join(words[:max_items]) + (", ..." if len(words) > max_items else "")


def _build_message(error: Any) -> str | Callable[[], str]:
    word = _MESSAGES.get(error.validator, lambda error: f"does not fit what `{error.validator}` asks")
    if "propertyNames" in error.schema_path and isinstance(error.instance, str):
        message = word(error)
        text = message if isinstance(message, str) else message()
        return f"the key {show_value(error.instance)} is not expected: {text}"
    return word(error)


def _mismatch_message(words: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda error: f"expected {words(error.validator_value)}, got {show_value(error.instance)}"


def _count_message(words: str, unit: str) -> Callable[[Any], str]:
    return lambda error: f"expected {words} {_format_limit(error.validator_value, unit)}, got {len(error.instance)}"


def _format_limit(limit: Any, unit: str) -> str:
    # JSON Schema takes 2.0 for an integer, and a server may send a limit of any length.
    return format_count(int(limit), unit) if limit < _MAX_SHOWN_LIMIT else f"{show_value(limit)} {unit}s"


def _missing_message(error: Any) -> str:
    key = error.path[-1]
    schema = error.schema.get("properties", {}).get(key)
    if schema:
        return f"required, but missing; expected {describe_expectation(schema)}"
    tags = [tag for tag in find_tags(error.message()) if tag.key == key] if callable(error.message) else []
    return f"required, but missing; expected {_format_tags(tags[0])}" if tags else "required, but missing"


def _unknown_key_message(error: Any) -> Callable[[], str]:
    declared = list(error.schema.get("properties", ()))
    patterns = [f"one that matches {source[:100]}" for source in error.schema.get("patternProperties", ())]
    key = str(error.path[-1])

    def build_message() -> str:
        near = find_nearest(key, declared, max_items=1)
        if near:
            return f"unknown key; did you mean {show_value(near[0])}?"
        if declared or patterns:
            return f"unknown key; expected {join_with_or([show_value(name) for name in declared] + patterns)}"
        return "unknown key; none are expected"

    return build_message


def _wrong_type_message(error: Any) -> str:
    if len(error.schema) == 1:  # most schemas state only the type, and this is quicker
        kinds = error.validator_value
        words = _TYPE_WORDS[kinds] if type(kinds) is str else join_with_or([_TYPE_WORDS[kind] for kind in kinds])
        return f"expected {words}, got {show_value(error.instance)}"
    # If the value is one of the choices, only its type is wrong.
    schema = {keyword: value for keyword, value in error.schema.items() if keyword not in ("enum", "const")}
    return f"expected {describe_expectation(schema)}, got {show_value(error.instance)}"


def _wrong_choice_message(error: Any) -> str | Callable[[], str]:
    choices = [error.validator_value] if error.validator == "const" else error.validator_value
    value, names = error.instance, get_member_names(error.schema, MEMBER_NAMES)
    flags = get_member_names(error.schema, FLAG_NAMES)
    if flags is not None:
        return f"expected {_format_flags(flags)}, got {show_value(value)}"
    if not choices:
        return "no value is allowed here"
    expected = _format_choices(choices, names)
    message = f"expected {expected}, got {show_value(value)}"
    if not expected.endswith(" or ..."):
        return message

    def build_message() -> str:
        # The choice that the model meant may be among those that are not shown.
        near = _find_near_choices(value, choices, names)
        return f"{message}; did you mean {join_with_or(near)}?" if near else message

    return build_message


def _find_near_choices(value: Any, choices: Sequence[Any], names: MemberNames | None) -> list[str]:
    """Return the choices nearest to *value*, in words: those with the nearest text or name, or the nearest numbers."""
    if isinstance(value, str):
        forms = {**(names or {}), **{choice: choice for choice in choices if isinstance(choice, str)}}
        nearest_names = find_nearest(value, _begin_with_neighbours(value, forms))
        if nearest_names and fold_name(nearest_names[0]) == fold_name(value):
            del nearest_names[1:]
        return [_format_choices([forms[name]], names) for name in nearest_names]
    if type(value) not in _NUMBERS:
        return []
    numbers = [choice for choice in choices if type(choice) in _NUMBERS]
    try:
        nearest = heapq.nsmallest(3, numbers, key=lambda number: abs(number - value))
    except OverflowError:  # the difference of a float and an integer that is larger than every float
        return []
    return [_format_choices([number], names) for number in nearest]


def _begin_with_neighbours(name: str, candidates: Collection[str]) -> Iterable[str]:
    """Yield those of *candidates* that are sorted near *name*, and then all, because only so many are compared."""
    ordered = sorted(candidates, key=fold_name)
    place = bisect.bisect(ordered, fold_name(name), key=fold_name)
    return itertools.chain(ordered[max(0, place - _MAX_NEIGHBOURS) : place + _MAX_NEIGHBOURS], candidates)


def _describe_pattern(error: Any) -> str:
    form = find_text_form(error.schema)
    return f"text that matches {error.validator_value[:100]}" if form is None else form.expectation


_MESSAGES: dict[Any, Callable[[Any], str | Callable[[], str]]] = {
    None: lambda error: "not allowed here",
    "type": _wrong_type_message,
    "required": _missing_message,
    "dependentRequired": lambda error: f"required beside {show_value(error.message)}, but missing",
    "additionalProperties": _unknown_key_message,
    "enum": _wrong_choice_message,
    "const": _wrong_choice_message,
    "minimum": _mismatch_message(lambda limit: f"at least {show_value(limit)}"),
    "exclusiveMinimum": _mismatch_message(lambda limit: f"more than {show_value(limit)}"),
    "maximum": _mismatch_message(lambda limit: f"at most {show_value(limit)}"),
    "exclusiveMaximum": _mismatch_message(lambda limit: f"less than {show_value(limit)}"),
    "multipleOf": _mismatch_message(lambda factor: f"a multiple of {show_value(factor)}"),
    "minLength": _mismatch_message(lambda limit: f"at least {_format_limit(limit, 'character')}"),
    "maxLength": _count_message("at most", "character"),
    "pattern": lambda error: f"expected {_describe_pattern(error)}, got {show_value(error.instance)}",
    "items": lambda error: f"expected at most {_format_limit(int(error.message), 'item')}, got {len(error.instance)}",
    "minItems": _count_message("at least", "item"),
    "maxItems": _count_message("at most", "item"),
    "uniqueItems": lambda error: "expected items that differ, but some are equal",
    "minProperties": _count_message("at least", "entry"),
    "maxProperties": _count_message("at most", "entry"),
    "contains": lambda error: f"expected at least one item that is {describe_expectation(error.validator_value)}",
    "minContains": lambda error: (
        f"expected at least {_format_limit(error.validator_value, 'item')} of a kind, got fewer"
    ),
    "maxContains": lambda error: f"expected at most {_format_limit(error.validator_value, 'item')} of a kind, got more",
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
    tag_problems = _tag_problems(error, members)
    if tag_problems is not None:
        return tag_problems
    # If the value has the wrong type for a member, the model did not mean that member.
    possible = [
        suberrors
        for suberrors in members.values()
        if not any(not suberror.path and suberror.validator in ("type", "const", "enum") for suberror in suberrors)
    ]
    fewest = min(map(_mismatch_score, possible), default=0)
    best_members = [suberrors for suberrors in possible if _mismatch_score(suberrors) == fewest]
    if len(best_members) == 1:
        return explain_errors(best_members[0])
    expected = describe_expectation({"anyOf": error.validator_value})
    return [Problem(f"expected {expected}, got {show_value(error.instance)}", error.absolute_path)]


def _tag_problems(error: Any, errors_by_member: Mapping[Any, list[Any]]) -> list[Problem] | None:
    """
    Return the problems of the member that the tag of the value chooses, or the one problem that no tag is right.

    Return None if the members have no tag, or if the value may be meant for a member without one.
    """
    value = error.instance
    tags = find_tags(error.message()) if isinstance(value, dict) and callable(error.message) else []
    for tag in tags:
        index = tag.find_member(value[tag.key]) if tag.key in value else None
        if index is not None:
            return explain_errors(errors_by_member[index])
    wrong_tag = next((tag for tag in tags if tag.key in value), None)
    if wrong_tag is not None:
        message = f"expected {_format_tags(wrong_tag)}, got {show_value(value[wrong_tag.key])}"
        return [Problem(message, (*error.absolute_path, wrong_tag.key))]
    if not tags or not tags[0].is_shared:
        return None
    tag = tags[0]
    for index in tag.optional_members:
        if _mismatch_score(errors_by_member[index]) == 0:
            return explain_errors(errors_by_member[index])
    words = "missing" if tag.optional_members else "required, but missing"
    return [Problem(f"{words}; expected {_format_tags(tag)}", (*error.absolute_path, tag.key))]


def _format_tags(tag: UnionTag) -> str:
    return _format_choices(tag.all_choices(), None, max_items=_MAX_TAGS, max_chars=_MAX_CHARS_OF_TAGS)


def _mismatch_score(errors: Sequence[Any]) -> int:
    """Score how strongly the keys of an object speak against a member. A wrong tag weighs more than all else."""
    return sum(_MISMATCH_SCORES.get(error.validator, 0) for error in errors if len(error.path) == 1)


_MISMATCH_SCORES = {"required": 1, "additionalProperties": 1, "enum": 1, "const": 1000}
