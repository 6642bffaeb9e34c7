"""A hook that records, and the policies of the tests of the path of a call."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from toolkit.hooks import Proceed
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult

QUICK = RetryPolicy(attempts=3, wait_initial=0)
GONE = httpx.Response(404)
BOTH = pytest.mark.parametrize("validation", ["fast", "jsonschema"])


class HookRecorder:
    """A hook of all three forms that writes down what it sees."""

    def __init__(self, outcome: Any = None) -> None:
        self.outcome = Proceed() if outcome is None else outcome
        self.seen: list[Any] = []

    def before(self, call: ToolCall) -> Any:
        self.seen.append(("before", call.arguments))
        return self.outcome

    async def around(self, call: ToolCall, run: Any) -> ToolResult:
        self.seen.append(("around", call.arguments))
        return await run()

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        self.seen.append(("after", result.kind))
        return result


class Custom(BaseException):
    """What no tool should raise."""
