"""
Read arguments as a person types them: `limit=5 tag=a tag=b point:={"x": 1}`.

The schema decides the type of a value. The value is read as JSON if the schema permits the type that this gives;
otherwise it is text if the schema permits text. So `5` is a number for an integer, and a text for a text. If the schema
permits neither, the value stays JSON. A value that is not JSON is always text. `name:=value` is always JSON, for any
schema. The dispatcher, and not this module, judges whether the arguments fit the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import BadArgs, Problem
from ..formats.schemas.merging import definition_of
from ..values.patterns import compile_pattern
from ..values.schemas.vocabulary import JSON_TYPES, UNION_KEYWORDS, stated_types
from ..values.strictjson.checks import loads

__all__ = ["arguments_of", "parse_json_arguments"]

_MAX_REFERENCES = 32


def arguments_of(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in *words*, typed by *schema*; raise `BadArgs` with a problem for each wrong word."""
    texts: dict[str, list[str]] = {}
    json_values: dict[str, Any] = {}
    problems: list[Problem] = []
    properties = _as_mapping(schema.get("properties"))
    for word in words:
        name, sign, value = word.partition("=")
        is_json = name.endswith(":") and name not in properties
        name = name[:-1] if is_json else name
        if not sign or not name:
            problems.append(Problem(f"{word!r} is no argument; write name=value"))
        elif is_json and name in json_values:
            problems.append(Problem("is given with := twice; once is enough", [name]))
        elif is_json:
            try:
                json_values[name] = loads(value)
            except ValueError as error:
                problems.append(Problem(f"{error}; leave the colon out if it is text", [name]))
        else:
            texts.setdefault(name, []).append(value)
    arguments = {**json_values}
    for name, values in texts.items():
        if name in json_values:
            problems.append(Problem("is given with = and with :=; once is enough", [name]))
        else:
            arguments[name] = _parse_values(values, _property_schema(schema, name), schema, name, problems)
    if problems:
        raise BadArgs(problems)
    return arguments


def parse_json_arguments(text: str | bytes) -> dict[str, Any]:
    """Return the arguments in *text*, a JSON object; raise `BadArgs` if it is none."""
    try:
        arguments = loads(text)
    except ValueError as error:
        raise BadArgs(str(error)) from None
    if not isinstance(arguments, dict):
        raise BadArgs('arguments are a JSON object: {"name": "value"}')
    return arguments


def _property_schema(schema: Mapping[str, Any], name: str) -> Any:
    """Return the schema of a property: its own, that of a pattern that fits its name, or `additionalProperties`."""
    properties = _as_mapping(schema.get("properties"))
    if name in properties:
        return properties[name]
    for source, subschema in _as_mapping(schema.get("patternProperties")).items():
        if compile_pattern(source).search(name):
            return subschema
    return schema.get("additionalProperties")


def _parse_values(
    values: Sequence[str], schema: Any, root: Mapping[str, Any], name: str, problems: list[Problem]
) -> Any:
    kinds = _allowed_types(schema, root)
    if len(values) == 1:
        value = _parse_value(values[0], schema, root)
        # If the schema permits only a list, a value that is no list is the one item of the list.
        return (
            [_parse_item(values[0], schema, 0, root)] if kinds == {"array"} and not isinstance(value, list) else value
        )
    if "array" not in kinds:
        problems.append(Problem(f"is given {len(values)} times, and is no list", [name]))
    return [_parse_item(value, schema, index, root) for index, value in enumerate(values)]


def _parse_item(text: str, schema: Any, index: int, root: Mapping[str, Any]) -> Any:
    """Read *text* as the item at *index* of a list that *schema* describes."""
    for option in _union_members(schema, root):
        first = option.get("prefixItems")
        if isinstance(first, list) and index < len(first):
            return _parse_value(text, first[index], root)
        if "items" in option:
            return _parse_value(text, option["items"], root)
    return _parse_value(text, {}, root)


def _parse_value(text: str, schema: Any, root: Mapping[str, Any]) -> Any:
    allowed_types = _allowed_types(schema, root)
    choices = [choice for option in _union_members(schema, root) for choice in _choices(option)]
    if text in choices:
        return text
    try:
        value = loads(text)
    except ValueError:
        return text
    if isinstance(value, str) and "string" in allowed_types:
        return text  # a JSON string keeps the quotes that the user typed
    fits = value in choices if choices else bool(_type_names(value) & allowed_types)
    return value if fits or "string" not in allowed_types else text


def _type_names(value: Any) -> frozenset[str]:
    """Return the names that JSON Schema has for the type of *value*."""
    return _TYPE_NAMES.get(type(value), frozenset({"null"}))


_TYPE_NAMES: dict[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
}


def _allowed_types(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """Return the types that *schema* permits; all types if it does not say."""
    types: set[str] = set()
    for option in _union_members(schema, root):
        choices = _choices(option)
        types |= set().union(*map(_type_names, choices)) if choices else set(stated_types(option) or JSON_TYPES)
    return types


def _choices(option: Mapping[str, Any]) -> list[Any]:
    if "const" in option:
        return [option["const"]]
    choices = option.get("enum")
    return list(choices) if isinstance(choices, list) else []


def _union_members(schema: Any, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the members of a union, with references followed; a schema that is no union is the only member."""
    members: list[Mapping[str, Any]] = []
    pending = [_as_mapping(schema)]
    for _ in range(_MAX_REFERENCES):
        if not pending:
            break
        option = pending.pop(0)
        unions = [member for word in UNION_KEYWORDS for member in option.get(word) or ()]
        target = definition_of(option.get("$ref"), _as_mapping(root.get("$defs")))
        if target is not None:
            unions.append(target)
        if unions:
            pending = [*map(_as_mapping, unions), *pending]
        else:
            members.append(option)
    return members or [{}]


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
