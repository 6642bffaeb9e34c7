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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..agent.budgets import Budget
from ..permissions.modes import TABLE, Mode
from .instruction_files import MAX_INSTRUCTION_CHARS
from .instruction_names import INSTRUCTION_NAMES
from .key_checks import (
    check_database,
    check_instruction_names,
    check_mode_name,
    check_prompt,
    check_protected,
    check_text,
    check_unprotected,
    check_url,
    check_variable,
    choice_check,
    command_check,
    limit_check,
    rule_check,
)

__all__ = ["KEYS", "PROVIDERS", "TABLES", "ProjectEffect", "SettingKey", "is_stricter_mode"]

PROVIDERS = {
    "anthropic": "AnthropicProvider",
    "openai": "OpenAIProvider",
    "openai_responses": "OpenAIResponsesProvider",
    "gemini": "GeminiProvider",
}
"""The names of the providers in settings and on the command line, and their classes in `toolkit.providers`."""

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


_COUNT, _COUNT_OR_NONE = limit_check(1), limit_check(1, optional=True)
_AMOUNT_OR_NONE = limit_check(0, whole=False, optional=True)
_BUDGET = Budget()

_ROWS = [
    SettingKey("provider", "text", choice_check(tuple(PROVIDERS)), "trusted", None, "who runs the model"),
    SettingKey("model", "text", check_text, "trusted", None, "the model, as the provider writes it"),
    SettingKey("base_url", "text", check_url, "trusted", None, "another server that uses the provider's format"),
    SettingKey("key_from", "text", check_variable, "trusted", None, "the environment variable that holds the key"),
    SettingKey("system", "text", check_prompt, "trusted", "", "the system prompt"),
    SettingKey("mode", "text", check_mode_name, "stricter", "default", "the permission mode"),
    SettingKey("limits.max_turns", "value", _COUNT, "smaller", 50, "requests to the model for one prompt"),
    SettingKey("limits.timeout_seconds", "value", _AMOUNT_OR_NONE, "smaller", None, "time of one attempt of a call"),
    SettingKey("limits.max_chars", "value", limit_check(50), "smaller", 100_000, "length of a result's text"),
    SettingKey("limits.max_concurrency", "value", _COUNT, "smaller", 100, "calls that run at once"),
    SettingKey("budget.tokens", "value", _COUNT_OR_NONE, "smaller", _BUDGET.tokens, "tokens read and written"),
    SettingKey("budget.calls", "value", _COUNT_OR_NONE, "smaller", _BUDGET.calls, "tool calls"),
    SettingKey(
        "budget.retries",
        "value",
        limit_check(0, optional=True),
        "smaller",
        _BUDGET.retries,
        "attempts after a failed one",
    ),
    SettingKey("budget.seconds", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.seconds, "seconds of work"),
    SettingKey("budget.cost", "value", _AMOUNT_OR_NONE, "smaller", _BUDGET.cost, "money, counted by `prices`"),
    SettingKey("budget.depth", "value", limit_check(0), "smaller", _BUDGET.depth, "how deep sub-runs are nested"),
    SettingKey("prices", "tables", None, "trusted", {}, "what a million tokens cost, by model"),
    SettingKey("files.protected", "list", check_protected, "adds", (), "files that tools neither read nor write"),
    SettingKey("files.unprotected", "list", check_unprotected, "trusted", (), "built-in protections that are lifted"),
    SettingKey("commands.allow", "list", command_check("allow"), "trusted", (), "commands that run unasked"),
    SettingKey("commands.ask", "list", command_check("ask"), "adds", (), "commands that a person approves"),
    SettingKey("commands.deny", "list", command_check("deny"), "adds", (), "commands that never run"),
    SettingKey("rules.allow", "list", rule_check("allow"), "trusted", (), "calls that run unasked"),
    SettingKey("rules.ask", "list", rule_check("ask"), "adds", (), "calls that a person approves"),
    SettingKey("rules.deny", "list", rule_check("deny"), "adds", (), "calls that never run"),
    SettingKey("hooks", "tables", None, "trusted", (), "commands around calls"),
    SettingKey("skills.folders", "list", check_text, "never", (), "folders with skills"),
    SettingKey(
        "instructions.names",
        "value",
        check_instruction_names,
        "trusted",
        INSTRUCTION_NAMES,
        "the names of instruction files",
    ),
    SettingKey(
        "instructions.max_chars",
        "value",
        limit_check(0),
        # A smaller number would leave out the user's own file, which may say what the model must not do.
        "trusted",
        MAX_INSTRUCTION_CHARS,
        "length of all instruction files together",
    ),
    SettingKey("mcp_servers", "tables", None, "trusted", {}, "MCP servers, whose tools an agent gets"),
    SettingKey("database", "text", check_database, "trusted", None, "where durable runs are kept"),
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
