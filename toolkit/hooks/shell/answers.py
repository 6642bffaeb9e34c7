"""
The answer of a hook's command, from its exit code and from its output.

    exit 0, nothing printed      proceed
    exit 0, {"action": ...}      the outcome that the action names
    exit 2                       deny, with its standard error as the reason

Any other end is a failure. Its message says how to correct the command.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from ..._option_checks import explain_unknown_choice
from ...errors import ToolkitError
from ...values.rendering import replace_surrogates
from ...values.strictjson.checks import find_flaws, loads
from ..base import Ask, Deny, Halt, Modify, Outcome, Proceed, Replace
from .process import HookCommandResult

__all__ = ["HookFailed", "read_answer"]

_MAX_REASON_CHARS = 4000
_MAX_ERROR_CHARS = 500

# For each action: the one field that it has besides its name, and the function that makes the outcome of it.
_ACTIONS: dict[str, tuple[str | None, Callable[[Any], Outcome]]] = {
    "proceed": (None, lambda _: Proceed()),
    "modify": ("arguments", Modify),
    "deny": ("reason", Deny),
    "replace": ("result", Replace),
    "ask": ("reason", Ask),
    "halt": ("reason", Halt),
}

# After a call, a command can neither ask nor change the arguments. If it denies, the result is withheld. A command that
# is told about an event decides nothing.
_ACTIONS_BY_POINT: dict[str, tuple[str, ...]] = {
    "before": tuple(_ACTIONS),
    "after": ("proceed", "replace", "deny", "halt"),
    "agent_start": ("proceed", "deny", "halt"),
}


class HookFailed(ToolkitError):  # noqa: N818 -- the name says what happened
    """
    A hook's command gave no answer that can be used.

    Attributes:
        problem: What happened. It contains at most a name from the output of the command.
        errors: The beginning of the command's standard error.
    """

    def __init__(self, problem: str, errors: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.errors = errors

    def __str__(self) -> str:
        return f"{self.problem}: {self.errors}" if self.errors else self.problem


def read_answer(result: HookCommandResult, point: str) -> Outcome:
    """Return the outcome that the command answered; raise `HookFailed` if there is no usable answer."""
    problem = result.stop_reason or _exit_problem(result.code or 0, point)
    if problem is None:
        if result.code == 2:
            return Deny(_decode_text(result.stderr, _MAX_REASON_CHARS) or "a hook refused it, and gave no reason")
        try:
            return _read_outcome(result.stdout, point) if result.stdout.strip() else Proceed()
        except ValueError as error:
            problem = str(error)
    raise HookFailed(problem, _decode_text(result.stderr, _MAX_ERROR_CHARS))


def _exit_problem(code: int, point: str) -> str | None:
    if code == 2 and "deny" not in _ACTIONS_BY_POINT.get(point, ("proceed",)):
        return "it exited with code 2, and there is nothing to block any more"
    if code in (0, 2):
        return None
    if code > 0:
        return f"it exited with code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def _read_outcome(stdout: bytes, point: str) -> Outcome:
    """Return the outcome that *stdout* describes; raise `ValueError` with the mistake if it describes none."""
    try:
        answer = loads(stdout)
    except ValueError as error:
        raise ValueError(f"what it printed cannot be read ({error}); print one JSON object, or nothing") from None
    if not isinstance(answer, dict):
        raise ValueError('it printed JSON that is no object; print {"action": ...}, or nothing')  # noqa: TRY004 -- as above
    problems = find_flaws(answer)
    if problems:
        raise ValueError(f"it printed JSON that cannot be taken: {problems[0]}")
    possible = _ACTIONS_BY_POINT.get(point, ("proceed",))
    if "action" not in answer:
        raise ValueError(f'it printed JSON without "action"; write one of {", ".join(possible)}')
    action = answer.pop("action")
    if not isinstance(action, str) or action not in possible:
        raise ValueError(f'"action": {explain_unknown_choice(action, possible)}')
    key, build_outcome = _ACTIONS[action]
    return build_outcome(_read_field(action, key, answer))


def _read_field(action: str, key: str | None, answer: dict[str, Any]) -> Any:
    """Return the value of the one field that *action* has; raise `ValueError` if the fields are wrong."""
    expected = [] if key is None else [key]
    unknown = [name for name in answer if name not in expected]
    if unknown:
        field_rule = f"has `{key}` and nothing else" if key else "has nothing else"
        raise ValueError(f'"{action}" {field_rule}; remove {unknown[0]!r:.80}')
    if key is None:
        return None
    if key not in answer:
        raise ValueError(f'"{action}" needs `{key}`; it is missing')
    value = answer[key]
    if key == "arguments" and not isinstance(value, dict):
        raise ValueError(f'"{action}": `arguments` has to be an object with all arguments')
    if key == "reason":
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'"{action}": `reason` has to be a text that says why')
        return _shorten(value.strip(), _MAX_REASON_CHARS)
    return value


def _decode_text(data: bytes, max_chars: int) -> str:
    text = replace_surrogates(data.decode(errors="replace")).replace("\0", "\ufffd").strip()
    return _shorten(text, max_chars)


def _shorten(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 4]} ..."
