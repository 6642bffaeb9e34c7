"""
The checks of values in settings. Each returns the value as the program uses it, or raises `ValueError` with the remedy.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from .._option_checks import explain_unknown_choice
from ..errors import find_nearest
from ..permissions.modes import FORMER_NAMES, MODES
from ..permissions.rules import Rule
from ..providers.prices import Price
from ..safety.protected_files import BUILT_IN, Protected, ProtectedFiles
from ..verdicts import Word
from .instruction_names import check_instruction_name

__all__ = [
    "check_database",
    "check_instruction_names",
    "check_mode_name",
    "check_price",
    "check_prompt",
    "check_protected",
    "check_text",
    "check_unprotected",
    "check_url",
    "check_variable",
    "choice_check",
    "command_check",
    "limit_check",
    "rule_check",
    "write_command_rule",
]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PRICES = ("input", "output", "cached", "cache_write")


def check_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("has to be a text, and not empty")
    return value


def check_prompt(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("has to be a text")  # noqa: TRY004 -- a value in a file is no argument of a function
    return value


def choice_check(choices: Sequence[str]) -> Callable[[Any], str]:
    """Return the check that a value is one of *choices*."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(explain_unknown_choice(value, choices))
        return value

    return check


def check_mode_name(value: Any) -> str:
    return choice_check(MODES)(FORMER_NAMES.get(value, value) if isinstance(value, str) else value)


def check_url(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"https?://[^/\s]", value):
        raise ValueError('has to be an address: "https://example.com/v1"')
    return value


def check_database(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"(sqlite|postgres(ql)?)://[^\s]", value):
        # The value may hold a password, so it is not repeated.
        raise ValueError('has to be the address of a database: "sqlite:///runs.sqlite" or "postgresql://HOST/NAME"')
    return value


def check_variable(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        # The value may be the key itself, so it is not repeated.
        raise ValueError('has to be the name of a variable, never the key itself: "ANTHROPIC_API_KEY"')
    return value


def limit_check(minimum: int, *, whole: bool = True, optional: bool = False) -> Callable[[Any], Any]:
    """
    Return the check of a number.

    Args:
        minimum: The smallest number; a number that need not be whole has to be above it.
        whole: Whether the number has to be whole.
        optional: Whether "none" stands for no limit.
    """
    words = f"a whole number, {minimum} or more" if whole else f"a number above {minimum}"
    remedy = f'has to be {words}, or "none" for no limit' if optional else f"has to be {words}"

    def check(value: Any) -> Any:
        if optional and value in ("none", None):
            return None
        # In Python, True is an int; here it must not pass for a number.
        is_number = type(value) is int or (not whole and type(value) is float and math.isfinite(value))
        if not is_number or (value < minimum if whole else value <= minimum):
            raise ValueError(remedy)
        return value

    return check


def check_protected(value: Any) -> str:
    pattern = os.path.expanduser(check_text(value))
    ProtectedFiles([Protected(pattern, "a protected file")])  # raises if it is no pattern
    return pattern


def check_unprotected(value: Any) -> str:
    patterns = [rule.pattern for rule in BUILT_IN]
    if value not in patterns:
        near = find_nearest(value, patterns, max_items=1) if isinstance(value, str) else []
        hint = f": did you mean `{near[0]}`?" if near else ""
        raise ValueError(f"{value!r:.80} is no built-in protection, and only those can be lifted, by their text{hint}")
    return str(value)


def rule_check(word: Word) -> Callable[[Any], str]:
    """Return the check of a rule that begins with *word*."""

    def check(value: Any) -> str:
        Rule(word, check_text(value))  # raises if it is no rule
        return str(value)

    return check


def command_check(word: Word) -> Callable[[Any], str]:
    """Return the check of a command in `commands.allow`, `commands.ask` or `commands.deny`."""

    def check(value: Any) -> str:
        Rule(word, write_command_rule(word, check_text(value)))  # raises if it is no rule
        return str(value)

    return check


def write_command_rule(word: str, command: str) -> str:
    """
    Return the text of the rule that *command* in `commands.allow`, `commands.ask` or `commands.deny` stands for.

    A command that asks or is denied does so with any words after it, because `git push` alone would say nothing about
    `git push origin main`. A command that is allowed is allowed exactly as it is written.
    """
    is_whole = word == "allow" or command == "*" or command.endswith(":*")
    return f"access:command({command if is_whole else f'{command}:*'})"


def check_price(value: Any) -> Price:
    if not isinstance(value, dict) or not {"input", "output"} <= value.keys():
        raise ValueError("has to say what a million tokens cost: { input = 3, output = 15 }")
    for name in value:
        if name not in _PRICES:
            raise ValueError(explain_unknown_choice(name, _PRICES))
    return Price(**value)


def check_instruction_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError('has to be a list of names: ["AGENTS.md"]; [] for none')  # noqa: TRY004 -- as above
    return tuple(dict.fromkeys(map(check_instruction_name, value)))
