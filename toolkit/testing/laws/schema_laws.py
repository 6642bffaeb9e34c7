"""
The laws that every tool should keep, whatever it does: no tool is run here.

Each law is a function of a tool that yields what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...catalog import Catalog
from ...errors import BadArgs, CatalogError, DefinitionError
from ...formats import FORMATS, definitions_for
from ...spec import Tool
from ...values.schemas.validator import check_schema
from ...values.strictjson.checks import flaws
from ..strategies.arguments import accepted_by, arguments, mistaken_arguments
from ..strategies.arrays import identity
from ..strategies.generating import fitting
from ..strategies.mistakes import Mistake
from ..strategies.schema_parts import Reading
from ..strategies.unsupported import Unsupported
from .findings import Finding
from .smallest_example import drawn, smallest

__all__ = ["LAWS", "SHAPE_LAWS", "Effort", "undescribed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many examples a law tries, and where they begin: the same seed tries the same ones."""

    examples: int = 60
    seed: int = 0


Law = Callable[[Tool, Effort], Iterator[Finding]]

_FEW = 4
"""A tool that accepts fewer than one in so many of the calls that fit its schema promises too much."""


def schema_is_valid(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """What a model is told is a schema, and plain JSON."""
    for place, schema in (("its schema", tool.schema), ("its output schema", tool.output_schema)):
        try:
            wrong = "" if schema is None else "; ".join(map(str, flaws(schema)))
            if schema is not None and not wrong:
                check_schema(schema, place)
        except DefinitionError as error:
            wrong = str(error)
        if wrong:
            yield Finding(
                tool=tool.name,
                rule="valid-schema",
                place=place,
                message=f"it is not a JSON Schema of draft 2020-12: {wrong}",
                remedy="correct what wrote it: `schema=`, or the `schema` of a codec",
            )


def can_be_called(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """There are arguments that fit, and most of what fits the schema is accepted."""
    try:
        promised = fitting(Reading(tool.schema), f"`{tool.name}`")
        tried = drawn(promised, examples=effort.examples, seed=effort.seed)
    except Unsupported as error:
        yield Finding(
            tool=tool.name,
            rule="callable",
            place=error.place,
            message=f"no arguments could be made for it: {error}",
            remedy=f"change `{error.keyword}` at {error.place} so that something fits",
        )
        return
    refused = [value for value in tried if _refusal(tool, value)]
    if tried and len(tried) - len(refused) < len(tried) / _FEW:
        found = smallest(promised, lambda value: _refusal(tool, value), examples=effort.examples, seed=effort.seed)
        value, why = found or (refused[0], _refusal(tool, refused[0]))
        yield Finding(
            tool=tool.name,
            rule="keeps-its-promise",
            message=f"of {len(tried)} calls that fit its schema {len(refused)} were refused: {why}",
            remedy="say in the schema what is wanted (bounds, a pattern, an enum), or accept what the schema allows",
            arguments=value,
        )


def mistakes_are_refused(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """What does not fit is refused before anything is repaired, and the place of the mistake is told."""

    def fault(mistake: Mistake) -> str | None:
        try:
            tool.about.checker.check(mistake.made)
        except BadArgs as error:
            if mistake.path and not any(problem.path for problem in error.problems):
                return f"{mistake.what} was refused without its place: {error}"
            return None
        except Exception as error:  # noqa: BLE001 -- whatever it raises, a caller does not expect it
            return f"{mistake.what} raised {type(error).__name__} instead of BadArgs"
        return f"{mistake.what} was accepted, though the schema refuses it"

    try:
        found = smallest(mistaken_arguments(tool.schema), fault, examples=effort.examples, seed=effort.seed)
    except Unsupported:
        return  # there is no mistake to be made
    if found is not None:
        mistake, message = found
        yield Finding(
            tool=tool.name,
            rule="refuses-mistakes",
            place=".".join(map(str, mistake.path)),
            message=message,
            remedy="let its codecs check what their schema says: decode, and `emit` if it has one",
            arguments=mistake.made,
        )


def arguments_come_back(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """Decoded and encoded, arguments mean what they meant; a second time changes nothing."""

    def fault(given: dict[str, Any]) -> str | None:
        try:
            once = _there_and_back(tool, given)
            again = _there_and_back(tool, once)
        except Exception as error:  # noqa: BLE001 -- codecs are anybody's code
            return f"decoding and encoding raised {type(error).__name__}: {error}"
        return None if identity(once) == identity(again) else f"encoded once it is {once!r}, and then {again!r}"

    try:
        found = smallest(arguments(tool), fault, examples=effort.examples, seed=effort.seed)
    except Unsupported:
        return  # `callable` and `keeps-its-promise` tell of it
    if found is not None:
        yield Finding(
            tool=tool.name,
            rule="round-trip",
            message=found[1],
            remedy="make `encode` of its codecs the inverse of `decode`",
            arguments=found[0],
        )


def parameters_are_described(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """A model reads what every parameter is for."""
    return undescribed(tool)


def undescribed(tool: Tool) -> Iterator[Finding]:
    """The parameters that say nothing of themselves; the linter tells of them in the same words."""
    definitions = tool.schema.get("$defs", {})
    for name, schema in tool.schema.get("properties", {}).items():
        if not _is_described(schema, definitions):
            yield Finding(
                tool=tool.name,
                rule="described",
                place=f"parameter `{name}`",
                message="nothing says what it is for",
                remedy=f'describe it under "Args:" in the docstring, or write Annotated[..., "What {name} is."]',
            )


def name_is_legal(tool: Tool, effort: Effort) -> Iterator[Finding]:
    """Every provider takes its name."""
    catalog = Catalog(tool)
    problems: dict[str, str] = {}
    for name in FORMATS:
        try:
            definitions_for(name, catalog)
        except CatalogError as error:
            problems.setdefault(str(error), name)
    for message, provider in problems.items():
        yield Finding(
            tool=tool.name,
            rule="legal-name",
            place=f"format {provider!r}",
            message=message,
            remedy="give it a shorter name with `name=`, with few dots in it",
        )


def _refusal(tool: Tool, value: Any) -> str | None:
    try:
        accepted_by(tool, value)
    except BadArgs as error:
        return str(error) or "without a word"
    except Exception as error:  # noqa: BLE001 -- somebody's codec
        return f"its check raised {type(error).__name__}"
    return None


def _there_and_back(tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
    decoded = tool.about.checker.check(given)
    # Defaults are the author's; what is sent is what has to come back.
    return tool.encode({name: value for name, value in decoded.items() if name in given})


def _is_described(schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Whether the schema of a parameter, or the definition it refers to, says what it is for."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("description"):
        return True
    target = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return bool(isinstance(definitions.get(target), Mapping) and definitions[target].get("description"))


SHAPE_LAWS: tuple[Law, ...] = (schema_is_valid,)
"""Where one of these is broken, nothing can be drawn and nothing is."""

LAWS: tuple[Law, ...] = (
    can_be_called,
    mistakes_are_refused,
    arguments_come_back,
    parameters_are_described,
    name_is_legal,
)
