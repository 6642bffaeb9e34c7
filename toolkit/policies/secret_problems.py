"""
Error messages about arguments, without the secrets in them.

A problem with a parameter marked `Secret` is reported without its value. A
problem with another parameter is reported with the secret masked, because the
tool's own check may quote any argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadArgs, Problem
from ..values.strictjson.checks import loads
from .redaction import Redaction

__all__ = ["without_secrets"]


def without_secrets(error: BadArgs, secrets: frozenset[str], *arguments: Any) -> BadArgs:
    """
    Return an error with the same problems as *error* and no value of a parameter in *secrets*.

    *arguments* are the arguments of the call, in every form that the caller has: JSON text, an object, decoded. The new
    error has no cause, because the cause may quote the value.
    """
    return BadArgs(lambda: _mask_problems(error, secrets, arguments))


def _mask_problems(error: BadArgs, secrets: frozenset[str], arguments: tuple[Any, ...]) -> list[Problem]:
    folded_names = frozenset(map(_fold_name, secrets))
    objects = [_decode_arguments(form) for form in arguments]
    if objects and not any(isinstance(form, Mapping) for form in objects):
        # The value that was sent in place of an object may be the secret itself.
        return [_drop_quoted_value(problem) for problem in error.problems]
    items = [item for form in objects if isinstance(form, Mapping) for item in form.items()]
    redaction = Redaction().with_secrets(value for name, value in items if _fold_name(name) in folded_names)
    masked = []
    for problem in error.problems:
        if problem.path and _fold_name(problem.path[0]) in folded_names:
            masked.append(Problem("the value does not fit", problem.path[:1]))
        else:  # the secret may also have been sent as a key
            path = [redaction.mask_text(step) if isinstance(step, str) else step for step in problem.path]
            masked.append(Problem(redaction.mask_text(problem.message), path))
    return masked


def _drop_quoted_value(problem: Problem) -> Problem:
    text, got, _ = problem.message.partition(", got ")
    return Problem(text, problem.path) if got else problem


def _decode_arguments(arguments: Any) -> Any:
    """Return *arguments* decoded if they are JSON text, also if that text contains JSON text once more."""
    for _ in range(2):
        if not isinstance(arguments, (str, bytes, bytearray)):
            break
        try:
            arguments = loads(arguments)
        except ValueError:  # an error about text that is not JSON quotes no value
            break
    return arguments


def _fold_name(name: object) -> str:
    """Return *name* in a form that is equal for two keys that the repair of arguments takes for the same name."""
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())
