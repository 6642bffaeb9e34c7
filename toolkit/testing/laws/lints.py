"""
Advice on how tools read to a model and to a colleague. No tool is run, and no advice has to be followed.

Each lint is a function of one tool, or of all tools, and suggests a rewrite. The lints about what a tool's code does
are in `code_lints`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..._plumbing.wording import format_count
from ...catalogs.tool_reports import is_resolved
from ...docstrings.parsing import words
from ...functions.unsent_parameters import is_optional
from ...spec import Tool
from ...values.schemas.engine import iter_mappings
from .code_lints import code_lints
from .confusable_tools import CatalogLaw, skeleton, words_of
from .schema_laws import find_undescribed_parameters
from .violations import Fault, Violation, report_fault

__all__ = ["CATALOG_LINTS", "LINTS", "lint"]

_MIN_HINT_WORDS, _MAX_HINT_WORDS = 3, 10
_MAX_LEVELS = 3
_LARGE_SCHEMA_CHARS = 2000
_UNTYPED_KEYWORDS = frozenset(["default", "description"])
_MAX_CHARS_PER_PROPERTY = 250


def lint(tools: Iterable[Tool], *, include_known: bool = False) -> list[Violation]:
    """
    Return advice on *tools*; each violation's remedy is a suggested rewrite.

    Args:
        tools: The tools to look at, such as a catalog.
        include_known: Whether the list includes the violations that a tool lists in `known_violations`.
    """
    tool_list = list(tools)
    # The law `valid-schema` reports a tool that is not resolved.
    faults = [(tool, fault) for tool in tool_list if is_resolved(tool) for check in LINTS for fault in check(tool)]
    faults += [pair for check in CATALOG_LINTS for pair in check(tool_list)]
    violations = [report_fault(tool, fault) for tool, fault in faults]
    return [violation for violation in violations if include_known or not violation.explanation]


def no_description(tool: Tool) -> Iterator[Fault]:
    """Yield a fault if the description only repeats the tool's name, and does not say what the tool does."""
    if tool.description == words(tool.original or tool.name):
        sentence = f"{tool.description} ...: what it does, when to use it, what comes back."
        message = f"the model reads only {tool.description!r}, which the name says already"
        yield Fault("no-description", message, f'write a docstring: """{sentence}"""')


def omissions(tool: Tool) -> Iterator[Fault]:
    """Yield a fault for each thing that the schemas leave out. The decorator warns of the same."""
    for omission in tool.signature.omissions:
        yield Fault(omission.rule, omission.fault, omission.remedy)


def untyped_parameters(tool: Tool) -> Iterator[Fault]:
    """Yield a fault for each parameter without a type beside others that have one, such as `callback=None`."""
    if any(omission.rule == "untyped" for omission in tool.signature.omissions):
        return  # none has a type
    properties = tool.schema.get("properties", {})
    try:
        parameters = inspect.signature(tool.function).parameters.values()
    except (ValueError, TypeError):  # a function of C, with a schema by hand
        return
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        if parameter.annotation is parameter.empty and properties.get(name, {"type": ""}).keys() <= _UNTYPED_KEYWORDS:
            hide = f"; if a model should not send it, `@tool(hidden={json.dumps([name])})`"
            kind = "str" if default in (None, parameter.empty) else type(default).__name__
            remedy = f"annotate it, as in `{name}: {kind}`{hide if is_optional(parameter) else ''}"
            message = "it has no type, so a model may send any value, and the value is passed on"
            yield Fault("untyped", message, remedy, f"parameter `{name}`")


def search_hint(tool: Tool) -> Iterator[Fault]:
    """Yield a fault if the search hint has fewer than three or more than ten words, or ends in a full stop."""
    hint = tool.facts.search_hint
    if hint is None:
        return
    hint_words = hint.split()
    faults = []
    if not _MIN_HINT_WORDS <= len(hint_words) <= _MAX_HINT_WORDS:
        faults.append(f"has {format_count(len(hint_words), 'word')} instead of {_MIN_HINT_WORDS} to {_MAX_HINT_WORDS}")
    if hint.rstrip().endswith("."):
        faults.append("ends in a full stop")
    if faults:
        remedy = f"search_hint={_suggest_hint(tool, hint.rstrip('. ').split())!r}"
        yield Fault("search-hint", f"it {' and '.join(faults)}", remedy, "search_hint")


def no_search_hint(tool: Tool) -> Iterator[Fault]:
    """Yield a fault if a deferred tool, which a model finds only by a search, has no search hint."""
    if tool.facts.defer and tool.facts.search_hint is None:
        message = "a model finds it only by a search, and it has no search hint"
        yield Fault("deferred-without-hint", message, f"search_hint={_suggest_hint(tool, [])!r}", "defer")


def two_things(tool: Tool) -> Iterator[Fault]:
    """Yield a fault if the tool's name joins two things with `and`, because one tool should do one thing."""
    parts = words(tool.name).lower().split()
    if "and" not in parts[1:-1]:
        return
    middle = parts.index("and", 1)
    first, second = parts[:middle], parts[middle + 1 :]
    # In `read_and_write_file`, `file` is the object of both verbs.
    common_object = second[1:] if len(first) == 1 and len(second) > 1 else []
    names = ["_".join(first + common_object), "_".join(second)]
    message = "its name says that it does two things, so a model cannot ask for one of them"
    yield Fault("two-things", message, f"make two tools: `{names[0]}` and `{names[1]}`", "its name")


def deep_nesting(tool: Tool) -> Iterator[Fault]:
    """Yield a fault if arguments are nested more than three levels deep, because models get them wrong."""
    path = max(_iter_property_paths(tool.schema, tool.schema.get("$defs", {}), (), ()), key=len)
    if len(path) > _MAX_LEVELS:
        message = f"{'.'.join(path)} is nested {len(path)} levels deep; models get more than {_MAX_LEVELS} wrong"
        yield Fault("deep-nesting", message, f"{_advise_flattening(path)}, or split the tool", f"parameter `{path[0]}`")


def large_schema(tool: Tool) -> Iterator[Fault]:
    """
    Yield a fault if the schema is large for its number of properties, because every request carries it.

    A schema is large if it has more than 2,000 characters and more than 250 characters for each property.
    """
    size = _size(tool.schema)
    tables = [part.get("properties") for part in iter_mappings(tool.schema)]
    properties = sum(len(table) for table in tables if isinstance(table, Mapping))
    if size <= _LARGE_SCHEMA_CHARS or size <= _MAX_CHARS_PER_PROPERTY * max(properties, 1):
        return
    name, part = max(
        [*tool.schema.get("properties", {}).items(), *tool.schema.get("$defs", {}).items()],
        key=lambda item: _size(item[1]),
        default=("", tool.schema),
    )
    choices = len(part.get("enum", ())) if isinstance(part, Mapping) else 0
    advice = (
        f"take `{name}` as text and name the {format_count(choices, 'value')} in an error, or offer a tool that lists "
        f"them"
        if choices
        else f"shorten what is said of `{name}`, {_size(part):,} characters, or take its parts as parameters"
    )
    message = f"its schema has {format_count(size, 'character')} for {format_count(properties, 'property')}"
    yield Fault("large-schema", message, advice, f"parameter `{name}`")


def look_alike_names(tools: Sequence[Tool]) -> Iterator[tuple[Tool, Fault]]:
    """Yield a fault if two tools have names or aliases that differ only in letters that look alike."""
    names_by_skeleton: dict[str, str] = {}
    for tool in tools:
        for name in dict.fromkeys((tool.name, *tool.facts.aliases)):
            first = names_by_skeleton.setdefault(skeleton(name), tool.name if name == tool.name else name)
            owner = next((other for other in tools if first == other.name or first in other.facts.aliases), tool)
            if owner is not tool:
                message = f"`{name}` and `{first}` differ only in letters that look alike"
                remedy = f"name it after what it does and the other does not: `{_suggest_name(tool)}`"
                yield tool, Fault("look-alike-names", message, remedy, f"beside `{first}`")


LINTS: tuple[Callable[[Tool], Iterator[Fault]], ...] = (
    no_description,
    omissions,
    untyped_parameters,
    find_undescribed_parameters,
    search_hint,
    no_search_hint,
    two_things,
    deep_nesting,
    large_schema,
    code_lints,
)
CATALOG_LINTS: tuple[CatalogLaw, ...] = (look_alike_names,)


def _suggest_hint(tool: Tool, preferred: list[str]) -> str:
    """Return a hint of the right length: the words in *preferred* first, then words of the description and the name."""
    further_words = [word for word in tool.description.replace(".", " ").replace(",", " ").split() if words_of(word)]
    further_words += words(tool.name).split()
    hint_words = list(dict.fromkeys(word.lower() for word in preferred))[:_MAX_HINT_WORDS]
    count = len(hint_words) if len(hint_words) >= _MIN_HINT_WORDS else _MIN_HINT_WORDS + 1
    for word in further_words:
        if len(hint_words) >= count:
            break
        if word.lower() not in hint_words:
            hint_words.append(word.lower())
    return " ".join(hint_words[:_MAX_HINT_WORDS])


def _advise_flattening(path: Sequence[str]) -> str:
    names = [name for name in path[-2:] if name != "[]"]
    if names:
        return f"take `{'_'.join(names)}` as a parameter of its own"
    return f"take `{path[0]}` as a flat list, with what tells its items apart in each of them"


def _suggest_name(tool: Tool) -> str:
    new_words = sorted(words_of(tool.description) - words_of(tool.name.replace("_", " ")))
    return f"{tool.name}_{new_words[0]}" if new_words else f"{tool.name}_again"


def _iter_property_paths(
    schema: Any, definitions: Mapping[str, Any], path: tuple[str, ...], outer_definitions: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """
    Yield the path of names to every property, through objects, arrays and definitions.

    A definition that refers to itself is followed once.
    """
    yield path
    if not isinstance(schema, Mapping):
        return
    target = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if target in definitions and target not in outer_definitions:
        yield from _iter_property_paths(definitions[target], definitions, path, (*outer_definitions, target))
    for name, subschema in (schema.get("properties") or {}).items():
        yield from _iter_property_paths(subschema, definitions, (*path, name), outer_definitions)
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from _iter_property_paths(schema[keyword], definitions, (*path, "[]"), outer_definitions)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for subschema in schema.get(keyword) or ():
            yield from _iter_property_paths(subschema, definitions, path, outer_definitions)


def _size(schema: Any) -> int:
    return len(json.dumps(schema, separators=(",", ":")))
