"""
Permissions: modes, rules and grants that decide which calls may run.

    Dispatcher(catalog, permissions=Permissions(mode="default", rules=["allow read", "deny bash(git push:*)"]))
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .judge import Judge, PermissionGate, PermissionRequest, Visibility
    from .modes import MODES, TABLE, Mode
    from .policy import Permissions
    from .rules import Rule, RuleError, read_rule

__all__ = [
    "MODES",
    "TABLE",
    "Judge",
    "Mode",
    "PermissionGate",
    "PermissionRequest",
    "Permissions",
    "Rule",
    "RuleError",
    "Visibility",
    "read_rule",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("MODES", "TABLE", "Mode"), "modes"),
        **dict.fromkeys(("Rule", "RuleError", "read_rule"), "rules"),
        **dict.fromkeys(("Judge", "PermissionGate", "PermissionRequest", "Visibility"), "judge"),
        "Permissions": "policy",
    },
)
