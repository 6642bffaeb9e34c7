"""
The laws that every tool should keep and that can be checked without running the tool.

Each law is a function of a tool that yields its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..._plumbing.wording import format_count
from ...catalog import Catalog
from ...errors import BadArgs, CatalogError, DefinitionError
from ...formats import FORMATS, definitions_for
from ...formats.schemas.merging import definition_of
from ...spec import Tool
from ...values.schemas.keywords import equality_key
from ...values.schemas.validator import check_schema
from ...values.strictjson.checks import find_flaws
from ..strategies.arguments import arguments, check_arguments, mistaken_arguments
from ..strategies.base import Unsupported
from ..strategies.generating import fitting_values
from ..strategies.mistakes import Mistake
from ..strategies.schema_parts import ParsedSchema
from .smallest_example import Effort, draw_values, find_smallest
from .violations import Fault

__all__ = ["LAWS", "check_schemas", "find_undescribed_parameters"]


Law = Callable[[Tool, Effort], Iterator[Fault]]

_CALLS_PER_ACCEPTED = 4
"""A tool must accept at least one in this many of the calls that fit its schema. Otherwise it promises too much."""


def check_schemas(tool: Tool) -> Iterator[Fault]:
    """
    Yield a fault if the schema or the output schema is not plain JSON, or not a valid JSON Schema.

    If there is one, no arguments can be drawn, and the laws cannot be checked.
    """
    for place, schema in (("its schema", tool.schema), ("its output schema", tool.output_schema)):
        try:
            problems = "" if schema is None else "; ".join(map(str, find_flaws(schema)))
            if schema is not None and not problems:
                check_schema(schema, place)
        except DefinitionError as error:
            problems = str(error)
        if problems:
            remedy = "correct the schema where it is written: `schema=`, or the `schema` of a codec"
            yield Fault("valid-schema", f"it is not a JSON Schema of draft 2020-12: {problems}", remedy, place)


def can_be_called(tool: Tool, effort: Effort) -> Iterator[Fault]:
    """Yield a fault if no arguments fit the schema, or if the tool accepts under a quarter of those that fit."""
    try:
        strategy = fitting_values(ParsedSchema(tool.schema), f"`{tool.name}`")
        values = draw_values(strategy, effort)
    except Unsupported as error:
        remedy = f"change `{error.keyword}` at {error.place} so that some value fits"
        yield Fault("callable", f"no arguments could be drawn for it: {error}", remedy, error.place)
        return
    refused = [value for value in values if _find_refusal(tool, value)]
    if values and len(values) - len(refused) < len(values) / _CALLS_PER_ACCEPTED:
        example = find_smallest(strategy, lambda value: _find_refusal(tool, value), effort)
        value, reason = example or (refused[0], _find_refusal(tool, refused[0]))
        message = f"of {format_count(len(values), 'call')} that fit its schema {len(refused)} were refused: {reason}"
        remedy = "say in the schema what is wanted (bounds, a pattern, an enum), or accept what the schema allows"
        yield Fault("keeps-its-promise", message, remedy, arguments=value)


def mistakes_are_refused(tool: Tool, effort: Effort) -> Iterator[Fault]:
    """
    Yield a fault if the tool does not refuse arguments that its schema refuses.

    The check is made before any repair. The tool must raise `BadArgs`, and the error must name the place of the
    mistake.
    """

    def find_fault(mistake: Mistake) -> str | None:
        try:
            tool.about.checker.check(mistake.arguments)
        except BadArgs as error:
            if mistake.path and not any(problem.path for problem in error.problems):
                return f"{mistake.description} was refused without its place: {error}"
            return None
        except Exception as error:  # noqa: BLE001 -- a caller expects no exception but `BadArgs`
            return f"{mistake.description} raised {type(error).__name__} instead of BadArgs"
        return f"{mistake.description} was accepted, though the schema refuses it"

    try:
        example = find_smallest(mistaken_arguments(tool.schema), find_fault, effort)
    except Unsupported:
        return  # the schema accepts everything, so no arguments are a mistake
    if example is not None:
        mistake, message = example
        remedy = "let its codecs check what their schema says: decode, and `emit` if it has one"
        yield Fault("refuses-mistakes", message, remedy, ".".join(map(str, mistake.path)), mistake.arguments)


def arguments_come_back(tool: Tool, effort: Effort) -> Iterator[Fault]:
    """
    Yield a fault if arguments do not survive decoding and encoding.

    The arguments are decoded and encoded twice. The second round must give the same as the first, and neither may
    raise.
    """

    def find_fault(call_arguments: dict[str, Any]) -> str | None:
        try:
            once = _decode_and_encode(tool, call_arguments)
            again = _decode_and_encode(tool, once)
        except Exception as error:  # noqa: BLE001 -- a codec may be the user's own code, and raise anything
            return f"decoding and encoding raised {type(error).__name__}: {error}"
        return None if equality_key(once) == equality_key(again) else f"encoded once it is {once!r}, and then {again!r}"

    try:
        example = find_smallest(arguments(tool), find_fault, effort)
    except Unsupported:
        return  # the laws `callable` and `keeps-its-promise` report it
    if example is not None:
        value, message = example
        yield Fault("round-trip", message, "make `encode` of its codecs the inverse of `decode`", arguments=value)


def find_undescribed_parameters(tool: Tool, effort: Effort | None = None) -> Iterator[Fault]:
    """
    Yield a fault for each parameter that has no description, because a model has to know what it is for.

    The linter uses this function as well, so that it reports the same fault in the same words.
    """
    definitions = tool.schema.get("$defs", {})
    for name, schema in tool.schema.get("properties", {}).items():
        if not _is_described(schema, definitions):
            remedy = (
                f'describe it under "Args:" in the docstring, or write Annotated[..., "What {name} is."]; '
                f'if you cannot edit the function, `@tool(parameters={{"{name}": "..."}})`'
            )
            yield Fault("described", "nothing says what it is for", remedy, f"parameter `{name}`")


def name_is_legal(tool: Tool, effort: Effort) -> Iterator[Fault]:
    """Yield a fault if a provider does not accept the tool's name; one violation for each different message."""
    catalog = Catalog(tool)
    problems: dict[str, str] = {}
    for name in FORMATS:
        try:
            definitions_for(name, catalog)
        except CatalogError as error:
            problems.setdefault(str(error), name)
    for message, provider in problems.items():
        remedy = "give it a shorter name with `name=`, with few dots in it"
        yield Fault("legal-name", message, remedy, f"format {provider!r}")


def _find_refusal(tool: Tool, value: Any) -> str | None:
    try:
        check_arguments(tool, value)
    except BadArgs as error:
        return str(error) or "without a word"
    except Exception as error:  # noqa: BLE001 -- a codec may be the user's own code, and raise anything
        return f"its check raised {type(error).__name__}"
    return None


def _decode_and_encode(tool: Tool, call_arguments: dict[str, Any]) -> dict[str, Any]:
    decoded = tool.about.checker.check(call_arguments)
    # Only the arguments that were sent have to come back. Decoding adds the author's defaults, which are left out.
    return tool.encode({name: value for name, value in decoded.items() if name in call_arguments})


def _is_described(schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Return whether the schema of a parameter, or the definition that it refers to, has a description."""
    target = definition_of(schema.get("$ref"), definitions) if isinstance(schema, Mapping) else None
    return any(isinstance(part, Mapping) and part.get("description") for part in (schema, target))


LAWS: dict[Law, tuple[str, ...]] = {
    can_be_called: ("callable", "keeps-its-promise"),
    mistakes_are_refused: ("refuses-mistakes",),
    arguments_come_back: ("round-trip",),
    find_undescribed_parameters: ("described",),
    name_is_legal: ("legal-name",),
}
"""The laws, each with the names that its faults have."""
