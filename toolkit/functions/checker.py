"""
Check the arguments of a call: generated code checks first, and jsonschema has the final word.

    text → JSON → generated check-and-convert ─ sure ──────────────────→ decoded arguments
                              └ unsure → strict JSON? → jsonschema → decode → decoded arguments
                                              └────────────┴──────────┴─→ BadArgs, all problems

The generated code never refuses a value. It never accepts a value that jsonschema refuses. The validator and the
generated code are made when they are first needed, and then kept.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from ..errors import BadArgs, DefinitionError, Problem
from ..values.codecs.base import Codec, Schema
from ..values.codecs.code_writer import UNSURE, compile_codec
from ..values.codecs.decode_cache import use_decode_cache
from ..values.codecs.refusals import Refusal
from ..values.schemas.vocabulary import UNION_KEYWORDS
from ..values.strictjson.checks import class_name, copy_and_check, is_plain_json, loads, show_value

__all__ = ["Checker", "Validation", "run_custom_validator"]

Validation: TypeAlias = Literal["fast", "jsonschema"]


class Checker:
    """
    Checks the arguments of one tool.

    Attributes:
        check_and_convert: The generated check-and-convert function. Called with the arguments and 0, it returns the
            decoded arguments or `UNSURE`.
    """

    __slots__ = ("_codec", "_decoding_may_fail", "_schema", "_title", "_validator", "check_and_convert")

    def __init__(self, title: str, schema: Schema, codec: Codec) -> None:
        self._title = title
        self._schema = schema
        self._codec = codec
        self.check_and_convert: Callable[[Any, int], Any] = self._compile_and_run
        self._validator: Any = None
        self._decoding_may_fail: bool | None = None

    def check(self, arguments: Any, validation: Validation = "fast", errors: list[Any] | None = None) -> dict[str, Any]:
        """
        Return the decoded arguments, with defaults filled in.

        If the schema refuses them, its errors are added to the list *errors*, but only if *arguments* is plain JSON.

        Raises:
            BadArgs: The arguments do not fit. It holds every problem.
        """
        if validation == "fast":
            converted = self.check_and_convert(arguments, 0)
            if converted is not UNSURE:
                return converted  # type: ignore[no-any-return]
        # The class itself is checked, because an object may report a false `__class__`.
        if issubclass(type(arguments), (str, bytes, bytearray)):
            arguments = self.parse(arguments)
            if not isinstance(arguments, str):  # a string inside the JSON text is not parsed as JSON text again
                return self.check(arguments, validation)
        return self._check_with_schema(arguments, errors)

    def parse(self, text: str | bytes | bytearray) -> Any:
        """Parse the JSON in *text*. Empty text, which some models send for no arguments, is an empty object."""
        own = str.__str__(text) if isinstance(text, str) else bytes(memoryview(text))
        try:
            return loads(own) if len(own) > 1000 or own.strip() else {}
        except ValueError as error:
            raise BadArgs(str(error)) from None

    def compile_check(self) -> Callable[[Any, int], Any]:
        """Return the generated code, and make it first if needed."""
        if self.check_and_convert == self._compile_and_run:
            try:
                self.check_and_convert = compile_codec(self._codec, self._title)
            except (SyntaxError, RecursionError, MemoryError):
                # The code is too deep or too large for Python's compiler, so jsonschema decides every call.
                self.check_and_convert = lambda arguments, depth: UNSURE
        return self.check_and_convert

    def _compile_and_run(self, arguments: Any, depth: int) -> Any:
        """Make the generated code at the first call, and run it. Until then, `check_and_convert` is this method."""
        return self.compile_check()(arguments, depth)

    def _check_with_schema(self, arguments: Any, errors_found: list[Any] | None) -> dict[str, Any]:
        if type(arguments) is not dict or not is_plain_json(arguments):
            arguments, errors_found = _to_plain_object(arguments), None
        try:
            errors = list(self.validator.iter_errors(arguments))
        except RecursionError:
            raise BadArgs("nested too deeply to be checked") from None
        except Exception as error:
            raise BadArgs(f"could not be checked: {_format_error_message(error)}") from error
        if errors:
            if errors_found is not None:
                errors_found += errors
            raise BadArgs(lambda: self._all_problems(errors, arguments))
        try:
            with use_decode_cache():
                return self._codec.decode(arguments)  # type: ignore[no-any-return]
        except Refusal as refusal:
            raise BadArgs(refusal.problems) from refusal.__cause__
        except Exception as error:
            raise BadArgs(_format_error_message(error)) from error

    def _all_problems(self, errors: list[Any], arguments: dict[str, Any]) -> list[Problem]:
        """Return jsonschema's errors in words, and the other problems of decoding, so that one correction is enough."""
        from ..values.schemas.messages import explain_errors  # most arguments fit

        problems = explain_errors(errors)
        if self._decoding_may_fail is None:
            self._decoding_may_fail = _is_looser_than_decoding(self._schema)
        if not self._decoding_may_fail:
            return problems
        try:
            with use_decode_cache():
                self._codec.decode(arguments)
        except Refusal as refusal:
            reported_paths = [problem.path for problem in problems]
            # The messages of a union are about the member that was probably meant. Decoding may have chosen another
            # member.
            reported_paths += [tuple(error.absolute_path) for error in errors if error.validator in UNION_KEYWORDS]
            problems += [
                new_problem
                for new_problem in refusal.problems
                if not any(_is_related(new_problem.path, path) for path in reported_paths)
            ]
        except Exception:  # noqa: BLE001, S110 -- the value is already refused; a constructor's exception adds nothing
            pass
        return problems

    @property
    def validator(self) -> Any:
        """Return the compiled jsonschema validator."""
        if self._validator is None:
            from ..values.schemas.validator import compile_schema  # the generated code is sure about most arguments

            self._validator = compile_schema(self._schema)
        return self._validator


def _is_related(path: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    """Return whether one place contains the other, or both are the same."""
    length = min(len(path), len(other))
    return path[:length] == other[:length]


def _is_looser_than_decoding(schema: Any) -> bool:
    """Return whether a value may fit *schema* and still fail to convert: dates, sets, keys."""
    if isinstance(schema, list):
        return any(map(_is_looser_than_decoding, schema))
    if not isinstance(schema, dict):
        return False
    return not schema.keys().isdisjoint(_LOOSE_KEYWORDS) or any(map(_is_looser_than_decoding, schema.values()))


_LOOSE_KEYWORDS = frozenset({"format", "contentEncoding", "uniqueItems", "propertyNames"})


def _to_plain_object(arguments: Any) -> dict[str, Any]:
    """Return *arguments* as an object of plain JSON, or raise `BadArgs` if they are not an object of JSON values."""
    try:
        if not issubclass(type(arguments), dict) and isinstance(arguments, Mapping):
            arguments = dict(arguments)
        plain, problems = (arguments, []) if is_plain_json(arguments) else copy_and_check(arguments)
    except Exception as error:
        raise BadArgs(f"the arguments, a Python {class_name(arguments)}, cannot be read") from error
    if not issubclass(type(arguments), dict):
        raise BadArgs(f"expected an object with the arguments, got {show_value(arguments)}")
    if problems:
        raise BadArgs(problems)
    return plain  # type: ignore[no-any-return]


def _format_error_message(error: Exception, fallback: str = "{}") -> str:
    """Return the message of *error*, cut short, because it may contain the whole value; *fallback* if it is empty."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 -- the error cannot even be converted to text
        text = ""
    if not text:
        return fallback.format(class_name(error))
    return text if len(text) <= 300 else f"{text[:300]}..."


def run_custom_validator(
    validate: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any], *, wait: bool
) -> Awaitable[list[Problem]] | list[Problem]:
    """
    Return the problems that the author's own *validate* finds.

    If *validate* is async and *wait* is true, return an awaitable of the problems.

    Raises:
        DefinitionError: *validate* is async and *wait* is false.
    """
    try:
        answer = validate(arguments)
        if not inspect.isawaitable(answer):
            return _to_problems(answer)
    except Exception as error:  # noqa: BLE001 -- if the check itself fails, the arguments are refused
        return _problems_from_exception(error)
    if wait:
        return _await_problems(answer)
    if inspect.iscoroutine(answer):
        answer.close()
    raise DefinitionError("the tool's `validate` is async; use `await tool.check_async(...)`")


async def _await_problems(answer: Awaitable[Any]) -> list[Problem]:
    try:
        return _to_problems(await answer)
    except Exception as error:  # noqa: BLE001 -- if the check itself fails, the arguments are refused
        return _problems_from_exception(error)


def _problems_from_exception(error: Exception) -> list[Problem]:
    if isinstance(error, BadArgs):
        return list(error.problems)
    return [Problem(_format_error_message(error, "the tool's own check raised {}"))]


def _to_problems(answer: Any) -> list[Problem]:
    if answer is None or answer is True:
        return []
    if answer is False:
        return [Problem("refused by the tool's own check")]
    if isinstance(answer, str):
        return [Problem(answer)] if answer else []
    if isinstance(answer, Problem):
        return [answer]
    if isinstance(answer, Mapping):
        return [problem.below(*_to_path(path)) for path, about in answer.items() for problem in _to_problems(about)]
    if isinstance(answer, Iterable) and not isinstance(answer, (bytes, bytearray)):
        return [problem for item in answer for problem in _to_problems(item)]
    return [Problem(f"the tool's own check returned {type(answer).__name__}; it has to return problems or None")]


def _to_path(path: Any) -> tuple[str | int, ...]:
    if isinstance(path, (str, int)):
        return (path,)
    if isinstance(path, tuple) and all(isinstance(key, (str, int)) for key in path):
        return path
    raise TypeError(f"the tool's own check names a place by a parameter or a tuple of keys, not by {show_value(path)}")
