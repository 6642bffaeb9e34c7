"""
Checks a call's arguments: jsonschema is the judge, generated code stands in front.

    text → JSON → generated check-and-convert ─ sure ──────────────────→ decoded arguments
                              └ unsure → strict JSON? → jsonschema → decode → decoded arguments
                                              └────────────┴──────────┴─→ BadArgs, all problems

The generated code never refuses; nothing that jsonschema refuses is accepted.
The validator and the generated code are made at the first need and kept.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from .codecs import UNSURE, Codec, Refusal, Schema, compiled
from .errors import BadArgs, Problem
from .jsonschemas import validator
from .strictjson import flaws, loads, show
from .wording import problems_of

__all__ = ["Checker", "Validation", "objections"]

Validation: TypeAlias = Literal["fast", "jsonschema"]


class Checker:
    """
    Checks the arguments of one tool.

    Attributes:
        fast: The generated check-and-convert: called with arguments and 0, it gives the decoded ones or `UNSURE`.
    """

    __slots__ = ("_codec", "_judge", "_schema", "_title", "fast")

    def __init__(self, title: str, schema: Schema, codec: Codec) -> None:
        self._title = title
        self._schema = schema
        self._codec = codec
        self.fast: Callable[[Any, int], Any] = self._generate
        self._judge: Any = None

    def check(self, arguments: Any, validation: Validation = "fast") -> dict[str, Any]:
        """The decoded arguments, defaults filled in; `BadArgs` with every problem if they do not fit."""
        if validation == "fast":
            converted = self.fast(arguments, 0)
            if converted is not UNSURE:
                return converted  # type: ignore[no-any-return]
        if isinstance(arguments, (str, bytes, bytearray)):
            arguments = self.parsed(arguments)
            if not isinstance(arguments, str):  # a string in the JSON text is no second text
                return self.check(arguments, validation)
        return self._judged(arguments)

    def parsed(self, text: str | bytes | bytearray) -> Any:
        """The JSON in *text*; empty text, which some models send for no arguments, is an empty object."""
        try:
            return loads(text) if text.strip() else {}
        except ValueError as error:
            raise BadArgs(str(error)) from None

    def generated(self) -> Callable[[Any, int], Any]:
        """The generated code, made now if it was not yet."""
        if self.fast == self._generate:
            try:
                self.fast = compiled(self._codec, self._title)
            except (SyntaxError, RecursionError, MemoryError):
                # Code too deep or too large for Python's compiler: jsonschema decides every call.
                self.fast = _always_unsure
        return self.fast

    def _generate(self, arguments: Any, depth: int) -> Any:
        """Stands in for the generated code until the first call makes it."""
        return self.generated()(arguments, depth)

    def _judged(self, arguments: Any) -> dict[str, Any]:
        if not isinstance(arguments, dict):
            if not isinstance(arguments, Mapping):
                raise BadArgs(f"expected an object with the arguments, got {show(arguments)}")
            arguments = dict(arguments)
        found = flaws(arguments)
        if found:
            raise BadArgs(found)
        try:
            errors = list(self.judge.iter_errors(arguments))
        except RecursionError:
            raise BadArgs("nested too deeply to be checked") from None
        except Exception as error:
            raise BadArgs(f"could not be checked: {error}") from error
        if errors:
            raise BadArgs(lambda: problems_of(errors))
        try:
            return self._codec.decode(arguments)  # type: ignore[no-any-return]
        except Refusal as refusal:
            raise BadArgs(refusal.problems) from refusal.__cause__
        except Exception as error:
            raise BadArgs(str(error) or type(error).__name__) from error

    @property
    def judge(self) -> Any:
        """The compiled jsonschema validator."""
        if self._judge is None:
            self._judge = validator(self._schema)
        return self._judge


def _always_unsure(arguments: Any, depth: int) -> Any:
    return UNSURE


def objections(
    validate: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any]
) -> Awaitable[Any] | list[Problem]:
    """What the author's own *validate* finds wrong; an awaitable of the same if it is async."""
    try:
        found = validate(arguments)
    except Exception as error:  # noqa: BLE001 -- a check that fails, fails closed
        return _raised(error)
    return _awaited(found) if inspect.isawaitable(found) else _listed(found)


async def _awaited(found: Awaitable[Any]) -> list[Problem]:
    try:
        return _listed(await found)
    except Exception as error:  # noqa: BLE001 -- a check that fails, fails closed
        return _raised(error)


def _raised(error: Exception) -> list[Problem]:
    if isinstance(error, BadArgs):
        return list(error.problems)
    return [Problem(str(error) or f"the tool's own check raised {type(error).__name__}")]


def _listed(found: Any) -> list[Problem]:
    if found is None or found is True:
        return []
    if found is False:
        return [Problem("refused by the tool's own check")]
    if isinstance(found, str):
        return [Problem(found)]
    if isinstance(found, Problem):
        return [found]
    if isinstance(found, Mapping):
        return [Problem(str(message), (path,) if isinstance(path, str) else path) for path, message in found.items()]
    if isinstance(found, Iterable):
        return [problem for each in found for problem in _listed(each)]
    return [Problem(f"the tool's own check returned {type(found).__name__}; it has to return problems or None")]
