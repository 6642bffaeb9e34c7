"""
The table of all settings: their names, what a value has to be, and what a project may do that the user does not trust.

| effect of a value from a project that is not trusted | `project` |
|---|---|
| does not count | "trusted" |
| counts if it is smaller than the value so far | "smaller" |
| counts if the mode allows no call that the mode so far does not allow | "stricter" |
| counts, because it only forbids something | "adds" |
| is a mistake, because a project has another place for it | "never" |

So a project that is not trusted can only tighten. A property in `tests/settings/test_loading.py` checks that. What each
setting is for is written in `docs/settings.md`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .._option_checks import explain_unknown_choice
from ..agent.budgets import Budget
from ..errors import find_nearest
from ..permissions.modes import MODES, TABLE, Mode
from ..permissions.rules import Rule
from ..providers.model_names import check_provider_name, split_model_name
from ..providers.prices import Price
from ..safety.protected_files import BUILT_IN, Protected, ProtectedFiles
from ..values.text_limits import BYTES_PER_TOKEN, DEFAULT_MAX_TOKENS
from ..verdicts import Word
from .instruction_files import MAX_INSTRUCTION_CHARS
from .instruction_names import INSTRUCTION_NAMES, check_instruction_name

__all__ = ["KEYS", "TABLES", "SettingKey", "check_price", "is_stricter_mode", "write_command_rule"]

ProjectEffect: TypeAlias = Literal["trusted", "smaller", "stricter", "adds", "never"]


@dataclass(frozen=True, slots=True)
class SettingKey:
    """
    One setting.

    Attributes:
        name: The key with its table: "budget.tokens".
        kind: "text" for a text, which needs no quotes in a variable or an option; "value" for any other single value;
            "list" if the layers add entries to a list; "tables" if the layers add tables, which only files have.
        check: A function that returns the value, or one entry, as the program uses it. It raises `ValueError` with the
            remedy if the value cannot be right. None if the table has a reader of its own.
        project: The effect of a value from a project that the user does not trust.
        default: The value if no layer gives one.
    """

    name: str
    kind: Literal["text", "value", "list", "tables"]
    check: Callable[[Any], Any] | None
    project: ProjectEffect
    default: Any

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None if only files do."""
        return None if self.kind == "tables" else f"TOOLKIT_{self.name.upper().replace('.', '_')}"


# The checks of values. Each returns the value as the program uses it, or raises `ValueError` with the remedy.

_PRICES = ("input", "output", "cached", "cache_write")


def _check_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("has to be a text, and not empty")
    return value


def _text_check(pattern: str, remedy: str) -> Callable[[Any], str]:
    """Return the check that a text begins with *pattern*. *remedy* does not repeat the text, which may be a secret."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or not re.match(pattern, value):
            raise ValueError(remedy)
        return value

    return check


def _choice_check(choices: Sequence[str]) -> Callable[[Any], str]:
    """Return the check that a value is one of *choices*."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(explain_unknown_choice(value, choices))
        return value

    return check


def _check_provider(value: Any) -> str:
    """Return *value*, the name of a provider or of a provider and a model, with the provider's name as it is known."""
    if isinstance(value, str) and ":" in value:
        return ":".join(split_model_name(value))
    return check_provider_name(value)


def _limit_check(minimum: int, *, whole: bool = True, optional: bool = False) -> Callable[[Any], Any]:
    """
    Return the check of a number that is *minimum* or more; if it need not be *whole*, it has to be above *minimum*.

    *optional* says whether "none" stands for no limit.
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


def _check_protected(value: Any) -> str:
    pattern = os.path.expanduser(_check_text(value))
    ProtectedFiles([Protected(pattern, "a protected file")])  # raises if it is no pattern
    return pattern


def _check_unprotected(value: Any) -> str:
    patterns = [rule.pattern for rule in BUILT_IN]
    if value not in patterns:
        near = find_nearest(value, patterns, max_items=1) if isinstance(value, str) else []
        hint = f": did you mean `{near[0]}`?" if near else ""
        raise ValueError(f"{value!r:.80} is no built-in protection, and only those can be lifted, by their text{hint}")
    return str(value)


def _rule_check(word: Word, *, is_command: bool = False) -> Callable[[Any], str]:
    """Return the check of a rule in `rules`, or of a command in `commands`, in the list that is called *word*."""

    def check(value: Any) -> str:
        text = _check_text(value)
        Rule(word, write_command_rule(word, text) if is_command else text)  # raises if it is no rule
        return text

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


def _check_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError('has to be a list of names: ["AGENTS.md"]; [] for none')  # noqa: TRY004 -- a value in a file is no argument of a function
    return tuple(dict.fromkeys(map(check_instruction_name, value)))


_COUNT, _COUNT_OR_NONE = _limit_check(1), _limit_check(1, optional=True)
_LIMIT_OR_NONE, _AMOUNT_OR_NONE = _limit_check(0, optional=True), _limit_check(0, whole=False, optional=True)
_BUDGET = Budget()
_URL = _text_check(r"https?://[^/\s]", 'has to be an address: "https://example.com/v1"')
_DATABASE = _text_check(
    r"(sqlite|postgres(ql)?)://[^\s]",
    'has to be the address of a database: "sqlite:///runs.sqlite" or "postgresql://HOST/NAME"',
)
_VARIABLE = _text_check(
    r"[A-Za-z_][A-Za-z0-9_]*\Z", 'has to be the name of a variable, never the key itself: "ANTHROPIC_API_KEY"'
)

_ROWS = [
    SettingKey("provider", "text", _check_provider, "trusted", None),
    SettingKey("model", "text", _check_text, "trusted", None),
    SettingKey("base_url", "text", _URL, "trusted", None),
    SettingKey("key_from", "text", _VARIABLE, "trusted", None),
    SettingKey("system", "text", _text_check("", "has to be a text"), "trusted", ""),
    SettingKey("mode", "text", _choice_check(MODES), "stricter", "default"),
    SettingKey("limits.max_turns", "value", _COUNT, "smaller", 50),
    SettingKey("limits.timeout_seconds", "value", _AMOUNT_OR_NONE, "smaller", None),
    SettingKey("limits.max_chars", "value", _limit_check(50), "smaller", DEFAULT_MAX_TOKENS * BYTES_PER_TOKEN),
    SettingKey("limits.max_concurrency", "value", _COUNT, "smaller", 100),
    SettingKey("budget.tokens", "value", _COUNT_OR_NONE, "smaller", _BUDGET.tokens),
    SettingKey("budget.calls", "value", _COUNT_OR_NONE, "smaller", _BUDGET.calls),
    SettingKey("budget.retries", "value", _LIMIT_OR_NONE, "smaller", _BUDGET.retries),
    SettingKey("budget.seconds", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.seconds),
    SettingKey("budget.cost", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.cost),
    SettingKey("budget.depth", "value", _limit_check(0), "smaller", _BUDGET.depth),
    SettingKey("prices", "tables", None, "trusted", {}),
    SettingKey("files.protected", "list", _check_protected, "adds", ()),
    SettingKey("files.unprotected", "list", _check_unprotected, "trusted", ()),
    SettingKey("commands.allow", "list", _rule_check("allow", is_command=True), "trusted", ()),
    SettingKey("commands.ask", "list", _rule_check("ask", is_command=True), "adds", ()),
    SettingKey("commands.deny", "list", _rule_check("deny", is_command=True), "adds", ()),
    SettingKey("rules.allow", "list", _rule_check("allow"), "trusted", ()),
    SettingKey("rules.ask", "list", _rule_check("ask"), "adds", ()),
    SettingKey("rules.deny", "list", _rule_check("deny"), "adds", ()),
    SettingKey("hooks", "tables", None, "trusted", ()),
    SettingKey("skills.folders", "list", _check_text, "never", ()),
    SettingKey("instructions.names", "value", _check_names, "trusted", INSTRUCTION_NAMES),
    # A smaller number would leave out the user's own file, which may say what the model must not do.
    SettingKey("instructions.max_chars", "value", _limit_check(0), "trusted", MAX_INSTRUCTION_CHARS),
    SettingKey("mcp_servers", "tables", None, "trusted", {}),
    SettingKey("database", "text", _DATABASE, "trusted", None),
]

KEYS: dict[str, SettingKey] = {key.name: key for key in _ROWS}
"""Every setting by its name, in the order in which they are shown."""

TABLES: frozenset[str] = frozenset(name.partition(".")[0] for name in KEYS if "." in name)
"""The tables that hold settings, such as `limits` and `budget`."""

_LOOSENESS = {"deny": 0, "ask": 1, "allow": 2}


def is_stricter_mode(mode: Mode, other: Mode) -> bool:
    """
    Return whether *mode* allows no call that *other* does not allow, under any rules; a mode is as strict as itself.

    An allow rule lifts a denial of `deny_unlisted` but none of `plan`, and `plan` asks where `deny_unlisted` denies. So
    neither of these two is stricter than the other.
    """
    if mode == other:
        return True
    return other != "plan" and all(_LOOSENESS[row[mode]] <= _LOOSENESS[row[other]] for row in TABLE.values())
