"""
"Always" answers that are kept as rules in the user's settings.

A grant holds for one session. A rule in the user's file holds in every later command too, until the user removes it.
The file is changed as text, so that its comments stay, and is read again before it is written.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

from ..decisions import ApprovalRequest, Grant
from ..errors import ToolkitError
from ..permissions.rules import RuleError, read_rule
from ..settings.file_ownership import find_foreign_writer
from ..settings.project_files import SETTINGS_FILE
from ..settings.trust import configuration_folder
from ..storage.shared_files import hold_lock, write_atomically

__all__ = ["UserRules"]

_TABLE = re.compile(r"^[ \t]*\[[ \t]*rules[ \t]*\][^\n]*(?:\n|\Z)", re.MULTILINE)
_NEXT_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ALLOW_KEY = re.compile(r"^[ \t]*(?:allow|\"allow\"|'allow')[ \t]*=[ \t]*\[", re.MULTILINE)


class UserRules:
    """The rules in the user's settings file at *path*, which need not exist; "always" answers are added to them."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = configuration_folder() / SETTINGS_FILE if path is None else path

    def rule_for(self, request: ApprovalRequest, grant: Grant) -> str | None:
        """
        Return the rule that allows what *grant* allows, such as "bash(npm test:*)"; None if no rule would help.

        An allow rule answers only for the mode. If a rule, a check, a hook or the tool itself asks, a rule in the file
        would change nothing.
        """
        if not request.asked_by or not all(asker.startswith("mode `") for asker in request.asked_by):
            return None
        try:
            # The request may come from a store. A rule that has no meaning would spoil the whole file.
            read_rule(f"allow {grant.rule}")
        except RuleError:
            return None
        return grant.rule

    def keep(self, rule: str) -> None:
        """
        Add *rule* to the list `allow` under `[rules]` in the file, unless it is there already.

        Raises:
            ToolkitError: The file cannot be read or changed. It is as it was before, and the message has the remedy.
        """
        remedy = f"add it by hand under [rules]: allow = [{json.dumps(rule, ensure_ascii=False)}]"
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = find_foreign_writer(self.path)
            if problem is not None:
                raise ToolkitError(f"{self.path} was not changed: {problem}")
            with hold_lock(self.path):
                path = Path(os.path.realpath(self.path))  # a link stays a link
                text = path.read_text(encoding="utf-8") if path.exists() else ""
                changed = _add_rule(text, rule)
                if changed is None:
                    raise ToolkitError(f"{self.path} was not changed, because it is not understood; {remedy}")
                if changed != text:
                    write_atomically(path, changed)
        except (OSError, ValueError) as error:
            raise ToolkitError(f"{self.path} was not changed: {error}; {remedy}") from error


def _add_rule(text: str, rule: str) -> str | None:
    """Return *text*, settings, with *rule* in its list `rules.allow`; None if that cannot be done without a mistake."""
    data = tomllib.loads(text)
    table = data.get("rules", {})
    rules = table.get("allow", []) if isinstance(table, dict) else None
    if not isinstance(rules, list):
        return None
    if rule in rules:
        return text
    changed = _insert_entry(text, json.dumps(rule, ensure_ascii=False), has_rules=bool(rules))  # JSON is TOML here
    try:
        is_right = tomllib.loads(changed) == {**data, "rules": {**table, "allow": [rule, *rules]}}
    except tomllib.TOMLDecodeError:
        is_right = False
    return changed if is_right else None


def _insert_entry(text: str, entry: str, *, has_rules: bool) -> str:
    """Return *text* with *entry* in the list `allow` of the table `[rules]`, both of which may be missing."""
    table = _TABLE.search(text)
    if table is None:
        gap = "" if text.endswith("\n") or not text else "\n"
        return f"{text}{gap}[rules]\nallow = [{entry}]\n"
    next_table = _NEXT_TABLE.search(text, table.end())
    key = _ALLOW_KEY.search(text, table.end(), len(text) if next_table is None else next_table.start())
    if key is None:
        gap = "" if table[0].endswith("\n") else "\n"
        return f"{text[: table.end()]}{gap}allow = [{entry}]\n{text[table.end() :]}"
    return f"{text[: key.end()]}{entry}{', ' if has_rules else ''}{text[key.end() :]}"
