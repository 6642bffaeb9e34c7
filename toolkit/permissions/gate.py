"""
The smallest permission: one function that approves destructive calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from ..results import ToolCall
from ..verdicts import Verdict
from .request import PermissionRequest

__all__ = ["PermissionGate"]


class PermissionGate:
    """
    A judge that denies a destructive call unless *says_yes* returns True.

    *says_yes* gets the call with decoded arguments.

        Dispatcher(catalog, permissions=PermissionGate(lambda call: call.principal == "ada"))
    """

    def __init__(self, says_yes: Callable[[ToolCall], bool | Awaitable[bool]]) -> None:
        self._says_yes = says_yes

    def judge(self, request: PermissionRequest) -> Verdict | Awaitable[Verdict]:
        if not request.tool.facts.destructive:
            return Verdict("allow", "PermissionGate", f"`{request.tool.name}` is not destructive")
        answer = self._says_yes(request.call)
        return _await_verdict(answer, request) if inspect.isawaitable(answer) else _verdict_for_answer(answer, request)


async def _await_verdict(awaitable: Awaitable[bool], request: PermissionRequest) -> Verdict:
    return _verdict_for_answer(await awaitable, request)


def _verdict_for_answer(answer: object, request: PermissionRequest) -> Verdict:
    # Only True counts as yes, because another truthy object may have been meant as something else.
    if answer is True:
        return Verdict("allow", "PermissionGate", "the function of the gate returned True")
    return Verdict(
        "deny",
        "PermissionGate",
        f"`{request.tool.name}` is destructive, and the function of the gate did not return True",
    )
