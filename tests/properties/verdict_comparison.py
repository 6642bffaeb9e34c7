"""The verdicts of both ways of checking and of plain jsonschema, compared."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from toolkit.errors import BadArgs
from toolkit.spec import Tool

from .values import same


def verdict(tool: Tool, arguments: Any, validation: Any) -> Any:
    """Return the decoded arguments, or the refusal."""
    try:
        return tool.check(arguments, validation=validation)
    except BadArgs as error:
        return error


def find_disagreement(tool: Tool, arguments: Any) -> str | None:
    """Return what the two modes and plain jsonschema do not agree about; None if they agree about *arguments*."""
    fast, slow = (verdict(tool, arguments, mode) for mode in ("fast", "jsonschema"))
    allowed = Draft202012Validator(tool.schema).is_valid(arguments)
    if isinstance(fast, BadArgs):
        is_same = isinstance(slow, BadArgs) and str(fast) == str(slow) and bool(fast.problems)
        return None if is_same else f"refused with {fast}, and not with {slow}"
    if not allowed:
        return f"jsonschema refuses it, and {fast} was accepted"
    return None if not isinstance(slow, BadArgs) and same(fast, slow) else f"{fast} is not {slow}"
