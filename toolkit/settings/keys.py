"""
The table of all settings: their names, what a value has to be, and what a project may do that the user does not trust.

| effect of a value from a project that is not trusted | `project` |
|---|---|
| does not count | "trusted" |
| counts if it is smaller than the value so far | "smaller" |
| counts if the mode allows no call that the mode so far does not allow | "stricter" |
| counts, because it only forbids something | "adds" |
| is a mistake, because a project has another place for it | "never" |

So a project that is not trusted can only tighten. A property in `tests/settings/test_loading.py` checks that.
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
        about: What the setting is for, in a few words.
    """

    name: str
    kind: Literal["text", "value", "list", "tables"]
    check: Callable[[Any], Any] | None
    project: ProjectEffect
    default: Any
    about: str

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None if only files do."""
        return None if self.kind == "tables" else f"TOOLKIT_{self.name.upper().replace('.', '_')}"


# The checks of values. Each returns the value as the program uses it, or raises `ValueError` with the remedy.

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PRICES = ("input", "output", "cached", "cache_write")


def _check_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("has to be a text, and not empty")
    return value


def _check_prompt(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("has to be a text")  # noqa: TRY004 -- a value in a file is no argument of a function
    return value


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


def _check_url(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"https?://[^/\s]", value):
        raise ValueError('has to be an address: "https://example.com/v1"')
    return value


def _check_database(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"(sqlite|postgres(ql)?)://[^\s]", value):
        # The value may hold a password, so it is not repeated.
        raise ValueError('has to be the address of a database: "sqlite:///runs.sqlite" or "postgresql://HOST/NAME"')
    return value


def _check_variable(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        # The value may be the key itself, so it is not repeated.
        raise ValueError('has to be the name of a variable, never the key itself: "ANTHROPIC_API_KEY"')
    return value


def _limit_check(minimum: int, *, whole: bool = True, optional: bool = False) -> Callable[[Any], Any]:
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


def _rule_check(word: Word) -> Callable[[Any], str]:
    """Return the check of a rule that begins with *word*."""

    def check(value: Any) -> str:
        Rule(word, _check_text(value))  # raises if it is no rule
        return str(value)

    return check


def _command_check(word: Word) -> Callable[[Any], str]:
    """Return the check of a command in `commands.allow`, `commands.ask` or `commands.deny`."""

    def check(value: Any) -> str:
        Rule(word, write_command_rule(word, _check_text(value)))  # raises if it is no rule
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


def _check_instruction_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError('has to be a list of names: ["AGENTS.md"]; [] for none')  # noqa: TRY004 -- as above
    return tuple(dict.fromkeys(map(check_instruction_name, value)))


_COUNT, _COUNT_OR_NONE = _limit_check(1), _limit_check(1, optional=True)
_AMOUNT_OR_NONE = _limit_check(0, whole=False, optional=True)
_BUDGET = Budget()

_ROWS = [
    SettingKey("provider", "text", _check_provider, "trusted", None, "who runs the model: NAME or NAME:MODEL"),
    SettingKey("model", "text", _check_text, "trusted", None, "the model, as the provider writes it"),
    SettingKey("base_url", "text", _check_url, "trusted", None, "another server that uses the provider's format"),
    SettingKey("key_from", "text", _check_variable, "trusted", None, "the environment variable that holds the key"),
    SettingKey("system", "text", _check_prompt, "trusted", "", "the system prompt"),
    SettingKey("mode", "text", _choice_check(MODES), "stricter", "default", "the permission mode"),
    SettingKey("limits.max_turns", "value", _COUNT, "smaller", 50, "requests to the model for one prompt"),
    SettingKey("limits.timeout_seconds", "value", _AMOUNT_OR_NONE, "smaller", None, "time of one attempt of a call"),
    SettingKey("limits.max_chars", "value", _limit_check(50), "smaller", 100_000, "length of a result's text"),
    SettingKey("limits.max_concurrency", "value", _COUNT, "smaller", 100, "calls that run at once"),
    SettingKey("budget.tokens", "value", _COUNT_OR_NONE, "smaller", _BUDGET.tokens, "tokens read and written"),
    SettingKey("budget.calls", "value", _COUNT_OR_NONE, "smaller", _BUDGET.calls, "tool calls"),
    SettingKey(
        "budget.retries",
        "value",
        _limit_check(0, optional=True),
        "smaller",
        _BUDGET.retries,
        "attempts after a failed one",
    ),
    SettingKey("budget.seconds", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.seconds, "seconds of work"),
    SettingKey("budget.cost", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.cost, "money, counted by `prices`"),
    SettingKey("budget.depth", "value", _limit_check(0), "smaller", _BUDGET.depth, "how deep sub-runs are nested"),
    SettingKey("prices", "tables", None, "trusted", {}, "what a million tokens cost, by model"),
    SettingKey("files.protected", "list", _check_protected, "adds", (), "files that tools neither read nor write"),
    SettingKey("files.unprotected", "list", _check_unprotected, "trusted", (), "built-in protections that are lifted"),
    SettingKey("commands.allow", "list", _command_check("allow"), "trusted", (), "commands that run unasked"),
    SettingKey("commands.ask", "list", _command_check("ask"), "adds", (), "commands that a person approves"),
    SettingKey("commands.deny", "list", _command_check("deny"), "adds", (), "commands that never run"),
    SettingKey("rules.allow", "list", _rule_check("allow"), "trusted", (), "calls that run unasked"),
    SettingKey("rules.ask", "list", _rule_check("ask"), "adds", (), "calls that a person approves"),
    SettingKey("rules.deny", "list", _rule_check("deny"), "adds", (), "calls that never run"),
    SettingKey("hooks", "tables", None, "trusted", (), "commands around calls"),
    SettingKey("skills.folders", "list", _check_text, "never", (), "folders with skills"),
    SettingKey(
        "instructions.names",
        "value",
        _check_instruction_names,
        "trusted",
        INSTRUCTION_NAMES,
        "the names of instruction files",
    ),
    SettingKey(
        "instructions.max_chars",
        "value",
        _limit_check(0),
        # A smaller number would leave out the user's own file, which may say what the model must not do.
        "trusted",
        MAX_INSTRUCTION_CHARS,
        "length of all instruction files together",
    ),
    SettingKey("mcp_servers", "tables", None, "trusted", {}, "MCP servers, whose tools an agent gets"),
    SettingKey("database", "text", _check_database, "trusted", None, "where durable runs are kept"),
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
